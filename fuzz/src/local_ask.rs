//! Requests of co-located programs drawn byte by byte, mostly ones that a program would send.
//!
//! Every choice takes one byte from the front, so that a corpus file can be written by hand: door, route, method, query,
//! headers, body, and what each of them needs in detail behind it.

use arbitrary::{Result, Unstructured};
use meshward_core::{
    agent::{Caller, Door, Peer, builtins},
    wire::http::{Body, Headers, Method, Request},
};

use crate::local_node::TCP_TOKEN;

/// The longest text that is drawn raw.
const RAW_MAX: usize = 255;

/// A payload beyond the limit of a report.
const LONG_PAYLOAD: usize = 5000;

/// The routes with the method that each is for, and some that are none.
const ROUTES: [(Method, &str); 36] = [
    (Method::Get, "/v1/state"),
    (Method::Get, "/v1/state/metadata"),
    (Method::Get, "/v1/state/metadata/zone"),
    (Method::Get, "/v1/state/metadata/none"),
    (Method::Get, "/v1/state/data"),
    (Method::Get, "/v1/state/data/app%2Fconfig"),
    (Method::Get, "/v1/state/data/app/config"),
    (Method::Get, "/v1/state/data/none"),
    (Method::Get, "/v1/state/secrets"),
    (Method::Get, "/v1/state/secrets/db"),
    (Method::Get, "/v1/state/secrets/Db"),
    (Method::Get, "/v1/state/secrets/d%62"),
    (Method::Get, "/v1/state/report"),
    (Method::Get, "/v1/state/report/app"),
    (Method::Put, "/v1/state/report/app"),
    (Method::Delete, "/v1/state/report/app"),
    (Method::Put, "/v1/state/report/other"),
    (Method::Delete, "/v1/state/report/other"),
    (Method::Put, "/v1/state/report/status.mesh"),
    (Method::Delete, "/v1/state/report/status.mesh"),
    (Method::Get, "/v1/state/report/a%2Fb"),
    (Method::Put, "/v1/state/report/%ff"),
    (Method::Get, "/v1/policies"),
    (Method::Get, "/v1/peers"),
    (Method::Get, "/v1/actions"),
    (Method::Post, "/v1/actions/run"),
    (Method::Get, "/v1/hooks"),
    (Method::Post, "/v1/hooks/reload"),
    (Method::Get, "/v1/log-status"),
    (Method::Get, "/v1/audit/status"),
    (Method::Get, "/v1/status"),
    (Method::Get, "/v1/watch"),
    (Method::Get, "/healthz"),
    (Method::Get, "/readyz"),
    (Method::Get, "/v1/state/"),
    (Method::Get, "/v2/state"),
];

const METHODS: [Method; 6] =
    [Method::Get, Method::Head, Method::Post, Method::Put, Method::Delete, Method::Other];

/// Draws who asks what.
pub(crate) fn draw(u: &mut Unstructured<'_>) -> Result<(Caller, Request)> {
    let (caller, mut headers) = caller(u)?;
    let (natural, path) = route(u)?;
    let method = match u.arbitrary::<u8>()? {
        0..200 => natural,
        byte => METHODS[usize::from(byte % 6)],
    };
    let query = match u.arbitrary::<u8>()? {
        0..128 => None,
        byte @ 128..200 => Some(format!("version={}", byte % 8)),
        200..210 => Some("version=&version=1".to_owned()),
        210..220 => Some("a&%76ersion=99999999999999999999".to_owned()),
        _ => Some(text(u)?),
    };
    headers = fields(u, headers)?;
    let body = body(u)?;
    Ok((caller, Request { method, path, query, headers, body }))
}

fn caller(u: &mut Unstructured<'_>) -> Result<(Caller, Headers)> {
    let peer = |uid, groups| Peer {
        uid,
        groups,
        agent: 78,
        order_group: Some(1000),
        secret_group: Some(77),
    };
    let socket = |peer| Caller { door: Door::Socket, peer };
    let none = Headers::new();
    let tcp = |authorization: &str| {
        let headers = Headers::new().with("host", "localhost:9100");
        (Caller::from(Door::Tcp), headers.with("authorization", authorization))
    };
    Ok(match u.arbitrary::<u8>()? {
        0..128 => (socket(Some(peer(0, vec![0]))), none),
        128..144 => (socket(Some(peer(1000, vec![1000]))), none),
        144..160 => (socket(Some(peer(1000, vec![77]))), none),
        160..168 => (socket(Some(peer(65_534, vec![65_534]))), none),
        168..176 => (socket(None), none),
        176..208 => tcp(&format!("Bearer {TCP_TOKEN}")),
        208..220 => tcp("Bearer another"),
        220..224 => (Caller::from(Door::Tcp), none),
        _ => (Caller::from(Door::Health), none),
    })
}

fn route(u: &mut Unstructured<'_>) -> Result<(Method, String)> {
    Ok(match usize::from(u.arbitrary::<u8>()?) {
        byte @ 0..216 => {
            let (method, path) = ROUTES[byte % ROUTES.len()];
            (method, path.to_owned())
        }
        216..226 => (Method::Put, format!("/v1/state/report/{}", text(u)?)),
        226..236 => (Method::Get, format!("/v1/state/{}", text(u)?)),
        236..246 => (Method::Get, format!("/v1/{}", text(u)?)),
        _ => (Method::Get, format!("/{}", text(u)?)),
    })
}

fn fields(u: &mut Unstructured<'_>, headers: Headers) -> Result<Headers> {
    Ok(match u.arbitrary::<u8>()? {
        0..128 => headers,
        byte @ 128..170 => headers.with("if-match", &(byte % 8).to_string()),
        170..180 => headers.with("if-match", "1").with("If-Match", "1"),
        180..190 => headers.with("if-match", "\"1\""),
        190..200 => headers.with("if-match", "-1"),
        200..210 => headers.with("accept", "text/html, application/json;q=0.1"),
        210..220 => headers.with("origin", "http://localhost:9100"),
        220..230 => headers.with("host", "evil.example"),
        230..240 => headers.with("if-match", &text(u)?),
        _ => headers.with("accept", &text(u)?),
    })
}

fn body(u: &mut Unstructured<'_>) -> Result<Body> {
    let order = |byte: u8| {
        let action = builtins::ALL.get(usize::from(byte % 10)).unwrap_or(&"none");
        Body::Whole(format!(r#"{{"action":"{action}","parameters":{{"peer_id":"::1"}}}}"#).into())
    };
    let report = |payload: &str| {
        Body::Whole(format!(r#"{{"content_type":"text/plain","payload":{payload}}}"#).into())
    };
    Ok(match u.arbitrary::<u8>()? {
        0..64 => Body::EMPTY,
        byte @ 64..128 => report(&byte.to_string()),
        byte @ 128..160 => order(byte),
        160..170 => report("null"),
        170..180 => report(&format!("\"{}\"", "x".repeat(LONG_PAYLOAD))),
        180..190 => Body::Whole(br#"{"payload":1}"#.to_vec()),
        190..200 => Body::Whole(br#"{"content_type":"a"}"#.to_vec()),
        200..210 => Body::Oversized,
        210..220 => Body::Unreadable,
        220..236 => report(&String::from_utf8_lossy(&raw(u)?)),
        _ => Body::Whole(raw(u)?),
    })
}

fn raw(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = usize::from(u.arbitrary::<u8>()?).min(RAW_MAX).min(u.len());
    Ok(u.bytes(length)?.to_vec())
}

/// A text without spaces, as it may stand in a request line.
fn text(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(raw(u)?.iter().map(|byte| char::from(byte % 94 + 33)).collect())
}
