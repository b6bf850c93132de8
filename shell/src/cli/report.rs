//! `report list`, `report get`, `report put`, `report delete`.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use meshward_core::{
    agent::local::REPORT_BODY_MAX,
    legible,
    wire::{
        http::percent_encode,
        json::{self, Raw},
        local::ReportEntry,
    },
};

use super::{
    Code, Failed, Outcome,
    answer::{ask, decoded, list, print, print_value},
    args::{Global, Output, PutReport, ReportPart},
    read::payload_text,
    refused::About,
    say,
    socket::Question,
};

const ROUTE: &str = "/v1/state/report";

pub(super) fn report(global: &Global, part: &ReportPart) -> Outcome {
    match part {
        ReportPart::List => list(global, ROUTE, "No reports."),
        ReportPart::Get { key } => {
            let answer = ask(global, &Question::get(path(key)).about(About::Report(key.clone())))?;
            print_value(global, &answer, |entry: ReportEntry| payload_text(&entry.payload))
        }
        ReportPart::Put(put) => store(global, put),
        ReportPart::Delete { key } => {
            ask(global, &Question::delete(path(key)).about(About::Report(key.clone())))?;
            match global.output {
                Output::Json => {
                    say(&format!("{}\n", serde_json::json!({ "key": key, "deleted": true })))
                }
                Output::Text => say(&format!("report {} deleted\n", legible::line(key))),
            }
        }
    }
}

fn path(key: &str) -> String {
    format!("{ROUTE}/{}", percent_encode(key))
}

fn store(global: &Global, put: &PutReport) -> Outcome {
    let payload = payload(put)?;
    let content_type = String::from_utf8_lossy(&json::encode(&put.content_type)).into_owned();
    // The agent judges the payload as it was given, so it goes on as it is.
    let body = format!("{{\"content_type\":{content_type},\"payload\":{}}}", payload.text());
    let about = About::Report(put.key.clone());
    let mut question = Question::put(path(&put.key), body.into_bytes()).about(about);
    question.if_match = put.if_match;
    let answer = ask(global, &question).map_err(|failed| conflict(global, put, failed))?;
    print(global, &answer, |entry: &ReportEntry| {
        format!("report {} written, version {}\n", legible::line(&entry.key), entry.version)
    })
}

/// Adds both versions to a conflict, the one that is there being asked for now.
fn conflict(global: &Global, put: &PutReport, failed: Failed) -> Failed {
    let Some(wanted) = put.if_match.filter(|_| failed.text == "version conflict") else {
        return failed;
    };
    let found = ask(global, &Question::get(path(&put.key)));
    let there = match found.and_then(|answer| decoded::<ReportEntry>(&answer)) {
        Ok(entry) => format!("version {}", entry.version),
        Err(missing) if missing.text.starts_with("not found") => "none".to_owned(),
        Err(_) => return failed,
    };
    let text = format!("{}: --if-match is {wanted}, and there is {there} now", failed.text);
    Failed { text, ..failed }
}

/// The payload from the argument, a file, or standard input.
fn payload(put: &PutReport) -> Result<Raw, Failed> {
    let text = match (&put.payload, &put.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) if file != Path::new("-") => {
            let open = File::open(file).and_then(read);
            open.map_err(|error| unreadable(&file.display().to_string(), &error))?
        }
        (None, _) => {
            read(io::stdin().lock()).map_err(|error| unreadable("standard input", &error))?
        }
    };
    if text.trim().is_empty() {
        let told = "the payload is empty: give JSON with --payload, in the file of --file, or on standard input";
        return Err(Failed::new(Code::Failed, told));
    }
    Raw::parse(text.trim()).ok_or_else(|| {
        Failed::new(Code::Failed, "the payload is not JSON: quote a text, as in '\"ready\"'")
    })
}

/// Reads no more than a request may hold.
fn read(source: impl io::Read) -> io::Result<String> {
    let mut text = String::new();
    source.take(REPORT_BODY_MAX as u64).read_to_string(&mut text)?;
    Ok(text)
}

fn unreadable(place: &str, error: &io::Error) -> Failed {
    Failed::new(Code::Failed, format!("the payload cannot be read from {place}: {error}"))
}
