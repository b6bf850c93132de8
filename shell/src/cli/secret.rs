//! `secret list`, `secret get`.

use meshward_core::wire::http::percent_encode;
use serde::Deserialize;

use super::{
    Outcome,
    answer::{ask, list, print_value},
    args::{Global, SecretPart},
    socket::Question,
};

const ROUTE: &str = "/v1/state/secrets";

/// What is printed of a secret.
#[derive(Deserialize)]
struct Value {
    value: String,
}

pub(super) fn secret(global: &Global, part: &SecretPart) -> Outcome {
    match part {
        SecretPart::List => list(global, ROUTE),
        SecretPart::Get { key, version } => {
            let query = version.map(|version| format!("?version={version}")).unwrap_or_default();
            let path = format!("{ROUTE}/{}{query}", percent_encode(key));
            let answer = ask(global, Question::get(path))?;
            // Nothing but the value, so that it can be piped on.
            print_value(global, &answer, |secret: Value| secret.value)
        }
    }
}
