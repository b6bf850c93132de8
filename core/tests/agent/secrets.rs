//! Secrets: what each answer of the control plane comes to, how many are fetched at once, and what is never printed.

use meshward_core::{
    agent::{
        Answer, Caller, DRAIN_MAX, Door, Effect, Failure, Input, Lost, StagedFile,
        post::answer_max,
        secrets::{self, FETCH_MAX, FLYING_MAX, QUEUED_FOR_MAX, QUEUED_MAX, Secrets, Wish},
        verdict::secret::{Fetched, Withheld},
    },
    ids::CallId,
    wire::{
        call::Call,
        grammar::{NodeSecretKey, SecretKey},
        http::{Body, Headers, Method, Request, Response},
        secret::{ENVELOPE_MAX, seal},
    },
};

use crate::bench::{Bench, at, problem, responded, seconds, sent};

const UNAVAILABLE: (u16, &str) = (503, "{\"error\":\"control plane unavailable\"}\n");
const INTERNAL: (u16, &str) = (500, "{\"error\":\"internal error\"}\n");

fn ask(bench: &mut Bench, call: u64, target: &str) -> Vec<Effect> {
    let (path, query) = target.split_once('?').map_or((target, None), |(p, q)| (p, Some(q)));
    let headers = Headers::new();
    let query = query.map(str::to_owned);
    let request =
        Request { method: Method::Get, path: path.into(), query, headers, body: Body::EMPTY };
    let caller = Caller::from(Door::Socket);
    bench.give(Input::Asked { call: CallId(call), caller, request })
}

fn armed() -> Bench {
    Bench::armed(StagedFile::Missing).0
}

/// The replies among orders, each as the program meets it.
fn replies(effects: &[Effect]) -> Vec<(u64, Response)> {
    let reply = |effect: &Effect| match effect {
        Effect::Reply { call, response } => Some((call.0, response.clone())),
        Effect::Act(_)
        | Effect::Keep { .. }
        | Effect::Gather
        | Effect::Store(_)
        | Effect::Send { .. }
        | Effect::Stream(_)
        | Effect::Tell(_)
        | Effect::Exit(_) => None,
    };
    effects.iter().filter_map(reply).collect()
}

fn text(response: &Response) -> String {
    let bytes = response.hidden.as_ref().map_or(&response.body, |hidden| hidden.expose());
    String::from_utf8(bytes.clone()).expect("a text")
}

fn only(effects: &[Effect]) -> Response {
    match replies(effects).as_slice() {
        [(_, one)] => one.clone(),
        all => panic!("{} replies in {effects:?}", all.len()),
    }
}

fn sealed(value: &[u8]) -> Vec<u8> {
    seal(&NodeSecretKey::from_bytes([9; 32]), [4; 12], value).expect("it fits")
}

fn envelope(version: &str, body: Vec<u8>) -> Response {
    Response { body, ..Response::empty(200) }.with("X-Service-Secret-Version", version)
}

/// Asks for a secret and answers the fetch.
fn outcome(answer: Answer) -> Response {
    let mut bench = armed();
    let asked = ask(&mut bench, 1, "/v1/state/secrets/db");
    let (call, _) = sent(&asked)[0].clone();
    only(&bench.answer(call, answer))
}

#[test]
fn a_secret_is_fetched_opened_and_answered_in_the_version_that_came() {
    let mut bench = armed();
    let asked = ask(&mut bench, 1, "/v1/state/secrets/db-password?version=2");
    let (call, request) = sent(&asked)[0].clone();
    assert!(request.path.ends_with("/secrets/db-password"), "{}", request.path);
    assert_eq!(request.query.as_deref(), Some("version=2"));
    assert!(request.headers.first("authorization").is_some());
    let came = envelope("3", sealed("a \"käse\"\u{1}".as_bytes()));
    let response = only(&bench.answer(call, Answer::Responded(came)));
    assert_eq!(response.status, 200);
    assert_eq!(response.headers.first("content-type"), Some("application/json"));
    assert_eq!(response.headers.first("cache-control"), Some("no-store"));
    let body = "{\"key\":\"db-password\",\"value\":\"a \\\"käse\\\"\\u0001\",\"version\":3}\n";
    assert_eq!(text(&response), body);
    assert!(response.body.is_empty(), "the value stands only where it is zeroed");
}

#[test]
fn what_is_written_of_a_secret_never_grows_and_is_never_printed() {
    let longest = vec![1; 1 << 20];
    let response = outcome(Answer::Responded(envelope("1", sealed(&longest))));
    assert_eq!(
        text(&response).len(),
        6 * longest.len() + r#"{"key":"db","value":"","version":1}"#.len() + 1
    );
    let canary = outcome(Answer::Responded(envelope("1", sealed(b"canary"))));
    assert!(text(&canary).contains("canary"));
    let effect = Effect::Reply { call: CallId(1), response: canary };
    assert!(!format!("{effect:?}").contains("canary"), "{effect:?}");
}

