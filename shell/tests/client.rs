//! The client against real sockets: what goes over the wire, and what each way of failing looks like.
#![expect(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use meshward_core::{
    agent::{Answer, Failure},
    wire::http::{Body, Headers, Method, Request, Response},
};
use meshward_shell::client::{Client, ClientError, ClientSettings};
use rcgen::{CertifiedKey, KeyPair};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, rustls};

const TIMEOUT: Duration = Duration::from_secs(20);

fn settings(url: String) -> ClientSettings {
    ClientSettings {
        url,
        ca_file: None,
        tls_insecure_skip_verify: false,
        connect_timeout: Duration::from_secs(10),
    }
}

fn request(method: Method, path: &str, body: &[u8]) -> Request {
    Request {
        method,
        path: path.into(),
        query: None,
        headers: Headers::new().with("authorization", "Bearer canary"),
        body: Body::Whole(body.to_vec()),
    }
}

fn get(path: &str) -> Request {
    request(Method::Get, path, b"")
}

/// Reads one request up to the end of its head and of the body it announces.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    loop {
        let whole = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = whole.split_once("\r\n\r\n") {
            let announced = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= announced.map_or(0, |length| length.parse().unwrap()) {
                return whole;
            }
        }
        if stream.read_buf(&mut text).await.unwrap() == 0 {
            return whole;
        }
    }
}

async fn respond(mut stream: impl AsyncRead + AsyncWrite + Unpin, reply: &[u8]) -> String {
    let request = read_request(&mut stream).await;
    // A client that has read enough may be gone already.
    drop(stream.write_all(reply).await);
    drop(stream.shutdown().await);
    request
}

/// Serves the same bytes to every connection and tells what each asked.
async fn serve(reply: Vec<u8>) -> (SocketAddr, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, asked) = mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let request = respond(stream, &reply).await;
            if told.send(request).await.is_err() {
                break;
            }
        }
    });
    (address, asked)
}

async fn failure(reply: Vec<u8>, timeout: Duration) -> (Failure, String) {
    let (address, _asked) = serve(reply).await;
    let client = Client::new(&settings(format!("http://{address}"))).unwrap();
    failed(client.send(get("/x"), timeout, ANSWER_MAX).await)
}

fn failed(answer: Answer) -> (Failure, String) {
    match answer {
        Answer::Failed(lost) => (lost.failure, lost.cause),
        Answer::Responded(response) => panic!("{response:?}"),
    }
}

fn responded(answer: Answer) -> Response {
    match answer {
        Answer::Responded(response) => response,
        Answer::Failed(lost) => panic!("{lost:?}"),
    }
}

/// The longest answer that these calls take.
const ANSWER_MAX: usize = 1 << 20;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nX-One: a\r\nx-one: b\r\n\r\nok";

#[tokio::test]
async fn a_call_carries_prefix_path_query_headers_and_body_as_given() {
    let (address, mut asked) = serve(OK.to_vec()).await;
    let client = Client::new(&settings(format!("http://{address}/pre%20fix/"))).unwrap();
    let mut sent = request(Method::Post, "/v1/nodes/a%2Fb/state", b"body");
    sent.query = Some("token=a%26b".into());
    let response = responded(client.send(sent, TIMEOUT, ANSWER_MAX).await);
    assert_eq!((response.status, response.body.as_slice()), (200, &b"ok"[..]));
    assert_eq!(response.headers.all("x-one").collect::<Vec<_>>(), ["a", "b"]);
    let asked = asked.recv().await.unwrap();
    let line = "POST /pre%20fix/v1/nodes/a%2Fb/state?token=a%26b HTTP/1.1\r\n";
    assert!(asked.starts_with(line), "{asked}");
    assert!(asked.contains("authorization: Bearer canary\r\n"), "{asked}");
    assert!(asked.ends_with("\r\n\r\nbody"), "{asked}");
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let reply = b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n";
    let (address, mut asked) = serve(reply.to_vec()).await;
    let client = Client::new(&settings(format!("http://{address}"))).unwrap();
    assert_eq!(responded(client.send(get("/x"), TIMEOUT, ANSWER_MAX).await).status, 302);
    assert!(asked.recv().await.unwrap().starts_with("GET /x "));
    assert!(asked.try_recv().is_err());
}

#[tokio::test]
async fn no_path_leads_to_another_host() {
    let (address, mut asked) = serve(OK.to_vec()).await;
    let client = Client::new(&settings(format!("http://{address}"))).unwrap();
    for path in ["@other.example/", "//other.example/", ":1/", "http://other.example/"] {
        responded(client.send(get(path), TIMEOUT, ANSWER_MAX).await);
        assert!(asked.recv().await.unwrap().contains(&format!("host: {address}\r\n")), "{path}");
    }
}

