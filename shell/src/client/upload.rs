//! The output of a run, brought to where the control plane has invited it: one PUT without a bearer, a redirect, a
//! proxy or a second try, and no word of the URL in what is told.
//!
//! Specification: "Output upload"; "Limits" of the node agent (upload of over-ceiling output).

use std::time::Duration;

use meshward_core::{
    agent::{Answer, Bytes, Failure, Lost},
    wire::{
        http::Response,
        upload_url::{Origin, UploadUrl},
    },
};
use reqwest::{
    Method, Request, Url,
    header::{CONTENT_TYPE, HeaderValue},
};

use super::{Client, ClientSettings, bare, convert::failed};

impl Client {
    /// What the address of an upload is held against.
    pub fn origin(&self) -> Origin {
        let host = self.base.host_str().unwrap_or_default().to_owned();
        Origin { is_encrypted: self.base.scheme() == "https", host }
    }

    /// Brings the bytes, which is over within the timeout; of the answer only the status is looked at.
    pub async fn upload(&self, url: &UploadUrl, bytes: Bytes, timeout: Duration) -> Answer {
        match tokio::time::timeout(timeout, self.put(url, bytes)).await {
            Ok(Ok(status)) => Answer::Responded(Response::empty(status)),
            Ok(Err((failure, cause))) => Answer::Failed(Lost { failure, cause }),
            Err(_) => {
                let cause = format!("it was given {timeout:?}");
                Answer::Failed(Lost { failure: Failure::TimedOut, cause })
            }
        }
    }

    async fn put(&self, url: &UploadUrl, bytes: Bytes) -> Result<u16, (Failure, String)> {
        let unusable = |cause: &str| (Failure::Unreachable, cause.to_owned());
        let url =
            Url::parse(url.text().expose()).map_err(|_| unusable("the upload URL is no URL"))?;
        let settings = self.towards(&url).ok_or_else(|| unusable("the upload URL has no host"))?;
        // Uploads are rare: a client of their own, which reads the trusted roots again, keeps no connection behind.
        let http = tokio::task::spawn_blocking(move || bare(&settings))
            .await
            .map_err(|broken| unusable(&broken.to_string()))?
            .map_err(|error| unusable(&error.to_string()))?;
        let mut request = Request::new(Method::PUT, url);
        let octets = HeaderValue::from_static("application/octet-stream");
        request.headers_mut().insert(CONTENT_TYPE, octets);
        *request.body_mut() = Some(bytes.0.into());
        let response = http.execute(request).await.map_err(failed)?;
        Ok(response.status().as_u16())
    }

    /// As the control plane is reached; another host than that has to show its certificate in any case.
    fn towards(&self, url: &Url) -> Option<ClientSettings> {
        let (base, host) = (&self.base, url.host_str()?);
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let is_same = (base.host(), base.port_or_known_default())
            == (url.host(), url.port_or_known_default());
        Some(ClientSettings {
            url: format!("{}://{host}{port}", url.scheme()),
            tls_insecure_skip_verify: self.settings.tls_insecure_skip_verify && is_same,
            ..self.settings.clone()
        })
    }
}
