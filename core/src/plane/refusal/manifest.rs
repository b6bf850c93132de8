//! The refusals of capabilities, endpoint and integrity violations.
//!
//! Specification: "Errors". Unspecified there: the codes of single rules, which are the public contract's.

use alloc::string::ToString;

use super::{Denial, Refused};
use crate::{
    plane::{capabilities, endpoint, integrity},
    wire::problem::Code,
};

impl Refused for capabilities::Refusal {
    const MACHINE: &'static str = "capabilities";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::TooLarge => Denial::plain(413, detail),
            Self::Unreadable | Self::Malformed(_) => {
                Denial::coded(Code::MalformedCapabilitiesRequest, detail)
            }
            Self::Version => Denial::coded(Code::BinaryVersionEmpty, detail),
            Self::Checksum => Denial::coded(Code::BinaryChecksumInvalid, detail),
            Self::Fingerprint => Denial::coded(Code::SshHostKeyFingerprintInvalid, detail),
            Self::TooManyHooks => Denial::coded(Code::DeclaredHooksTooMany, detail),
            Self::Hook(_) => Denial::coded(Code::DeclaredHookInvalid, detail),
            Self::DuplicateHook(_) => Denial::coded(Code::DeclaredHookDuplicate, detail),
        }
    }
}

impl Refused for endpoint::Refusal {
    const MACHINE: &'static str = "endpoint";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::TooLarge => Denial::coded(Code::EndpointBodyTooLarge, detail),
            Self::Unreadable | Self::Malformed(_) => {
                Denial::coded(Code::MalformedEndpointRequest, detail)
            }
            Self::ClockSkew => Denial::coded(Code::EndpointClockSkew, detail),
            Self::Unparseable => Denial::coded(Code::EndpointUnparseable, detail),
        }
    }
}

impl Refused for endpoint::TtlRefusal {
    const MACHINE: &'static str = "endpoint_ttl";

    fn denial(self) -> Denial {
        let detail = self.to_string();
        match self {
            Self::TooLarge => Denial::plain(413, detail),
            Self::Unreadable | Self::Malformed(_) | Self::OutOfRange => Denial::plain(400, detail),
        }
    }
}

impl Refused for integrity::Refusal {
    const MACHINE: &'static str = "integrity";

    fn denial(self) -> Denial {
        let code = match self {
            Self::TooLarge => Code::IntegrityViolationsBodyTooLarge,
            Self::Unreadable | Self::Malformed(_) => Code::MalformedIntegrityViolationsRequest,
            Self::Empty => Code::IntegrityViolationsEmpty,
            Self::TooMany => Code::IntegrityViolationsTooMany,
            Self::Kind(_) => Code::IntegrityViolationKindInvalid,
            Self::DetectedBy(_) => Code::IntegrityViolationDetectedByInvalid,
            Self::ArtifactId(_) => Code::IntegrityViolationArtifactIdEmpty,
            Self::Mismatch(_) => Code::IntegrityViolationKindMismatch,
            Self::Fingerprint(_) => Code::IntegrityViolationHostKeyFingerprintInvalid,
            Self::Checksum(_) => Code::IntegrityViolationChecksumInvalid,
        };
        Denial::coded(code, self)
    }
}
