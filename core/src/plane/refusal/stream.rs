//! The refusals of events and what steers them.
//!
//! Specification: "Errors".

use alloc::string::ToString;

use super::{Denial, Refused};
use crate::{plane::stream, wire::problem::Code};

impl Refused for stream::Refusal {
    const MACHINE: &'static str = "stream";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::Descoped => Denial::coded(Code::SignedEventBusNotProvisioned, detail),
            Self::Cursor => Denial::coded(Code::InvalidCursor, detail),
            Self::Full => Denial::plain(503, detail),
            Self::TooLarge => Denial::plain(413, detail),
            Self::Unreadable | Self::Malformed(_) | Self::Empty(_) | Self::Broken(_) => {
                Denial::plain(400, detail)
            }
        }
    }
}
