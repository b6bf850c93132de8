//! Between the core's plain data and reqwest's types, and failures in words.

use meshward_core::{agent::Failure, wire::http::Headers};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{ClientError, tls};

/// The longest cause that is told, in bytes.
const CAUSE_MAX: usize = 400;

/// Header fields whose values are credentials.
const CREDENTIALS: [&str; 2] = ["authorization", "proxy-authorization"];

/// Reads `control_plane.url`; no part of it is told, since it may hold a password.
pub(super) fn base(text: &str) -> Result<Url, ClientError> {
    let url = Url::parse(text).map_err(|_| ClientError::Url)?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(ClientError::Url);
    }
    let unwanted = [
        (!url.username().is_empty() || url.password().is_some(), "a user or a password"),
        (url.query().is_some(), "a query"),
        (url.fragment().is_some(), "a fragment"),
    ];
    match unwanted.iter().find(|(found, _)| *found) {
        Some((_, part)) => Err(ClientError::UrlPart(part)),
        None => Ok(url),
    }
}

pub(super) fn sent(headers: &Headers) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter() {
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(CREDENTIALS.contains(&name));
        map.append(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
    }
    Some(map)
}

pub(super) fn received(response: &reqwest::Response) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in response.headers() {
        headers.push(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
    headers
}

/// How an authority comes to be trusted for the control plane.
const BY_CA_FILE: &str = "name the authority that signed it in control_plane.ca_file";

/// Sorts a failure and tells its causes, innermost last, without the URL.
pub(super) fn failed(error: reqwest::Error) -> (Failure, String) {
    failed_at(error, BY_CA_FILE)
}

/// The same of another server, with how an authority comes to be trusted there.
pub(super) fn failed_at(error: reqwest::Error, trust: &str) -> (Failure, String) {
    let error = error.without_url();
    let failure = if error.is_timeout() { Failure::TimedOut } else { Failure::Unreachable };
    let mut cause = String::new();
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = at {
        let text = error.to_string();
        if !cause.ends_with(&text) {
            cause = if cause.is_empty() { text } else { format!("{cause}: {text}") };
        }
        at = error.source();
    }
    if cause.contains("UnknownIssuer") {
        cause = format!("{cause} ({trust})");
    }
    if cause.contains("CaUsedAsEndEntity") {
        cause.push_str(" (the certificate is one of an authority: the server needs one of its own, not CA:TRUE)");
    }
    if is_no_http(&error) {
        cause.push_str(" (what answers there speaks no HTTP: perhaps its URL begins with https)");
    }
    if tls::is_about_time(&error) {
        cause.push_str(" (or the clock of this host is wrong)");
    }
    cause.truncate(cause.floor_char_boundary(CAUSE_MAX));
    (failure, cause)
}

/// Whether the answer could not be read as HTTP at all.
fn is_no_http(error: &reqwest::Error) -> bool {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = at {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return true;
        }
        at = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{base, sent};
    use crate::client::ClientError;
    use meshward_core::wire::http::Headers;

    #[test]
    fn a_base_url_is_http_or_https_and_holds_nothing_but_host_and_path() {
        for text in ["http://plane", "https://plane.example:8443/prefix/", "http://[::1]:80"] {
            assert!(base(text).is_ok(), "{text}");
        }
        for text in ["", "plane.example", "ftp://plane", "http://", "unix:/run/x"] {
            assert!(matches!(base(text), Err(ClientError::Url)), "{text}");
        }
        for text in ["http://u@plane", "http://u:canary@plane", "http://plane?q", "http://plane#f"]
        {
            let told = base(text).unwrap_err();
            assert!(matches!(told, ClientError::UrlPart(_)), "{text}");
            assert!(!told.to_string().contains("canary"));
        }
    }

    #[test]
    fn a_bearer_is_marked_as_sensitive() {
        let map = sent(&Headers::new().with("Authorization", "Bearer canary")).unwrap();
        assert!(!format!("{map:?}").contains("canary"));
        assert!(sent(&Headers::new().with("x", "line\nbreak")).is_none());
    }
}
