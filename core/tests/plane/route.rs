//! The gate, the routes, and what a request that reaches none of them earns.

use meshward_core::{
    plane::{BodyRule, Listener, body_rule},
    wire::http::{Body, Headers, Method, Request},
};

use crate::desk::{Desk, bearer, node, request, text, verdict};

fn bare(desk: &mut Desk, method: Method, target: &str) -> (u16, String) {
    verdict(&desk.send(Listener::Main, request(method, target, Body::EMPTY)))
}

#[test]
fn without_a_bearer_everything_behind_the_gate_is_401_before_404_and_405() {
    let mut desk = Desk::open();
    let gated = [
        (Method::Get, "/v1/nodes/x/state"),
        (Method::Delete, "/v1/nodes/x/state"),
        (Method::Get, "/v1/unknown"),
        (Method::Post, "/v1/register/"),
        (Method::Get, "/v1//health"),
        (Method::Get, "/%761/nodes/x/state"),
        (Method::Get, "/v1%2Fnodes"),
        (Method::Get, "/v1/%zz"),
    ];
    for (method, target) in gated {
        assert_eq!(bare(&mut desk, method, target), (401, "unauthorized".into()), "{target}");
    }
    assert_eq!(desk.count("unauthorized_count"), gated.len() as u64);
    assert_eq!(desk.count("state_count"), 0);
}

#[test]
fn with_a_bearer_an_unknown_path_is_404_and_a_wrong_method_405_with_allow() {
    let mut desk = Desk::open();
    let lost = [
        "/v1/unknown",
        "/v1/nodes/x/state/",
        "/v1/nodes//state",
        "/v1/nodes/../state",
        "/v1/nodes/a%2Fb/state",
        "/",
        "/test",
        "/v1/nodes/%ff/state",
        "/local/metrics",
    ];
    for target in lost {
        assert_eq!(verdict(&desk.ask(Method::Get, target, "")), (404, String::new()), "{target}");
    }
    let rows = [
        (Method::Post, "/v1/health".into(), "GET, HEAD"),
        (Method::Get, "/v1/register".into(), "POST"),
        (Method::Get, node("heartbeat"), "POST"),
        (Method::Other, node("state"), "GET, HEAD"),
        (Method::Head, "/v1/keys/rotate".into(), "POST"),
        (Method::Post, "/exec-output/e".into(), "PUT"),
        (Method::Post, "/test/state".into(), "PUT"),
        (Method::Put, "/test/configure-state".into(), "POST"),
    ];
    for (method, target, allow) in rows {
        let response = desk.ask(method, &target, "");
        assert_eq!(
            (response.status, response.headers.first("allow")),
            (405, Some(allow)),
            "{target}"
        );
    }
    assert_eq!(desk.count("registration_count"), 0);
}

#[test]
fn every_credential_check_names_itself_and_echoes_nothing() {
    let mut desk = Desk::open();
    let good = bearer();
    let nsk = "AAECAwQFBgcICQoLDA0OD4CRorPE1eb3+Onay7ytno8=";
    let payload = good.rsplit_once("nsk_any_").unwrap().1.to_owned();
    let rows = [
        ("Basic abc".to_owned(), "scheme"),
        (good.replace("Bearer", "bearer"), "scheme"),
        (format!("Bearer {nsk}"), "nsk_<env>_<payload>"),
        (format!("Bearer nsk__{payload}"), "nsk_<env>_<payload>"),
        (format!("Bearer nsk_e_{payload}="), "base64url"),
        ("Bearer nsk_e_AAAA".to_owned(), "48 bytes"),
        (format!("Bearer nsk_e_B{}", &payload[1..]), "another node"),
        (format!("Bearer nsk_e_{}A", &payload[..63]), "node secret key"),
    ];
    for (value, hint) in &rows {
        let headers = Headers::new().with("authorization", value);
        let head = request(Method::Get, "/v1/nodes/x/state", Body::EMPTY);
        let response = desk.send(Listener::Main, Request { headers, ..head });
        assert_eq!(verdict(&response), (401, "unauthorized".into()));
        assert!(text(&response).contains(hint), "{hint}: {}", text(&response));
        assert!(!text(&response).contains(&payload[8..40]));
    }
    let twice = Headers::new().with("authorization", &good).with("Authorization", &good);
    let head = request(Method::Get, "/v1/nodes/x/state", Body::EMPTY);
    let response = desk.send(Listener::Main, Request { headers: twice, ..head });
    assert_eq!(verdict(&response), (401, "unauthorized".into()));
    assert_eq!(desk.count("unauthorized_count"), rows.len() as u64 + 1);
}

