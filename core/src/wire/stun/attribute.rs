//! The attributes of a message: addresses as they are seen, errors, and all others as they came.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};
use core::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use super::{Flaw, MAGIC_COOKIE, TransactionId};
use crate::legible;

const MAPPED_ADDRESS: u16 = 0x0001;
const ERROR_CODE: u16 = 0x0009;
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const MESSAGE_INTEGRITY: u16 = 0x0008;
const MESSAGE_INTEGRITY_SHA256: u16 = 0x001c;

const IPV4: u8 = 1;
const IPV6: u8 = 2;

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// The asker's address as the server sees it.
    MappedAddress(SocketAddr),
    /// The same, so spelled that nothing on the way takes it for an address of its own.
    XorMappedAddress(SocketAddr),
    ErrorCode(ErrorCode),
    Other {
        kind: u16,
        value: Vec<u8>,
    },
}

/// Why a server gives no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// From 300 to 699.
    pub code: u16,
    /// Text, if its sender keeps to the rules.
    pub reason: Vec<u8>,
}

impl Attribute {
    pub(super) fn decode(kind: u16, value: &[u8], id: TransactionId) -> Result<Self, Flaw> {
        Ok(match kind {
            MAPPED_ADDRESS => Self::MappedAddress(address(value)?),
            XOR_MAPPED_ADDRESS => Self::XorMappedAddress(crossed(address(value)?, id)),
            ERROR_CODE => Self::ErrorCode(ErrorCode::decode(value)?),
            _ => Self::Other { kind, value: value.to_owned() },
        })
    }

    pub(super) const fn kind(&self) -> u16 {
        match self {
            Self::MappedAddress(_) => MAPPED_ADDRESS,
            Self::XorMappedAddress(_) => XOR_MAPPED_ADDRESS,
            Self::ErrorCode(_) => ERROR_CODE,
            Self::Other { kind, .. } => *kind,
        }
    }

    pub(super) fn value(&self, id: TransactionId) -> Vec<u8> {
        match self {
            Self::MappedAddress(addr) => spelled(*addr),
            Self::XorMappedAddress(addr) => spelled(crossed(*addr, id)),
            Self::ErrorCode(error) => error.value(),
            Self::Other { value, .. } => value.clone(),
        }
    }

    /// Whether it protects what stands before it; of what stands behind it nothing counts.
    pub(super) const fn is_seal(&self) -> bool {
        matches!(self.kind(), MESSAGE_INTEGRITY | MESSAGE_INTEGRITY_SHA256)
    }

    /// Whether a message cannot be understood without knowing what this is.
    ///
    /// Known are the attributes of RFC 8489, and those of RFC 3489 that servers of its time still add.
    pub(super) const fn is_unknown(&self) -> bool {
        !matches!(self.kind(), 0x0001..=0x000b | 0x0014 | 0x0015 | 0x001c..=0x001e | 0x0020 | 0x8000..)
    }
}

fn address(value: &[u8]) -> Result<SocketAddr, Flaw> {
    let [_, family, p0, p1, ip @ ..] = value else { return Err(Flaw::Value) };
    let ip: Option<IpAddr> = match *family {
        IPV4 => <[u8; 4]>::try_from(ip).ok().map(IpAddr::from),
        IPV6 => <[u8; 16]>::try_from(ip).ok().map(IpAddr::from),
        _ => None,
    };
    Ok(SocketAddr::new(ip.ok_or(Flaw::Value)?, u16::from_be_bytes([*p0, *p1])))
}

fn spelled(addr: SocketAddr) -> Vec<u8> {
    let (family, port) = (if addr.is_ipv4() { IPV4 } else { IPV6 }, addr.port().to_be_bytes());
    let mut value = [&[0, family], &port[..]].concat();
    match addr.ip() {
        IpAddr::V4(ip) => value.extend(ip.octets()),
        IpAddr::V6(ip) => value.extend(ip.octets()),
    }
    value
}

/// An address laid over the cookie and the id; done twice, it is the address again.
fn crossed(addr: SocketAddr, id: TransactionId) -> SocketAddr {
    let [c0, c1, ..] = MAGIC_COOKIE.to_be_bytes();
    let port = addr.port() ^ u16::from_be_bytes([c0, c1]);
    let ip = match addr.ip() {
        IpAddr::V4(ip) => IpAddr::from((u32::from(ip) ^ MAGIC_COOKIE).to_be_bytes()),
        IpAddr::V6(ip) => {
            let mask = MAGIC_COOKIE.to_be_bytes().into_iter().chain(id.0);
            let mut octets = ip.octets();
            octets.iter_mut().zip(mask).for_each(|(octet, mask)| *octet ^= mask);
            IpAddr::from(octets)
        }
    };
    SocketAddr::new(ip, port)
}

impl ErrorCode {
    fn decode(value: &[u8]) -> Result<Self, Flaw> {
        let [_, _, class, number, reason @ ..] = value else { return Err(Flaw::Value) };
        let class = class & 0x7;
        if !(3..=6).contains(&class) || *number > 99 {
            return Err(Flaw::Value);
        }
        let code = u16::from(class) * 100 + u16::from(*number);
        Ok(Self { code, reason: reason.to_owned() })
    }

    fn value(&self) -> Vec<u8> {
        let byte = |number: u16| u8::try_from(number).unwrap_or_default();
        [&[0, 0, byte(self.code / 100), byte(self.code % 100)], self.reason.as_slice()].concat()
    }
}

/// The most of a reason that is shown, in characters: as many as it may have.
const REASON_MAX: usize = 127;

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = String::from_utf8_lossy(&self.reason);
        let reason: String = legible::line(&reason).chars().take(REASON_MAX).collect();
        match reason.trim() {
            "" => write!(f, "{}", self.code),
            reason => write!(f, "{} {reason}", self.code),
        }
    }
}
