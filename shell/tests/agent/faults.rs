//! The real program with the disk failing under it: every call of a kind is made to kill it or to fail, one after the
//! other, and whatever was left behind, the next start goes on.

use std::{fs, process::Command};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use x25519_dalek::{PublicKey, StaticSecret};

use crate::node::{Node, counter, fixture, get, mode, text};

/// The calls that make something durable or visible.
const CALLS: [&str; 3] = ["fsync", "renameat", "unlinkat"];

/// What happens to one of them.
const FATES: [&str; 3] = ["signal=KILL", "error=ENOSPC", "error=EIO"];

/// More calls of a kind than a registration makes.
const CALLS_MAX: u32 = 40;

/// Registers with one call spoilt; tells whether it came that far.
fn spoilt(node: &Node, call: &str, fate: &str, number: u32) -> bool {
    let inject = format!("inject={call}:{fate}:when={number}");
    let agent = node.command(&["register"]);
    let output = Command::new("strace")
        .args(["--follow-forks", "--seccomp-bpf", "-e", &format!("trace={call}"), "-e", &inject])
        .arg(agent.get_program())
        .args(agent.get_args())
        .output()
        .expect("strace is installed");
    text(&output.stderr).contains("(INJECTED)") || !output.status.success()
}

/// The public half of the key on the disk.
fn key(node: &Node) -> String {
    let kept = fs::read_to_string(node.data("private_key")).unwrap();
    let private: [u8; 32] = STANDARD.decode(kept.trim()).unwrap().try_into().unwrap();
    STANDARD.encode(PublicKey::from(&StaticSecret::from(private)).as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_registration_survives_every_call_to_the_disk_that_kills_it_or_fails() {
    let plane = fixture().await;
    let mut tried = 0;
    for (call, fate) in CALLS.iter().flat_map(|call| FATES.map(|fate| (*call, fate))) {
        for number in 1..=CALLS_MAX {
            assert!(number < CALLS_MAX, "{call} has no end");
            let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
            let hit = spoilt(&node, call, fate, number);
            let place = format!("{call} {number} with {fate}");
            let had_identity = node.data("identity.json").exists();
            let before = counter(&plane, "registration_count");
            fs::write(node.path("token"), crate::node::TOKEN).unwrap();
            let next = node.run(&["register"]);
            assert_eq!(next.status.code(), Some(0), "{place}: {}", text(&next.stderr));
            let again = counter(&plane, "registration_count") - before;
            assert_eq!(again, u64::from(!had_identity), "{place}: a node registers once");
            let told: Value = get(&plane, "/test/last-request/register");
            assert_eq!(told["public_key"], key(&node), "{place}: the key in force is on the disk");
            for entry in fs::read_dir(node.path("data")).unwrap() {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                assert!(!name.starts_with(".tmp-"), "{place}: {name} is left behind");
                let closed = if entry.path().is_dir() { 0o700 } else { 0o600 };
                assert_eq!(mode(&entry.path()), closed, "{place}: {name}");
            }
            if !hit {
                break;
            }
            tried += 1;
        }
    }
    assert!(tried >= CALLS.len() * FATES.len(), "only {tried} calls were met");
}
