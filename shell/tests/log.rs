//! The log of a whole process: its level changed while it runs, its entries with a journald that stands in.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

use std::{os::unix::net::UnixDatagram, time::Duration};

use meshward_core::agent::builtins::Snapshot;
use meshward_shell::{
    config::{Log, LogFormat, LogLevel},
    log::{NoLog, set_level, start_at},
};

fn heard(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

/// A process has one log, so this binary has one test.
#[test]
fn the_level_changes_while_the_process_runs_and_entries_reach_the_journal() {
    assert_eq!(set_level(LogLevel::Debug), Err(NoLog));
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("socket");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let log = Log { level: LogLevel::Info, format: LogFormat::Journald };
    let (flushed, ring) = start_at(&log, &path).unwrap();
    let speak = |number: u32| {
        tracing::debug!("debugging {number}");
        tracing::info!("informing {number}");
    };
    speak(1);
    set_level(LogLevel::Debug).unwrap();
    speak(2);
    set_level(LogLevel::Error).unwrap();
    speak(3);
    tracing::error!(code = 7, "failing");
    let kept = ring.newest(Snapshot { lines: 100, since: None }, 1 << 20);
    let kept = String::from_utf8(kept).unwrap();
    let words = |line: &str| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ");
    let kept: Vec<_> = kept.lines().map(words).collect();
    assert_eq!(kept, ["informing 1", "debugging 2", "informing 2", "failing code=7"]);
    for (words, priority) in [("informing 1", 6), ("debugging 2", 7), ("informing 2", 6)] {
        let entry = heard(&socket);
        assert!(entry.contains(words), "{entry:?}");
        let (_, rest) = entry.split_once("PRIORITY\n").unwrap();
        assert_eq!(rest.as_bytes()[8], b'0' + priority, "{entry:?}");
    }
    assert!(heard(&socket).contains("MESHWARD_CODE\n"));
    drop(flushed);
}
