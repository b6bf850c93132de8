//! What was pulled, over restarts of the running agent while the control plane is away.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::Path};

use meshward_fixture::Running;
use serde_json::{Value, json};

use crate::{
    node::{Node, counter, fixture, mode, post, until},
    reports::{ask, open},
};

const QUIET: &str = "[health]\nenabled = false\n";

/// Keys that no file system takes as they are.
const HOSTILE: [&str; 3] = ["../up", ".tmp-x", "%2e"];

fn configure(plane: &Running, value: &str) {
    let long = "k/".repeat(150);
    let keys = HOSTILE.into_iter().chain([long.as_str(), "app/config"]);
    let data: Vec<_> = keys.map(|key| json!({"key": key, "value": value})).collect();
    let metadata = json!([{"key": "region", "value": value}]);
    post(plane, "/test/configure-state", &json!({"state": {"metadata": metadata, "data": data}}));
}

fn entry(node: &Node, key: &str) -> Value {
    let key = key.replace('%', "%25").replace('/', "%2F");
    ask(node, "GET", &format!("/v1/state/data/{key}"), "", "").map_or(Value::Null, |read| read.1)
}

fn all(node: &Node) -> (Vec<Value>, Value) {
    let long = "k/".repeat(150);
    let keys = HOSTILE.into_iter().chain([long.as_str(), "app/config"]);
    let metadata = ask(node, "GET", "/v1/state/metadata", "", "");
    (keys.map(|key| entry(node, key)).collect(), metadata.map_or(Value::Null, |read| read.1))
}

/// What tells whether a file was written again: its inode, and when its content changed.
fn stamps(folder: &Path) -> BTreeMap<String, (u64, i64, i64)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file()).map(|entry| {
        let about = entry.metadata().unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, (about.ino(), about.mtime(), about.mtime_nsec()))
    });
    files.collect()
}

