//! A report that is written with the disk failing under it: what was answered 200 is on the disk and reaches the
//! control plane, what was refused has changed nothing.

use std::fs;

use serde_json::json;

use crate::{
    node::{Agent, Node, Plane, counter, fixture, get, until},
    reports::{ask, open, put},
    strace::{Point, Strace, every_point},
};

/// The calls that make a report durable and visible.
const CALLS: [&str; 2] = ["fsync", "renameat"];

/// What happens to one of them.
const FATES: [&str; 4] = ["signal=KILL", "error=ENOSPC", "error=EIO", "error=EINTR"];

/// More calls of a kind than a write makes.
const CALLS_MAX: u32 = 8;

const KEY: &str = "app";

/// The agent's own reports.
const OWN: u64 = 5;

/// One node and its control plane, through many writes.
struct Scene {
    plane: Plane,
    node: Node,
    /// The value that was last answered 200.
    last: u64,
}

impl Scene {
    async fn new() -> Self {
        let plane = fixture().await;
        let extra = "[health]\nenabled = false\n[local_api]\ndebounce_period = \"500ms\"\n";
        let node = Node::new(&plane.url(), extra);
        let scene = Self { plane, node, last: 1 };
        let agent = scene.started().await;
        assert_eq!(scene.put(scene.last), Some(200));
        let all = || counter(&scene.plane, "report_put_count") == OWN + 1;
        until("all is delivered", all).await;
        until("and noted", || scene.is_noted()).await;
        agent.kill();
        scene
    }

    async fn started(&self) -> Agent {
        let agent = self.node.start();
        open(&self.node).await;
        agent
    }

    fn put(&self, value: u64) -> Option<u16> {
        put(&self.node, KEY, &value.to_string()).map(|(status, _)| status)
    }

    fn served(&self) -> Option<u64> {
        let (_, entry) = ask(&self.node, "GET", &format!("/v1/state/report/{KEY}"), "", "")?;
        entry["payload"].as_u64()
    }

    /// Whether the last version was delivered.
    fn is_delivered(&self) -> bool {
        let journal = get(&self.plane, "/test/requests");
        let of = |path: &str| path.ends_with(&format!("/state/reports/{KEY}"));
        let taken = journal["requests"].as_array().and_then(|list| {
            list.iter()
                .rfind(|one| one["status"] == 200 && one["path"].as_str().is_some_and(of))
                .cloned()
        });
        let body = json!({"value": self.last.to_string()}).to_string();
        taken.is_some_and(|taken| taken["body"].as_str() == Some(body.as_str()))
    }

    /// Whether the file tells that the report needs no delivery.
    fn is_noted(&self) -> bool {
        let kept = fs::read_to_string(self.node.data(&format!("state/report/{KEY}.json")));
        kept.is_ok_and(|kept| kept.contains("\"synced\""))
    }

    /// A write with a call of it spoilt; tells whether it came that far. Whatever was answered holds in this life and
    /// the next, and a write that follows is answered, kept and delivered.
    async fn spoil(&mut self, point: Point) -> bool {
        let agent = self.started().await;
        let strace = Strace::attach(&self.node, &agent, point).await;
        let value = self.last + 1;
        let answer = self.put(value);
        let hit = strace.has_hit();
        match answer {
            Some(200) => {
                assert!(!hit || point.is_repeated(), "{point:?} is answered for");
                self.last = value;
                assert_eq!(self.served(), Some(value), "{point:?}");
            }
            Some(status) => {
                assert!(hit && status == 500 && !point.kills(), "{point:?}: {status}");
                assert_eq!(self.served(), Some(self.last), "{point:?}: the old version is served");
            }
            None => assert!(hit && point.kills(), "{point:?}: no answer"),
        }
        agent.kill();
        strace.ended();
        self.next_life(point, value, answer).await;
        hit
    }

    async fn next_life(&mut self, point: Point, value: u64, answer: Option<u16>) {
        let agent = self.started().await;
        let served = self.served();
        if answer == Some(200) {
            assert_eq!(served, Some(value), "{point:?}: what was answered is kept");
            until("it is delivered", || self.is_delivered()).await;
        } else {
            // The file may have been renamed when the end came, or when its folder was not synced.
            let whole = served == Some(self.last) || served == Some(value);
            assert!(whole, "{point:?}: {served:?} is served");
        }
        self.last = value + 1;
        assert_eq!(self.put(self.last), Some(200), "{point:?}");
        agent.kill();
        let agent = self.started().await;
        assert_eq!(self.served(), Some(self.last), "{point:?}");
        until("the last version is delivered", || self.is_delivered()).await;
        until("and noted", || self.is_noted()).await;
        agent.kill();
    }
}

/// The calls that one write makes, in the order of [`CALLS`].
const MADE: [u32; 2] = [2, 1];

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_report_survives_the_calls_to_the_disk_that_kill_it_or_fail() {
    let mut scene = Scene::new().await;
    for (call, made) in CALLS.into_iter().zip(MADE) {
        for fate in FATES {
            let most = if every_point() { CALLS_MAX } else { 1 };
            let mut met = 0;
            while met < most && scene.spoil(Point { call, fate, number: met + 1 }).await {
                met += 1;
            }
            assert_eq!(met, made.min(most), "{call} with {fate}");
        }
    }
}
