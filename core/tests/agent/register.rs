//! Registration through the whole agent: what it needs, what it sends, and how long it tries.

use std::time::Duration;

use meshward_core::{
    agent::{
        Answer, Effect, Exit, Gathered, Input, OrderKind, Stored, TokenFile, TokenSource,
        TokenSources, Unprepared, Wanted,
        register::{BACKOFF, TOKEN_MAX},
    },
    backoff::Jitter,
    ids::CallId,
    legible::steers,
    wire::{
        grammar::Uuid,
        http::{Body, Request, Response},
    },
};
use proptest::prelude::*;

use crate::{
    bench::{
        Bench, NODE, TOKEN, echoing, gathered, make_key, nsk, problem, public_key,
        registration_body, responded, seconds, secret, sent, sent_to, settings, token_in_file,
        token_value,
    },
    support,
};

/// An agent that found nothing on disk and looks for what it needs.
fn gathering() -> Bench {
    let mut bench = Bench::new(settings());
    let effects = bench.give(Input::Restarted(Box::default()));
    assert_eq!(effects, [Effect::Gather]);
    bench
}

fn gather(bench: &mut Bench, gathered: Gathered) -> Vec<Effect> {
    bench.give(Input::Gathered(Box::new(gathered)))
}

/// An agent whose registration is on its way.
pub(crate) fn posting(token: TokenSources) -> (Bench, CallId, Request) {
    let mut bench = gathering();
    assert_eq!(gather(&mut bench, gathered(token)), [make_key()]);
    let effects = bench.give(Input::Stored(Stored::KeyMade(public_key(1))));
    let (call, request) = sent_to(&effects, "/v1/register");
    (bench, call, request)
}

pub(crate) fn accepted() -> Answer {
    responded(201, &registration_body(nsk().expose()))
}

/// The exit among orders.
fn exit(effects: &[Effect]) -> Option<Exit> {
    effects.iter().find_map(|effect| match effect {
        Effect::Exit(exit) => Some(exit.clone()),
        Effect::Gather
        | Effect::Store(_)
        | Effect::Keep { .. }
        | Effect::Send { .. }
        | Effect::Act(_)
        | Effect::Reply { .. }
        | Effect::Stream(_)
        | Effect::Tell(_) => None,
    })
}

pub(crate) fn without_notices(effects: Vec<Effect>) -> Vec<Effect> {
    effects.into_iter().filter(|effect| !matches!(effect, Effect::Tell(_))).collect()
}

fn body(request: &Request) -> String {
    let Body::Whole(bytes) = &request.body else { panic!("a whole body") };
    String::from_utf8(bytes.clone()).expect("a text")
}

/// The wait the agent asks for.
pub(crate) fn wait(bench: &Bench) -> Duration {
    bench.agent.wakeup().expect("another attempt is due").since(bench.now.mono)
}

pub(crate) fn sources(letters: &str) -> TokenSources {
    let one = |letter: char| letters.contains(letter).then(|| secret(&letter.to_string()));
    TokenSources {
        value: one('v'),
        file: one('f').map_or(TokenFile::Missing, TokenFile::Text),
        environment: one('e'),
        metadata: one('m'),
        tried: vec!["here".into(), "there".into()],
    }
}

