//! Programs that print more than anybody reads.

use meshward_core::agent::Cause;

use crate::pen::{MAX_OUTPUT_BYTES, PATIENCE, SHORT, run, script, text, within};

#[tokio::test]
async fn a_gibibyte_is_read_to_its_end_and_only_its_beginning_is_kept() {
    let before = resident();
    let ending =
        run(within(PATIENCE * 2, script("head -c 1073741824 /dev/zero; echo behind >&2"))).await;
    assert_eq!(ending.cause, Cause::Exited(0));
    assert_eq!((ending.stdout.bytes.len(), ending.stdout.cut), (MAX_OUTPUT_BYTES, true));
    assert_eq!(text(&ending.stderr.bytes), "behind\n");
    // Other tests of this process have their share.
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
}

/// The memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("own status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("own memory");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

#[tokio::test]
async fn a_flood_that_never_ends_is_ended_at_its_deadline() {
    let ending = run(within(SHORT, script("cat /dev/zero"))).await;
    assert_eq!(ending.cause, Cause::TimedOut);
    assert_eq!((ending.stdout.bytes.len(), ending.stdout.cut), (MAX_OUTPUT_BYTES, true));
}

#[tokio::test]
async fn a_program_that_fills_its_stderr_alone_gets_to_its_end() {
    let ending = run(script("head -c 20000000 /dev/zero >&2; echo behind")).await;
    assert_eq!(ending.cause, Cause::Exited(0));
    assert_eq!(text(&ending.stdout.bytes), "behind\n");
    assert_eq!((ending.stderr.bytes.len(), ending.stderr.cut), (MAX_OUTPUT_BYTES, true));
}

#[tokio::test]
async fn a_program_that_closes_its_streams_and_runs_on_is_waited_for() {
    let ending =
        run(script("exec >&- 2>&-; i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; exit 5"))
            .await;
    assert_eq!(ending.cause, Cause::Exited(5));
    let ending = run(within(SHORT, script("exec >&- 2>&-; : < $silent"))).await;
    assert_eq!(ending.cause, Cause::TimedOut);
}
