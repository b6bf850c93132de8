//! Secrets against a plain count of what is due, and every row of the checks through the plane.

use meshward_core::{
    plane::{
        secrets::{Effect, Input, Refusal, Secrets},
        site,
    },
    time::Now,
    wire::{
        http::{Body, Method, Response},
        secret::{ConfigureSecrets, open},
    },
};
use proptest::prelude::*;

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};

fn inputs() -> impl Strategy<Value = Input> {
    let asked = prop::option::of(1..6u64).prop_map(|version| Input::Asked { version });
    let configured = (-1..5i64, -1..4i64, -1..9i64).prop_map(|(version, limit, wait)| {
        Input::Configured(ConfigureSecrets {
            current_version: version,
            rate_limit_next: limit,
            retry_after_seconds: wait,
        })
    });
    prop_oneof![4 => asked, 1 => configured]
}

proptest! {
    #![proptest_config(support::seeds_in("secrets"))]

    /// The last setting above zero of each kind is in force, and each request takes one refusal off.
    #[test]
    fn what_is_configured_is_in_force_and_each_refusal_is_given_once(
        inputs in prop::collection::vec(inputs(), 0..60)
    ) {
        let (mut current, mut due, mut wait) = (1, 0, 1);
        let mut secrets = Secrets::default();
        for input in &inputs {
            let step = secrets.step(Now::default(), *input);
            let expected = match input {
                Input::Configured(set) => {
                    for (known, set) in [
                        (&mut current, set.current_version),
                        (&mut due, set.rate_limit_next),
                        (&mut wait, set.retry_after_seconds),
                    ] {
                        if set > 0 {
                            *known = set;
                        }
                    }
                    None
                }
                Input::Asked { .. } if due > 0 => {
                    due -= 1;
                    let retry_after_seconds = wait.cast_unsigned();
                    Some(Effect::Refuse(Refusal::RateLimited { retry_after_seconds }))
                }
                Input::Asked { version: Some(version) } if version.cast_signed() > current => {
                    Some(Effect::Refuse(Refusal::VersionNotFound))
                }
                Input::Asked { version } => {
                    Some(Effect::Seal { version: version.unwrap_or(current.cast_unsigned()) })
                }
            };
            prop_assert_eq!(step.effects, Vec::from_iter(expected));
            secrets = step.state;
        }
        support::replays(&Secrets::default(), &inputs, |state, input| {
            state.step(Now::default(), input)
        });
    }
}

fn ask(desk: &mut Desk, target: &str) -> Response {
    desk.ask(Method::Get, &node(&format!("secrets/{target}")), "")
}

fn configure(desk: &mut Desk, body: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Post, "/test/configure-secrets", body))
}

fn counts(desk: &mut Desk) -> (u64, u64) {
    (desk.count("secrets_count"), desk.count("secrets_rate_limited_count"))
}

#[test]
fn an_envelope_opens_under_the_node_secret_key_and_its_headers_tell_of_it() {
    let mut desk = Desk::open();
    desk.settings.header_prefix = "X-Odd".into();
    for (target, version) in [("token", "1"), ("a?version=1", "1"), ("z9_-?version=", "1")] {
        let response = ask(&mut desk, target);
        assert_eq!(response.status, 200, "{target}");
        let header = |name: &str| response.headers.first(name);
        assert_eq!(header("content-type"), Some("application/octet-stream"));
        assert_eq!(header("cache-control"), Some("no-store"));
        assert_eq!(header("x-odd-secret-version"), Some(version));
        assert_eq!(header("x-odd-secret-kid"), Some("e2e-nsk-kid-1"));
        assert_eq!((response.body.len(), &response.body[..12]), (50, [7; 12].as_slice()));
        let value = open(&site::node_secret_key(), &response.body).expect("it opens");
        assert_eq!(value.expose(), b"e2e-local-bearer-token");
    }
    assert_eq!(counts(&mut desk), (3, 0));
}

