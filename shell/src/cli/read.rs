//! `state`, `state metadata`, `state data`.

use std::fmt::Write as _;

use meshward_core::wire::{
    http::percent_encode,
    json,
    local::{DataEntry, LocalError, Metadatum, StateSummary},
};

use super::{
    Code, Failed, Outcome,
    args::{Global, Output, StatePart},
    config, say,
    socket::{self, Answer},
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
    let answer = socket::get(&config::socket(global)?, &path)?;
    if answer.status != 200 {
        return Err(Failed::new(Code::Failed, refusal(&answer)));
    }
    match global.output {
        Output::Json => say(&String::from_utf8_lossy(&answer.body)),
        Output::Text => say(&text(part, &answer)?),
    }
}

fn refusal(answer: &Answer) -> String {
    match json::decode_tolerant::<LocalError>(&answer.body) {
        Ok(told) => told.error,
        Err(_) => format!("the agent answered {}", answer.status),
    }
}

/// What a person wants to read of the answer.
fn text(part: Option<&StatePart>, answer: &Answer) -> Result<String, Failed> {
    let odd = |fault: json::Fault| {
        Failed::new(Code::Failed, format!("the agent's answer is unusable: {fault}"))
    };
    match part {
        None => {
            json::decode_tolerant(&answer.body).map(|summary| summarized(&summary)).map_err(odd)
        }
        Some(StatePart::Metadata { key: Some(_) }) => {
            json::decode_tolerant::<Metadatum>(&answer.body)
                .map(|found| found.value + "\n")
                .map_err(odd)
        }
        Some(StatePart::Data { key: Some(_) }) => {
            json::decode_tolerant::<DataEntry>(&answer.body).map(|found| value(&found)).map_err(odd)
        }
        Some(StatePart::Metadata { key: None } | StatePart::Data { key: None }) => {
            Ok(String::from_utf8_lossy(&answer.body).into_owned())
        }
    }
}

/// A payload that is a text is printed as that text.
fn value(entry: &DataEntry) -> String {
    let payload = entry.payload.text();
    json::decode_tolerant::<String>(payload.as_bytes()).unwrap_or_else(|_| payload.to_owned())
        + "\n"
}

fn summarized(summary: &StateSummary) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "metadata: {}", summary.metadata.len());
    for (key, value) in &summary.metadata {
        let _ = writeln!(out, "  {key} = {value}");
    }
    let _ = writeln!(out, "data: {}", summary.data_keys.len());
    for entry in &summary.data_keys {
        let _ =
            writeln!(out, "  {} (version {}, {})", entry.key, entry.version, entry.content_type);
    }
    let _ = writeln!(
        out,
        "secrets: {}\nreports: {}",
        summary.secret_keys.len(),
        summary.report_keys.len()
    );
    out
}