#[tokio::test]
async fn an_answer_longer_than_the_cap_is_oversized_announced_or_not() {
    let announced = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", ANSWER_MAX + 1);
    assert_eq!(
        failure(announced.into_bytes(), TIMEOUT).await.0,
        Failure::Oversized { status: 200 }
    );
    let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    endless.resize(endless.len() + ANSWER_MAX + 1, b'x');
    assert_eq!(failure(endless.clone(), TIMEOUT).await.0, Failure::Oversized { status: 200 });
    endless.pop();
    let (address, _asked) = serve(endless).await;
    let client = Client::new(&settings(format!("http://{address}"))).unwrap();
    assert_eq!(responded(client.send(get("/x"), TIMEOUT, ANSWER_MAX).await).body.len(), ANSWER_MAX);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_or_is_no_http_is_unreachable() {
    for reply in
        [&b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"[..], b"nonsense\r\n\r\n", b""]
    {
        assert_eq!(failure(reply.to_vec(), TIMEOUT).await.0, Failure::Unreachable);
    }
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_told_with_a_hint_at_https_and_one_that_is_cut_off_without() {
    let hint = "speaks no HTTP: perhaps its URL begins with https";
    let alert = b"\x15\x03\x01\x00\x02\x02\x50";
    for (reply, hinted) in [(&alert[..], true), (b"nonsense\r\n\r\n", true), (b"", false)] {
        let (_, cause) = failure(reply.to_vec(), TIMEOUT).await;
        assert_eq!(cause.contains(hint), hinted, "{cause}");
    }
}

#[tokio::test]
async fn a_closed_port_is_unreachable_and_the_cause_holds_no_query() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::new(&settings(format!("http://{address}"))).unwrap();
    let mut sent = get("/path-canary");
    sent.query = Some("token=canary".into());
    let (failure, cause) = failed(client.send(sent, TIMEOUT, ANSWER_MAX).await);
    assert_eq!(failure, Failure::Unreachable);
    assert!(cause.contains("refused") && !cause.contains("canary"), "{cause}");
    assert!(cause.starts_with(&format!("http://{address}/ (control_plane.url): ")), "{cause}");
}

#[tokio::test]
async fn a_server_that_stays_silent_or_stops_within_the_body_is_timed_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client =
        Client::new(&settings(format!("http://{}", listener.local_addr().unwrap()))).unwrap();
    for reply in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"] {
        let begun = Instant::now();
        let call = client.send(get("/x"), Duration::from_millis(300), ANSWER_MAX);
        let stall = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await;
            stream.write_all(reply).await.unwrap();
            stream
        };
        let (answer, _stream) = tokio::join!(call, stall);
        assert_eq!(failed(answer).0, Failure::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}

fn certificate(names: &[&str], valid: bool) -> (CertifiedKey<KeyPair>, rustls::ServerConfig) {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let key = KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(names).unwrap();
    if !valid {
        parameters.not_after = rcgen::date_time_ymd(2020, 1, 1);
    }
    let cert = parameters.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![cert.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (CertifiedKey { cert, signing_key: key }, server)
}

async fn serve_tls(config: rustls::ServerConfig) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                respond(stream, OK).await;
            }
        }
    });
    address
}

fn pem_file(place: &tempfile::TempDir, pem: &str) -> PathBuf {
    let path = place.path().join("ca.pem");
    std::fs::write(&path, pem).unwrap();
    path
}

#[tokio::test]
async fn a_certificate_is_trusted_by_the_ca_file_and_by_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let (certified, server) = certificate(&["127.0.0.1"], true);
    let address = serve_tls(server).await;
    let mut settings = settings(format!("https://{address}"));
    settings.ca_file = Some(pem_file(&place, &certificate(&["127.0.0.1"], true).0.cert.pem()));
    let stranger = Client::new(&settings).unwrap();
    let (failure, cause) = failed(stranger.send(get("/x"), TIMEOUT, ANSWER_MAX).await);
    assert_eq!(failure, Failure::Unreachable);
    assert!(cause.contains("certificate") && !cause.contains("clock"), "{cause}");
    settings.ca_file = Some(pem_file(&place, &certified.cert.pem()));
    let friend = Client::new(&settings).unwrap();
    assert_eq!(responded(friend.send(get("/x"), TIMEOUT, ANSWER_MAX).await).status, 200);
}

#[tokio::test]
async fn a_lapsed_certificate_points_to_the_clock_and_a_wrong_name_does_not() {
    let place = tempfile::tempdir().unwrap();
    for (names, valid) in [(["127.0.0.1"], false), (["other.example"], true)] {
        let (certified, server) = certificate(&names, valid);
        let address = serve_tls(server).await;
        let mut settings = settings(format!("https://{address}"));
        settings.ca_file = Some(pem_file(&place, &certified.cert.pem()));
        let answer = Client::new(&settings).unwrap().send(get("/x"), TIMEOUT, ANSWER_MAX).await;
        let (_, cause) = failed(answer);
        assert_eq!(cause.contains("the clock of this host"), !valid, "{cause}");
    }
}

#[tokio::test]
async fn the_insecure_switch_takes_any_certificate() {
    let address = serve_tls(certificate(&["other.example"], false).1).await;
    let mut settings = settings(format!("https://{address}"));
    settings.tls_insecure_skip_verify = true;
    let client = Client::new(&settings).unwrap();
    assert_eq!(responded(client.send(get("/x"), TIMEOUT, ANSWER_MAX).await).status, 200);
}

#[test]
fn a_ca_file_that_is_no_use_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let mut settings = settings("https://plane.example".into());
    settings.ca_file = Some(place.path().join("missing"));
    assert!(matches!(Client::new(&settings), Err(ClientError::CaFile { .. })));
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for content in ["", "text", broken] {
        settings.ca_file = Some(pem_file(&place, content));
        let told = Client::new(&settings).unwrap_err();
        assert!(matches!(told, ClientError::CaContent { .. }), "{told}");
        assert!(told.to_string().contains("ca.pem"), "{told}");
    }
}
