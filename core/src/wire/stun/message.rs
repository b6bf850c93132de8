//! A message from its bytes and back.

use alloc::vec::Vec;

use super::{
    Attribute, CLASS_BITS, Class, Flaw, HEAD_LEN, MAGIC_COOKIE, MESSAGE_MAX, TransactionId,
};
use crate::wire::crc::crc32;

const FINGERPRINT: u16 = 0x8028;
const FINGERPRINT_XOR: u32 = 0x5354_554e;
/// The method.
const BINDING: u16 = 0x0001;

/// A message of the method Binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub class: Class,
    pub id: TransactionId,
    /// In their order, but for a fingerprint.
    pub attributes: Vec<Attribute>,
    /// Whether a fingerprint ends it.
    pub fingerprint: bool,
}

impl Message {
    /// Reads the bytes of one datagram.
    pub fn decode(bytes: &[u8]) -> Result<Self, Flaw> {
        if bytes.len() > MESSAGE_MAX {
            return Err(Flaw::Long);
        }
        let (head, body) = bytes.split_first_chunk::<HEAD_LEN>().ok_or(Flaw::Short)?;
        let [k0, k1, l0, l1, c0, c1, c2, c3, id @ ..] = *head;
        let (kind, length) = (u16::from_be_bytes([k0, k1]), u16::from_be_bytes([l0, l1]));
        if kind >> 14 != 0 || u32::from_be_bytes([c0, c1, c2, c3]) != MAGIC_COOKIE {
            return Err(Flaw::Foreign);
        }
        if kind & !CLASS_BITS != BINDING {
            return Err(Flaw::Method);
        }
        if usize::from(length) != body.len() || !body.len().is_multiple_of(4) {
            return Err(Flaw::Length);
        }
        let id = TransactionId(id);
        let mut message =
            Self { class: Class::of(kind), id, attributes: Vec::new(), fingerprint: false };
        message.take(bytes, body)?;
        Ok(message)
    }

    /// Takes the attributes in, one after the other.
    fn take(&mut self, whole: &[u8], mut rest: &[u8]) -> Result<(), Flaw> {
        while let Some(([k0, k1, l0, l1], behind)) = rest.split_first_chunk::<4>() {
            let (kind, length) = (u16::from_be_bytes([*k0, *k1]), u16::from_be_bytes([*l0, *l1]));
            let length = usize::from(length);
            let value = behind.get(..length).ok_or(Flaw::Attribute)?;
            let next = behind.get(length.next_multiple_of(4)..).ok_or(Flaw::Attribute)?;
            if kind == FINGERPRINT {
                let before = &whole[..whole.len() - rest.len()];
                let right = fingerprint(before).to_be_bytes();
                if value != right || !next.is_empty() {
                    return Err(Flaw::Fingerprint);
                }
                self.fingerprint = true;
            } else {
                self.attributes.push(Attribute::decode(kind, value, self.id)?);
            }
            rest = next;
        }
        if rest.is_empty() { Ok(()) } else { Err(Flaw::Attribute) }
    }

    /// The bytes of one datagram; padding is zero.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_LEN);
        bytes.extend((BINDING | self.class.bits()).to_be_bytes());
        bytes.extend([0; 2]);
        bytes.extend(MAGIC_COOKIE.to_be_bytes());
        bytes.extend(self.id.0);
        for attribute in &self.attributes {
            append(&mut bytes, attribute.kind(), &attribute.value(self.id));
        }
        set_length(&mut bytes, 0);
        if self.fingerprint {
            set_length(&mut bytes, 8);
            let value = fingerprint(&bytes).to_be_bytes();
            append(&mut bytes, FINGERPRINT, &value);
        }
        bytes
    }
}

/// A value longer than an attribute can say is cut.
fn append(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(length.to_be_bytes());
    bytes.extend(value.iter().take(usize::from(length)));
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Writes the length of what follows the head, with so much that is still to come.
fn set_length(bytes: &mut [u8], coming: usize) {
    let length = u16::try_from(bytes.len() - HEAD_LEN + coming).unwrap_or(u16::MAX);
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
}

/// Of a message up to its fingerprint, whose head counts the fingerprint already.
fn fingerprint(before: &[u8]) -> u32 {
    crc32(before) ^ FINGERPRINT_XOR
}
