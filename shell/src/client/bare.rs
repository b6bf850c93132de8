//! A client that sends each request once, to the host it names.

use std::time::Duration;

use reqwest::{redirect, retry};

use super::{
    ClientError, ClientSettings,
    convert::{base, failed},
    tls,
};

/// How many idle connections are kept, and for how long: less than the minute after which balancers drop them.
const IDLE_MAX: usize = 4;
const IDLE_TIMEOUT: Duration = Duration::from_secs(50);

/// What goes to one host and nowhere else: through no proxy, behind no redirect, and never twice.
pub(crate) fn bare(settings: &ClientSettings) -> Result<reqwest::Client, ClientError> {
    let encrypted = base(&settings.url)?.scheme() == "https";
    reqwest::Client::builder()
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
        .map_err(ClientError::Build)
}

/// What went wrong with a request, in words.
pub(crate) fn told(error: reqwest::Error) -> String {
    failed(error).1
}
