//! One rule of misbehaviour: its members judged one by one, then against each other.
//!
//! Specification: `decisions.md` sections 6 and 7 (`/test/faults`).

use alloc::string::{String, ToString as _};
use core::time::Duration;

use thiserror::Error;

use super::{
    act::{Act, Answer, Begin, Bend, Deed, Loss, Substitute},
    odds::Odds,
};
use crate::{
    plane::{
        manner::{Ending, Manner},
        pattern::{self, Pattern},
    },
    wire::{
        faults::FaultRule,
        http::{Body, UNREADABLE},
        json::{self, Fault, Raw},
        problem::{CODE_MAX, Code},
    },
};

/// How often one rule acts at most.
pub const TIMES_MAX: u32 = 1_000_000;
/// The longest that an answer is held back.
pub const DELAY_MAX: Duration = Duration::from_secs(600);
/// The longest pause before one byte.
pub const DRIBBLE_MAX: Duration = Duration::from_secs(10);
/// The most bytes of a body that are let through before the cut.
pub const TRUNCATE_MAX: u64 = 1 << 30;
/// How far the clock of the server may be set apart for a request, either direction.
pub const CLOCK_OFFSET_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// The longest `retry_after` and `content_type`, in characters.
pub const FIELD_MAX: usize = 256;

/// Why a rule is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the body is over 16 MiB")]
    TooLarge,
    #[error("{UNREADABLE}")]
    Unreadable,
    #[error("the body is not a fault rule: {0}")]
    Malformed(Fault),
    #[error("{0}")]
    Pattern(pattern::Malformed),
    #[error("times must be from 1 to {TIMES_MAX}; without it a rule acts once")]
    Times,
    #[error("probability must be a number above 0, at most 1")]
    Probability,
    #[error("delay_ms goes up to {}", DELAY_MAX.as_millis())]
    Delay,
    #[error("dribble_ms must be from 1 to {}", DRIBBLE_MAX.as_millis())]
    Dribble,
    #[error("status must be from 200 to 599")]
    Status,
    #[error("code must be 1 to {CODE_MAX} printable ASCII characters")]
    Code,
    #[error("retry_after must be whole seconds, or 1 to {FIELD_MAX} printable ASCII characters")]
    RetryAfter,
    #[error("content_type must be 1 to {FIELD_MAX} printable ASCII characters")]
    ContentType,
    #[error("truncate_after goes up to {TRUNCATE_MAX}")]
    Truncate,
    #[error("clock_offset_ms goes up to 366 days, either direction")]
    ClockOffset,
    #[error("reset must be before_headers or after_headers")]
    Reset,
    #[error(
        "stream must be one of bom, cr, crlf, split, stall, stale_issued_at, bad_signature, duplicate and missing"
    )]
    Stream,
    #[error("{0} does nothing alone: {1}")]
    Alone(&'static str, &'static str),
    #[error("{0} contradicts {1}: {2}")]
    Contradiction(&'static str, &'static str, &'static str),
    #[error("the rule says nothing to do, such as delay_ms, status or drop")]
    Idle,
    #[error("there are {} rules that may still act; delete some of them first", super::RULES_MAX)]
    Full,
    #[error("no rule has this id")]
    Unknown,
}

/// A rule that was read: what it concerns, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    pub(super) text: FaultRule,
    pub(super) pattern: Pattern,
    pub(super) times: u32,
    /// Always, where there are none.
    pub(super) odds: Option<Odds>,
    pub(super) act: Act,
}

/// Reads a rule, member by member.
pub fn read(body: &Body) -> Result<Read, Refusal> {
    let bytes = body.whole(Refusal::TooLarge, Refusal::Unreadable)?;
    let mut text: FaultRule = json::decode_strict(bytes).map_err(Refusal::Malformed)?;
    let pattern = Pattern::parse(text.method.as_deref(), text.path.as_deref());
    let pattern = pattern.map_err(Refusal::Pattern)?;
    let times = text.times.unwrap_or(1);
    if !(1..=TIMES_MAX).contains(&times) {
        return Err(Refusal::Times);
    }
    text.times = Some(times);
    let odds = text.probability.as_ref().map(|raw| odds(raw, text.seed)).transpose()?;
    super::clash::check(&text)?;
    let act = act(&text)?;
    Ok(Read { text, pattern, times, odds, act })
}

fn odds(probability: &Raw, seed: Option<u64>) -> Result<Odds, Refusal> {
    let probability: f64 = probability.text().parse().map_err(|_| Refusal::Probability)?;
    Odds::of(probability, seed).ok_or(Refusal::Probability)
}