#[test]
fn a_name_outside_its_grammar_is_a_secret_that_is_not_there() {
    let mut desk = Desk::open();
    assert_eq!(configure(&mut desk, r#"{"rate_limit_next":1}"#).0, 204);
    let long = "a".repeat(64);
    for name in ["A", "1a", "_a", "a.b", "a%20b", "a%00", "%C3%A9", long.as_str()] {
        let response = ask(&mut desk, &format!("{name}?version=x"));
        assert_eq!(verdict(&response), (404, "secret_not_found".into()), "{name}");
    }
    assert_eq!(counts(&mut desk), (0, 0), "the limit is still due");
    assert_eq!(ask(&mut desk, "a").status, 429);
    assert_eq!(ask(&mut desk, &"a".repeat(63)).status, 200);
}

#[test]
fn a_version_is_plain_decimal_and_the_first_of_several_counts() {
    let mut desk = Desk::open();
    assert_eq!(configure(&mut desk, r#"{"current_version":12}"#).0, 204);
    for query in [
        "version=0",
        "version=-1",
        "version=%2B1",
        "version=+1",
        "version=01",
        "version=1.0",
        "version=1%20",
        "version=0x1",
        "version=one",
        "version=%zz",
        "version=%D9%A1",
        "version=0&version=1",
        "other=1&version=x",
    ] {
        let response = ask(&mut desk, &format!("a?{query}"));
        assert_eq!(verdict(&response), (400, "invalid_version".into()), "{query}");
    }
    let beyond = "9".repeat(40);
    for version in ["13", "9223372036854775808", "18446744073709551616", beyond.as_str()] {
        let response = ask(&mut desk, &format!("a?version={version}"));
        assert_eq!(verdict(&response), (404, "secret_version_not_found".into()), "{version}");
    }
    for (query, version) in [
        ("", "12"),
        ("version", "12"),
        ("version=", "12"),
        ("version=&version=3", "12"),
        ("version=3&version=4", "3"),
        ("version=12", "12"),
        ("version=%31", "1"),
        ("%76ersion=2", "2"),
        ("Version=x&versions=y", "12"),
        ("&&version=5", "5"),
    ] {
        let response = ask(&mut desk, &format!("a?{query}"));
        let told = response.headers.first("x-service-secret-version");
        assert_eq!((response.status, told), (200, Some(version)), "{query}");
    }
    assert_eq!(counts(&mut desk), (10, 0));
}

#[test]
fn a_limit_comes_behind_the_spelling_of_the_version_and_before_its_existence() {
    let mut desk = Desk::open();
    let body = r#"{"rate_limit_next":2,"retry_after_seconds":7}"#;
    assert_eq!(configure(&mut desk, body).0, 204);
    assert_eq!(verdict(&ask(&mut desk, "a?version=00")).0, 400);
    for target in ["a?version=2", "a"] {
        let response = ask(&mut desk, target);
        assert_eq!(verdict(&response), (429, "per_node_rate_limited".into()));
        assert_eq!(response.headers.first("retry-after"), Some("7"));
    }
    let gone = ask(&mut desk, "a?version=2");
    assert_eq!(verdict(&gone), (404, "secret_version_not_found".into()));
    assert_eq!(gone.headers.first("retry-after"), None);
    assert_eq!(ask(&mut desk, "a").status, 200);
    assert_eq!(counts(&mut desk), (1, 2));
}

#[test]
fn a_head_request_takes_a_refusal_off_as_a_get_does() {
    let mut desk = Desk::open();
    assert_eq!(configure(&mut desk, r#"{"rate_limit_next":1}"#).0, 204);
    let head = |desk: &mut Desk| desk.ask(Method::Head, &node("secrets/a"), "");
    let limited = head(&mut desk);
    assert_eq!((limited.status, limited.headers.first("retry-after")), (429, Some("1")));
    let served = head(&mut desk);
    assert_eq!((served.status, served.body.len()), (200, 0));
    assert_eq!(served.headers.first("content-length"), Some("50"));
    assert_eq!(counts(&mut desk), (1, 1));
}

#[test]
fn a_configuration_is_strict_and_only_what_is_above_zero_is_applied() {
    let mut desk = Desk::open();
    for body in [
        "",
        "null",
        "[]",
        "3",
        r#"{"version":1}"#,
        r#"{"current_version":"2"}"#,
        r#"{"current_version":1.0}"#,
        r#"{"rate_limit_next":true}"#,
        r#"{"current_version":9223372036854775808}"#,
        r#"{"current_version":2,"current_version":3}"#,
        r#"{"current_version":2} {}"#,
    ] {
        assert_eq!(configure(&mut desk, body), (400, String::new()), "{body}");
    }
    let over = desk.ask_with(Method::Post, "/test/configure-secrets", Body::Oversized);
    assert_eq!(verdict(&over), (413, String::new()));
    let cut = desk.ask_with(Method::Post, "/test/configure-secrets", Body::Unreadable);
    assert_eq!(verdict(&cut), (400, String::new()));
    let told = |desk: &mut Desk| {
        let response = ask(desk, "a");
        response.headers.first("x-service-secret-version").map(str::to_owned)
    };
    assert_eq!(told(&mut desk).as_deref(), Some("1"), "no refusal changed anything");
    assert_eq!(configure(&mut desk, r#"{"current_version":3}"#).0, 204);
    let kept = r#"{"current_version":0,"rate_limit_next":-1,"retry_after_seconds":null}"#;
    for body in ["{}", kept] {
        assert_eq!(configure(&mut desk, body), (204, String::new()), "{body}");
    }
    assert_eq!(told(&mut desk).as_deref(), Some("3"));
    let captured = desk.ask(Method::Get, "/test/last-request/configure_secrets", "");
    assert_eq!(text(&captured), kept);
    assert_eq!(configure(&mut desk, r#"{"current_version":1}"#).0, 204);
    assert_eq!(ask(&mut desk, "a?version=2").status, 404, "an older version may be made current");
    assert_eq!(desk.ask(Method::Post, "/test/reset", "").status, 204);
    assert_eq!(told(&mut desk).as_deref(), Some("1"));
}
