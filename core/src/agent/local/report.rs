//! Reports at the local socket: what a write says, and what became of it.
//!
//! Specification: "Report write rules"; `gaps-agent.md` sections 1.2 and 1.3; `decisions.md` section 8 (Report payload).

use alloc::{
    collections::BTreeMap,
    string::{String, ToString},
};

use super::{found, refusal};
use crate::{
    agent::reports::{Done, Draft, Refusal, Reports},
    wire::{
        grammar::ReportKey,
        http::{Headers, Request, Response},
        json::{self, Raw},
        report::VALUE_MAX,
    },
};

/// The longest content type, in bytes.
pub const CONTENT_TYPE_MAX: usize = 256;

/// Reads what is to be written under a key, refused by the first rule that it breaks.
pub fn read_report(
    key: &str,
    request: &Request,
) -> Result<(ReportKey, Draft, Option<i64>), Refusal> {
    let key = ReportKey::parse(key).map_err(|_| Refusal::Key)?;
    let draft = draft(request.body.whole(Refusal::Body, Refusal::Body)?)?;
    Ok((key, draft, if_match(&request.headers)?))
}

/// Members are read as they were spelled: of an object with a type of its own a null would not be seen.
fn draft(body: &[u8]) -> Result<Draft, Refusal> {
    let mut members: BTreeMap<String, Raw> =
        json::decode_tolerant(body).map_err(|_| Refusal::Body)?;
    let content_type = match members.get("content_type") {
        Some(text) => json::decode_strict_text::<Option<String>>(text.text())
            .map_err(|_| Refusal::Body)?
            .unwrap_or_default(),
        None => String::new(),
    };
    if content_type.is_empty() {
        return Err(Refusal::ContentType);
    }
    if content_type.len() > CONTENT_TYPE_MAX {
        return Err(Refusal::ContentTypeTooLong);
    }
    let payload = members.remove("payload").ok_or(Refusal::Payload)?.compact();
    if payload.text().len() > VALUE_MAX {
        return Err(Refusal::PayloadTooLong);
    }
    Ok(Draft { content_type, payload })
}

/// Digits with an optional sign before them, once, within 64 bits.
fn if_match(headers: &Headers) -> Result<Option<i64>, Refusal> {
    if headers.is_repeated("if-match") {
        return Err(Refusal::IfMatch);
    }
    match headers.first("if-match") {
        None => Ok(None),
        Some(text) if text.starts_with('+') => Err(Refusal::IfMatch),
        Some(text) => text.parse().map(Some).map_err(|_| Refusal::IfMatch),
    }
}

/// Answers the reading of one report.
pub(super) fn look_up_report(reports: &Reports, key: &str) -> Response {
    let found_entry = ReportKey::parse(key)
        .map_err(|_| Refusal::Key)
        .and_then(|key| reports.get(&key).ok_or(Refusal::Missing));
    match found_entry {
        Ok(entry) => found(entry),
        Err(refusal) => reported(Err(refusal)),
    }
}

/// Answers a write.
pub fn reported(outcome: Result<Done, Refusal>) -> Response {
    match outcome {
        Ok(Done::Written(entry)) => found(&entry),
        Ok(Done::Deleted) => Response::empty(204),
        Err(reason) => refusal(reason.status(), &reason.to_string()),
    }
}
