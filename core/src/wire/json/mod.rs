//! The one door for JSON: what stands behind it is well-formed, bounded in depth, without duplicate members, and an
//! object where an object is due.
//!
//! Derived decoders accept an array for a struct, keep the last of two equal members, and quote the offending value
//! in their errors. This door refuses the first two and its [`Fault`] never carries a value, so a credential in a
//! malformed body stays out of every log. Strictness is the reader's: the plane reads requests with
//! [`decode_strict`], the agent reads answers with [`decode_tolerant`], and both ends share each type.
//!
//! Specification: `decisions.md` section 5 (JSON input; JSON, more) and section 7 (duplicate members, depth, NUL).

mod access;
mod door;
mod fault;
mod lexer;
mod names;
mod number;
mod quote;
mod raw;
mod scan;

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use fault::{Fault, Kind};
pub use number::number;
pub use quote::{QUOTED_MAX, quote, quoted_len};
pub use raw::Raw;

use door::{Door, Unknown};

/// How deep arrays and objects may stand in each other; the outermost one is depth 1.
pub const DEPTH_MAX: usize = 64;

/// Reads one value that fills `bytes` and refuses members that `T` does not know, at every depth.
pub fn decode_strict<'t, T: Deserialize<'t>>(bytes: &'t [u8]) -> Result<T, Fault> {
    decode(bytes, Unknown::Refused)
}

/// Reads one value that fills `bytes` and passes over members that `T` does not know.
pub fn decode_tolerant<'t, T: Deserialize<'t>>(bytes: &'t [u8]) -> Result<T, Fault> {
    decode(bytes, Unknown::Skipped)
}

/// As [`decode_strict`], where it is known already that the bytes are text.
pub fn decode_strict_text<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Fault> {
    decode_text(text, Unknown::Refused)
}

fn decode<'t, T: Deserialize<'t>>(bytes: &'t [u8], unknown: Unknown) -> Result<T, Fault> {
    let text = core::str::from_utf8(bytes).map_err(|_| Fault::new(Kind::NotUtf8))?;
    decode_text(text, unknown)
}

fn decode_text<'t, T: Deserialize<'t>>(text: &'t str, unknown: Unknown) -> Result<T, Fault> {
    let mut door = Door::new(text, unknown);
    let value = T::deserialize(&mut door)?;
    door.finish()?;
    Ok(value)
}

/// Writes a value as compact JSON.
pub fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("wire types have string keys and no failing serializer")
}
