//! The local endpoints: a connection and TLS with the settings of each, and no more; no token is sent.

use meshward_core::doctor::{Endpoint, Fares, Finding, Way};
use reqwest::Url;

use super::{
    LOOK_MAX, local,
    plane::{CONNECT_MAX, way},
};
use crate::{
    actions::bounded::bounded,
    client::ClientSettings,
    config::{Config, LocalEndpoint, Pipeline},
};

/// One line for each that is configured.
pub(super) async fn look(config: &Config) -> Vec<Finding> {
    let of = |names, pipeline| one(names, pipeline, config);
    let (metrics, logs, audit) = tokio::join!(
        of(("metrics", "doctor metrics"), &config.metrics),
        of(("logs", "doctor logs"), &config.logs.pipeline),
        of(("audit", "doctor audit"), &config.audit.pipeline),
    );
    [metrics, logs, audit].into_iter().flatten().collect()
}

async fn one(
    (section, work): (&'static str, &'static str),
    pipeline: &Pipeline,
    config: &Config,
) -> Option<Finding> {
    let endpoint = pipeline.local_endpoint.clone().filter(|_| pipeline.enabled)?;
    let socket = config.local_api.socket_path.clone();
    let key = endpoint.secret_key.clone();
    let looked = move || (seen(&endpoint), local::fares(&socket, section));
    let (way, fares) = match bounded(work, LOOK_MAX, looked).await {
        Some((way, fares)) => (Some(way), fares),
        None => (None, Fares::Unasked("something hangs on the way".to_owned())),
    };
    Some(Endpoint { section, way, key, fares }.finding())
}

/// Where it is, without what is asked for there.
fn origin(url: &str) -> String {
    let parsed = Url::parse(url).map(|url| url.origin().ascii_serialization());
    parsed.unwrap_or_else(|_| url.to_owned())
}

fn seen(endpoint: &LocalEndpoint) -> Way {
    let settings = ClientSettings {
        url: origin(&endpoint.url),
        ca_file: None,
        tls_insecure_skip_verify: endpoint.tls_insecure_skip_verify,
        connect_timeout: CONNECT_MAX,
    };
    way(&settings, endpoint.tls_insecure_skip_verify)
}
