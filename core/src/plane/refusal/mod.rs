//! The one table from every refusal to its status and code, and the problem body it is sent as.
//!
//! Specification: "Errors" and "Problem body (error)"; `decisions.md` section 5 (`instance`, 401 in the fixture).

mod ingest;
mod manifest;
mod store;
mod stream;
mod table;
mod watch;

use alloc::{
    format,
    string::{String, ToString},
};
use core::fmt::Debug;

use super::{Settings, route};
use crate::{
    ids::CorrelationId,
    wire::{
        http::Response,
        json,
        problem::{CONTENT_TYPE, CORRELATION_HEADER, Code, Problem, title},
    },
};

const REGISTER: &str = "/v1/register";

/// What an error answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub status: u16,
    pub code: Option<Code>,
    pub detail: String,
    /// The `Allow` header of a 405.
    pub allow: Option<String>,
    /// The `Retry-After` header of a 429, in seconds.
    pub retry_after: Option<u64>,
    /// The machine that refused and which of its rules, such as `heartbeat.clock_skew`; for the journal.
    pub rule: String,
}

/// A refusal of one machine, and the one place that says how it is sent.
trait Refused: Debug + Sized {
    /// What the journal calls the machine.
    const MACHINE: &'static str;

    fn denial(self) -> Denial;
}

impl<R: Refused> From<R> for Denial {
    fn from(refusal: R) -> Self {
        let rule = rule(R::MACHINE, &refusal);
        Self { rule, ..refusal.denial() }
    }
}

/// The name of a variant in the way the contract spells its codes.
fn rule(machine: &str, refusal: &impl Debug) -> String {
    let shown = format!("{refusal:?}");
    let variant = shown.chars().take_while(char::is_ascii_alphanumeric);
    variant.fold(format!("{machine}."), |mut rule, one| {
        if one.is_ascii_uppercase() && !rule.ends_with('.') {
            rule.push('_');
        }
        rule.push(one.to_ascii_lowercase());
        rule
    })
}

impl Denial {
    /// An error without a code.
    pub fn plain(status: u16, detail: impl ToString) -> Self {
        let rule = String::new();
        let detail = detail.to_string();
        Self { status, code: None, detail, allow: None, retry_after: None, rule }
    }

    fn coded(code: Code, detail: impl ToString) -> Self {
        Self { code: Some(code.clone()), ..Self::plain(code.status(), detail) }
    }

    /// The problem body for a request to `path`, which is as it was received.
    pub fn response(self, settings: &Settings, path: &str, correlation: CorrelationId) -> Response {
        let code = self.code.as_ref().map(Code::as_str);
        let is_register = route::segments(path).is_some_and(|way| way == ["v1", "register"]);
        let problem = Problem {
            kind: code.map_or_else(
                || "about:blank".to_string(),
                |code| format!("{}/{code}", settings.problem_base_url),
            ),
            title: title(self.status),
            status: self.status,
            detail: self.detail,
            instance: if is_register { REGISTER } else { path }.to_string(),
            correlation_id: correlation.to_string(),
            code: code.map(ToString::to_string),
        };
        let mut response = Response::empty(self.status)
            .with("content-type", CONTENT_TYPE)
            .with(CORRELATION_HEADER, &problem.correlation_id);
        if let Some(allow) = self.allow {
            response = response.with("allow", &allow);
        }
        if let Some(seconds) = self.retry_after {
            response = response.with("retry-after", &seconds.to_string());
        }
        response.body = json::encode(&problem);
        response.body.push(b'\n');
        response
    }
}
