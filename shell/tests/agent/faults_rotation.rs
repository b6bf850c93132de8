//! A rotation of the mesh key with the disk failing under it: each call that stages or commits a key kills the program
//! or fails, the next start finds the key that the control plane holds, and the rotation completes.

use std::{fs, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;
use x25519_dalek::{PublicKey, StaticSecret};

use crate::{
    node::{Agent, Node, Plane, counter, delete, fixture, get, post, until},
    strace::{Point, Strace, every_point},
};

/// The calls that make something durable or visible.
const CALLS: [&str; 3] = ["fsync", "renameat", "unlinkat"];

/// What happens to one of them.
const FATES: [&str; 4] = ["signal=KILL", "error=ENOSPC", "error=EIO", "error=EINTR"];

/// How long the answer to an offer is held back, so that strace is there before the commit.
const HELD: Duration = Duration::from_millis(700);

/// How often a scene is set when strace came too late for it.
const TRIES_MAX: u32 = 5;

/// Which of the two orders on the disk is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Stage,
    Commit,
}

/// The files that may hold the key in force.
const KEYS: [&str; 3] = ["private_key", "rotation_pending_key", "rotation_discarded_key"];

/// The public half of a key file, where there is one.
fn key(node: &Node, name: &str) -> Option<String> {
    let kept = fs::read_to_string(node.data(name)).ok()?;
    let private: [u8; 32] = STANDARD.decode(kept.trim()).unwrap().try_into().unwrap();
    Some(STANDARD.encode(PublicKey::from(&StaticSecret::from(private)).as_bytes()))
}

fn arm(plane: &Plane, rotate: bool) {
    post(plane, "/test/configure-heartbeat", &json!({"reconcile": true, "rotate_keys": rotate}));
}

/// One node and its control plane, through many rotations.
struct Scene {
    plane: Plane,
    node: Node,
    /// What the control plane holds, and how often it was changed.
    current: Option<String>,
    rotations: u64,
}

impl Scene {
    async fn new() -> Self {
        let plane = fixture().await;
        let extra = "[health]\nenabled = false\n[local_api]\ndebounce_period = \"100ms\"\n";
        let node = Node::new(&plane.url(), extra);
        let agent = node.start();
        until("its own reports are delivered", || counter(&plane, "report_put_count") == 5).await;
        agent.kill();
        let current = key(&node, "private_key");
        fs::remove_file(node.path("log")).unwrap();
        Self { plane, node, current, rotations: 0 }
    }

    /// Looks up what the control plane holds now.
    fn learn(&mut self) {
        let rotations = counter(&self.plane, "key_rotate_count");
        if rotations != self.rotations {
            let told = get(&self.plane, "/test/last-request/key_rotate");
            self.current = told["new_public_key"].as_str().map(str::to_owned);
            self.rotations = rotations;
        }
    }

    async fn meet(&mut self, part: Part, point: Point) {
        assert!(self.spoil(part, point).await, "{part:?}: {point:?} is not met");
    }

    /// Begins a rotation, has a call of a part of it spoilt and ends the agent; tells whether it came that far.
    async fn spoil(&mut self, part: Part, point: Point) -> bool {
        for _ in 0..TRIES_MAX {
            let agent = self.node.start();
            until("it is admitted", || self.has_told("heartbeat accepted")).await;
            let strace = match part {
                Part::Stage => Strace::attach(&self.node, &agent, point).await,
                Part::Commit => self.staged(&agent, point).await,
            };
            let in_time = part == Part::Stage || key(&self.node, "private_key") == self.current;
            arm(&self.plane, true);
            let through = || strace.has_hit() || self.has_told("the mesh key is rotated");
            until("the call is met or the rotation is through", through).await;
            let hit = strace.has_hit();
            agent.kill();
            strace.ended();
            assert!(self.plane.request(delete("/test/faults")).is_success());
            self.complete(point).await;
            if hit || in_time {
                return hit;
            }
        }
        panic!("strace came too late {TRIES_MAX} times");
    }

    /// Lets a key be staged and offered, and holds the answer back until strace is there.
    async fn staged(&self, agent: &Agent, point: Point) -> Strace {
        let held = HELD.as_millis() as u64;
        let rule = json!({"path": "/v1/keys/rotate", "times": 1, "delay_ms": held});
        post(&self.plane, "/test/faults", &rule);
        arm(&self.plane, true);
        until("a key is staged", || key(&self.node, "rotation_pending_key").is_some()).await;
        Strace::attach(&self.node, agent, point).await
    }

    fn has_told(&self, what: &str) -> bool {
        self.node.log().contains(what)
    }

    /// The key in force is held, and the next start completes the rotation.
    async fn complete(&mut self, point: Point) {
        let before = self.rotations;
        self.learn();
        let held = KEYS.map(|name| key(&self.node, name));
        assert!(held.contains(&self.current), "{point:?}: {:?} of {held:?}", self.current);
        fs::remove_file(self.node.path("log")).unwrap();
        let agent = self.node.start();
        let (plane, node) = (&self.plane, &self.node);
        let settled = || {
            let kept = node.identity()["last_rotation"]["wrap_key_version"].as_u64();
            let is_newest = kept == Some(counter(plane, "key_rotate_count"));
            is_newest && key(node, "rotation_pending_key").is_none()
        };
        let completed = || counter(plane, "key_rotate_count") > before && settled();
        until("the rotation completes", completed).await;
        arm(plane, false);
        until("no other is under way", settled).await;
        agent.kill();
        self.learn();
        assert_eq!(key(&self.node, "private_key"), self.current, "{point:?}: both hold one key");
        fs::remove_file(self.node.path("log")).unwrap();
    }
}

/// How many calls each part makes, in the order of [`CALLS`].
const MADE: [(Part, [u32; 3]); 2] = [(Part::Stage, [2, 1, 0]), (Part::Commit, [6, 2, 2])];

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rotation_survives_the_calls_to_the_disk_that_kill_it_or_fail() {
    let mut scene = Scene::new().await;
    if every_point() {
        for (part, made) in MADE {
            for (call, made) in CALLS.into_iter().zip(made) {
                for (fate, number) in
                    FATES.iter().flat_map(|fate| (1..=made).map(move |n| (fate, n)))
                {
                    scene.meet(part, Point { call, fate, number }).await;
                }
                // Behind a staged key the same thread may go on with the commit.
                let beyond = Point { call, fate: FATES[0], number: made + 1 };
                let more = part == Part::Commit && scene.spoil(part, beyond).await;
                assert!(!more, "{beyond:?} is met too");
            }
        }
        return;
    }
    for (part, call, fate, number) in QUICK {
        scene.meet(part, Point { call, fate, number }).await;
    }
}

/// Some of the points, one of each kind.
const QUICK: [(Part, &str, &str, u32); 8] = [
    (Part::Stage, "renameat", "signal=KILL", 1),
    (Part::Stage, "fsync", "error=EIO", 1),
    (Part::Stage, "fsync", "error=EINTR", 2),
    (Part::Commit, "renameat", "signal=KILL", 1),
    (Part::Commit, "renameat", "signal=KILL", 2),
    (Part::Commit, "unlinkat", "signal=KILL", 1),
    (Part::Commit, "fsync", "error=ENOSPC", 3),
    (Part::Commit, "fsync", "error=EINTR", 1),
];
