//! The place that a client connects to, for who wants to see each step of it.

use std::sync::Arc;

use rustls::{ClientConnection, pki_types::ServerName};

use super::{ClientError, ClientSettings, convert::base, tls};

/// Where the control plane is, and how it is spoken to.
#[derive(Debug)]
pub(crate) struct Door {
    /// Without the brackets of an IPv6 address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Plain HTTP that can be read on the way.
    pub(crate) in_clear: bool,
    tls: Option<Arc<rustls::ClientConfig>>,
}

impl Door {
    /// Reads the trusted roots; it blocks on the disk.
    pub(crate) fn of(settings: &ClientSettings) -> Result<Self, ClientError> {
        let base = base(&settings.url)?;
        let encrypted = base.scheme() == "https";
        let tls = encrypted.then(|| tls::config(settings, true)).transpose()?.map(Arc::new);
        Ok(Self {
            host: base.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            port: base.port_or_known_default().unwrap_or_default(),
            in_clear: tls::goes_in_clear(&base),
            tls,
        })
    }

    /// A session that is yet to be begun, where there is encryption.
    pub(crate) fn session(&self) -> Option<Result<ClientConnection, rustls::Error>> {
        let config = Arc::clone(self.tls.as_ref()?);
        let name = ServerName::try_from(self.host.clone());
        let name = name.map_err(|_| rustls::Error::General("the host is no name for TLS".into()));
        Some(name.and_then(|name| ClientConnection::new(config, name)))
    }
}
