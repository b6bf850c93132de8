//! What an answer means: one table a route, so that machines match on meanings and never on numbers.
//!
//! Specification: "Errors" of the node agent (reaction to registration answers, callback refusals) and "Mesh key
//! rotation"; `decisions.md` section 8 (Success, Registration answers outside the table).

pub mod endpoint;
pub mod ingest;
pub mod manifest;
pub mod secret;
pub mod session;
pub mod stream;
pub mod violations;

use alloc::{format, string::String};
use core::time::Duration;

use serde::Deserialize;

use super::facts::{Answer, Failure, Lost};
use crate::{
    secret::Secret,
    time::Wall,
    wire::{
        execution::CallbackResponse,
        http::Response,
        identity::Unusable,
        json,
        problem::{self, Code},
        pulled::{self, Pulled},
        register::RegisterResponse,
        report::ReportResponse,
        retry_after,
        rotation::Receipt,
        snapshot::{self, Snapshot},
        timestamp::Timestamp,
    },
};

/// A transient failure, in words, and how long the control plane asks to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub reason: String,
    pub retry_after: Option<Duration>,
}

impl Trouble {
    /// One that asks for no wait.
    const fn of(reason: String) -> Self {
        Self { reason, retry_after: None }
    }
}

/// How a registration was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    Accepted(RegisterResponse),
    Retry(Trouble),
    Stop {
        status: u16,
        code: Option<Code>,
        reason: String,
    },
    /// A 2xx that holds no registration: a retry could only meet its own nonce.
    Unusable(Unusable),
}

/// How a key rotation was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rotated {
    Completed(Receipt),
    /// The key is the current one already.
    Unchanged,
    NothingPending,
    Refused(String),
    Undecided(String),
}

/// How an execution callback was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    Accepted,
    /// Accepted, with the URL under which the announced output may be brought.
    Invited(Secret<String>),
    /// One of the codes that end the execution for this node.
    Refused(String),
    /// 400 or 413: the control plane will not take this report.
    Unacceptable {
        inline_too_large: bool,
        reason: String,
    },
    Failed(String),
}

/// How an authenticated call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched<T> {
    Got(T),
    /// 401: this identity is not, or no longer, admitted.
    Unauthorized(String),
    ClockSkew(String),
    Failed(String),
}

/// How the delivery of a report was answered, or that of its deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    Delivered,
    /// The control plane will never take it.
    Invalid(String),
    NotProvisioned,
    Transient(String),
}

/// Reads the answer to a registration; one that is too large to be read is judged by its status alone.
pub fn register(answer: Answer, wall: Wall) -> Registered {
    let response = match answer {
        Answer::Failed(Lost { failure: Failure::Oversized { status: 200..=299 }, .. }) => {
            return Registered::Unusable(Unusable::Oversized);
        }
        Answer::Failed(Lost { failure: Failure::Oversized { status }, cause }) => {
            let reason = format!("{status}: the answer is {cause}");
            return refused(status, None, Trouble { reason, retry_after: None });
        }
        Answer::Failed(lost) => {
            return Registered::Retry(Trouble { reason: format!("{lost}"), retry_after: None });
        }
        Answer::Responded(response) => response,
    };
    match response.status {
        200..=299 => accepted(response),
        status => {
            let asked = if status == 429 { asked_wait(&response, wall) } else { None };
            let trouble = Trouble { reason: told(&response), retry_after: asked };
            refused(status, problem::read(&response).code, trouble)
        }
    }
}

/// Takes the key of the node out of the answer, and leaves no copy behind.
fn accepted(response: Response) -> Registered {
    let body = Secret::new(response.body);
    match json::decode_tolerant(body.expose()) {
        Ok(answer) => Registered::Accepted(answer),
        Err(_) => Registered::Unusable(Unusable::Json),
    }
}

