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
        let detail = self.to_string();
        match self {
            Self::Encoding => Denial::coded(Code::IngestEncodingUnsupported, detail),
            Self::SentAt { .. } => Denial::coded(Code::IngestSentAtInvalid, detail),
            Self::TooLarge | Self::TooManyRecords => {
                Denial::coded(Code::IngestBodyTooLarge, detail)
            }
            Self::Unreadable
            | Self::NotUtf8 { .. }
            | Self::NoRecord
            | Self::Line { .. }
            | Self::Samples(_) => Denial::coded(Code::IngestBatchMalformed, detail),
        }
    }
}

impl Refused for release::Refusal {
    const MACHINE: &'static str = "release";

    fn denial(self) -> Denial {
        let refusal = self;
        match refusal {
            Self::Tag | Self::Asset => Denial::plain(404, refusal),
        }
    }
}