#[test]
fn each_answer_of_the_control_plane_has_its_outcome() {
    let lost = |failure| Answer::Failed(Lost::from(failure));
    let forbidden = (403, "{\"error\":\"forbidden\"}\n");
    let missing = (404, "{\"error\":\"not found\"}\n");
    let limited = (429, "{\"error\":\"rate limited\"}\n");
    let whole = sealed(b"value");
    let changed = [&whole[..20], &[whole[20] ^ 1], &whole[21..]].concat();
    let repeated = envelope("1", whole.clone()).with("x-service-secret-version", "1");
    let rows = [
        (problem(403, "permission_denied"), forbidden),
        (responded(403, "{}"), forbidden),
        (problem(404, "secret_not_found"), missing),
        (problem(404, "secret_version_not_found"), missing),
        (problem(404, "peer_not_found"), UNAVAILABLE),
        (responded(404, "no page"), UNAVAILABLE),
        (problem(429, "per_node_rate_limited"), limited),
        (problem(429, "per_domain_rate_limited"), limited),
        (responded(429, ""), limited),
        (problem(400, "invalid"), UNAVAILABLE),
        (problem(401, "unauthorized"), UNAVAILABLE),
        (problem(500, "internal"), UNAVAILABLE),
        (problem(501, "secrets_not_provisioned"), UNAVAILABLE),
        (problem(503, "secretbackend_unavailable"), UNAVAILABLE),
        (responded(302, ""), UNAVAILABLE),
        (lost(Failure::Unreachable), UNAVAILABLE),
        (lost(Failure::TimedOut), UNAVAILABLE),
        (lost(Failure::Oversized { status: 200 }), UNAVAILABLE),
        (Answer::Responded(Response { body: whole.clone(), ..Response::empty(200) }), UNAVAILABLE),
        (Answer::Responded(repeated), UNAVAILABLE),
        (Answer::Responded(envelope("", whole.clone())), UNAVAILABLE),
        (Answer::Responded(envelope("0", whole.clone())), UNAVAILABLE),
        (Answer::Responded(envelope("-1", whole.clone())), UNAVAILABLE),
        (Answer::Responded(envelope("01", whole.clone())), UNAVAILABLE),
        (Answer::Responded(envelope("new", whole.clone())), UNAVAILABLE),
        (Answer::Responded(envelope("18446744073709551616", whole)), UNAVAILABLE),
        (Answer::Responded(envelope("1", vec![0; ENVELOPE_MAX + 1])), UNAVAILABLE),
        (Answer::Responded(envelope("1", vec![0; ENVELOPE_MAX])), INTERNAL),
        (Answer::Responded(envelope("1", Vec::new())), INTERNAL),
        (Answer::Responded(envelope("1", vec![0; 27])), INTERNAL),
        (Answer::Responded(envelope("1", changed)), INTERNAL),
        (Answer::Responded(envelope("1", sealed(b"\xff"))), INTERNAL),
    ];
    for (answer, (status, body)) in rows {
        let shown = format!("{answer:?}");
        let response = outcome(answer);
        assert_eq!((response.status, text(&response).as_str()), (status, body), "{shown}");
        assert_eq!(response.headers.first("cache-control"), Some("no-store"), "{shown}");
        assert_eq!(response.headers.first("retry-after"), None, "{shown}");
    }
}

#[test]
fn the_wait_that_a_429_names_is_passed_on_in_whole_seconds() {
    let rows = [
        ("7", Some("7")),
        ("0", Some("0")),
        ("99999999999999999999999", Some("3600")),
        ("Fri, 15 Jan 2027 08:00:10 GMT", Some("10")),
        ("soon\r\nX: y", None),
        ("1.5", None),
        ("", None),
    ];
    for (value, expected) in rows {
        let Answer::Responded(answer) = problem(429, "per_node_rate_limited") else { panic!() };
        let response = outcome(Answer::Responded(answer.with("retry-after", value)));
        assert_eq!(response.headers.first("retry-after"), expected, "{value}");
    }
}

#[test]
fn a_version_or_key_that_is_none_is_refused_before_anything_is_fetched() {
    let version = (400, "{\"error\":\"invalid version\"}\n");
    let key = (400, "{\"error\":\"invalid secret key\"}\n");
    let rows = [
        ("db?version=", version),
        ("db?version", version),
        ("db?version=0", version),
        ("db?version=-1", version),
        ("db?version=+1", version),
        ("db?version=01", version),
        ("db?version=1.0", version),
        ("db?version=18446744073709551616", version),
        ("db?version=x&version=1", version),
        ("db?%76ersion=x", version),
        ("DB?version=x", version),
        ("DB", key),
        ("1db", key),
        ("a.b", key),
        ("a%2Fb", key),
        ("%zz", key),
    ];
    for (target, (status, body)) in rows {
        let effects = ask(&mut armed(), 1, &format!("/v1/state/secrets/{target}"));
        assert!(sent(&effects).is_empty(), "{target}");
        let response = only(&effects);
        assert_eq!((response.status, text(&response).as_str()), (status, body), "{target}");
    }
    let fetched = ask(&mut armed(), 1, "/v1/state/secrets/db?other=1&version=18446744073709551615");
    assert_eq!(sent(&fetched)[0].1.query.as_deref(), Some("version=18446744073709551615"));
}

