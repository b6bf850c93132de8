//! How the control plane is reached, and what may be wrong with that.
//!
//! Specification: `decisions.md` section 8 (`control_plane.url`).

use std::{io, path::PathBuf, time::Duration};

use reqwest::Url;
use thiserror::Error;

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

#[cfg(test)]
mod tests {
    use super::{ClientError, base};

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
}
