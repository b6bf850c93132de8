//! Requests and responses as data, and the routes by name.

use meshward_core::wire::{
    call::Call,
    http::{Headers, Method, Response, percent_decode, percent_encode},
};
use proptest::prelude::*;

use crate::support::seeds_in;

#[test]
fn methods_are_case_sensitive() {
    for name in ["GET", "HEAD", "POST", "PUT", "DELETE"] {
        assert_eq!(Method::parse(name).name(), name);
        assert_eq!(Method::parse(&name.to_lowercase()), Method::Other);
    }
    for name in ["OPTIONS", "PATCH", "TRACE", "CONNECT", "", "OTHER"] {
        assert_eq!(Method::parse(name), Method::Other);
    }
}

#[test]
fn header_names_have_no_case_and_values_keep_their_order() {
    let headers = Headers::new().with("X-A", "1").with("x-b", "2").with("x-a", "3");
    assert_eq!(headers.first("x-A"), Some("1"));
    assert_eq!(headers.all("X-a").collect::<Vec<_>>(), ["1", "3"]);
    assert_eq!(headers.first("x-c"), None);
    assert_eq!(headers.iter().collect::<Vec<_>>(), [("x-a", "1"), ("x-b", "2"), ("x-a", "3")]);
}

#[test]
fn a_json_answer_ends_in_a_newline() {
    let response = Response::json(201, b"{}".to_vec());
    assert_eq!((response.status, response.body.as_slice()), (201, &b"{}\n"[..]));
    assert_eq!(response.headers.first("Content-Type"), Some("application/json"));
    assert!(response.is_success() && Response::empty(299).is_success());
    assert!(!Response::empty(199).is_success() && !Response::empty(300).is_success());
}

#[test]
fn escapes_are_decoded_once_and_a_broken_one_is_refused() {
    for (text, decoded) in [
        ("a%2Fb", "a/b"),
        ("a%2fb", "a/b"),
        ("%252F", "%2F"),
        ("%C3%A9", "é"),
        ("a+b", "a+b"),
        ("", ""),
        ("%00", "\0"),
    ] {
        assert_eq!(percent_decode(text).as_deref(), Some(decoded), "{text}");
    }
    for text in ["%", "%2", "%2g", "%g2", "a%", "%%41", "%+1", "%ff", "%C3", "%c3%28"] {
        assert_eq!(percent_decode(text), None, "{text}");
    }
}

#[test]
fn a_route_keeps_each_parameter_in_one_segment() {
    let node = || "n/../1?".to_owned();
    for (call, method, path) in [
        (Call::Health, Method::Get, "/v1/health"),
        (Call::Register, Method::Post, "/v1/register"),
        (Call::RotateKeys, Method::Post, "/v1/keys/rotate"),
        (Call::Heartbeat { node: node() }, Method::Post, "/v1/nodes/n%2F..%2F1%3F/heartbeat"),
        (Call::State { node: node() }, Method::Get, "/v1/nodes/n%2F..%2F1%3F/state"),
        (
            Call::Execution { node: "n".into(), execution: "é %".into() },
            Method::Post,
            "/v1/nodes/n/executions/%C3%A9%20%25",
        ),
        (Call::ExecOutput { execution: "a/b".into() }, Method::Put, "/exec-output/a%2Fb"),
    ] {
        assert_eq!((call.method(), call.path().as_str()), (method, path));
    }
}

proptest! {
    #![proptest_config(seeds_in("http"))]

    #[test]
    fn any_text_is_one_segment_and_comes_back(text in any::<String>()) {
        let segment = percent_encode(&text);
        prop_assert!(segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
        prop_assert_eq!(percent_decode(&segment), Some(text));
    }

    #[test]
    fn no_text_makes_the_decoder_panic(text in any::<String>()) {
        let _ = percent_decode(&text);
    }
}
