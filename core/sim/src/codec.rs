//! Requests and responses as bytes, so that nothing crosses the network that could not be sent.

use crate::settings;
use meshward_core::wire::http::{Body, Headers, Method, Request, Response};

/// Writes a request as head, empty line and body.
pub fn request_bytes(request: &Request) -> Vec<u8> {
    let query = request.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    let mut out = format!("{} {}{query}\r\n", request.method.name(), request.path).into_bytes();
    let Body::Whole(body) = &request.body else { return out };
    out.extend_from_slice(format!("host: {}\r\n", settings::HOST).as_bytes());
    head(&mut out, &request.headers);
    out.extend_from_slice(body);
    out
}

/// Reads what [`request_bytes`] wrote.
pub fn request(bytes: &[u8]) -> Option<Request> {
    let (first, headers, body) = parts(bytes)?;
    let (method, target) = first.split_once(' ')?;
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    Some(Request {
        method: Method::parse(method),
        path: path.to_owned(),
        query,
        headers,
        body: Body::Whole(body.to_vec()),
    })
}

/// Writes a response.
pub fn response_bytes(response: &Response) -> Vec<u8> {
    let mut out = format!("{}\r\n", response.status).into_bytes();
    head(&mut out, &response.headers);
    out.extend_from_slice(&response.body);
    out
}

/// Reads what [`response_bytes`] wrote.
pub fn response(bytes: &[u8]) -> Option<Response> {
    let (first, headers, body) = parts(bytes)?;
    Some(Response { headers, body: body.to_vec(), ..Response::empty(first.parse().ok()?) })
}

fn head(out: &mut Vec<u8>, headers: &Headers) {
    for (name, value) in headers.iter() {
        out.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}

fn parts(bytes: &[u8]) -> Option<(&str, Headers, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let first = lines.next()?;
    let mut headers = Headers::new();
    for line in lines {
        let (name, value) = line.split_once(": ")?;
        headers.push(name, value);
    }
    Some((first, headers, &bytes[end + 4..]))
}
