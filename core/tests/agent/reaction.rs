//! The table "Agent reaction to control-plane registration answers" as one loop over every status and every code, seen
//! at the whole agent: what it does next, and what the operator is told.

use meshward_core::{
    agent::{Answer, Effect, Exit, Failure, Lost, TokenSources},
    wire::{http::Response, problem::Code},
};

use crate::{
    bench::{TOKEN, echoing, problem, seconds, sent, token_in_file, token_value},
    register::{posting, wait},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    Stop,
    Retry,
    RetryAfterAsked,
    /// A 2xx: the registration took place.
    Accepted,
}

/// The specification's table, and `decisions.md` for what it does not name.
const fn reaction(status: u16) -> Reaction {
    match status {
        200..=299 => Reaction::Accepted,
        429 => Reaction::RetryAfterAsked,
        408 | 500..=599 => Reaction::Retry,
        _ => Reaction::Stop,
    }
}

/// Where the operator is told that the token is used up.
fn is_spent(status: u16, code: &str) -> bool {
    let spending = matches!(code, "token_consumed" | "nonce_collision");
    spending && (400..500).contains(&status) && reaction(status) == Reaction::Stop
}

fn codes() -> Vec<&'static str> {
    let known = Code::TABLE.iter().map(|(_, _, text)| *text);
    known.chain(["", "a_code_of_the_future"]).collect()
}

#[test]
fn every_status_with_every_code_has_the_reaction_of_the_table() {
    for status in 300..=599 {
        for code in codes() {
            reacts(status, code);
        }
    }
}

fn reacts(status: u16, code: &str) {
    let (mut bench, call, request) = posting(token_in_file());
    let Answer::Responded(response) = problem(status, code) else { unreachable!("a response") };
    let effects = bench.answer(call, Answer::Responded(response.with("retry-after", "7")));
    let told: Vec<_> = effects.iter().filter(|one| matches!(one, Effect::Tell(_))).collect();
    let exit = effects.iter().find(|one| matches!(one, Effect::Exit(_)));
    match reaction(status) {
        Reaction::Stop => {
            let Some(Effect::Exit(Exit::Refused { status: seen, reason, .. })) = exit else {
                panic!("{status} {code}: {effects:?}")
            };
            assert_eq!(*seen, status);
            let tells = reason.starts_with(&status.to_string()) && reason.contains("c0ffee");
            assert!(tells, "{reason}");
            assert_eq!(told.len(), usize::from(is_spent(status, code)), "{status} {code}");
            assert_eq!(bench.agent.wakeup(), None);
        }
        Reaction::Retry | Reaction::RetryAfterAsked => {
            assert_eq!((exit, told.len(), sent(&effects).len()), (None, 1, 0), "{status} {code}");
            let expected = if reaction(status) == Reaction::Retry { 1 } else { 7 };
            assert_eq!(wait(&bench), seconds(expected), "{status} {code}");
            bench.pass(seconds(expected));
            let again = sent(&bench.give(meshward_core::agent::Input::Ticked));
            assert_eq!(again[0].1, request, "the same nonce and key");
        }
        Reaction::Accepted => panic!("{status} is no success"),
    }
}

#[test]
fn a_network_error_is_retried_with_backoff() {
    for failure in [Failure::Unreachable, Failure::TimedOut, Failure::Oversized { status: 503 }] {
        let (mut bench, call, _) = posting(token_value());
        bench.answer(call, Answer::Failed(Lost::from(failure)));
        assert_eq!(wait(&bench), seconds(1), "{failure}");
    }
}

/// What the operator is told, at error level, before the process ends.
fn advice(token: TokenSources, answer: Answer) -> String {
    let (mut bench, call, _) = posting(token);
    let effects = bench.answer(call, answer);
    let [Effect::Tell(notice), Effect::Exit(_)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(notice.level, meshward_core::agent::Level::Error);
    notice.text.clone()
}

#[test]
fn a_used_up_token_is_told_with_its_reason_and_the_place_for_a_new_one() {
    let rows = [
        (problem(403, "token_consumed"), "perhaps by an earlier registration"),
        (problem(403, "nonce_collision"), "the nonce of the first try was known already"),
        (Answer::Responded(Response::empty(201)), "and yet there is no identity"),
        (oversized(201), "and yet there is no identity"),
    ];
    for (answer, why) in rows {
        let told = advice(token_in_file(), answer.clone());
        assert!(told.contains(why) && told.contains("used up"), "{told}");
        assert!(told.ends_with("put it into the file of registration.token_file"), "{told}");
        let told = advice(token_value(), answer);
        assert!(told.ends_with("put it into registration.token_value"), "{told}");
    }
}

#[test]
fn a_nonce_that_a_later_try_meets_again_was_accepted_by_an_earlier_one() {
    let (mut bench, call, _) = posting(token_value());
    bench.answer(call, Answer::Failed(Lost::from(Failure::TimedOut)));
    bench.pass(wait(&bench));
    let again = sent(&bench.give(meshward_core::agent::Input::Ticked));
    let effects = bench.answer(again[0].0, problem(403, "nonce_collision"));
    let [Effect::Tell(notice), Effect::Exit(_)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(notice.text.contains("accepted and its answer lost"), "{notice}");
}

fn oversized(status: u16) -> Answer {
    Answer::Failed(Lost::from(Failure::Oversized { status }))
}

#[test]
fn an_answer_that_is_too_large_is_taken_by_its_status() {
    let exit = |status| {
        let (mut bench, call, _) = posting(token_value());
        let exit = bench.answer(call, oversized(status)).pop();
        match exit {
            Some(Effect::Exit(exit)) => Some(exit),
            _ => None,
        }
    };
    for status in [200, 201] {
        let Some(Exit::Unusable { reason }) = exit(status) else { panic!("{status}") };
        assert_eq!(reason.to_string(), "it is too large");
    }
    for status in [302, 400, 403, 422] {
        let Some(Exit::Refused { status: seen, .. }) = exit(status) else { panic!("{status}") };
        assert_eq!(seen, status);
    }
    for status in [408, 429, 500, 503] {
        assert_eq!(exit(status), None, "{status} is tried again");
    }
}

#[test]
fn a_detail_that_echoes_the_token_is_told_without_it() {
    for status in [401, 403, 404, 409, 422] {
        let (mut bench, call, _) = posting(token_value());
        let effects = bench.answer(call, echoing(status, &format!("no {TOKEN}")));
        assert!(!format!("{effects:?}").contains(TOKEN), "{effects:?}");
    }
}