#[test]
fn the_first_token_that_is_not_empty_wins() {
    for (letters, winner) in [("vfem", "v"), ("fem", "f"), ("em", "e"), ("m", "m")] {
        let (_, _, request) = posting(sources(letters));
        let member = format!(r#""bootstrap_token":"{winner}""#);
        assert!(body(&request).contains(&member), "{letters}");
    }
    let blank = TokenSources {
        value: Some(secret("")),
        file: TokenFile::Text(secret(" \n")),
        environment: Some(secret("")),
        ..sources("m")
    };
    assert!(body(&posting(blank).2).contains(r#""bootstrap_token":"m""#));
}

#[test]
fn white_space_around_the_token_of_a_file_is_trimmed() {
    let token = TokenSources { file: TokenFile::Text(secret("\n a b \n")), ..sources("") };
    assert!(body(&posting(token).2).contains(r#""bootstrap_token":"a b""#));
}

#[test]
fn a_lack_ends_the_process_before_any_request_and_names_itself() {
    let unreadable = || TokenFile::Unreadable("/a: denied".into());
    let value = |text: &str| TokenSources { value: Some(secret(text)), ..sources("") };
    let rows = [
        (gathered(sources("")), Unprepared::NoToken("here, there".into())),
        (
            gathered(TokenSources { file: unreadable(), ..sources("em") }),
            Unprepared::TokenFile("/a: denied".into()),
        ),
        (gathered(value(&"x".repeat(TOKEN_MAX + 1))), Unprepared::TokenRule(TokenSource::Value)),
        (gathered(value("tab\there")), Unprepared::TokenRule(TokenSource::Value)),
        (gathered(value("del\x7f")), Unprepared::TokenRule(TokenSource::Value)),
        (gathered(value("é")), Unprepared::TokenRule(TokenSource::Value)),
        (
            Gathered { project_id: "".into(), ..gathered(token_value()) },
            Unprepared::Unset("registration.project_id"),
        ),
        (
            Gathered { resource_handle: "".into(), ..gathered(token_value()) },
            Unprepared::Unset("registration.resource_handle"),
        ),
        (
            Gathered { nonce: Err("no entropy".into()), ..gathered(token_value()) },
            Unprepared::Nonce("no entropy".into()),
        ),
    ];
    for (gathered, lack) in rows {
        let mut bench = gathering();
        let effects = gather(&mut bench, gathered);
        assert_eq!(effects, [Effect::Exit(Exit::Unprepared(lack))]);
        assert_eq!(bench.agent.wakeup(), None);
    }
}

#[test]
fn a_token_of_512_printable_bytes_passes_and_a_value_hides_an_unreadable_file() {
    let longest = "~".repeat(TOKEN_MAX - 1) + " ";
    let token = TokenSources {
        value: Some(secret(&longest)),
        file: TokenFile::Unreadable("/a: denied".into()),
        ..sources("")
    };
    assert!(body(&posting(token).2).contains(&longest));
}

#[test]
fn a_key_that_cannot_be_written_ends_the_process_before_any_request() {
    let mut bench = gathering();
    gather(&mut bench, gathered(token_value()));
    let reason = "disk full".to_string();
    let order = OrderKind::MakeKey;
    let stored = Stored::Failed { order, jitter: Jitter::NONE, reason: reason.clone() };
    let effects = bench.give(Input::Stored(stored));
    assert_eq!(effects, [Effect::Exit(Exit::Unprepared(Unprepared::Key(reason)))]);
}

#[test]
fn the_request_has_its_members_and_no_authorization() {
    let (_, _, request) = posting(token_value());
    assert_eq!(request.headers.first("authorization"), None);
    assert_eq!(request.headers.first("content-type"), Some("application/json"));
    let expected = format!(
        r#"{{"project_id":"project","resource_handle":"handle","bootstrap_token":"{TOKEN}","nonce":"{}","public_key":"{}"}}"#,
        Uuid::drawn([3; 16]),
        public_key(1),
    );
    assert_eq!(body(&request), expected);
}

#[test]
fn a_requested_resource_id_is_sent_when_there_is_one() {
    let mut bench = gathering();
    let wish = Gathered { requested_resource_id: "wish".into(), ..gathered(token_value()) };
    gather(&mut bench, wish);
    let effects = bench.give(Input::Stored(Stored::KeyMade(public_key(1))));
    let (_, request) = sent_to(&effects, "/v1/register");
    assert!(body(&request).ends_with(r#""requested_resource_id":"wish"}"#));
}

#[test]
fn every_attempt_sends_the_same_request_under_the_backoff_of_the_specification() {
    let (mut bench, mut call, first) = posting(token_value());
    for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
        let effects = bench.answer(call, problem(503, "pool_exhausted"));
        assert_eq!(sent(&effects), []);
        assert_eq!(wait(&bench), seconds(expected));
        bench.pass(seconds(expected));
        let (next, again) = sent_to(&bench.give(Input::Ticked), "/v1/register");
        assert_eq!(again, first, "same nonce, same key");
        call = next;
    }
}

#[test]
fn a_refusal_ends_the_process_with_its_status_and_code() {
    let (mut bench, call, _) = posting(token_value());
    let effects = bench.answer(call, problem(403, "token_consumed"));
    let Some(Exit::Refused { status, code, reason }) = exit(&effects) else {
        panic!("{effects:?}")
    };
    assert_eq!(
        (status, code.map(|code| code.as_str().to_string())),
        (403, Some("token_consumed".into()))
    );
    assert!(reason.contains("c0ffee") && !reason.contains(TOKEN), "{reason}");
}

#[test]
fn what_the_control_plane_says_is_told_on_one_line_and_without_the_token() {
    let detail = format!("no {TOKEN} here\\n2026 ERROR forged \\u001b[31m\\u202e\\u009b");
    let (mut bench, call, _) = posting(token_value());
    let effects = bench.answer(call, echoing(403, &detail));
    let Some(Exit::Refused { reason, .. }) = exit(&effects) else { panic!("{effects:?}") };
    assert!(reason.contains("no <secret> here"), "{reason}");
    let (mut bench, call, _) = posting(token_value());
    let effects = bench.answer(call, echoing(503, &detail));
    let [Effect::Tell(notice)] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(notice.text.contains("no <secret> here") && !notice.text.contains(TOKEN));
    assert!(!notice.text.contains(steers) && !reason.contains(steers), "{notice}");
}

/// A 429 that asks for a wait, a while after the registration began.
fn limited(after: u64, asked: &str) -> (Bench, Vec<Effect>) {
    let (mut bench, call, _) = posting(token_value());
    bench.pass(seconds(after));
    let response = Response::empty(429).with("retry-after", asked);
    let effects = bench.answer(call, Answer::Responded(response));
    (bench, effects)
}

#[test]
fn a_tick_before_its_time_sends_nothing() {
    let (mut bench, _) = limited(0, "7");
    bench.pass(seconds(7) - Duration::from_nanos(1));
    assert_eq!(bench.give(Input::Ticked), []);
    bench.pass(Duration::from_nanos(1));
    sent_to(&bench.give(Input::Ticked), "/v1/register");
}

#[test]
fn a_stop_waits_for_an_answer_that_would_waste_the_token_and_for_nothing_else() {
    let stopped = [Effect::Exit(Exit::Drained)];
    assert_eq!(gathering().give(Input::Draining), stopped);
    let (mut bench, call, _) = posting(token_value());
    assert_eq!(bench.give(Input::Draining), []);
    assert_eq!(bench.answer(call, accepted()).len(), 1, "the identity is written first");
    let effects = bench.give(Input::Stored(Stored::Persisted));
    assert_eq!(exit(&effects), Some(Exit::Drained));
}

#[test]
fn retry_after_is_honoured_when_its_wait_ends_inside_the_window() {
    for (asked, expected) in [("7", 7), ("299", 299), ("300", 1), ("0", 1), ("soon", 1), ("-1", 1)]
    {
        let (bench, _) = limited(0, asked);
        assert_eq!(wait(&bench), seconds(expected), "Retry-After: {asked}");
    }
    assert_eq!(wait(&limited(280, "19").0), seconds(19));
    assert_eq!(wait(&limited(280, "20").0), seconds(1));
}

#[test]
fn a_registration_gives_up_when_no_further_attempt_fits_the_window() {
    let (bench, _) = limited(298, "");
    assert_eq!(wait(&bench), seconds(1));
    let (bench, effects) = limited(299, "");
    assert!(matches!(exit(&effects), Some(Exit::GaveUp { after, .. }) if after == seconds(299)));
    assert_eq!(bench.agent.wakeup(), None);
}

#[test]
fn a_201_without_a_sound_identity_ends_the_process_and_nothing_is_persisted() {
    let rejected = [
        registration_body("short"),
        registration_body(""),
        registration_body(&nsk().expose()[1..]),
        registration_body(nsk().expose()).replace(NODE, &NODE.to_uppercase()),
        registration_body(nsk().expose()).replace(NODE, "node"),
        "{}".into(),
        String::new(),
    ];
    for body in rejected {
        let (mut bench, call, _) = posting(token_in_file());
        let effects = bench.answer(call, responded(201, &body));
        let [Effect::Tell(told), Effect::Exit(Exit::Unusable { .. })] = effects.as_slice() else {
            panic!("{effects:?}")
        };
        assert!(told.text.contains("used up"), "{told}");
        assert_eq!(bench.agent.identity(), None);
    }
}

#[test]
fn a_token_that_breaks_the_rule_is_told_with_the_source_that_has_it() {
    let bad = || Some(secret("tab\there"));
    let none = || sources("");
    let rows = [
        (TokenSources { value: bad(), ..none() }, "registration.token_value"),
        (
            TokenSources { file: TokenFile::Text(secret("tab\there")), ..none() },
            "the file of registration.token_file",
        ),
        (TokenSources { environment: bad(), ..none() }, "registration.token_env"),
        (TokenSources { metadata: bad(), ..none() }, "the metadata service"),
    ];
    for (token, source) in rows {
        let effects = gather(&mut gathering(), gathered(token));
        let told = exit(&effects).expect("an exit").to_string();
        assert!(told.contains(source) && told.contains("1 to 512 printable ASCII"), "{told}");
    }
}

proptest! {
    #![proptest_config(support::seeds_in("agent_register"))]

    /// Each wait is within 25 percent of the doubled base, and no attempt begins outside the window.
    #[test]
    fn waits_stay_within_their_bounds_and_the_window(
        tries in prop::collection::vec((any::<u16>(), 0_u64..20_000), 1..20),
    ) {
        let (mut bench, mut call, _) = posting(token_value());
        let begun = bench.now.mono;
        for (failures, (chance, flight)) in (0_u32..).zip(tries) {
            bench.pass(Duration::from_millis(flight));
            let jitter = Jitter::drawn(chance);
            let answer = responded(500, "");
            let effects = bench.give(Input::Answered { call, answer, jitter });
            let middle = seconds(60).min(BACKOFF.base * 2_u32.pow(failures.min(6)));
            let Some(due) = bench.agent.wakeup() else {
                let gave_up = matches!(exit(&effects), Some(Exit::GaveUp { .. }));
                prop_assert!(gave_up);
                prop_assert!(bench.now.mono.since(begun) + middle * 5 / 4 >= seconds(300));
                return Ok(());
            };
            let wait = due.since(bench.now.mono);
            prop_assert!(middle * 3 / 4 <= wait && wait <= middle * 5 / 4, "{wait:?} about {middle:?}");
            prop_assert!(due.since(begun) < seconds(300));
            bench.pass(wait);
            call = sent_to(&bench.give(Input::Ticked), "/v1/register").0;
        }
    }
}

fn served(path: &str, answer: Result<&str, &str>) -> Wanted {
    let answer = answer.map(Into::into).map_err(Into::into);
    Wanted::Metadata { path: path.into(), answer }
}

#[test]
fn what_the_metadata_service_holds_is_trimmed_and_sent_and_what_it_lacks_is_empty() {
    let mut bench = gathering();
    let token = TokenSources { metadata: Some(secret(" token\n")), ..sources("") };
    let from_metadata = Gathered {
        project_id: served("/p", Ok("project\n")),
        resource_handle: served("/h", Ok(" handle ")),
        requested_resource_id: served("/r", Ok("")),
        ..gathered(token)
    };
    gather(&mut bench, from_metadata);
    let effects = bench.give(Input::Stored(Stored::KeyMade(public_key(1))));
    let text = body(&sent_to(&effects, "/v1/register").1);
    for member in [
        r#""project_id":"project""#,
        r#""resource_handle":"handle""#,
        r#""bootstrap_token":"token""#,
    ] {
        assert!(text.contains(member), "{member} in {text}");
    }
    assert!(!text.contains("requested_resource_id"));
}

#[test]
fn an_input_that_the_metadata_service_lacks_or_fails_at_ends_the_process_with_its_name() {
    let whole = || gathered(token_value());
    let failed = || served("/x", Err("http://m/x: it answered 500"));
    let unread =
        |setting| Unprepared::Metadata { setting, cause: "http://m/x: it answered 500".into() };
    let rows = [
        (
            Gathered { project_id: served("/p", Ok("")), ..whole() },
            Unprepared::Nowhere { setting: "registration.project_id", path: "/p".into() },
        ),
        (
            Gathered { resource_handle: served("/h", Ok("\n")), ..whole() },
            Unprepared::Nowhere { setting: "registration.resource_handle", path: "/h".into() },
        ),
        (Gathered { project_id: failed(), ..whole() }, unread("registration.project_id")),
        (Gathered { resource_handle: failed(), ..whole() }, unread("registration.resource_handle")),
        (
            Gathered { requested_resource_id: failed(), ..whole() },
            unread("registration.requested_resource_id"),
        ),
    ];
    for (gathered, lack) in rows {
        let told = lack.to_string();
        assert!(told.starts_with("registration.") && told.contains('/'), "{told}");
        let effects = gather(&mut gathering(), gathered);
        assert_eq!(effects, [Effect::Exit(Exit::Unprepared(lack))]);
    }
}

#[test]
fn the_metadata_service_is_asked_for_a_token_only_behind_value_file_and_environment() {
    let with_file = |file| TokenSources { file, ..sources("") };
    for present in [
        sources("v"),
        sources("f"),
        sources("e"),
        with_file(TokenFile::Unreadable("denied".into())),
    ] {
        assert!(!present.is_lacking(), "{present:?}");
    }
    let blank = TokenSources {
        value: Some(secret("")),
        environment: Some(secret("")),
        ..with_file(TokenFile::Text(secret(" \n")))
    };
    assert!(blank.is_lacking() && sources("").is_lacking() && sources("m").is_lacking());
}