fn refused(status: u16, code: Option<Code>, trouble: Trouble) -> Registered {
    match status {
        408 | 429 | 500..=599 => Registered::Retry(trouble),
        400..=499 => Registered::Stop { status, code, reason: trouble.reason },
        _ => Registered::Stop { status, code: None, reason: trouble.reason },
    }
}

/// Reads the answer to a key rotation.
pub fn rotate(answer: Answer) -> Rotated {
    let response = match answer {
        Answer::Failed(failure) => return Rotated::Undecided(format!("{failure}")),
        Answer::Responded(response) => response,
    };
    if response.is_success() {
        return match decode::<Receipt>(&response).filter(Receipt::is_complete) {
            Some(receipt) => Rotated::Completed(receipt),
            None => Rotated::Undecided("the receipt is incomplete".into()),
        };
    }
    match (response.status, problem::read(&response).code) {
        (422, Some(Code::KeysRotatePublicKeyUnchanged)) => Rotated::Unchanged,
        (409, Some(Code::KeysRotateNoPendingRotation)) => Rotated::NothingPending,
        (400 | 403 | 413, _)
        | (404, Some(Code::KeysRotatePeerNotFound))
        | (422, Some(Code::KeysRotatePublicKeyInvalid)) => Rotated::Refused(told(&response)),
        _ => Rotated::Undecided(told(&response)),
    }
}

/// Reads the answer to an execution callback.
pub fn callback(answer: Answer) -> Called {
    let response = match answer {
        Answer::Failed(failure) => return Called::Failed(format!("{failure}")),
        Answer::Responded(response) => response,
    };
    if response.is_success() {
        return match decode::<CallbackResponse>(&response) {
            Some(CallbackResponse { output_upload_url: Some(url), .. }) => {
                Called::Invited(Secret::new(url))
            }
            Some(_) => Called::Accepted,
            None => Called::Failed("the answer is not JSON of a callback".into()),
        };
    }
    let code = problem::read(&response).code;
    let inline_too_large = code == Some(Code::InlineOutputTooLarge);
    match (response.status, code) {
        (
            _,
            Some(
                Code::NskNodeMismatch
                | Code::InvalidStateTransition
                | Code::ExecutionAlreadyTerminal,
            ),
        ) => Called::Refused(told(&response)),
        (400 | 413, _) => Called::Unacceptable { inline_too_large, reason: told(&response) },
        _ => Called::Failed(told(&response)),
    }
}

/// Reads the answer to an upload; of a refusal the status alone is told, since its text may repeat the URL.
pub fn upload(answer: &Answer) -> Result<(), String> {
    match answer {
        Answer::Responded(response) if response.is_success() => Ok(()),
        Answer::Responded(response) => Err(format!("it was answered {}", response.status)),
        Answer::Failed(lost) => Err(format!("{lost}")),
    }
}

/// Reads the answer to a report.
pub fn put_report(answer: &Answer) -> Delivery {
    match answer {
        Answer::Responded(response) if response.is_success() => {
            match decode::<ReportResponse>(response) {
                Some(_) => Delivery::Delivered,
                None => Delivery::Transient("the answer is not JSON of a report".into()),
            }
        }
        Answer::Responded(_) | Answer::Failed(_) => undelivered(answer),
    }
}

/// Reads the answer to the deletion of a report; what is not there is deleted.
pub fn delete_report(answer: &Answer) -> Delivery {
    match answer {
        Answer::Responded(response) if response.is_success() => Delivery::Delivered,
        Answer::Responded(response)
            if (response.status, problem::read(response).code)
                == (404, Some(Code::ReportNotFound)) =>
        {
            Delivery::Delivered
        }
        Answer::Responded(_) | Answer::Failed(_) => undelivered(answer),
    }
}

