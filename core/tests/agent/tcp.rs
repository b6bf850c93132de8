//! The TCP listener: who holds the token, and which page may not ask.

use meshward_core::{
    agent::{Caller, Door, Effect, Input, StagedFile, TcpSettings, local::bearer::admit},
    ids::CallId,
    secret::Secret,
    wire::http::{Body, Headers, Method, Request, Response},
};

use crate::bench::Bench;

const TOKEN: &str = "sixteen-bytes-of-token";

fn settings() -> TcpSettings {
    TcpSettings::new(&Secret::new(TOKEN.into()), "node.example".into())
}

fn with(fields: &[(&str, &str)]) -> Headers {
    fields.iter().fold(Headers::new(), |headers, (name, value)| headers.with(name, value))
}

fn refused(headers: &Headers) -> Option<(u16, String)> {
    let response = admit(Some(&settings()), headers).err()?;
    assert_eq!(response.headers.first("www-authenticate").is_some(), response.status == 401);
    Some((response.status, String::from_utf8(response.body).expect("a text")))
}

#[test]
fn only_the_whole_token_in_one_header_is_let_through() {
    let admitted = [
        "Bearer sixteen-bytes-of-token",
        "bearer sixteen-bytes-of-token",
        "BEARER sixteen-bytes-of-token",
    ];
    for value in admitted {
        assert_eq!(refused(&with(&[("Authorization", value)])), None, "{value}");
    }
    let unauthorized = Some((401, "{\"error\":\"unauthorized\"}\n".to_owned()));
    let others = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer  sixteen-bytes-of-token",
        "Bearer sixteen-bytes-of-token ",
        "Bearer sixteen-bytes-of-toke",
        "Bearer Sixteen-bytes-of-token",
        "Basic sixteen-bytes-of-token",
        "sixteen-bytes-of-token",
        "Bearer\tsixteen-bytes-of-token",
    ];
    for value in others {
        assert_eq!(refused(&with(&[("Authorization", value)])), unauthorized, "{value:?}");
    }
    assert_eq!(refused(&Headers::new()), unauthorized);
    let bearer = ("Authorization", "Bearer sixteen-bytes-of-token");
    assert_eq!(refused(&with(&[bearer, bearer])), unauthorized, "a repeated header");
    assert_eq!(admit(None, &with(&[bearer])).map_err(|response| response.status), Err(401));
}

#[test]
fn a_page_of_a_site_is_refused_even_with_the_token() {
    let bearer = ("authorization", "Bearer sixteen-bytes-of-token");
    let forbidden = Some((403, "{\"error\":\"forbidden\"}\n".to_owned()));
    for host in
        ["127.0.0.1:9100", "[::1]:9100", "localhost", "node.example:9100", "meshward", "n.local"]
    {
        assert_eq!(refused(&with(&[bearer, ("host", host)])), None, "{host}");
        let page = with(&[bearer, ("host", host), ("origin", &format!("http://{host}"))]);
        assert_eq!(refused(&page), forbidden, "{host}");
    }
    for host in ["evil.example", "evil.node.example:9100", "127.0.0.1.evil.example"] {
        assert_eq!(refused(&with(&[bearer, ("host", host)])), forbidden, "{host}");
    }
    let two = with(&[bearer, ("host", "localhost"), ("host", "evil.example")]);
    assert_eq!(refused(&two), forbidden);
}

fn ask(bench: &mut Bench, method: Method, path: &str, headers: Headers) -> (u16, String) {
    let request = Request { method, path: path.into(), query: None, headers, body: Body::EMPTY };
    let caller = Caller::from(Door::Tcp);
    match bench.give(Input::Asked { call: CallId(1), caller, request }).as_slice() {
        [Effect::Reply { response: Response { status, body, .. }, .. }] => {
            (*status, String::from_utf8(body.clone()).expect("a text"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_the_token_nothing_is_told_of_any_route() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    bench.settings.tcp = Some(settings());
    let rows = [
        (Method::Get, "/v1/state"),
        (Method::Get, "/none"),
        (Method::Put, "/v1/state"),
        (Method::Get, "/v1/state/secrets/db"),
    ];
    for (method, path) in rows {
        assert_eq!(ask(&mut bench, method, path, Headers::new()).0, 401, "{path}");
    }
    let bearer = || with(&[("authorization", "Bearer sixteen-bytes-of-token")]);
    assert_eq!(ask(&mut bench, Method::Get, "/v1/state", bearer()).0, 200);
    assert_eq!(ask(&mut bench, Method::Get, "/none", bearer()).0, 404);
    assert_eq!(ask(&mut bench, Method::Put, "/v1/state", bearer()).0, 405);
}

#[test]
fn behind_a_closed_gate_the_token_reads_no_secret() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    bench.settings.tcp = Some(settings());
    let bearer = || with(&[("authorization", "Bearer sixteen-bytes-of-token")]);
    assert_eq!(ask(&mut bench, Method::Get, "/v1/state/secrets", bearer()).0, 200);
    bench.settings.secret_auth_enabled = true;
    let denied = "{\"error\":\"forbidden: insufficient privileges for secret access\"}\n";
    for path in ["/v1/state/secrets", "/v1/state/secrets/db"] {
        assert_eq!(ask(&mut bench, Method::Get, path, bearer()), (403, denied.into()), "{path}");
    }
    assert_eq!(ask(&mut bench, Method::Get, "/v1/state", bearer()).0, 200);
}
