//! The refusals of events and what steers them.
//!
//! Specification: "Errors".

use alloc::string::ToString;

use super::{Denial, Refused};
use crate::{plane::stream, wire::problem::Code};

impl Refused for stream::Refusal {
    const MACHINE: &'static str = "stream";

    fn denial(self) -> Denial {
        use stream::Refusal as R;
        let detail = self.to_string();
        match self {
            R::Descoped => Denial::coded(Code::SignedEventBusNotProvisioned, detail),
            R::Cursor => Denial::coded(Code::InvalidCursor, detail),
            R::Full => Denial::plain(503, detail),
            R::TooLarge => Denial::plain(413, detail),
            R::Unreadable | R::Malformed(_) | R::Empty(_) | R::Broken(_) => {
                Denial::plain(400, detail)
            }
        }
    }
}
