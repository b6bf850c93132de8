//! Uploads against real sockets: what goes over the wire, to whom, and what each way of failing tells.
#![expect(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use meshward_core::{
    agent::{Answer, Bytes, Failure},
    wire::upload_url::{Origin, UploadUrl},
};
use meshward_shell::client::{Client, ClientSettings};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpListener,
    sync::mpsc,
};
use tokio_rustls::{TlsAcceptor, rustls};

const LONG: Duration = Duration::from_secs(30);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const OUTPUT: &[u8] = b"\x00out\xffput\r\n";

/// A client of a control plane, which is never asked.
fn client(plane: &str, ca_file: Option<PathBuf>, skips: bool) -> Client {
    let settings = ClientSettings {
        url: plane.into(),
        ca_file,
        tls_insecure_skip_verify: skips,
        connect_timeout: Duration::from_secs(10),
    };
    Client::new(&settings).unwrap()
}

fn url(text: &str) -> UploadUrl {
    let here = Origin { is_encrypted: false, host: "127.0.0.1".into() };
    UploadUrl::parse(text, &here).unwrap()
}

async fn upload(client: &Client, text: &str, timeout: Duration) -> Answer {
    client.upload(&url(text), Bytes(OUTPUT.to_vec()), timeout).await
}

fn status(answer: Answer) -> u16 {
    match answer {
        Answer::Responded(response) => response.status,
        Answer::Failed(lost) => panic!("{lost}"),
    }
}

fn failed(answer: Answer) -> (Failure, String) {
    match answer {
        Answer::Failed(lost) => (lost.failure, lost.cause),
        Answer::Responded(response) => panic!("{response:?}"),
    }
}

/// Takes one request and its body of so many bytes, then answers.
async fn respond(mut stream: impl AsyncRead + AsyncWrite + Unpin, reply: &[u8]) -> Vec<u8> {
    let mut request = Vec::new();
    while !request.ends_with(OUTPUT) && stream.read_buf(&mut request).await.unwrap_or(0) > 0 {}
    // A client that has read enough may be gone already.
    drop(stream.write_all(reply).await);
    drop(stream.shutdown().await);
    request
}

/// Answers every connection alike and tells what each brought.
async fn serve(reply: &'static [u8]) -> (SocketAddr, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (told, asked) = mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let request = respond(stream, reply).await;
            if told.send(request).await.is_err() {
                break;
            }
        }
    });
    (address, asked)
}

#[tokio::test]
async fn the_bytes_go_as_they_are_with_the_query_and_without_a_credential() {
    let (address, mut asked) = serve(OK).await;
    let client = client("http://plane.example/prefix", None, false);
    let target = "/exec-output/a%20b?token=canary%2F1&x=";
    assert_eq!(status(upload(&client, &format!("http://{address}{target}"), LONG).await), 200);
    let asked = asked.recv().await.unwrap();
    let text = String::from_utf8_lossy(&asked).to_ascii_lowercase();
    assert!(text.starts_with(&format!("put {} http/1.1\r\n", target.to_lowercase())), "{text}");
    assert!(text.contains("\r\ncontent-type: application/octet-stream\r\n"), "{text}");
    assert!(text.contains(&format!("\r\ncontent-length: {}\r\n", OUTPUT.len())), "{text}");
    assert!(!text.contains("authorization") && !text.contains("nsk_"), "{text}");
    assert!(asked.ends_with(&[b"\r\n\r\n", OUTPUT].concat()));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_nothing_is_asked_a_second_time() {
    let reply = b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n";
    let (address, mut asked) = serve(reply).await;
    let client = client("http://plane.example", None, false);
    assert_eq!(status(upload(&client, &format!("http://{address}/x"), LONG).await), 307);
    assert!(asked.recv().await.is_some() && asked.try_recv().is_err());
}

#[tokio::test]
async fn an_end_that_never_answers_is_given_up_at_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = client("http://plane.example", None, false);
    let url = format!("http://{address}/x?token=canary");
    let (failure, cause) = failed(upload(&client, &url, Duration::from_millis(300)).await);
    assert_eq!(failure, Failure::TimedOut);
    assert!(!cause.contains("canary"), "{cause}");
}

#[tokio::test]
async fn an_end_that_breaks_off_or_is_not_there_tells_no_word_of_the_url() {
    let client = client("http://plane.example", None, false);
    let (broken, _asked) = serve(b"").await;
    let (noise, _heard) = serve(b"\x00\x01\x02 canary\r\n\r\n").await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for address in [broken, noise, gone] {
        let url = format!("http://{address}/exec-output/x?token=canary");
        let (failure, cause) = failed(upload(&client, &url, LONG).await);
        assert_eq!(failure, Failure::Unreachable, "{cause}");
        assert!(!cause.contains("canary") && !cause.contains("exec-output"), "{cause}");
    }
}

fn certificate() -> (String, rustls::ServerConfig) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
    let cert = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let der = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], der)
        .unwrap();
    (cert.pem(), server)
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

#[tokio::test]
async fn an_encrypted_store_is_trusted_by_the_ca_file_also_beside_a_plain_control_plane() {
    let place = tempfile::tempdir().unwrap();
    let (pem, server) = certificate();
    let address = serve_tls(server).await;
    let ca_file = place.path().join("ca.pem");
    std::fs::write(&ca_file, pem).unwrap();
    let url = format!("https://{address}/x?token=canary");
    for plane in ["http://plane.example", "https://plane.example"] {
        let friend = client(plane, Some(ca_file.clone()), false);
        assert_eq!(status(upload(&friend, &url, LONG).await), 200, "{plane}");
    }
    let other = place.path().join("other.pem");
    std::fs::write(&other, certificate().0).unwrap();
    let stranger = client("https://plane.example", Some(other), false);
    let (_, cause) = failed(upload(&stranger, &url, LONG).await);
    assert!(cause.contains("certificate") && !cause.contains("canary"), "{cause}");
}

#[tokio::test]
async fn the_insecure_switch_holds_for_the_control_planes_own_address_alone() {
    let place = tempfile::tempdir().unwrap();
    let address = serve_tls(certificate().1).await;
    let ca_file = place.path().join("ca.pem");
    std::fs::write(&ca_file, certificate().0).unwrap();
    let url = format!("https://{address}/x");
    let same = client(&format!("https://{address}"), Some(ca_file.clone()), true);
    assert_eq!(status(upload(&same, &url, LONG).await), 200);
    let elsewhere = client("https://plane.example", Some(ca_file), true);
    let (failure, cause) = failed(upload(&elsewhere, &url, LONG).await);
    assert_eq!(failure, Failure::Unreachable);
    assert!(cause.contains("certificate"), "{cause}");
}

#[test]
fn the_origin_of_a_control_plane_is_its_scheme_and_host() {
    for (plane, is_encrypted, host) in [
        ("http://127.0.0.1:8080/p", false, "127.0.0.1"),
        ("https://[::1]:8443", true, "[::1]"),
        ("https://Plane.Example", true, "plane.example"),
    ] {
        let expected = Origin { is_encrypted, host: host.into() };
        assert_eq!(client(plane, None, true).origin(), expected);
    }
}