#[test]
fn a_problem_body_names_the_path_as_received_and_its_correlation() {
    let mut desk = Desk::open();
    let response = desk.ask(Method::Get, "/v1/%6eope?query=1", "");
    assert_eq!(response.headers.first("content-type"), Some("application/problem+json"));
    assert_eq!(
        response.headers.first("x-correlation-id"),
        Some("00000000000000000000000000000007")
    );
    assert_eq!(
        text(&response),
        concat!(
            r#"{"type":"about:blank","title":"Not Found","status":404,"detail":"no route has this path","#,
            r#""instance":"/v1/%6eope","correlation_id":"00000000000000000000000000000007"}"#,
            "\n"
        )
    );
    let refused = text(&desk.ask(Method::Post, "/v1/%72egister", "{}"));
    assert!(refused.contains(r#""title":"Unprocessable Content""#), "{refused}");
    assert!(refused.contains(r#""instance":"/v1/register""#), "{refused}");
    let elsewhere = text(&desk.ask(Method::Post, "/v1%2fregister", ""));
    assert!(elsewhere.contains(r#""instance":"/v1%2fregister""#), "{elsewhere}");
    let unauthorized = text(&desk.send(Listener::Main, request(Method::Get, "/v1/x", Body::EMPTY)));
    assert!(unauthorized.contains(r#""type":"https://meshward.example/problems/unauthorized""#));
}

#[test]
fn head_is_get_without_a_body_and_with_its_counter() {
    let mut desk = Desk::open();
    let response = desk.ask(Method::Head, &node("state"), "");
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert_eq!(desk.count("state_count"), 1);
}

#[test]
fn two_lengths_make_a_body_unreadable() {
    let mut desk = Desk::open();
    let headers = Headers::new().with("content-length", "2").with("content-length", "2");
    let head = request(Method::Post, "/v1/register", Body::Whole(b"{}".to_vec()));
    let response = desk.send(Listener::Main, Request { headers, ..head });
    assert_eq!(verdict(&response), (400, String::new()));
}

#[test]
fn each_route_has_its_cap_and_a_refused_request_is_not_read() {
    let desk = Desk::open();
    let rule = |headers: Headers, method: Method, target: &str| {
        let head = Request { headers, ..request(method, target, Body::EMPTY) };
        body_rule(&desk.settings, Listener::Main, &head)
    };
    let known = || Headers::new().with("authorization", &bearer());
    let plain = BodyRule::plain;
    let rows = [
        (Method::Post, "/v1/register".into(), plain(1 << 20)),
        (Method::Post, "/v1/keys/rotate".into(), plain(4096)),
        (Method::Post, node("executions/e"), plain(65_536)),
        (Method::Post, node("sessions/s"), plain(16_384)),
        (Method::Post, node("heartbeat"), plain(16 << 20)),
        (Method::Put, node("state/reports/k"), plain(16 << 20)),
        (Method::Put, node("state/reports/K"), BodyRule::UNREAD),
        (Method::Delete, node("state/reports/k"), BodyRule::UNREAD),
        (Method::Get, node("secrets/k"), BodyRule::UNREAD),
        (Method::Post, "/test/configure-secrets".into(), plain(16 << 20)),
        (Method::Post, "/test/configure-state".into(), plain(16 << 20)),
        (Method::Put, "/test/state".into(), plain(16 << 20)),
        (Method::Put, "/exec-output/e".into(), plain(1 << 30)),
    ];
    for (method, target, expected) in rows {
        assert_eq!(rule(known(), method, &target), expected, "{target}");
    }
    let refused = rule(Headers::new(), Method::Post, &node("heartbeat"));
    assert_eq!(refused, BodyRule::UNREAD);
    let upload = request(Method::Put, "/exec-output/e?token=exec-upload-0001", Body::EMPTY);
    assert_eq!(desk.plane.body_rule(&desk.settings, Listener::Main, &upload).cap, 0);
}

#[test]
fn the_tls_listener_serves_the_local_endpoints_and_what_watches_them() {
    let mut desk = Desk::open();
    let post = |authorization: &str, body: Body| {
        let headers = Headers::new().with("authorization", authorization);
        Request { headers, ..request(Method::Post, "/local/logs", body) }
    };
    let good = "Bearer e2e-local-bearer-token";
    let bytes = || Body::Whole(b"any bytes".to_vec());
    assert_eq!(desk.send(Listener::Tls, post(good, bytes())).status, 204);
    assert_eq!(verdict(&desk.send(Listener::Tls, post("Bearer other", bytes()))), (401, "".into()));
    assert_eq!(verdict(&desk.send(Listener::Tls, post(good, Body::Unreadable))), (400, "".into()));
    let seen = request(Method::Get, "/test/last-request/local_logs", Body::EMPTY);
    assert_eq!(text(&desk.send(Listener::Tls, seen)), "any bytes");
    for target in ["/v1/health", "/test/bearer", "/test/last-request"] {
        let answer = desk.send(Listener::Tls, request(Method::Get, target, Body::EMPTY));
        assert_eq!(answer.status, 404, "{target}");
    }
    assert_eq!((desk.count("local_logs_count"), desk.count("unauthorized_count")), (1, 0));
}

#[test]
fn the_served_bearer_is_the_one_the_gate_admits() {
    let mut desk = Desk::open();
    let served = text(&desk.ask(Method::Get, "/test/bearer", ""));
    let bearer = "nsk_e2e_AZCouKDAegqKCqCgoKCgowABAgMEBQYHCAkKCwwNDg-AkaKzxNXm9_jp2su8rZ6P";
    assert_eq!(served, format!("{{\"bearer\":\"{bearer}\"}}\n"));
    let headers = Headers::new().with("authorization", &format!("Bearer {bearer}"));
    let head = request(Method::Get, "/v1/nodes/x/state", Body::EMPTY);
    assert_eq!(desk.send(Listener::Main, Request { headers, ..head }).status, 200);
}

#[test]
fn a_reset_forgets_everything_but_the_settings() {
    let mut desk = Desk::open();
    desk.ask(Method::Post, "/v1/register", "{}");
    assert_eq!(desk.ask(Method::Post, "/test/reset", "").status, 204);
    assert_eq!(desk.count("registration_count"), 0);
    assert_eq!(desk.ask(Method::Get, "/test/last-request/register", "").status, 404);
    assert_eq!(text(&desk.ask(Method::Get, "/test/tls-cert", "")), "PEM");
}
