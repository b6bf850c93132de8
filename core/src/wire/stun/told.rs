//! What a datagram tells the one who asked.

use core::net::IpAddr;

use thiserror::Error;

use super::{Attribute, Class, ErrorCode, Message, TransactionId};
use crate::wire::grammar::PeerAddr;

/// An answer that names no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    #[error("it answers with the error {0}")]
    Refused(ErrorCode),
    #[error("it answers with an error that it does not name")]
    Unnamed,
    #[error("its answer holds what has to be understood and is not known (attribute {0:#06x})")]
    Unknown(u16),
    #[error("its answer names no address")]
    Nothing,
    /// What is seen of a question over IPv4 is an address of IPv4.
    #[error("its answer names {0}, an address of another family than its own")]
    Family(PeerAddr),
}

/// What `bytes` answer to the question `asked` of `server`; `None` for whatever is no answer to it, which is to be passed
/// over.
///
/// The address that is laid over the cookie comes before the plain one, and the first of each before all others; one of
/// another family than the server's counts for nothing.
pub fn told(
    bytes: &[u8],
    asked: TransactionId,
    server: IpAddr,
) -> Option<Result<PeerAddr, Failure>> {
    let message = Message::decode(bytes).ok().filter(|message| message.id == asked)?;
    let counting = || message.attributes.iter().take_while(|attribute| !attribute.is_seal());
    match message.class {
        Class::Request | Class::Indication => None,
        Class::Error => Some(Err(counting().find_map(error).unwrap_or(Failure::Unnamed))),
        Class::Success => Some(match counting().find(|attribute| attribute.is_unknown()) {
            Some(attribute) => Err(Failure::Unknown(attribute.kind())),
            None => {
                mapped(counting().filter_map(crossed).chain(counting().filter_map(plain)), server)
            }
        }),
    }
}

/// The first address that can be the one from which `server` was asked.
fn mapped(
    mut named: impl Iterator<Item = PeerAddr> + Clone,
    server: IpAddr,
) -> Result<PeerAddr, Failure> {
    let is_v4 = server.to_canonical().is_ipv4();
    match (named.clone().find(|addr| addr.ip().is_ipv4() == is_v4), named.next()) {
        (Some(addr), _) => Ok(addr),
        (None, Some(foreign)) => Err(Failure::Family(foreign)),
        (None, None) => Err(Failure::Nothing),
    }
}

fn error(attribute: &Attribute) -> Option<Failure> {
    match attribute {
        Attribute::ErrorCode(error) => Some(Failure::Refused(error.clone())),
        Attribute::MappedAddress(_) | Attribute::XorMappedAddress(_) | Attribute::Other { .. } => {
            None
        }
    }
}

fn crossed(attribute: &Attribute) -> Option<PeerAddr> {
    match attribute {
        Attribute::XorMappedAddress(addr) => Some(PeerAddr::from(*addr)),
        Attribute::MappedAddress(_) | Attribute::ErrorCode(_) | Attribute::Other { .. } => None,
    }
}

fn plain(attribute: &Attribute) -> Option<PeerAddr> {
    match attribute {
        Attribute::MappedAddress(addr) => Some(PeerAddr::from(*addr)),
        Attribute::XorMappedAddress(_) | Attribute::ErrorCode(_) | Attribute::Other { .. } => None,
    }
}
