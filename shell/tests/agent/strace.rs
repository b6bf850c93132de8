//! strace on a running agent: the calls of each of its threads are counted from here on, and one of them is spoilt.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::node::{Agent, Node, until};

/// One call that goes wrong: the n-th of its kind on any one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) call: &'static str,
    pub(crate) fate: &'static str,
    pub(crate) number: u32,
}

impl Point {
    pub(crate) fn kills(self) -> bool {
        self.fate.starts_with("signal")
    }

    /// A sync or a rename that a signal ends is called again.
    pub(crate) fn is_repeated(self) -> bool {
        matches!(self.call, "fsync" | "renameat") && self.fate == "error=EINTR"
    }
}

/// Every point is wanted, not only the first ones.
pub(crate) fn every_point() -> bool {
    std::env::var("MESHWARD_FAULTS").is_ok_and(|wanted| wanted == "every")
}

/// A strace that is attached; it ends with its agent.
pub(crate) struct Strace {
    child: Child,
    calls: PathBuf,
}

impl Strace {
    /// Attaches, which takes the right to trace a process that hides its memory.
    pub(crate) async fn attach(node: &Node, agent: &Agent, point: Point) -> Self {
        let (calls, said) = (node.path("calls"), node.path("strace"));
        let inject = format!("inject={}:{}:when={}", point.call, point.fate, point.number);
        let child = Command::new("strace")
            .args(["--follow-forks", "-e", &format!("trace={}", point.call), "-e", &inject, "-o"])
            .arg(&calls)
            .args(["-p", &agent.id().to_string()])
            .stdin(Stdio::null())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .expect("strace is installed");
        until("strace is attached (is CAP_SYS_PTRACE there?)", || {
            fs::read_to_string(&said).is_ok_and(|said| said.contains("attached"))
        })
        .await;
        Self { child, calls }
    }

    /// Whether the call was met.
    pub(crate) fn has_hit(&self) -> bool {
        let calls = fs::read_to_string(&self.calls).unwrap_or_default();
        calls.contains("(INJECTED)") || calls.contains("+++ killed by SIGKILL +++")
    }

    /// Waits for its end, behind that of its agent.
    pub(crate) fn ended(mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Strace {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
