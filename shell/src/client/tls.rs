//! Whom the client trusts: the roots of the system and, beside them, the file that the operator names.

use std::{error::Error, io::Read, net::IpAddr, path::Path, sync::Arc};

use reqwest::Url;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tracing::warn;

use super::{ClientError, ClientSettings};
use crate::tokens;

/// The largest `ca_file` that is read.
const CA_FILE_MAX: u64 = 4 * 1024 * 1024;

/// Makes the TLS settings of a client; without encryption no root is needed.
pub(super) fn config(
    settings: &ClientSettings,
    encrypted: bool,
) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    if encrypted && settings.tls_insecure_skip_verify {
        let anyone = Arc::new(Anyone(provider));
        return Ok(builder
            .dangerous()
            .with_custom_certificate_verifier(anyone)
            .with_no_client_auth());
    }
    let roots =
        if encrypted { roots(settings.ca_file.as_deref())? } else { RootCertStore::empty() };
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    let (certificates, complaints) = system();
    for complaint in complaints {
        warn!("some trusted root certificates of this system cannot be read: {complaint}");
    }
    roots.add_parsable_certificates(certificates);
    if let Some(path) = ca_file {
        add(&mut roots, path)?;
    }
    if roots.is_empty() { Err(ClientError::NoRoots) } else { Ok(roots) }
}

/// How many certificates of this system can be trusted, and the first that cannot be read. It blocks on the disk.
pub(crate) fn system_roots() -> (usize, Option<String>) {
    let (certificates, complaints) = system();
    let (count, _) = RootCertStore::empty().add_parsable_certificates(certificates);
    (count, complaints.into_iter().next())
}

/// The certificates that this system trusts, and what of them cannot be read. A pipe or an endless file in their place is
/// not read.
fn system() -> (Vec<CertificateDer<'static>>, Vec<String>) {
    if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
        let told = |fault: &str| {
            (Vec::new(), vec![format!("SSL_CERT_FILE {}: {fault}", path.to_string_lossy())])
        };
        match std::fs::metadata(&path) {
            Ok(found) if !found.is_file() => return told("it is not a regular file"),
            Ok(found) if found.len() > CA_FILE_MAX => return told("it is larger than 4 MiB"),
            // What cannot be read is told by who reads it.
            Ok(_) | Err(_) => {}
        }
    }
    let found = rustls_native_certs::load_native_certs();
    let complaints = found.errors.iter().map(|error| crate::run::causes(error)).collect();
    (found.certs, complaints)
}

/// Adds every certificate of a PEM file, each of which must be sound.
fn add(roots: &mut RootCertStore, path: &Path) -> Result<(), ClientError> {
    let unreadable = |source| ClientError::CaFile { path: path.to_owned(), source };
    let unusable = |cause: String| ClientError::CaContent { path: path.to_owned(), cause };
    let mut pem = Vec::new();
    tokens::regular(path)
        .and_then(|(file, _)| file.take(CA_FILE_MAX).read_to_end(&mut pem))
        .map_err(unreadable)?;
    let mut found = 0;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        found += 1;
        let certificate =
            certificate.map_err(|_| unusable(format!("block {found} is not sound PEM")))?;
        roots
            .add(certificate)
            .map_err(|error| unusable(format!("certificate {found} is unusable ({error})")))?;
    }
    if found == 0 { Err(unusable("no certificate is in it".to_owned())) } else { Ok(()) }
}

/// Whether a certificate was refused for its dates, which a wrong clock does too.
pub(super) fn is_about_time(error: &(dyn Error + 'static)) -> bool {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(rustls::Error::InvalidCertificate(cause)) = error.downcast_ref() {
            return matches!(
                cause,
                CertificateError::Expired
                    | CertificateError::ExpiredContext { .. }
                    | CertificateError::NotValidYet
                    | CertificateError::NotValidYetContext { .. }
            );
        }
        // An io::Error does not name what it wraps as its source.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        at = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}

/// Takes any certificate for any name; signatures are still checked.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Warns where somebody on the way could read what is sent, or pose as the control plane.
pub(super) fn warn_of_weakness(base: &Url, insecure: bool) {
    if base.scheme() == "https" && insecure {
        warn!(
            "control_plane.tls_insecure_skip_verify is on: anyone on the way can pose as the control plane"
        );
    }
    if goes_in_clear(base) {
        warn!(
            "control_plane.url is plain http to another host: the node's credential goes over the network in \
             clear; use https"
        );
    }
}

/// Whether what is sent there can be read on the way.
pub(super) fn goes_in_clear(base: &Url) -> bool {
    let host = base.host_str().unwrap_or_default();
    let is_here = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    };
    base.scheme() == "http" && !is_here
}

#[cfg(test)]
mod tests {
    use super::goes_in_clear;
    use crate::client::convert::base;

    #[test]
    fn plain_http_to_another_host_goes_in_clear() {
        let clear = |url| goes_in_clear(&base(url).unwrap());
        for url in ["http://plane.example", "http://192.0.2.1:80", "http://[2001:db8::1]/x"] {
            assert!(clear(url), "{url}");
        }
        let hidden = [
            "https://plane.example",
            "http://127.0.0.2:8080",
            "http://[::1]:1",
            "http://localhost/x",
            "http://a.localhost",
        ];
        for url in hidden {
            assert!(!clear(url), "{url}");
        }
    }
}
