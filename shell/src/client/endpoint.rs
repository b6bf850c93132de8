//! A local endpoint: one URL that is given batches and a token, and whose answer matters by its status alone.

use std::time::Duration;

use meshward_core::{
    agent::{Answer, Failure, Lost},
    secret::Secret,
    wire::http::Response,
};
use reqwest::{
    Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use zeroize::Zeroizing;

use super::{ClientError, ClientSettings, bare, convert::failed_at};

/// How long its host may take to answer at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The file of authorities is the control plane's alone.
const BY_SYSTEM: &str = "let this system trust the authority that signed it, such as by update-ca-certificates; \
                         control_plane.ca_file does not count here";

/// The client of one endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    http: reqwest::Client,
    url: Url,
}

impl Endpoint {
    /// Reads the trusted roots; it blocks on the disk.
    pub(crate) fn new(url: &str, tls_insecure_skip_verify: bool) -> Result<Self, ClientError> {
        let url = Url::parse(url).map_err(|_| ClientError::Url)?;
        let settings = ClientSettings {
            // The rest of it, where a query may stand, is what is asked for.
            url: url.origin().ascii_serialization(),
            ca_file: None,
            tls_insecure_skip_verify,
            connect_timeout: CONNECT_TIMEOUT,
        };
        Ok(Self { http: bare(&settings)?, url })
    }

    /// One POST of JSON; the body of the answer is not read.
    pub(crate) async fn post(
        &self,
        body: Vec<u8>,
        token: Secret<String>,
        timeout: Duration,
    ) -> Answer {
        match tokio::time::timeout(timeout, self.exchange(body, &token)).await {
            Ok(Ok(status)) => Answer::Responded(Response::empty(status)),
            Ok(Err((failure, cause))) => Answer::Failed(Lost { failure, cause }),
            Err(_) => {
                let cause = format!("it was given {timeout:?}");
                Answer::Failed(Lost { failure: Failure::TimedOut, cause })
            }
        }
    }

    async fn exchange(
        &self,
        body: Vec<u8>,
        token: &Secret<String>,
    ) -> Result<u16, (Failure, String)> {
        let bearer = Zeroizing::new(format!("Bearer {}", token.expose()));
        let unsendable =
            |_| (Failure::Unreachable, "its token cannot stand in a header".to_owned());
        let mut bearer = HeaderValue::from_str(&bearer).map_err(unsendable)?;
        bearer.set_sensitive(true);
        let mut request = reqwest::Request::new(reqwest::Method::POST, self.url.clone());
        request.headers_mut().insert(AUTHORIZATION, bearer);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.into());
        let response =
            self.http.execute(request).await.map_err(|error| failed_at(error, BY_SYSTEM))?;
        Ok(response.status().as_u16())
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn an_endpoint_may_have_a_port_a_path_and_a_query() {
        for url in [
            "https://logs.example",
            "https://logs.example:8443/in",
            "https://[::1]/in?tenant=one#part",
        ] {
            // It trusts anyone, so that no roots are needed.
            assert_eq!(Endpoint::new(url, true).unwrap().url.as_str().trim_end_matches('/'), url);
        }
        assert!(Endpoint::new("logs.example", true).is_err());
    }
}
