//! Disks that are too small: whenever there is no room for an identity, the token is not sent.

use std::{
    fs::{self, File},
    process::Command,
};

use crate::node::{Agent, Node, counter, fixture, post};

/// More pages, and more inodes, than a registration needs.
const ENOUGH: u32 = 24;

/// A node whose data directory is a filesystem of its own.
struct Small {
    node: Node,
}

impl Small {
    /// `None` where this process may not mount.
    fn mounted(url: &str, options: &str) -> Option<Self> {
        let node = Node::new(url, "[health]\nenabled = false\n");
        fs::create_dir(node.path("data")).unwrap();
        let options = format!("mode=0700,{options}");
        mount(&node, &["-t", "tmpfs", "-o", &options, "tmpfs"]).then(|| Self { node })
    }

    fn enlarge(&self) {
        assert!(mount(&self.node, &["-o", "remount,size=4m,nr_inodes=1000"]));
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.node.path("data")).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

fn mount(node: &Node, arguments: &[&str]) -> bool {
    let mounted = Command::new("mount").args(arguments).arg(node.path("data")).output();
    mounted.is_ok_and(|output| output.status.success())
}

/// Registers; tells whether that was a success, and what was said. One that was accepted and cannot be written would
/// never end, and has the test fail.
fn register(node: &Node) -> (bool, String) {
    let log = File::create(node.path("log")).unwrap();
    let agent = Agent::of(node.command(&["register"]).stderr(log).spawn().unwrap());
    (agent.ended() == Some(0), node.log())
}

fn unfinished(node: &Node) -> usize {
    let names = fs::read_dir(node.path("data")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with(".tmp-")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[expect(clippy::print_stderr, reason = "that nothing was tried is read by a person")]
async fn a_disk_without_room_for_an_identity_is_met_before_the_token_is_sent() {
    let plane = fixture().await;
    let sizes = (1..=ENOUGH).map(|pages| format!("size={}k,nr_inodes=1000", pages * 4));
    let counts = (2..=ENOUGH).map(|inodes| format!("size=4m,nr_inodes={inodes}"));
    let (mut refused, mut taken) = (0, 0);
    for options in sizes.chain(counts) {
        let Some(small) = Small::mounted(&plane.url(), &options) else {
            eprintln!("passed over: this process may not mount");
            return;
        };
        let node = &small.node;
        let before = counter(&plane, "registration_count");
        let (is_registered, told) = register(node);
        let sent = counter(&plane, "registration_count") - before;
        if is_registered {
            assert_eq!(sent, 1, "{options}");
            taken += 1;
        } else {
            assert_eq!(sent, 0, "{options}: the token is not sent: {told}");
            assert!(told.contains("No space left on device"), "{options}: {told}");
            assert!(node.path("token").exists(), "{options}");
            refused += 1;
            small.enlarge();
            let (is_registered, told) = register(node);
            assert!(is_registered, "{options}, enlarged: {told}");
            assert_eq!(counter(&plane, "registration_count") - before, 1, "{options}");
        }
        assert_eq!(unfinished(node), 0, "{options}");
        assert_eq!(node.identity()["mesh_ip"].as_str().map(str::is_empty), Some(false));
    }
    assert!(refused > 8 && taken > 8, "{refused} refused, {taken} taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn room_that_was_taken_for_a_registration_that_is_refused_is_given_up() {
    let plane = fixture().await;
    let node = Node::new(&plane.url(), "[health]\nenabled = false\n");
    let refuse = serde_json::json!({"path": "/v1/register", "status": 403});
    post(&plane, "/test/faults", &refuse);
    assert_eq!(node.run(&["register"]).status.code(), Some(4));
    assert_eq!(unfinished(&node), 0);
}
