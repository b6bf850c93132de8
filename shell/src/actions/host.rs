//! What the kernel and its usual tools tell of this host; everything here has a bound in time and in bytes.

use std::{fs, io::Read as _, process::Stdio, time::Duration};

use tokio::{io::AsyncReadExt as _, process::Command};

/// How long a tool may take.
const TOOL_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest text taken of a tool, in bytes.
const TOOL_OUTPUT_MAX: u64 = 4 << 20;

/// The longest file of `/proc` that is read, in bytes.
const FILE_MAX: u64 = 64 * 1024;

pub(super) fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub(super) fn kernel_version() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// The raw line of `/proc/loadavg`.
pub(super) fn load_avg() -> String {
    file("/proc/loadavg").trim().to_owned()
}

/// Bytes.
pub(super) fn memory_total() -> u64 {
    memory_of(&file("/proc/meminfo"))
}

fn memory_of(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or_default().saturating_mul(1024)
}

/// Bytes of the file system of `/`; a hung disk costs one waiting thread and the fact.
pub(super) async fn disk_total() -> u64 {
    let asked = tokio::task::spawn_blocking(|| {
        rustix::fs::statvfs("/").map_or(0, |disk| disk.f_blocks * disk.f_frsize)
    });
    match tokio::time::timeout(TOOL_TIMEOUT, asked).await {
        Ok(Ok(total)) => total,
        Ok(Err(_)) | Err(_) => 0,
    }
}

/// The text of `ip addr show`, or of the kernel's own table where the tool is missing.
pub(super) async fn network_interfaces() -> String {
    match tool("ip", &["addr", "show"]).await {
        Some(text) => text,
        None => file("/proc/net/dev"),
    }
}

/// The lines of `ps aux` below the header, or a shorter list from `/proc` where the tool is missing.
pub(super) async fn processes() -> String {
    match tool("ps", &["aux"]).await {
        Some(text) => text.split_once('\n').map(|(_, lines)| lines.to_owned()).unwrap_or_default(),
        None => tokio::task::spawn_blocking(listed).await.unwrap_or_default(),
    }
}

/// How many processes the shorter list may have.
const LISTED_MAX: usize = 4096;

fn listed() -> String {
    let Ok(entries) = fs::read_dir("/proc") else { return String::new() };
    let ids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok()?.parse::<u32>().ok());
    let mut ids: Vec<_> = ids.take(LISTED_MAX).collect();
    ids.sort_unstable();
    ids.iter()
        .map(|id| format!("{id} {}", file(&format!("/proc/{id}/comm")).trim()) + "\n")
        .collect()
}

/// Runs a tool with nothing to read and an empty environment but for `PATH`; `None` where it is missing or fails.
async fn tool(name: &str, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(name)
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut out = Vec::new();
    let stdout = child.stdout.take()?;
    let read = async {
        let mut limited = stdout.take(TOOL_OUTPUT_MAX);
        limited.read_to_end(&mut out).await.ok()?;
        // Behind the limit the tool would wait for a reader that never comes.
        drop(limited);
        child.wait().await.ok()
    };
    let status = tokio::time::timeout(TOOL_TIMEOUT, read).await.ok().flatten()?;
    (status.success() || out.len() as u64 == TOOL_OUTPUT_MAX)
        .then(|| String::from_utf8_lossy(&out).into_owned())
}

fn file(path: &str) -> String {
    let mut text = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut text));
    read.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_in_bytes_and_nonsense_is_zero() {
        assert_eq!(memory_of("MemTotal:       16384 kB\nMemFree: 1 kB\n"), 16384 * 1024);
        assert_eq!(memory_of("MemTotal: many kB"), 0);
        assert_eq!(memory_of(""), 0);
    }

    #[tokio::test]
    async fn a_missing_tool_is_none_and_its_fact_comes_from_the_kernel() {
        assert_eq!(tool("meshward-no-such-tool", &[]).await, None);
        assert!(listed().lines().any(|line| line.starts_with(&format!("{} ", std::process::id()))));
    }
}
