//! A tool of the system, run for the text it prints: without a shell, an input or an inherited variable.

use std::{
    io,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use meshward_core::agent::{Captured, Cause, Ending};
use rustix::process::{Pid, Signal};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
    sync::oneshot,
};

use super::without_output;

/// Where tools are looked for.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The longest output that is kept, in bytes.
pub(super) const OUTPUT_MAX: usize = 512 * 1024;

/// How much of a stream is read at once.
const CHUNK: usize = 8 << 10;

/// Ends the whole group of a tool, its children included, when the run is given up.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // The group may be empty already.
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
    }
}

/// What a tool printed, up to [`OUTPUT_MAX`]; `None` where it is missing, fails, or takes longer than the limit.
pub(super) async fn text(command: &[&str], limit: Duration) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let group = Group(pid);
    let printed = tokio::time::timeout(limit, printed(&mut child, group)).await;
    printed.ok().flatten()
}

async fn printed(child: &mut Child, mut group: Group) -> Option<String> {
    let mut bytes = Vec::new();
    let output = child.stdout.take()?;
    output.take(OUTPUT_MAX as u64).read_to_end(&mut bytes).await.ok()?;
    if bytes.len() < OUTPUT_MAX {
        let status = child.wait().await.ok()?;
        // Its id is free for others once it has been waited for.
        group.0 = None;
        if !status.success() {
            return None;
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// How a tool ended, with what it printed on each stream up to `max` bytes; `None` where no folder of `path` has it. It
/// is ended, its children included, when its time is over or `cancelled` is sent or dropped.
pub(super) async fn capture(
    path: &str,
    command: &[&str],
    (limit, max): (Duration, usize),
    cancelled: oneshot::Receiver<()>,
) -> Option<Ending> {
    let (name, arguments) = command.split_first()?;
    let mut child = match begun(&find(name, path)?, arguments) {
        Ok(child) => child,
        Err(error) => return Some(without_output(Cause::Broken(error.to_string()))),
    };
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let mut group = Group(pid);
    let (mut stdout, mut stderr) = (Captured::default(), Captured::default());
    let streams = (child.stdout.take(), child.stderr.take());
    let ended = async {
        tokio::join!(keep(streams.0, &mut stdout, max), keep(streams.1, &mut stderr, max));
        child.wait().await
    };
    let cause = tokio::select! {
        biased;
        ended = ended => {
            // Its id is free for others once it has been waited for.
            group.0 = None;
            cause(ended)
        }
        _ = cancelled => Cause::Cancelled,
        () = tokio::time::sleep(limit) => Cause::TimedOut,
    };
    Some(Ending { cause, stdout, stderr })
}

/// The first file of that name in the folders that somebody may execute.
fn find(name: &str, path: &str) -> Option<PathBuf> {
    let mut files = path.split(':').map(|folder| Path::new(folder).join(name));
    files.find(|file| {
        let found = file.metadata();
        found.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

fn begun(program: &Path, arguments: &[&str]) -> io::Result<Child> {
    Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
}

fn cause(ended: io::Result<ExitStatus>) -> Cause {
    match ended {
        Err(error) => Cause::Broken(error.to_string()),
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Cause::Exited(code),
            (None, signal) => Cause::Signalled(signal.unwrap_or_default()),
        },
    }
}

/// Keeps what comes up to the limit; the rest is read and thrown away, so that the tool comes to its end.
async fn keep(stream: Option<impl AsyncRead + Unpin>, kept: &mut Captured, max: usize) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; CHUNK];
    // A stream that cannot be read has ended.
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let fits = length.min(max - kept.bytes.len());
        kept.bytes.extend_from_slice(&buffer[..fits]);
        kept.cut |= fits < length;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{OUTPUT_MAX, text};

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_tool_gives_its_text_and_sees_only_two_variables() {
        let printed = text(&["env"], LONG).await.unwrap();
        let mut names: Vec<_> = printed.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["LC_ALL", "PATH"]);
    }

    #[tokio::test]
    async fn a_tool_that_is_missing_or_fails_gives_nothing() {
        assert_eq!(text(&["meshward-no-such-tool"], LONG).await, None);
        assert_eq!(text(&["sh", "-c", "echo text; exit 3"], LONG).await, None);
    }

    #[tokio::test]
    async fn a_tool_that_hangs_is_ended_with_its_children() {
        let begun = Instant::now();
        let mark = format!("39{:06}", std::process::id() % 1_000_000);
        let script = format!("sleep {mark} & sleep {mark}");
        assert_eq!(text(&["sh", "-c", &script], Duration::from_millis(300)).await, None);
        assert!(begun.elapsed() < Duration::from_secs(30));
        while running(&mark) {
            assert!(begun.elapsed() < Duration::from_secs(30), "a child lives on");
            tokio::task::yield_now().await;
        }
    }

    fn running(mark: &str) -> bool {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
            .any(|line| line == format!("sleep\0{mark}\0").as_bytes())
    }

    #[tokio::test]
    async fn a_flood_is_cut_and_ended() {
        assert_eq!(text(&["cat", "/dev/zero"], LONG).await.unwrap().len(), OUTPUT_MAX);
    }
}
