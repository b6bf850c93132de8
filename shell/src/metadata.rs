//! The instance metadata service: a session token where the service gives one, then one value a path.
//!
//! It gets a client of its own that goes through no proxy and follows no redirect, so that what it is asked and what it
//! answers stays on this machine. Specification: "Registration configuration"; `gaps-agent.md` 2.6 (IMDS).

use std::time::Duration;

use meshward_core::secret::Secret;
use reqwest::{
    Method, Request, Response, StatusCode, Url,
    header::{HeaderName, HeaderValue},
};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::{
    client::{self, ClientError, ClientSettings},
    config::Registration,
};

/// The longest answer that is read: a token of 512 bytes, and a newline behind it.
const ANSWER_MAX: usize = 513;

const SESSION_PATH: &str = "/latest/api/token";
const SESSION: &str = "x-aws-ec2-metadata-token";
const LIFETIME: &str = "x-aws-ec2-metadata-token-ttl-seconds";
const LIFETIME_SECONDS: &str = "21600";

/// How the service is reached.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    http: reqwest::Client,
    url: String,
    timeout: Duration,
}

/// The service within one gathering: each request carries the same session token.
#[derive(Debug)]
pub(crate) struct Session<'m> {
    metadata: &'m Metadata,
    token: OnceCell<Option<Secret<String>>>,
}

/// What stands under a path: nothing where the service does not have it.
pub(crate) type Held = Result<Option<Secret<String>>, String>;

impl Metadata {
    /// The service that the configuration names, where it is to be used.
    pub(crate) fn of(config: &Registration) -> Result<Option<Self>, ClientError> {
        if !config.use_metadata {
            return Ok(None);
        }
        let http = client::bare(&ClientSettings {
            url: config.metadata_url.clone(),
            ca_file: None,
            tls_insecure_skip_verify: false,
            connect_timeout: config.metadata_timeout,
        })?;
        Ok(Some(Self { http, url: config.metadata_url.clone(), timeout: config.metadata_timeout }))
    }

    pub(crate) const fn session(&self) -> Session<'_> {
        Session { metadata: self, token: OnceCell::const_new() }
    }

    /// One request, with its answer within the timeout.
    async fn exchange(&self, method: Method, path: &str, field: Option<(&str, &str)>) -> Held {
        let url = Url::parse(&format!("{}{path}", self.url)).map_err(|_| "it is no URL")?;
        let mut request = Request::new(method, url);
        if let Some((name, value)) = field {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "it is no field")?;
            let mut value = HeaderValue::from_str(value).map_err(|_| "it is no field")?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        let answer = async { read(self.http.execute(request).await.map_err(client::told)?).await };
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(held) => held,
            Err(_) => Err(format!("no answer within {:?}", self.timeout)),
        }
    }
}

impl Session<'_> {
    /// Reads what stands under a path; the error tells the path and the cause.
    pub(crate) async fn read(&self, path: &str) -> Held {
        let token = self.token.get_or_init(|| self.open()).await.as_ref();
        let field = token.map(|token| (SESSION, token.expose().as_str()));
        let held = self.metadata.exchange(Method::GET, path, field).await;
        held.map_err(|cause| format!("{}{path}: {cause}", self.metadata.url))
    }

    /// Asks for a session token; a service that gives none, or one that no field can carry, is asked without.
    async fn open(&self) -> Option<Secret<String>> {
        let lifetime = Some((LIFETIME, LIFETIME_SECONDS));
        let asked = self.metadata.exchange(Method::PUT, SESSION_PATH, lifetime).await;
        asked.ok().flatten().filter(|token| {
            let text = token.expose();
            !text.is_empty() && text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        })
    }
}

async fn read(mut response: Response) -> Held {
    match response.status() {
        StatusCode::NOT_FOUND => return Ok(None),
        status if status.is_success() => {}
        status => return Err(format!("it answered {}", status.as_u16())),
    }
    let mut body = Zeroizing::new(Vec::with_capacity(ANSWER_MAX));
    while let Some(chunk) = response.chunk().await.map_err(client::told)? {
        if body.len() + chunk.len() > ANSWER_MAX {
            return Err(format!("the answer is longer than {ANSWER_MAX} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    let text = std::str::from_utf8(&body).ok().filter(|text| text.is_ascii());
    let text = text.ok_or_else(|| "the answer is no ASCII text".to_owned())?;
    Ok(Some(Secret::new(text.trim_ascii().to_owned())))
}
