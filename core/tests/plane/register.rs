//! Every row of the registration checks, in their order.

use meshward_core::wire::http::{Body, Method};

use crate::desk::{Desk, text, verdict};

const PROJECT: &str = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0";
const TOKEN: &str = "psb_test_proj_node_abcdefghijklmnopqrst";
const KEY: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";

/// A sound request with some members replaced, each by its JSON text; an empty text leaves the member out.
fn body(changes: &[(&str, &str)]) -> String {
    let quoted = |text: &str| format!("\"{text}\"");
    let mut members = vec![
        ("project_id", quoted(PROJECT)),
        ("resource_handle", quoted("web-1")),
        ("bootstrap_token", quoted(TOKEN)),
        ("nonce", quoted("5f0c")),
        ("public_key", quoted(KEY)),
    ];
    for (name, text) in changes {
        members.retain(|(known, _)| known != name);
        members.push((name, (*text).to_owned()));
    }
    let members = members.iter().filter(|(_, text)| !text.is_empty());
    let texts: Vec<String> = members.map(|(name, text)| format!("\"{name}\":{text}")).collect();
    format!("{{{}}}", texts.join(","))
}

fn register(desk: &mut Desk, body: &str) -> (u16, String) {
    verdict(&desk.ask(Method::Post, "/v1/register", body))
}

#[test]
fn every_row_of_the_registration_checks_earns_its_status_and_code() {
    let long = format!("\"{}\"", "ä".repeat(4097));
    let zero = "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"";
    let token = |random: &str| format!("\"psb_test_proj_node_{random}aaaaaaaaaaaaaaaaaaaa\"");
    let (consumed, expired, revoked) = (token("consumed"), token("expired"), token("revoked"));
    let rows: &[(&str, &str, u16, &str)] = &[
        ("bootstrap_token", "", 422, ""),
        ("bootstrap_token", "\"\"", 422, ""),
        ("nonce", "null", 422, ""),
        ("nonce", "\"a\\u0000\"", 422, ""),
        ("resource_handle", "7", 422, ""),
        ("project_id", "\"\"", 422, ""),
        ("project_id", "\"00000000-0000-0000-0000-000000000000\"", 422, ""),
        ("project_id", "\"0190a8b8a0c07a0a8a0aa0a0a0a0a0a0\"", 422, ""),
        ("resource_handle", &long, 422, ""),
        ("requested_resource_id", &long, 422, ""),
        ("public_key", &long, 422, ""),
        ("public_key", "[]", 422, ""),
        ("public_key", "", 400, "public_key_invalid"),
        ("public_key", "\"short\"", 400, "public_key_invalid"),
        ("public_key", zero, 400, "public_key_invalid"),
        ("bootstrap_token", "\"psb_test_proj_node_short\"", 403, ""),
        ("bootstrap_token", "\"psb_test_proj_bridge_abcdefghijklmnopqrst\"", 403, "kind_mismatch"),
        ("bootstrap_token", &consumed, 403, "token_consumed"),
        ("bootstrap_token", &expired, 403, "token_expired"),
        ("bootstrap_token", &revoked, 403, "token_revoked"),
        ("project_id", "\"0190A8B8-A0C0-7A0A-8A0A-A0A0A0A0A0A0\"", 403, "project_mismatch"),
        ("resource_handle", "\"unknown-resource\"", 404, "resource_not_found"),
        ("resource_handle", "\"exhausted-pool\"", 503, "pool_exhausted"),
        ("resource_handle", "\"exhausted-subrange\"", 503, "subrange_exhausted"),
        ("resource_handle", "\"contended-allocator\"", 503, "allocator_contention"),
        ("resource_handle", "\"boom-internal\"", 500, ""),
    ];
    let mut desk = Desk::open();
    for (member, text, status, code) in rows {
        let answer = register(&mut desk, &body(&[(member, text)]));
        assert_eq!(answer, (*status, (*code).to_owned()), "{member}: {text}");
    }
    assert_eq!(desk.count("registration_count"), rows.len() as u64);
    assert_eq!(register(&mut desk, &body(&[])).0, 201, "no refusal recorded the nonce");
}

#[test]
fn members_of_exactly_4096_characters_pass() {
    let longest = format!("\"{}\"", "ä".repeat(4096));
    let changes = [
        ("resource_handle", longest.as_str()),
        ("nonce", &longest),
        ("requested_resource_id", &longest),
    ];
    assert_eq!(register(&mut Desk::open(), &body(&changes)).0, 201);
}

#[test]
fn a_body_that_is_no_json_object_is_400_without_code_and_counts() {
    let mut desk = Desk::open();
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(64), "]".repeat(64));
    for text in
        ["", "{", "null", "[]", "\"x\"", "{} {}", "{\"nonce\":\"a\",\"nonce\":\"b\"}", &deep]
    {
        assert_eq!(register(&mut desk, text), (400, String::new()), "{text}");
    }
    for torn in [Body::Oversized, Body::Unreadable] {
        let answer = desk.ask_with(Method::Post, "/v1/register", torn);
        assert_eq!(verdict(&answer), (400, String::new()));
    }
    assert_eq!(desk.count("registration_count"), 10);
}

/// Breaks one check after the other, last one first: the earliest broken check always decides.
#[test]
fn the_first_check_that_fails_decides() {
    let mut desk = Desk::open();
    assert_eq!(register(&mut desk, &body(&[])).0, 201);
    let steps: [(&str, &str, u16, &str); 6] = [
        ("resource_handle", "\"unknown-resource\"", 403, "nonce_collision"),
        ("project_id", "\"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a1\"", 403, "project_mismatch"),
        ("bootstrap_token", "\"psb_test_proj_bridge_abcdefghijklmnopqrst\"", 403, "kind_mismatch"),
        ("public_key", "\"short\"", 400, "public_key_invalid"),
        ("nonce", "\"\"", 422, ""),
        ("nonce", "\"", 400, ""),
    ];
    let mut changes = Vec::new();
    for (member, text, status, code) in steps {
        changes.push((member, text));
        assert_eq!(register(&mut desk, &body(&changes)), (status, code.to_owned()), "{member}");
    }
}

#[test]
fn a_nonce_registers_once_and_a_token_again() {
    let mut desk = Desk::open();
    assert_eq!(register(&mut desk, &body(&[])).0, 201);
    assert_eq!(register(&mut desk, &body(&[])), (403, "nonce_collision".into()));
    assert_eq!(register(&mut desk, &body(&[("nonce", "\"6\"")])).0, 201);
}

#[test]
fn unknown_members_pass_and_the_answer_has_its_members_in_order() {
    let mut desk = Desk::open();
    let response = desk.ask(Method::Post, "/v1/register", &body(&[("hostname", "{\"a\":[1]}")]));
    assert_eq!(response.status, 201);
    assert_eq!(
        text(&response),
        concat!(
            r#"{"node_id":"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3","mesh_ip":"10.99.0.1","#,
            r#""signing_public_key":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=","#,
            r#""signing_key_id":"did:web:meshward.example#key-e2e","#,
            r#""nsk":"AAECAwQFBgcICQoLDA0OD4CRorPE1eb3+Onay7ytno8=","peer_snapshot":["#,
            r#"{"node_id":"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b1","mesh_ip":"10.99.0.2","#,
            r#""public_key":"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=","#,
            r#""fallback_endpoint":"203.0.113.1:51820"},"#,
            r#"{"node_id":"0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0b2","mesh_ip":"10.99.0.3","#,
            r#""public_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}],"#,
            r#""domain_mesh_cidr":"10.99.0.0/24"}"#,
            "\n"
        )
    );
}