/// Two pulls of different values, the second of which is on the disk.
async fn pulled_twice(plane: &Running, node: &Node) {
    for (value, version) in [("one", 1), ("two", 2)] {
        configure(plane, value);
        until("it is pulled", || {
            let (entries, metadata) = all(node);
            metadata["region"] == value && entries.iter().all(|one| one["version"] == version)
        })
        .await;
    }
    // A file that is being replaced has another name for a moment.
    let is_kept =
        |file: fs::DirEntry| fs::read_to_string(file.path()).is_ok_and(|text| text.contains("two"));
    until("it is on the disk", || {
        let data = fs::read_dir(node.data("state/data")).unwrap().map(Result::unwrap);
        let kept: Vec<_> = data.map(is_kept).collect();
        let metadata = fs::read_to_string(node.data("state/metadata.json")).unwrap_or_default();
        kept == [true; 5] && metadata.contains("two")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn versions_and_times_outlive_kill_9_and_are_served_while_the_control_plane_is_down() {
    let plane = fixture().await;
    configure(&plane, "one");
    let node = Node::new(&plane.url(), QUIET);
    let agent = node.start();
    open(&node).await;
    pulled_twice(&plane, &node).await;
    let before = all(&node);
    assert_eq!(
        (mode(&node.data("state/data")), mode(&node.data("state/metadata.json"))),
        (0o700, 0o600)
    );
    for name in stamps(&node.data("state/data")).keys() {
        assert_eq!(mode(&node.data("state/data").join(name)), 0o600, "{name}");
    }
    agent.kill();
    post(
        &plane,
        "/test/faults",
        &json!({"path": "/v1/nodes/*/state", "times": 10_000, "drop": true}),
    );
    let _again = node.start();
    open(&node).await;
    // The mode of delivery is told beside what was kept, once the stream is open.
    until("everything is served as before", || all(&node) == before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn peers_and_policy_are_served_with_the_age_of_the_last_pull_while_the_control_plane_is_down()
{
    let plane = fixture().await;
    let node = Node::new(&plane.url(), QUIET);
    let agent = node.start();
    open(&node).await;
    let served = || {
        ["/v1/peers", "/v1/policies", "/v1/state/metadata"]
            .map(|path| ask(&node, "GET", path, "", ""))
    };
    // What the fixture configures by itself: two peers, a policy, metadata.
    until("it is pulled", || {
        served()[0]
            .as_ref()
            .is_some_and(|(_, peers)| peers.as_array().is_some_and(|all| all.len() == 2))
    })
    .await;
    let file = node.data("state/network.json");
    until("it is on the disk", || file.exists()).await;
    assert_eq!(mode(&file), 0o600);
    until("it streams", || served()[2].as_ref().unwrap().1["delivery_mode"] == "streaming").await;
    let before = served();
    agent.kill();
    let fault = json!({"path": "/v1/nodes/*/state", "times": 10_000, "drop": true});
    post(&plane, "/test/faults", &fault);
    let _again = node.start();
    open(&node).await;
    until("the same is served", || served() == before).await;
    let status = node.run(&["--output", "json", "status"]);
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(status["last_pull_age_seconds"].as_u64().is_some_and(|age| age < 600), "{status}");
    assert!(node.log().contains("is served until a pull succeeds: 2 peers, a policy,"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_unchanged_pull_writes_nothing_and_what_left_is_removed() {
    let plane = fixture().await;
    configure(&plane, "one");
    let node = Node::new(&plane.url(), QUIET);
    let agent = node.start();
    open(&node).await;
    pulled_twice(&plane, &node).await;
    // What files are held to is kept when the program was read through, whatever is pulled meanwhile.
    until("the checksums are kept", || node.data("state/checksums.json").exists()).await;
    let looks = || (stamps(&node.data("state/data")), stamps(&node.data("state")));
    let before = (looks(), all(&node));
    let pulls = counter(&plane, "state_count");
    until("it pulls again", || counter(&plane, "state_count") > pulls + 1).await;
    agent.kill();
    let _again = node.start();
    open(&node).await;
    let pulls = counter(&plane, "state_count");
    until("it pulls again", || counter(&plane, "state_count") > pulls + 1).await;
    assert_eq!((looks(), all(&node)), before);
    post(&plane, "/test/configure-state", &json!({"state": null}));
    until("nothing of it is left", || {
        let (data, root) = looks();
        data.is_empty() && root.keys().eq(["checksums.json", "network.json"])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_damaged_file_is_told_and_set_aside_and_a_huge_one_stops_no_start() {
    let plane = fixture().await;
    configure(&plane, "one");
    let node = Node::new(&plane.url(), QUIET);
    let agent = node.start();
    open(&node).await;
    pulled_twice(&plane, &node).await;
    agent.kill();
    post(
        &plane,
        "/test/faults",
        &json!({"path": "/v1/nodes/*/state", "times": 10_000, "drop": true}),
    );
    let kept = node.data("state/data/app%2fconfig.json");
    let whole = fs::read(&kept).unwrap();
    fs::write(&kept, &whole[..whole.len() / 2]).unwrap();
    fs::write(node.data("state/metadata.json"), "").unwrap();
    let huge = fs::File::create(node.data("state/data/huge.json")).unwrap();
    huge.set_len(1 << 40).unwrap();
    let _again = node.start();
    open(&node).await;
    assert_eq!(entry(&node, "../up")["version"], 2, "the others are served");
    assert_eq!(entry(&node, "app/config")["error"], "not found");
    let log = node.log();
    for part in [
        "state/data/app%2fconfig.json holds no data entry, it is cut off",
        "state/metadata.json holds no metadata, it is empty",
        "state/data/huge.json holds no data entry, it is larger than what is read of it",
    ] {
        assert!(log.contains(part), "{part} in {log}");
    }
    until("they are set aside", || {
        let names: Vec<_> = stamps(&node.data("state/data"))
            .into_keys()
            .chain(stamps(&node.data("state")).into_keys())
            .filter(|name| name.contains(".json.damaged-"))
            .collect();
        names.len() == 3
    })
    .await;
}
