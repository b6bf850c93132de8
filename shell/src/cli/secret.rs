//! `secret list`, `secret get`.

use std::time::Duration;

use meshward_core::{
    agent::secrets::{FETCH_MAX, QUEUED_FOR_MAX},
    wire::http::percent_encode,
};
use serde::Deserialize;

use super::{
    Outcome,
    answer::{ask_within, list, print_value},
    args::{Global, SecretPart},
    refused::About,
    socket::Question,
};

const ROUTE: &str = "/v1/state/secrets";

/// How long a read may take: the agent asks the control plane for it, and answers before this in any case.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const _: () = assert!(
    QUEUED_FOR_MAX.as_secs() + FETCH_MAX.as_secs() < READ_TIMEOUT.as_secs(),
    "the agent answers before its asker gives up"
);

/// What is printed of a secret.
#[derive(Deserialize)]
struct Value {
    value: String,
}

pub(super) fn secret(global: &Global, part: &SecretPart) -> Outcome {
    match part {
        SecretPart::List => list(global, ROUTE, "No secrets known by name."),
        SecretPart::Get { key, version } => {
            let query = version.map(|version| format!("?version={version}")).unwrap_or_default();
            let path = format!("{ROUTE}/{}{query}", percent_encode(key));
            let about = About::Secret { key: key.clone(), version: *version };
            let question = Question::get(path).about(about);
            let answer = ask_within(global, &question, READ_TIMEOUT)?;
            // Nothing but the value, so that it can be piped on.
            print_value(global, &answer, |secret: Value| secret.value)
        }
    }
}
