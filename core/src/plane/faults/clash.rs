//! The members of a rule that do nothing alone, and those that contradict each other, each with the reason.
//!
//! Specification: `decisions.md` sections 6 and 7 (`/test/faults`).

use super::rule::{Refusal, said};
use crate::wire::faults::FaultRule;

const UNANSWERED: &str = "nothing of an answer is sent";
const ONE_END: &str = "a request is lost in one way only";
const NO_BODY: &str = "behind the head nothing is sent";
const ONE_BODY: &str = "the body of the answer is replaced by one broken chunk";
const NOT_ASKED: &str = "the answer is replaced and no route looks at the clock";
const OTHER_RULE: &str = "one rule concerns either answers or what a stream sends; make it two";
const ENDLESS: &str = "no answer is ever sent, and none can be held back";

/// Refuses a rule whose members do not go together.
pub(super) fn check(text: &FaultRule) -> Result<(), Refusal> {
    let of_answer = answer_members(text);
    let of_stream = stream_members(text);
    let first = |members: &[(&'static str, bool)]| {
        members.iter().find(|(_, given)| *given).map(|(name, _)| *name)
    };
    if let (Some(answer), Some(stream)) = (first(&of_answer), first(&of_stream)) {
        return Err(Refusal::Contradiction(answer, stream, OTHER_RULE));
    }
    if of_stream.iter().all(|(_, given)| *given) {
        return Err(Refusal::Contradiction(
            "corrupt_signature",
            "stream",
            "each is a rule by itself",
        ));
    }
    if first(&of_stream).is_some() && text.method.as_deref().is_some_and(|name| name != "GET") {
        return Err(Refusal::Contradiction("stream", "method", "streams are opened by GET"));
    }
    alone(text)?;
    if let Some((one, other, why)) = clash(text) {
        return Err(Refusal::Contradiction(one.name(), other.name(), why));
    }
    match first(&of_answer).or_else(|| first(&of_stream)) {
        Some(_) => Ok(()),
        None => Err(Refusal::Idle),
    }
}

fn answer_members(text: &FaultRule) -> [(&'static str, bool); 12] {
    Member::ALL.map(|member| (member.name(), member.is_given(text)))
}

fn stream_members(text: &FaultRule) -> [(&'static str, bool); 2] {
    [("corrupt_signature", said(text.corrupt_signature)), ("stream", text.stream.is_some())]
}

fn alone(text: &FaultRule) -> Result<(), Refusal> {
    let status = text.status;
    if text.seed.is_some() && text.probability.is_none() {
        return Err(Refusal::Alone("seed", "it is for the draws of a probability"));
    }
    if text.code.is_some() && status.is_none_or(|status| status < 400) {
        return Err(Refusal::Alone("code", "give a status of 400 or more with it"));
    }
    if text.retry_after.is_some() && status.is_none() {
        return Err(Refusal::Alone("retry_after", "give a status with it"));
    }
    Ok(())
}

/// A member that concerns answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Delay,
    Status,
    Code,
    RetryAfter,
    ContentType,
    Drop,
    Reset,
    Never,
    Truncate,
    Dribble,
    Malformed,
    ClockOffset,
}

/// What of an answer can be seen.
const SEEN: [Member; 8] = [
    Member::Status,
    Member::Code,
    Member::RetryAfter,
    Member::ContentType,
    Member::Truncate,
    Member::Dribble,
    Member::Malformed,
    Member::ClockOffset,
];

type Clash = (Member, &'static [Member], &'static str);

const CLASHES: [Clash; 8] = [
    (Member::Drop, &[Member::Reset, Member::Never], ONE_END),
    (Member::Reset, &[Member::Never], ONE_END),
    (Member::Never, &[Member::Delay], ENDLESS),
    (Member::Drop, &SEEN, UNANSWERED),
    (Member::Never, &SEEN, UNANSWERED),
    (Member::Reset, &[Member::Truncate, Member::Dribble, Member::Malformed], NO_BODY),
    (Member::Malformed, &[Member::Truncate, Member::Dribble], ONE_BODY),
    (Member::ClockOffset, &[Member::Status], NOT_ASKED),
];

/// Before the head nothing is seen at all.
const RESET_BEFORE: Clash = (Member::Reset, &SEEN, UNANSWERED);

fn clash(text: &FaultRule) -> Option<(Member, Member, &'static str)> {
    let before = text.reset.as_deref() == Some("before_headers");
    let clashes = before.then_some(RESET_BEFORE).into_iter().chain(CLASHES);
    let mut given = clashes.filter(|(one, _, _)| one.is_given(text));
    given.find_map(|(one, others, why)| {
        let other = others.iter().find(|other| other.is_given(text))?;
        Some((one, *other, why))
    })
}

impl Member {
    const ALL: [Self; 12] = [
        Self::Delay,
        Self::Status,
        Self::Code,
        Self::RetryAfter,
        Self::ContentType,
        Self::Drop,
        Self::Reset,
        Self::Never,
        Self::Truncate,
        Self::Dribble,
        Self::Malformed,
        Self::ClockOffset,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay_ms",
            Self::Status => "status",
            Self::Code => "code",
            Self::RetryAfter => "retry_after",
            Self::ContentType => "content_type",
            Self::Drop => "drop",
            Self::Reset => "reset",
            Self::Never => "never",
            Self::Truncate => "truncate_after",
            Self::Dribble => "dribble_ms",
            Self::Malformed => "malformed_chunk",
            Self::ClockOffset => "clock_offset_ms",
        }
    }

    fn is_given(self, text: &FaultRule) -> bool {
        match self {
            Self::Delay => text.delay_ms.is_some(),
            Self::Status => text.status.is_some(),
            Self::Code => text.code.is_some(),
            Self::RetryAfter => text.retry_after.is_some(),
            Self::ContentType => text.content_type.is_some(),
            Self::Drop => said(text.drop),
            Self::Reset => text.reset.is_some(),
            Self::Never => said(text.never),
            Self::Truncate => text.truncate_after.is_some(),
            Self::Dribble => text.dribble_ms.is_some(),
            Self::Malformed => said(text.malformed_chunk),
            Self::ClockOffset => text.clock_offset_ms.is_some(),
        }
    }
}
