//! STUN, as far as a node asks how it is seen from outside: messages of the method Binding as bytes.
//!
//! What is read is read whole: its length is exact, a fingerprint is right, and of a message that breaks a rule nothing
//! counts. What is not known and must be is named, so that an answer which holds it does not count either.
//! Specification: RFC 8489, sections 5, 6.3, 7 and 14, with the vectors of RFC 5769; `gaps-agent.md` 2.11.

mod attribute;
mod message;
mod told;

use alloc::vec::Vec;

use thiserror::Error;

pub use attribute::{Attribute, ErrorCode};
pub use message::Message;
pub use told::{Failure, told};

/// The longest message that is read, in bytes: what an Ethernet frame holds.
pub const MESSAGE_MAX: usize = 1500;

/// The length of the head that every message begins with, in bytes.
pub const HEAD_LEN: usize = 20;

const MAGIC_COOKIE: u32 = 0x2112_a442;
/// The bits of the type in which the class stands.
const CLASS_BITS: u16 = 0x0110;

/// What tells the answer to one question from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionId([u8; 12]);

impl TransactionId {
    /// Of bytes that nobody can guess.
    pub const fn drawn(bytes: [u8; 12]) -> Self {
        Self(bytes)
    }
}

/// Of what kind a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Request,
    Indication,
    Success,
    Error,
}

impl Class {
    /// Every class, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Request, Self::Indication, Self::Success, Self::Error];

    const fn bits(self) -> u16 {
        match self {
            Self::Request => 0x0000,
            Self::Indication => 0x0010,
            Self::Success => 0x0100,
            Self::Error => 0x0110,
        }
    }

    const fn of(kind: u16) -> Self {
        match kind & CLASS_BITS {
            0x0000 => Self::Request,
            0x0010 => Self::Indication,
            0x0100 => Self::Success,
            _ => Self::Error,
        }
    }
}

/// What is wrong with bytes that are no message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    #[error("it is shorter than the head of a message")]
    Short,
    #[error("it is longer than {MESSAGE_MAX} bytes")]
    Long,
    #[error("it is no STUN message")]
    Foreign,
    #[error("its method is not Binding")]
    Method,
    #[error("its length is not the one that it names")]
    Length,
    #[error("an attribute does not end where it should")]
    Attribute,
    #[error("the value of an attribute is not in its form")]
    Value,
    #[error("its fingerprint is wrong or not at its end")]
    Fingerprint,
}

/// The question of a node that asks how it is seen: a head and nothing else.
pub fn request(id: TransactionId) -> Vec<u8> {
    let attributes = Vec::new();
    Message { class: Class::Request, id, attributes, fingerprint: false }.encode()
}
