//! The instance metadata service over real HTTP: what it is asked, and how each of its answers is taken.

use std::{
    fs,
    io::{ErrorKind, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use meshward_core::plane::site;

use crate::node::{Node, TOKEN, counter, fixture, text, until};

/// How the service answers a request.
#[derive(Clone)]
enum Reply {
    Answer(u16, String),
    Redirect(&'static str),
    Silence,
}

fn ok(body: impl Into<String>) -> Reply {
    Reply::Answer(200, body.into())
}

/// A service of its own for each test; it answers until the test ends.
struct Service {
    url: String,
    /// The heads of all requests, in small letters.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// `answer` is given the method and the path, and whether the request carries the session token.
    fn start(answer: impl Fn(&str, &str, bool) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().flatten() {
                let (head, stream) = read(stream);
                seen.lock().unwrap().push(head.to_lowercase());
                let mut words = head.split(' ');
                let (method, path) = (words.next().unwrap(), words.next().unwrap());
                let opened = head.to_lowercase().contains("x-aws-ec2-metadata-token: session");
                match answer(method, path, opened) {
                    Reply::Silence => silent.push(stream),
                    reply @ (Reply::Answer(..) | Reply::Redirect(_)) => write(stream, reply),
                }
            }
        });
        Self { url, heads }
    }

    fn asked(&self, start: &str) -> usize {
        self.heads.lock().unwrap().iter().filter(|head| head.starts_with(start)).count()
    }
}

fn read(mut stream: TcpStream) -> (String, TcpStream) {
    let mut bytes = Vec::new();
    let mut one = [0; 1024];
    while !bytes.ends_with(b"\r\n\r\n") {
        match stream.read(&mut one) {
            Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(count) => bytes.extend_from_slice(&one[..count]),
        }
    }
    (text(&bytes) + "  ", stream)
}

fn write(mut stream: TcpStream, reply: Reply) {
    let (status, field, body) = match reply {
        Reply::Answer(status, body) => (status, String::new(), body),
        Reply::Redirect(to) => (302, format!("location: {to}\r\n"), String::new()),
        Reply::Silence => return,
    };
    let head = format!(
        "HTTP/1.1 {status} told\r\n{field}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // A client that has read enough may be gone.
    let _ = stream.write_all((head + &body).as_bytes());
}

/// What a service that serves everything has under a path.
fn everything(path: &str) -> Reply {
    match path {
        "/meshward/bootstrap-token" => ok(format!("{TOKEN}\n")),
        "/meshward/project-id" => ok(site::PROJECT_ID),
        "/meshward/resource-handle" => ok(" node-1 \n"),
        _ => Reply::Answer(404, "no".into()),
    }
}

/// A node that has nothing but its metadata service.
fn bare(plane: &str, service: &Service, timeout: &str) -> Node {
    let node = Node::new(plane, "[health]\nenabled = false\n");
    fs::remove_file(node.path("token")).unwrap();
    let config = fs::read_to_string(node.path("config.toml")).unwrap();
    let kept = config.lines().filter(|line| {
        !line.trim().starts_with("project_id") && !line.trim().starts_with("resource_handle")
    });
    let config = kept.collect::<Vec<_>>().join("\n").replace(
        "[registration]",
        &format!(
            "[registration]\nuse_metadata = true\nmetadata_url = {:?}\nmetadata_timeout = {timeout:?}",
            service.url
        ),
    );
    fs::write(node.path("config.toml"), config).unwrap();
    node
}

/// The register command with nobody to register at: its exit code and what it told.
fn refused(service: &Service, timeout: &str) -> String {
    let output = bare("http://127.0.0.1:9", service, timeout).run(&["register"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(!told.contains(TOKEN), "{told}");
    told
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_node_that_has_only_its_metadata_service_registers_by_a_session() {
    let plane = fixture().await;
    let service = Service::start(|method, path, opened| match (method, path, opened) {
        ("PUT", "/latest/api/token", _) => ok("session"),
        ("GET", path, true) => everything(path),
        _ => Reply::Answer(401, String::new()),
    });
    let output = bare(&plane.url(), &service, "2s").run(&["register"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(counter(&plane, "registration_count"), 1);
    assert_eq!(service.asked("put /latest/api/token"), 1, "one session for all");
    assert_eq!(service.asked("get "), 4);
    let heads = service.heads.lock().unwrap().join("\n");
    assert!(heads.contains("x-aws-ec2-metadata-token-ttl-seconds: 21600"), "{heads}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_service_without_sessions_is_asked_without() {
    let plane = fixture().await;
    let refusals = [403, 404, 500].map(|status| Reply::Answer(status, String::new()));
    let of_no_use = [ok("ses\u{1}sion"), ok("ses\r\nsion"), ok("session\u{7f}"), ok("")];
    for refusal in refusals.into_iter().chain(of_no_use) {
        let service = Service::start(move |method, path, _| match method {
            "PUT" => refusal.clone(),
            _ => everything(path),
        });
        let output = bare(&plane.url(), &service, "2s").run(&["register"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let heads = service.heads.lock().unwrap().join("\n");
        assert!(!heads.contains("x-aws-ec2-metadata-token:"), "{heads}");
    }
}

#[test]
fn a_path_that_the_service_does_not_serve_is_told_with_its_setting() {
    let service = Service::start(|_, path, _| match path {
        "/meshward/project-id" => Reply::Answer(404, "no such thing".into()),
        path => everything(path),
    });
    let told = refused(&service, "2s");
    assert!(told.contains("registration.project_id is not set"), "{told}");
    assert!(told.contains("/meshward/project-id"), "{told}");
}

#[test]
fn every_other_failure_is_told_with_setting_path_and_cause() {
    let failures = [
        (Reply::Answer(500, "broken".into()), "it answered 500"),
        (Reply::Redirect("/meshward/project-id"), "it answered 302"),
        (ok("x".repeat(514)), "longer than 513 bytes"),
        (ok("é"), "no ASCII text"),
        (Reply::Silence, "no answer within 300ms"),
    ];
    for (failure, cause) in failures {
        let service = Service::start(move |_, path, _| match path {
            "/meshward/resource-handle" => failure.clone(),
            path => everything(path),
        });
        let told = refused(&service, "300ms");
        for word in ["registration.resource_handle", "/meshward/resource-handle", cause] {
            assert!(told.contains(word), "{word:?} is missing in {told}");
        }
    }
}

#[test]
fn a_token_that_cannot_be_read_there_is_one_of_the_four_places_tried() {
    let service = Service::start(|_, path, _| match path {
        "/meshward/bootstrap-token" => Reply::Answer(500, String::new()),
        path => everything(path),
    });
    let told = refused(&service, "2s");
    for word in [
        "no bootstrap token",
        "registration.token_value (not set)",
        "token (missing)",
        "AGENT_BOOTSTRAP_TOKEN (not set)",
        "metadata service http://127.0.0.1",
        "/meshward/bootstrap-token: it answered 500",
    ] {
        assert!(told.contains(word), "{word:?} is missing in {told}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_set_is_not_asked_for() {
    let plane = fixture().await;
    let service = Service::start(|_, path, _| everything(path));
    let node = bare(&plane.url(), &service, "2s");
    fs::write(node.path("token"), TOKEN).unwrap();
    let config = fs::read_to_string(node.path("config.toml")).unwrap();
    let set = format!(
        "[registration]\nproject_id = {:?}\nresource_handle = \"node-1\"\nrequested_resource_id = \"one\"",
        site::PROJECT_ID
    );
    fs::write(node.path("config.toml"), config.replace("[registration]", &set)).unwrap();
    let output = node.run(&["register"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(service.asked(""), 0, "not even for a session");
    assert!(!node.path("token").exists(), "the token came from its file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_service_that_never_answers_keeps_no_local_question_waiting() {
    let service = Service::start(|_, _, _| Reply::Silence);
    let node = bare("http://127.0.0.1:9", &service, "1h");
    let agent = node.start();
    until("the service is asked", || service.asked("put ") == 1).await;
    let answered = tokio::time::timeout(
        Duration::from_secs(10),
        tokio::task::spawn_blocking(move || (node.run(&["status"]), node)),
    );
    let (output, _node) = answered.await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("registration pending"), "{}", text(&output.stdout));
    agent.signal("-TERM");
    assert_eq!(agent.ended(), Some(0));
}