fn undelivered(answer: &Answer) -> Delivery {
    let response = match answer {
        Answer::Failed(failure) => return Delivery::Transient(format!("{failure}")),
        Answer::Responded(response) => response,
    };
    match (response.status, problem::read(response).code) {
        (400, Some(Code::InvalidReport)) => Delivery::Invalid(told(response)),
        (501, Some(Code::ReportsNotProvisioned)) => Delivery::NotProvisioned,
        _ => Delivery::Transient(told(response)),
    }
}

/// Reads the answer to a heartbeat.
pub fn fetch<T: for<'t> Deserialize<'t>>(answer: &Answer) -> Fetched<T> {
    fetched(answer, |body| json::decode_tolerant(body))
}

fn fetched<T>(answer: &Answer, read: impl Fn(&[u8]) -> Result<T, json::Fault>) -> Fetched<T> {
    let response = match answer {
        Answer::Failed(failure) => return Fetched::Failed(format!("{failure}")),
        Answer::Responded(response) => response,
    };
    if response.is_success() {
        return match read(&response.body) {
            Ok(value) => Fetched::Got(value),
            Err(fault) => Fetched::Failed(format!("the answer is unusable: {fault}")),
        };
    }
    match (response.status, problem::read(response).code) {
        (401, _) => Fetched::Unauthorized(told(response)),
        (400, Some(Code::ClockSkew)) => Fetched::ClockSkew(told(response)),
        _ => Fetched::Failed(told(response)),
    }
}

/// Reads the answer to a pull; what is known is not wiped by an object that is no snapshot.
pub fn pull(answer: &Answer) -> Fetched<Pulled> {
    let body = match answer {
        Answer::Responded(response) => response.body.as_slice(),
        Answer::Failed(_) => &[],
    };
    match fetched(answer, pulled::read) {
        Fetched::Got(pulled)
            if pulled.snapshot == Snapshot::default() && !snapshot::is_one(body) =>
        {
            Fetched::Failed("the answer is unusable: it is no state snapshot".into())
        }
        other @ (Fetched::Got(_)
        | Fetched::Unauthorized(_)
        | Fetched::ClockSkew(_)
        | Fetched::Failed(_)) => other,
    }
}

fn decode<T: for<'t> Deserialize<'t>>(response: &Response) -> Option<T> {
    json::decode_tolerant(&response.body).ok()
}

/// When the answer was written, by the clock of who wrote it.
pub fn date(answer: &Answer) -> Option<Timestamp> {
    match answer {
        Answer::Responded(response) => retry_after::http_date(response.headers.first("date")?),
        Answer::Failed(_) => None,
    }
}

/// The wait that a busy control plane asks for before the next call.
pub fn named_wait(answer: &Answer, wall: Wall) -> Option<Duration> {
    match answer {
        Answer::Responded(response) if matches!(response.status, 429 | 503) => {
            asked_wait(response, wall)
        }
        Answer::Responded(_) | Answer::Failed(_) => None,
    }
}

/// The wait that an answer asks for, if it says so in a way that counts.
fn asked_wait(response: &Response, wall: Wall) -> Option<Duration> {
    retry_after::parse(response.headers.first("retry-after")?, wall)
}

/// An error answer that is met again later: a control plane with too much to do says when.
fn trouble(response: &Response, wall: Wall) -> Trouble {
    let is_busy = matches!(response.status, 429 | 503);
    let retry_after = if is_busy { asked_wait(response, wall) } else { None };
    Trouble { reason: told(response), retry_after }
}

/// An error answer in words, with the id by which the server's log has it.
fn told(response: &Response) -> String {
    let seen = problem::read(response);
    let mut text = format!("{}", response.status);
    for part in
        [seen.code.as_ref().map(Code::as_str), Some(seen.detail.as_str())].into_iter().flatten()
    {
        if !part.is_empty() {
            text.push_str(": ");
            text.push_str(part);
        }
    }
    if !seen.correlation_id.is_empty() {
        text.push_str(&format!(" (correlation id {})", seen.correlation_id));
    }
    text
}
