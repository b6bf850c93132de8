//! The agent and its peer, each with a configuration that makes it follow one file.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use meshward_core::plane::site;

use crate::running::Plane;

/// A program that follows a file.
#[derive(Clone)]
pub(crate) enum Forwarder {
    Agent(PathBuf),
    Peer(Peer),
}

#[derive(Clone)]
pub(crate) struct Peer {
    program: PathBuf,
    pub(crate) version: String,
    /// Before 4.0 it sends bodies as they are.
    pub(crate) packs: bool,
}

/// Of the agent: all that it does by default, or the file alone.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Work {
    Default,
    File,
}

impl Forwarder {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Peer(_) => "syslog-ng",
        }
    }

    pub(crate) fn command(
        &self,
        home: &Path,
        plane: &Plane,
        (batch, work): (u64, Work),
    ) -> Command {
        match self {
            Self::Agent(program) => agent(program, home, plane, (batch, work)),
            Self::Peer(peer) => peer.command(home, plane, batch),
        }
    }
}

/// What the file is called that both follow.
pub(crate) const LOG: &str = "app.log";

fn agent(program: &Path, home: &Path, plane: &Plane, (batch, work): (u64, Work)) -> Command {
    let rest = match work {
        Work::Default => "",
        Work::File => {
            "journald = false\n[metrics]\nenabled = false\n[audit]\nenabled = false\n[actions]\nenabled = false\n"
        }
    };
    let text = format!(
        "[node]\ndata_dir = {:?}\nrun_dir = {:?}\n[control_plane]\nurl = \"http://{}\"\n[health]\nenabled = false\n\
         [nat]\nenabled = false\n[registration]\nproject_id = {:?}\nresource_handle = \"node-1\"\n\
         token_value = \"psb_dev_abc_node_aaaaaaaaaaaaaaaaaaaa\"\n[tunnel]\nbackend = \"none\"\n\
         [logs]\nfile_patterns = [{:?}]\nbatch_size = {batch}\n{rest}",
        home.join("data"),
        home.join("run"),
        plane.tee.place,
        site::PROJECT_ID,
        home.join(LOG),
    );
    let config = home.join("config.toml");
    fs::write(&config, text).expect("a file");
    let mut command = Command::new(program);
    // The variables of this bench are no settings of the agent.
    command.env_clear().envs(env::var_os("PATH").map(|path| ("PATH", path)));
    command.arg("--config").arg(config).arg("run");
    command
}

impl Peer {
    /// `None` where it is not installed.
    pub(crate) fn find(home: &Path) -> Option<Self> {
        let program: PathBuf =
            env::var_os("MESHWARD_PEER").map_or_else(|| "syslog-ng".into(), PathBuf::from);
        let told = Command::new(&program).arg("--version").output().ok()?;
        let version = String::from_utf8_lossy(&told.stdout).lines().next()?.to_owned();
        let peer = Self { program, version, packs: true };
        let config = home.join("tried.conf");
        fs::write(&config, peer.config(home, "http://127.0.0.1", ("none", 1))).expect("a file");
        let tried = Command::new(&peer.program).arg("-s").arg("-f").arg(&config).output().ok()?;
        Some(Self { packs: tried.status.success(), ..peer })
    }

    fn config(&self, home: &Path, url: &str, (bearer, batch): (&str, u64)) -> String {
        let version = self.version.split(['(', ')']).nth(1).unwrap_or("3.38");
        let version: Vec<&str> = version.split('.').take(2).collect();
        let packed = if self.packs { "content-compression(\"gzip\")" } else { "" };
        format!(
            "@version: {version}\noptions {{ stats-freq(0); use-dns(no); keep-hostname(no); }};\n\
             source s {{ file({log:?} flags(no-parse) follow-freq(1) log-iw-size({window})); }};\n\
             destination d {{ http(url(\"{url}/v1/nodes/{node}/logs\") method(\"POST\")\n\
             headers(\"Authorization: Bearer {bearer}\", \"X-Service-Sent-At: 2026-01-01T00:00:00Z\",\n\
             \"Content-Type: application/x-ndjson\")\n\
             body('$(format-json severity=info unit={unit} hostname=$HOST message=$MSG timestamp=$ISODATE)')\n\
             batch-lines({batch}) batch-timeout(1000) delimiter(\"\\n\") workers(1) {packed}); }};\n\
             log {{ source(s); destination(d); flags(flow-control); }};\n",
            version = version.join("."),
            log = home.join(LOG),
            unit = home.join(LOG).display(),
            node = site::NODE_ID,
            window = (2 * batch).max(1_000),
        )
    }

    pub(crate) fn command(&self, home: &Path, plane: &Plane, batch: u64) -> Command {
        let url = format!("http://{}", plane.tee.place);
        let config = home.join("syslog-ng.conf");
        fs::write(&config, self.config(home, &url, (&plane.bearer, batch))).expect("a file");
        let mut command = Command::new(&self.program);
        command.env("TZ", "UTC").arg("-F").arg("--no-caps").arg("-f").arg(config);
        for (option, name) in [("-R", "persist"), ("-p", "pid"), ("-c", "control")] {
            command.arg(option).arg(home.join(name));
        }
        command
    }
}

/// The agent that was named, or one that is built here and now.
pub(crate) fn agent_program() -> PathBuf {
    if let Some(named) = env::var_os("MESHWARD_AGENT") {
        return named.into();
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["build", "--release", "--locked", "-p", "meshward-shell", "--bin", "meshward"];
    let built = Command::new(cargo).args(arguments).status().expect("cargo runs");
    assert!(built.success(), "the agent cannot be built; MESHWARD_AGENT names one that is there");
    let own = env::current_exe().expect("a path");
    own.ancestors().nth(2).expect("a target directory").join("meshward")
}
