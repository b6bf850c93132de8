//! The way to the control plane: the name, a connection, TLS, and the question whether it is well.

use std::{
    error::Error,
    io,
    net::{SocketAddr, TcpStream, ToSocketAddrs as _},
    time::Duration,
};

use meshward_core::{
    agent::{
        Answer,
        heartbeat::skew::{DATE_PRECISION, Skew},
    },
    doctor::{Finding, Health, Plane, Roots, Shake, TlsFault, Way},
    wire::{
        control,
        http::{Body, Headers, Method, Request, Response},
        json,
        retry_after::http_date,
    },
};
use rustls::CertificateError as Cause;

use super::LOOK_MAX;
use crate::{
    actions::bounded::bounded,
    client::{self, Client, ClientSettings, Door},
    clock,
    config::{Config, LocalEndpoint},
};

/// How long one address may take to answer, and each word of TLS.
pub(super) const CONNECT_MAX: Duration = Duration::from_secs(3);

/// How many addresses of a name are tried.
const ADDRESSES_MAX: usize = 2;

/// The longest answer that is read, in bytes.
const ANSWER_MAX: usize = 64 << 10;

pub(super) async fn reach(config: &Config) -> Plane {
    let plane = &config.control_plane;
    let settings = ClientSettings {
        url: plane.url.clone(),
        ca_file: plane.ca_file.clone(),
        tls_insecure_skip_verify: plane.tls_insecure_skip_verify,
        connect_timeout: plane.connect_timeout.min(CONNECT_MAX),
    };
    let (asked, insecure) = (settings.clone(), plane.tls_insecure_skip_verify);
    let way = bounded("doctor way", LOOK_MAX, move || way(&asked, insecure));
    let (way, (health, skew)) = tokio::join!(way, ask(settings));
    Plane { way, health: Some(health), skew }
}

pub(super) fn way(settings: &ClientSettings, insecure: bool) -> Way {
    let door = match Door::of(settings) {
        Ok(door) => door,
        Err(error) => return Way::Unprepared { cause: told(&error) },
    };
    let found = match (door.host.as_str(), door.port).to_socket_addrs() {
        Ok(found) => found.take(ADDRESSES_MAX).collect::<Vec<_>>(),
        Err(error) => return Way::Unresolved { host: door.host, cause: error.to_string() },
    };
    let mut cause = "the name has no address".to_owned();
    for address in &found {
        match TcpStream::connect_timeout(address, settings.connect_timeout) {
            Ok(stream) => return shaken(&door, insecure, (*address, stream)),
            Err(error) => cause = error.to_string(),
        }
    }
    let tried: Vec<_> = found.iter().map(SocketAddr::to_string).collect();
    Way::Unconnected { tried: tried.join(", "), cause }
}

fn shaken(door: &Door, insecure: bool, (address, mut stream): (SocketAddr, TcpStream)) -> Way {
    let address = address.to_string();
    let done = match door.session() {
        None => return Way::Connected { address, shake: Shake::Plain { in_clear: door.in_clear } },
        Some(Err(error)) => Err(io::Error::other(error)),
        Some(Ok(mut session)) => {
            limited(&stream).and_then(|()| session.complete_io(&mut stream)).map(drop)
        }
    };
    let shake = match done {
        Ok(()) if insecure => Shake::Unverified,
        Ok(()) => Shake::Sound,
        Err(error) => Shake::Failed(fault(&error)),
    };
    Way::Connected { address, shake }
}

/// Whose certificates are trusted, where somebody is asked by TLS and certificates count.
pub(super) async fn roots(config: &Config) -> Option<Finding> {
    let plane = &config.control_plane;
    let by_tls = plane.url.starts_with("https:") && !plane.tls_insecure_skip_verify;
    let pipelines = [&config.metrics, &config.logs.pipeline, &config.audit.pipeline];
    let verified = |endpoint: &LocalEndpoint| !endpoint.tls_insecure_skip_verify;
    let has_endpoint = pipelines
        .iter()
        .filter(|pipeline| pipeline.enabled)
        .any(|pipeline| pipeline.local_endpoint.as_ref().is_some_and(verified));
    let spare = !has_endpoint && plane.ca_file.is_some();
    if !by_tls && !has_endpoint {
        return None;
    }
    let looked = bounded("doctor roots", LOOK_MAX, move || {
        let (count, complaint) = client::system_roots();
        let variable = |name| {
            std::env::var_os(name).map(|value| format!("{name}={}", value.to_string_lossy()))
        };
        let named = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(variable);
        let named = named.reduce(|all, one| format!("{all} {one}"));
        Roots { count, complaint, named, spare }.finding()
    });
    Some(looked.await.unwrap_or_else(|| Finding::unseen("ca certificates")))
}

fn limited(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(CONNECT_MAX))?;
    stream.set_write_timeout(Some(CONNECT_MAX))
}

fn fault(error: &io::Error) -> TlsFault {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(cause)) = inner else {
        return TlsFault::Other(told(error));
    };
    let rows = [
        (matches!(cause, Cause::Expired | Cause::ExpiredContext { .. }), TlsFault::Expired),
        (
            matches!(cause, Cause::NotValidYet | Cause::NotValidYetContext { .. }),
            TlsFault::NotYetValid,
        ),
        (
            matches!(cause, Cause::NotValidForName | Cause::NotValidForNameContext { .. }),
            TlsFault::Name,
        ),
        (matches!(cause, Cause::UnknownIssuer), TlsFault::Chain),
    ];
    let known = rows.into_iter().find_map(|(is_so, fault)| is_so.then_some(fault));
    known.unwrap_or_else(|| TlsFault::Refused(format!("the certificate is refused ({cause})")))
}

fn told(error: &dyn Error) -> String {
    crate::run::causes(error)
}

async fn ask(settings: ClientSettings) -> (Health, Option<Skew>) {
    // It reads the trusted roots.
    let made = bounded("doctor client", LOOK_MAX, move || Client::new(&settings)).await;
    let client = match made {
        Some(Ok(client)) => client,
        Some(Err(error)) => return (Health::Lost(told(&error)), None),
        None => return (Health::Lost("the trusted roots are not read in time".into()), None),
    };
    let request = Request {
        method: Method::Get,
        path: "/v1/health".to_owned(),
        query: None,
        headers: Headers::new(),
        body: Body::Whole(Vec::new()),
    };
    let before = clock::now().wall;
    match client.send(request, LOOK_MAX, ANSWER_MAX).await {
        Answer::Responded(response) => {
            let date = response.headers.first("date").and_then(http_date);
            let after = clock::now().wall;
            let skew = date.map(|date| Skew::measured(before, after, date, DATE_PRECISION));
            (answered(&response), skew)
        }
        Answer::Failed(lost) => (Health::Lost(lost.cause), None),
    }
}

fn answered(response: &Response) -> Health {
    let told = json::decode_tolerant::<control::Health>(&response.body);
    Health::Answered { status: response.status, told: told.ok().map(|health| health.status) }
}
