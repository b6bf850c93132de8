//! Calls to the control plane: one request out, one answer back, without redirects, retries or proxies.
//!
//! What went wrong comes back as words for the log that hold no query, no credential and no body.

mod bare;
mod convert;
mod door;
mod endpoint;
mod listen;
mod tls;
mod upload;

use std::{io, path::PathBuf, time::Duration};

use meshward_core::{
    agent::{Answer, Failure, Lost},
    wire::http::{Body, Method, Request, Response},
};
use reqwest::Url;
use thiserror::Error;

pub(crate) use bare::{bare, told};
use convert::{base, failed, received, sent};
pub(crate) use door::Door;
pub(crate) use endpoint::Endpoint;
pub(crate) use tls::system_roots;

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
    settings: ClientSettings,
}

/// How much room an announced length alone is given, before a byte of the answer has come.
const RESERVED_MAX: usize = 64 << 10;

impl Client {
    /// Checks the settings and reads the trusted roots; it blocks on the disk.
    pub fn new(settings: &ClientSettings) -> Result<Self, ClientError> {
        let base = base(&settings.url)?;
        tls::warn_of_weakness(&base, settings.tls_insecure_skip_verify);
        let http = bare(settings)?;
        Ok(Self { http, base, settings: settings.clone() })
    }

    /// Makes one call, which is over within the timeout; a failure brings its cause in words, and so does an answer of
    /// more than `answer_max` bytes.
    pub async fn send(&self, request: Request, timeout: Duration, answer_max: usize) -> Answer {
        match tokio::time::timeout(timeout, self.exchange(request, answer_max)).await {
            Ok(Ok(response)) => Answer::Responded(response),
            Ok(Err((failure, cause))) => Answer::Failed(self.lost(failure, &cause)),
            Err(_) => {
                let cause = format!("it was given {timeout:?}");
                Answer::Failed(self.lost(Failure::TimedOut, &cause))
            }
        }
    }

    /// With the address that was asked, which holds neither user nor password nor query.
    fn lost(&self, failure: Failure, cause: &str) -> Lost {
        Lost { failure, cause: format!("{} (control_plane.url): {cause}", self.base) }
    }

    async fn exchange(
        &self,
        request: Request,
        answer_max: usize,
    ) -> Result<Response, (Failure, String)> {
        let request = self.built(request)?;
        let mut response = self.http.execute(request).await.map_err(failed)?;
        let status = response.status().as_u16();
        let oversized =
            || (Failure::Oversized { status }, format!("longer than {answer_max} bytes"));
        if response.content_length().is_some_and(|length| length > answer_max as u64) {
            return Err(oversized());
        }
        // Reserved beforehand, so that no copy of a secret is left behind by growing.
        let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
        let mut body = Vec::with_capacity(announced.unwrap_or_default().min(RESERVED_MAX));
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > answer_max {
                return Err(oversized());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response { headers: received(&response), body, ..Response::empty(status) })
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
