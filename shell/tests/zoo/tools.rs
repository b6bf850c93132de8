//! Tools of the system, which are run and ended the same way.

use std::{path::Path, time::Duration};

use meshward_shell::actions::{supervisor, tool};
use tokio::time::Instant;

use crate::pen::{PATIENCE, PROMISE, SHORT, SLACK, mark, nothing_left, silent};

async fn printed(command: &[&str], limit: Duration) -> Option<String> {
    supervisor::use_image(Path::new(env!("CARGO_BIN_EXE_meshward")));
    let begun = Instant::now();
    let text = tool::text(command, limit).await;
    assert!(begun.elapsed() < limit + PROMISE + SLACK);
    text
}

#[tokio::test]
async fn a_tool_gives_its_text_and_sees_only_two_variables() {
    let printed = printed(&["env"], PATIENCE).await.unwrap();
    let mut names: Vec<_> = printed.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["LC_ALL", "PATH"]);
}

#[tokio::test]
async fn a_tool_that_is_missing_or_fails_gives_nothing() {
    assert_eq!(printed(&["meshward-no-such-tool"], PATIENCE).await, None);
    assert_eq!(printed(&["sh", "-c", "echo text; exit 3"], PATIENCE).await, None);
    assert_eq!(printed(&["sh", "-c", "echo text; kill -9 $$"], PATIENCE).await, None);
}

#[tokio::test]
async fn a_tool_that_hangs_is_ended_with_its_children() {
    let mark = mark();
    let hang = format!("cat {} {mark}", silent());
    let script = format!("{hang} & setsid {hang} & {hang}");
    assert_eq!(printed(&["sh", "-c", &script], SHORT).await, None);
    nothing_left(&mark).await;
}

#[tokio::test]
async fn a_tool_that_prints_too_much_is_cut() {
    let count = (tool::OUTPUT_MAX * 3).to_string();
    let text = printed(&["head", "-c", &count, "/dev/zero"], PATIENCE).await.unwrap();
    assert_eq!(text.len(), tool::OUTPUT_MAX);
    assert_eq!(printed(&["cat", "/dev/zero"], SHORT).await, None);
}