fn act(text: &FaultRule) -> Result<Act, Refusal> {
    let manner = manner(text)?;
    let answer = Answer {
        substitute: substitute(text)?,
        content_type: text.content_type.as_deref().map(content_type).transpose()?,
        clock_offset_ms: clock_offset(text)?,
        manner,
    };
    if let Some(stream) = &text.stream {
        return on_stream(stream).ok_or(Refusal::Stream);
    }
    if said(text.corrupt_signature) {
        return Ok(Act::Frame(Bend::BadSignature));
    }
    let delay = manner.delay;
    Ok(Act::Request(match (said(text.drop), said(text.never), resets_before(text)?) {
        (true, _, _) => Deed::Lose(Loss::Close { delay }),
        (_, true, _) => Deed::Lose(Loss::Never),
        (_, _, true) => Deed::Lose(Loss::Reset { delay }),
        (false, false, false) => Deed::Answer(answer),
    }))
}

fn on_stream(name: &str) -> Option<Act> {
    Some(match name {
        "bom" => Act::Begin(Begin::Bom),
        "stall" => Act::Begin(Begin::Stall),
        "cr" => Act::Frame(Bend::Cr),
        "crlf" => Act::Frame(Bend::Crlf),
        "split" => Act::Frame(Bend::Split),
        "stale_issued_at" => Act::Frame(Bend::StaleIssuedAt),
        "bad_signature" => Act::Frame(Bend::BadSignature),
        "duplicate" => Act::Frame(Bend::Duplicate),
        "missing" => Act::Frame(Bend::Missing),
        _ => return None,
    })
}

fn resets_before(text: &FaultRule) -> Result<bool, Refusal> {
    match text.reset.as_deref() {
        Some("before_headers") => Ok(true),
        Some("after_headers") | None => Ok(false),
        Some(_) => Err(Refusal::Reset),
    }
}

fn manner(text: &FaultRule) -> Result<Manner, Refusal> {
    let delay = Duration::from_millis(text.delay_ms.unwrap_or_default());
    if delay > DELAY_MAX {
        return Err(Refusal::Delay);
    }
    let dribble = text.dribble_ms.map(Duration::from_millis);
    if dribble.is_some_and(|pause| pause.is_zero() || pause > DRIBBLE_MAX) {
        return Err(Refusal::Dribble);
    }
    let ending = match text.truncate_after {
        Some(after) if after > TRUNCATE_MAX => return Err(Refusal::Truncate),
        Some(after) => Ending::Truncated { after },
        None if said(text.malformed_chunk) => Ending::MalformedChunk,
        None if text.reset.is_some() => Ending::Reset,
        None => Ending::Whole,
    };
    Ok(Manner { delay, dribble: dribble.unwrap_or_default(), ending })
}

fn substitute(text: &FaultRule) -> Result<Option<Substitute>, Refusal> {
    let Some(status) = text.status else { return Ok(None) };
    if !(200..=599).contains(&status) {
        return Err(Refusal::Status);
    }
    let code = text.code.as_deref();
    if code.is_some_and(|code| !is_field(code, CODE_MAX)) {
        return Err(Refusal::Code);
    }
    let retry_after = text.retry_after.as_ref().map(retry_after).transpose()?;
    Ok(Some(Substitute { status, code: code.map(Code::parse), retry_after }))
}

fn retry_after(raw: &Raw) -> Result<String, Refusal> {
    let text = raw.text();
    let field = match text.parse::<u64>() {
        Ok(seconds) => seconds.to_string(),
        Err(_) => json::decode_strict(text.as_bytes()).map_err(|_| Refusal::RetryAfter)?,
    };
    if is_field(&field, FIELD_MAX) { Ok(field) } else { Err(Refusal::RetryAfter) }
}

fn content_type(text: &str) -> Result<String, Refusal> {
    if is_field(text, FIELD_MAX) { Ok(text.to_string()) } else { Err(Refusal::ContentType) }
}

fn clock_offset(text: &FaultRule) -> Result<i64, Refusal> {
    let offset = text.clock_offset_ms.unwrap_or_default();
    match Duration::from_millis(offset.unsigned_abs()) <= CLOCK_OFFSET_MAX {
        true => Ok(offset),
        false => Err(Refusal::ClockOffset),
    }
}

/// A member that is false is as one left out.
pub(super) fn said(member: Option<bool>) -> bool {
    member == Some(true)
}

/// Whether a header field can hold the text as it is.
fn is_field(text: &str, max: usize) -> bool {
    let printable = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    (1..=max).contains(&text.len()) && printable && text.trim() == text
}
