//! `state`, `state metadata`, `state data`.

use std::fmt::Write as _;

use meshward_core::{
    legible,
    wire::{
        http::percent_encode,
        json::{self, Raw},
        local::{DataEntry, Metadatum, StateSummary},
    },
};

use super::{
    Outcome,
    answer::{ask, print, print_value},
    args::{Global, Output, StatePart},
    refused::About,
    say,
    socket::Question,
};

pub(super) fn state(global: &Global, part: Option<&StatePart>) -> Outcome {
    let path = match part {
        None => "/v1/state".to_owned(),
        Some(StatePart::Metadata { key: None }) => "/v1/state/metadata".to_owned(),
        Some(StatePart::Metadata { key: Some(key) }) => {
            format!("/v1/state/metadata/{}", percent_encode(key))
        }
        Some(StatePart::Data { key: None }) => "/v1/state/data".to_owned(),
        Some(StatePart::Data { key: Some(key) }) => {
            format!("/v1/state/data/{}", percent_encode(key))
        }
    };
    let about = match part {
        Some(StatePart::Metadata { key: Some(key) }) => About::Metadata(key.clone()),
        Some(StatePart::Data { key: Some(key) }) => About::Data(key.clone()),
        None | Some(StatePart::Metadata { key: None } | StatePart::Data { key: None }) => {
            About::All
        }
    };
    let answer = ask(global, &Question::get(path).about(about))?;
    match part {
        None => print(global, &answer, summarized),
        Some(StatePart::Metadata { key: Some(_) }) => {
            print_value(global, &answer, |found: Metadatum| found.value + "\n")
        }
        Some(StatePart::Data { key: Some(_) }) => {
            print_value(global, &answer, |entry: DataEntry| payload_text(&entry.payload))
        }
        Some(StatePart::Metadata { key: None } | StatePart::Data { key: None }) => {
            let body = String::from_utf8_lossy(&answer.body);
            match global.output {
                Output::Json => say(&body),
                Output::Text => say(&legible::json(&body)),
            }
        }
    }
}

/// A payload that is a text is printed as that text.
pub(super) fn payload_text(payload: &Raw) -> String {
    let payload = payload.text();
    json::decode_tolerant::<String>(payload.as_bytes()).unwrap_or_else(|_| payload.to_owned())
        + "\n"
}

fn summarized(summary: &StateSummary) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "metadata: {}", summary.metadata.len());
    for (key, value) in &summary.metadata {
        let _ = writeln!(out, "  {} = {}", legible::line(key), legible::line(value));
    }
    let _ = writeln!(out, "data: {}", summary.data_keys.len());
    for entry in &summary.data_keys {
        let (key, content_type) = (legible::line(&entry.key), legible::line(&entry.content_type));
        let _ = writeln!(out, "  {key} (version {}, {content_type})", entry.version);
    }
    let _ = writeln!(
        out,
        "secrets: {}\nreports: {}",
        summary.secret_keys.len(),
        summary.report_keys.len()
    );
    out
}
