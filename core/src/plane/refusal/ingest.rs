//! The refusals of metrics, logs, audit records and releases.
//!
//! Specification: "Errors".

use alloc::string::ToString;

use super::{Denial, Refused};
use crate::{
    plane::{ingest, release},
    wire::problem::Code,
};

impl Refused for ingest::Refusal {
    const MACHINE: &'static str = "ingest";

    fn denial(self) -> Denial {
        use ingest::Refusal as R;
        let detail = self.to_string();
        match self {
            R::Encoding => Denial::coded(Code::IngestEncodingUnsupported, detail),
            R::SentAt { .. } => Denial::coded(Code::IngestSentAtInvalid, detail),
            R::TooLarge | R::TooManyRecords => Denial::coded(Code::IngestBodyTooLarge, detail),
            R::Unreadable | R::NotUtf8 { .. } | R::NoRecord | R::Line { .. } | R::Samples(_) => {
                Denial::coded(Code::IngestBatchMalformed, detail)
            }
        }
    }
}

impl Refused for release::Refusal {
    const MACHINE: &'static str = "release";

    fn denial(self) -> Denial {
        let refusal = self;
        match refusal {
            release::Refusal::Tag | release::Refusal::Asset => Denial::plain(404, refusal),
        }
    }
}
