//! The identity files as a start finds them, and what is wrong with one that holds nothing of use.

use alloc::{string::String, vec::Vec};

use thiserror::Error;

use crate::secret::Secret;

/// The length of 32 bytes in base64.
const KEY_TEXT_LEN: usize = 44;

/// A file as its reader found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Found<T> {
    #[default]
    Missing,
    /// Nothing that the agent has written; the text tells what it is.
    Foreign(&'static str),
    Content(T),
}

/// What is wrong with a file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Flaw {
    #[error("is empty: its content was lost, as by a power failure or a full disk")]
    Empty,
    #[error("holds only zero bytes: its content was lost, as by a power failure or a full disk")]
    Zeroed,
    #[error("is cut off")]
    CutOff,
    #[error("is {0} and is not read")]
    Foreign(&'static str),
    #[error("is not base64 of 32 bytes")]
    NoKey,
}

impl Flaw {
    /// What a power failure leaves of a file that was never synced.
    pub fn of_lost(content: &[u8]) -> Option<Self> {
        match content {
            [] => Some(Self::Empty),
            _ if content.iter().all(|byte| *byte == 0) => Some(Self::Zeroed),
            _ => None,
        }
    }

    /// Why this content of a key file is no key.
    pub fn of_key(content: &[u8]) -> Self {
        let text = content.trim_ascii();
        let in_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        match Self::of_lost(text) {
            Some(lost) => lost,
            None if text.len() < KEY_TEXT_LEN && text.iter().all(in_base64) => Self::CutOff,
            None => Self::NoKey,
        }
    }
}

/// A private key file as its reader found it; the key itself stays outside this crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyFile {
    #[default]
    Missing,
    Broken(Flaw),
    Sound,
}

/// The identity files as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub identity: Found<Vec<u8>>,
    pub node_secret_key: Found<Secret<String>>,
    pub signing_public_key: Found<String>,
    pub private_key: KeyFile,
}
