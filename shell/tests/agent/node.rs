//! A node of its own for each test: a directory, a configuration, and the binary.

use std::{
    fs::{self, File},
    ops::Deref,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use meshward_core::{
    plane::site,
    time::Wall,
    wire::{
        http::{Body, Headers, Method, Request},
        timestamp::Timestamp,
    },
};
use meshward_fixture::{Fixture, Options, Running};
use serde_json::Value;
use tempfile::TempDir;

use crate::audit;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const TOKEN: &str = "psb_dev_test_node_canarycanarycanarycanary";

pub(crate) struct Node {
    home: TempDir,
}

impl Node {
    /// A node whose control plane is at `url`; `extra` is added to its configuration.
    pub(crate) fn new(url: &str, extra: &str) -> Self {
        let node = Self { home: tempfile::tempdir().unwrap() };
        // The servers of the defaults are out in the world, where no test asks anything.
        let nat = if extra.contains("[nat]") { "" } else { "[nat]\nenabled = false\n" };
        // What a node tells of itself is turned on by the tests of that.
        let quiet: String = ["metrics", "logs", "audit"]
            .into_iter()
            .filter(|pipe| !extra.contains(&format!("[{pipe}]")))
            .map(|pipe| format!("[{pipe}]\nenabled = false\n"))
            .collect();
        let text = format!(
            "{nat}{quiet}[node]\ndata_dir = {:?}\nrun_dir = {:?}\n[control_plane]\nurl = {url:?}\n[registration]\n\
             project_id = {:?}\nresource_handle = \"node-1\"\ntoken_file = {:?}\n\
             [heartbeat]\ninterval = \"1s\"\n[reconcile]\ninterval = \"1s\"\n{extra}",
            node.path("data"),
            node.path("run"),
            site::PROJECT_ID,
            node.path("token"),
        );
        fs::write(node.path("config.toml"), text).unwrap();
        fs::write(node.path("token"), TOKEN).unwrap();
        node
    }

    /// Writes a file that only its owner may read.
    pub(crate) fn closed(&self, name: &str, content: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        fs::write(self.path(name), content).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Puts one text of the configuration in the place of another.
    pub(crate) fn amend(&self, from: &str, to: &str) {
        let before = fs::read_to_string(self.path("config.toml")).unwrap();
        assert!(before.contains(from), "{from} in {before}");
        fs::write(self.path("config.toml"), before.replace(from, to)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.path("data").join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_meshward"));
        command.arg("--config").arg(self.path("config.toml")).args(arguments).stdin(Stdio::null());
        for (name, _) in std::env::vars()
            .filter(|(name, _)| name.starts_with("MESHWARD_") || name.starts_with("AGENT_"))
        {
            command.env_remove(name);
        }
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts the agent; its log goes into a file.
    pub(crate) fn start(&self) -> Agent {
        let log = File::options().create(true).append(true).open(self.path("log")).unwrap();
        self.start_with(log)
    }

    /// Starts the agent with its log going there.
    pub(crate) fn start_with(&self, log: impl Into<Stdio>) -> Agent {
        let mut command = self.command(&["--log-level", "trace", "run"]);
        Agent { child: command.stdout(Stdio::null()).stderr(log).spawn().unwrap() }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub(crate) fn identity(&self) -> Value {
        serde_json::from_slice(&fs::read(self.data("identity.json")).unwrap()).unwrap()
    }
}

/// A running agent, killed when dropped.
pub(crate) struct Agent {
    child: Child,
}

impl Agent {
    pub(crate) const fn of(child: Child) -> Self {
        Self { child }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status =
            Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end and tells the exit code.
    pub(crate) fn ended(mut self) -> Option<i32> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < until, "the agent does not end");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A control plane whose journal is walked when the test has ended well.
pub(crate) struct Plane(Running);

impl Plane {
    pub(crate) const fn of(running: Running) -> Self {
        Self(running)
    }
}

impl Deref for Plane {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.0
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let faults = audit::faults(&get(&self.0, "/test/requests"));
            assert!(faults.is_empty(), "{faults:#?}");
        }
    }
}

pub(crate) async fn fixture() -> Plane {
    Plane(Fixture::start(Options::default()).await.unwrap())
}

/// Looks until `condition` holds.
pub(crate) async fn until(what: &str, condition: impl FnMut() -> bool) {
    until_within(PATIENCE, what, condition).await;
}

pub(crate) async fn until_within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + limit;
    let mut glance = tokio::time::interval(Duration::from_millis(10));
    while !condition() {
        assert!(Instant::now() < end, "in vain: {what}");
        glance.tick().await;
    }
}

pub(crate) fn counter(plane: &Running, name: &str) -> u64 {
    get(plane, "/test/assertions")[name].as_u64().unwrap()
}

pub(crate) fn get(plane: &Running, path: &str) -> Value {
    let response = plane.request(request(Method::Get, path, ""));
    serde_json::from_slice(&response.body).unwrap_or(Value::Null)
}

pub(crate) fn post(plane: &Running, path: &str, body: &Value) {
    let response = plane.request(request(Method::Post, path, &body.to_string()));
    assert!(response.is_success(), "{path}: {}", String::from_utf8_lossy(&response.body));
}

pub(crate) fn read(path: &str) -> Request {
    request(Method::Get, path, "")
}

pub(crate) fn delete(path: &str) -> Request {
    request(Method::Delete, path, "")
}

fn request(method: Method, path: &str, body: &str) -> Request {
    let body = Body::Whole(body.as_bytes().to_vec());
    Request { method, path: path.to_owned(), query: None, headers: Headers::new(), body }
}

/// The wall clock, a while from now, as the contract writes it.
pub(crate) fn later(duration: Duration) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Timestamp::from(Wall::from_origin(since + duration)).to_string()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
