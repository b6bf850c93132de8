//! The table "Agent reaction to control-plane registration answers" as one loop over every status and every code, seen
//! at the whole agent: what it does next, and what the operator is told.

use meshward_core::{
    agent::{Answer, Effect, Exit, Failure, Input, Lost, TokenSources},
    wire::{http::Response, identity::Unusable, problem::Code},
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
            let again = sent(&bench.give(Input::Ticked));
            assert_eq!(again[0].1, request, "the same nonce and key");
        }
        Reaction::Accepted => panic!("{status} is no success"),
    }
}

#[test]
fn a_network_error_is_retried_with_backoff() {
    for failure in [Failure::Unreachable, Failure::TimedOut] {
        let (mut bench, call, _) = posting(token_value());
        bench.answer(call, Answer::Failed(Lost::from(failure)));
        assert_eq!(wait(&bench), seconds(1), "{failure}");
    }
}

#[test]
fn an_answer_too_large_to_be_read_has_the_reaction_of_its_status() {
    for status in 200..=599 {
        let (mut bench, call, _) = posting(token_in_file());
        let cause = "longer than 9 bytes".to_string();
        let lost = Lost { failure: Failure::Oversized { status }, cause };
        let effects = bench.answer(call, Answer::Failed(lost));
        let exit = effects.iter().find_map(|one| {
            let Effect::Exit(exit) = one else { return None };
            Some(exit)
        });
        match (reaction(status), exit) {
            (Reaction::Accepted, Some(Exit::Unusable { reason })) => {
                assert_eq!(*reason, Unusable::Oversized, "{status}");
                let used_up = |one: &Effect| matches!(one, Effect::Tell(told) if told.text.contains("used up"));
                assert!(effects.iter().any(used_up), "{effects:?}");
                assert_eq!(bench.agent.wakeup(), None, "never retried");
            }
            (Reaction::Stop, Some(Exit::Refused { status: seen, reason, .. })) => {
                assert_eq!(*seen, status);
                assert!(reason.contains("longer than 9 bytes"), "{reason}");
            }
            (Reaction::Retry | Reaction::RetryAfterAsked, None) => {
                assert_eq!(wait(&bench), seconds(1), "{status}");
            }
            (reaction, exit) => panic!("{status} is {reaction:?}, not {exit:?}"),
        }
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
        (problem(403, "nonce_collision"), "although this process has sent it once"),
        (Answer::Responded(Response::empty(201)), "and yet there is no identity"),
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
fn a_nonce_that_was_sent_before_is_told_as_an_answer_that_was_lost_and_one_that_was_not_is_not() {
    let first = advice(token_value(), problem(403, "nonce_collision"));
    assert!(!first.contains("earlier try"), "{first}");
    let (mut bench, call, _) = posting(token_value());
    bench.answer(call, Answer::Failed(Lost::from(Failure::TimedOut)));
    bench.pass(seconds(1));
    let (call, _) = sent(&bench.give(Input::Ticked)).remove(0);
    let effects = bench.answer(call, problem(403, "nonce_collision"));
    let [Effect::Tell(told), Effect::Exit(_)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(told.text.contains("an earlier try to register was accepted"), "{told}");
}

#[test]
fn a_detail_that_echoes_the_token_is_told_without_it() {
    for status in [401, 403, 404, 409, 422] {
        let (mut bench, call, _) = posting(token_value());
        let effects = bench.answer(call, echoing(status, &format!("no {TOKEN}")));
        assert!(!format!("{effects:?}").contains(TOKEN), "{effects:?}");
    }
}