#[test]
fn a_node_without_an_identity_has_no_secrets_and_lists_none() {
    let mut bench = Bench::new(crate::bench::settings());
    let response = only(&ask(&mut bench, 1, "/v1/state/secrets/db"));
    assert_eq!((response.status, text(&response).as_str()), UNAVAILABLE);
    let list = only(&ask(&mut bench, 2, "/v1/state/secrets"));
    assert_eq!((list.status, text(&list).as_str()), (200, "[]\n"));
    assert_eq!(list.headers.first("cache-control"), Some("no-store"));
}

#[test]
fn reads_beyond_the_most_wait_in_order_and_beyond_that_are_refused() {
    let mut bench = armed();
    let most = (FLYING_MAX + QUEUED_MAX) as u64;
    let mut flying = Vec::new();
    for asker in 1..=most {
        let effects = ask(&mut bench, asker, &format!("/v1/state/secrets/k{asker}"));
        assert!(replies(&effects).is_empty(), "{asker}");
        flying.extend(sent(&effects));
    }
    assert_eq!(flying.len(), FLYING_MAX);
    let refused = only(&ask(&mut bench, most + 1, "/v1/state/secrets/late"));
    assert_eq!((refused.status, text(&refused).as_str()), UNAVAILABLE);
    let mut answered = Vec::new();
    while let Some((call, request)) = (!flying.is_empty()).then(|| flying.remove(0)) {
        let effects = bench.answer(call, Answer::Responded(envelope("1", sealed(b"v"))));
        let key = request.path.rsplit('/').next().expect("a key").to_owned();
        assert!(text(&only(&effects)).contains(&format!("\"key\":\"{key}\"")));
        answered.extend(replies(&effects).iter().map(|(asker, _)| *asker));
        flying.extend(sent(&effects));
        assert!(flying.len() <= FLYING_MAX);
    }
    assert_eq!(answered, (1..=most).collect::<Vec<_>>());
}

#[test]
fn a_read_that_waits_too_long_for_its_turn_is_refused() {
    let mut bench = armed();
    for asker in 1..=FLYING_MAX as u64 {
        ask(&mut bench, asker, "/v1/state/secrets/db");
    }
    ask(&mut bench, 100, "/v1/state/secrets/db");
    bench.pass(seconds(1));
    ask(&mut bench, 101, "/v1/state/secrets/db");
    bench.pass(QUEUED_FOR_MAX - seconds(1));
    assert!(bench.agent.wakeup().is_some_and(|due| due <= at(QUEUED_FOR_MAX).mono));
    let refused = replies(&bench.give(Input::Ticked));
    assert_eq!(refused.iter().map(|(asker, _)| *asker).collect::<Vec<_>>(), [100]);
}

#[test]
fn a_fetch_is_bounded_in_time_and_size() {
    let mut bench = armed();
    match ask(&mut bench, 1, "/v1/state/secrets/db").as_slice() {
        [Effect::Send { timeout, answer_max, .. }] => {
            assert_eq!((*timeout, *answer_max), (FETCH_MAX, ENVELOPE_MAX));
        }
        other => panic!("{other:?}"),
    }
    let beat = Call::Heartbeat { node: String::new() };
    assert!(
        answer_max(&beat) < answer_max(&Call::Secret { node: String::new(), key: String::new() })
    );
}

#[test]
fn a_node_that_loses_its_identity_refuses_all_reads_and_ignores_their_late_answers() {
    let wish = |asker: u64| Wish {
        asker: CallId(asker),
        key: SecretKey::parse("db").expect("a key"),
        version: None,
    };
    let most = FLYING_MAX as u64 + 2;
    let mut secrets = Secrets::default();
    for asker in 1..=most {
        secrets = secrets.step(at(seconds(0)), secrets::Input::Asked(wish(asker))).state;
    }
    let step = secrets.step(at(seconds(0)), secrets::Input::Quieted);
    let refused: Vec<_> = (1..=most).map(|asker| secrets::Effect::Refuse(CallId(asker))).collect();
    assert_eq!(step.effects, refused);
    let fetched = Fetched::Withheld(Withheld::NotFound);
    let late = secrets::Input::Answered { asker: CallId(1), fetched };
    let step = step.state.step(at(seconds(0)), late);
    assert_eq!((step.state, step.effects), (Secrets::default(), Vec::new()));
}

#[test]
fn a_program_that_waits_for_a_secret_when_the_process_ends_is_answered_before() {
    let mut bench = armed();
    for call in 1..=FLYING_MAX as u64 + 1 {
        assert!(replies(&ask(&mut bench, call, "/v1/state/secrets/db")).is_empty());
    }
    assert!(replies(&bench.give(Input::Draining)).is_empty(), "the disk is waited for");
    bench.pass(DRAIN_MAX);
    let effects = bench.give(Input::Ticked);
    let answers = replies(&effects);
    assert_eq!(answers.len(), FLYING_MAX + 1);
    for (call, response) in answers {
        assert_eq!((response.status, text(&response).as_str()), UNAVAILABLE, "{call}");
    }
    assert!(matches!(effects.last(), Some(Effect::Exit(_))), "{effects:?}");
}
