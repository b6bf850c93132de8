//! The one call that there is: plain data out, plain data or a sorted failure back.

use std::time::Duration;

use meshward_core::{
    agent::{Answer, Failure},
    wire::http::{Body, Headers, Method, Request, Response},
};
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect, retry,
};
use tracing::warn;

use super::{ClientError, ClientSettings, settings::base, tls};

/// The longest answer that is read, in bytes.
pub const RESPONSE_MAX: usize = 10 * 1024 * 1024;

/// How many idle connections are kept, and for how long: less than the minute after which balancers drop them.
const IDLE_MAX: usize = 4;
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// The longest cause that is told, in bytes.
const CAUSE_MAX: usize = 400;

/// Header fields whose values are credentials.
const CREDENTIALS: [&str; 2] = ["authorization", "proxy-authorization"];

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
    use meshward_core::wire::http::Headers;

    use super::sent;

    #[test]
    fn a_bearer_is_marked_as_sensitive() {
        let map = sent(&Headers::new().with("Authorization", "Bearer canary")).unwrap();
        assert!(!format!("{map:?}").contains("canary"));
        assert!(sent(&Headers::new().with("x", "line\nbreak")).is_none());
    }
}
