//! Calls to the control plane: one request out, one answer back, without redirects, retries or proxies.
//!
//! What went wrong comes back as words for the log that hold no query, no credential and no body.

mod tls;

use std::{io, path::PathBuf, time::Duration};

use meshward_core::{
    agent::{Answer, Failure},
    wire::http::{Body, Headers, Method, Request, Response},
};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect, retry,
};
use thiserror::Error;
use tracing::warn;

/// The longest answer that is read, in bytes.
pub const RESPONSE_MAX: usize = 10 * 1024 * 1024;

/// How many idle connections are kept, and for how long: less than the minute after which balancers drop them.
const IDLE_MAX: usize = 4;
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// The longest cause that is told, in bytes.
const CAUSE_MAX: usize = 400;

/// Header fields whose values are credentials.
const CREDENTIALS: [&str; 2] = ["authorization", "proxy-authorization"];

/// How the control plane is reached.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// `control_plane.url`: its path is a prefix of every route.
    pub url: String,
    /// `control_plane.ca_file`: trusted beside the roots of the system.
    pub ca_file: Option<PathBuf>,
    /// `control_plane.tls_insecure_skip_verify`.
    pub tls_insecure_skip_verify: bool,
    /// `control_plane.connect_timeout`.
    pub connect_timeout: Duration,
}

/// Why there can be no client.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error("control_plane.url is not an absolute http or https URL such as https://plane.example")]
    Url,
    #[error("control_plane.url must not hold {0}: remove it")]
    UrlPart(&'static str),
    #[error("control_plane.ca_file {}: cannot read it", .path.display())]
    CaFile { path: PathBuf, source: io::Error },
    #[error("control_plane.ca_file {}: {cause}; it must hold certificates in PEM", .path.display())]
    CaContent { path: PathBuf, cause: String },
    #[error(
        "this system has no trusted root certificates: install them or set control_plane.ca_file"
    )]
    NoRoots,
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    #[error("the HTTP client cannot be set up")]
    Build(#[source] reqwest::Error),
}

/// A client of one control plane.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
}

impl Client {
    /// Checks the settings and reads the trusted roots; it blocks on the disk.
    pub fn new(settings: &ClientSettings) -> Result<Self, ClientError> {
        let base = base(&settings.url)?;
        let encrypted = base.scheme() == "https";
        if encrypted && settings.tls_insecure_skip_verify {
            warn!(
                "control_plane.tls_insecure_skip_verify is on: anyone on the way can pose as the control plane"
            );
        }
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::config(settings, encrypted)?)
            .https_only(encrypted)
            .http1_only()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(settings.connect_timeout)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .user_agent(concat!("meshward/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(ClientError::Build)?;
        Ok(Self { http, base })
    }

    /// Makes one call, which is over within the timeout; beside a failure stands its cause in words for the log.
    pub async fn send(&self, request: Request, timeout: Duration) -> (Answer, Option<String>) {
        let (failure, cause) = match tokio::time::timeout(timeout, self.exchange(request)).await {
            Ok(Ok(response)) => return (Answer::Responded(response), None),
            Ok(Err(failed)) => failed,
            Err(_) => (Failure::TimedOut, format!("no answer within {timeout:?}")),
        };
        (Answer::Failed(failure), Some(cause))
    }

    async fn exchange(&self, request: Request) -> Result<Response, (Failure, String)> {
        let request = self.built(request)?;
        let mut response = self.http.execute(request).await.map_err(failed)?;
        let oversized = || (Failure::Oversized, format!("longer than {RESPONSE_MAX} bytes"));
        if response.content_length().is_some_and(|length| length > RESPONSE_MAX as u64) {
            return Err(oversized());
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > RESPONSE_MAX {
                return Err(oversized());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response { status: response.status().as_u16(), headers: received(&response), body })
    }

    fn built(&self, request: Request) -> Result<reqwest::Request, (Failure, String)> {
        let refused = |cause: &str| (Failure::Unreachable, cause.to_owned());
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Head => reqwest::Method::HEAD,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Delete => reqwest::Method::DELETE,
            Method::Other => return Err(refused("the request has no method")),
        };
        let mut url = self.base.clone();
        url.set_path(&format!("{}{}", self.base.path().trim_end_matches('/'), request.path));
        url.set_query(request.query.as_deref());
        let mut built = reqwest::Request::new(method, url);
        *built.headers_mut() =
            sent(&request.headers).ok_or_else(|| refused("a header field cannot be sent"))?;
        match request.body {
            Body::Whole(bytes) if bytes.is_empty() && request.method == Method::Get => {}
            Body::Whole(bytes) => *built.body_mut() = Some(bytes.into()),
            Body::Oversized | Body::Unreadable => return Err(refused("the request has no body")),
        }
        Ok(built)
    }
}

/// Reads `control_plane.url`; no part of it is told, since it may hold a password.
fn base(text: &str) -> Result<Url, ClientError> {
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

fn sent(headers: &Headers) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter() {
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(CREDENTIALS.contains(&name));
        map.append(HeaderName::from_bytes(name.as_bytes()).ok()?, value);
    }
    Some(map)
}

fn received(response: &reqwest::Response) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in response.headers() {
        headers.push(name.as_str(), &String::from_utf8_lossy(value.as_bytes()));
    }
    headers
}

/// Sorts a failure and tells its causes, innermost last, without the URL.
fn failed(error: reqwest::Error) -> (Failure, String) {
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
    if tls::is_about_time(&error) {
        cause.push_str(" (or the clock of this host is wrong)");
    }
    cause.truncate(cause.floor_char_boundary(CAUSE_MAX));
    (failure, cause)
}

#[cfg(test)]
mod tests {
    use super::{ClientError, base, sent};
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
