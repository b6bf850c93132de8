//! The file of the last pull's peers and policy: served at the start with its age, written seldom, bound to one node.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    agent::{self, Effect, Folder, Memory, StateFile, network::file::REFRESH},
    backoff::Jitter,
    time::Wall,
    wire::{kept, local::Status, timestamp::Timestamp},
};

use crate::{
    bench::{NODE, remembered, responded, seconds, sent_to},
    counter::Counter,
};

const PULL: &str = r#"{"peers":[{"node_id":"n","mesh_ip":"10.0.0.2","public_key":"k"}],
    "policy":{ "fingerprint":"f"},"state":{"metadata":[{"key":"m","value":"1"}],"data":[{"key":"d","value":"1"}]}}"#;

fn file() -> StateFile {
    StateFile { folder: Folder::Root, name: kept::NETWORK.into() }
}

/// Answers the pull that is under way.
fn answer(counter: &mut Counter, body: &str) {
    let (call, _) = sent_to(&counter.orders, "/state");
    counter.orders.clear();
    let answer = responded(200, body);
    counter.give(agent::Input::Answered { call, answer, jitter: Jitter::NONE });
}

/// The next pull after this time.
fn pull_after(counter: &mut Counter, time: Duration, body: &str) {
    counter.bench.pass(time);
    counter.give(agent::Input::Ticked);
    answer(counter, body);
}

/// What is on the disk of pulls.
fn pulled(counter: &Counter) -> Vec<&StateFile> {
    counter.files.keys().filter(|file| file.folder != Folder::Report).collect()
}

/// What the file holds.
fn held(counter: &Counter) -> kept::KeptNetwork {
    kept::decode_network(&counter.files[&file()]).expect("a network")
}

fn told(counter: &Counter, part: &str) -> Vec<String> {
    let told = counter.orders.iter().filter_map(|order| {
        let Effect::Tell(notice) = order else { return None };
        notice.text.contains(part).then(|| notice.text.clone())
    });
    told.collect()
}

fn age(counter: &Counter) -> Option<u64> {
    let status: Status = counter.bench.agent.status(counter.bench.now);
    status.last_pull_age_seconds
}

/// A new process on the same disk, so much later.
fn restarted(counter: &Counter, later: Duration, memory: Memory) -> Counter {
    let mut again = Counter::started(BTreeMap::new(), Memory::default());
    again.bench.agent = agent::Agent::default();
    again.bench.now = counter.bench.now.after(later);
    again.files = counter.files.clone();
    again.orders.clear();
    let state = again.files.iter().map(|(file, bytes)| agent::FoundFile {
        file: file.clone(),
        content: agent::FoundContent::Bytes(agent::Content(bytes.clone())),
    });
    let state = state.collect();
    again.give(agent::Input::Restarted(Box::new(Memory { state, ..memory })));
    again
}

fn same_node() -> Memory {
    remembered(agent::StagedFile::Missing)
}

fn other_node() -> Memory {
    let mut memory = same_node();
    let text = format!(r#"{{"node_id":"{}","mesh_ip":"10.0.0.9"}}"#, "0".repeat(8) + &NODE[8..]);
    memory.files.identity = meshward_core::wire::identity::Found::Content(text.into());
    memory
}

#[test]
fn a_start_serves_peers_and_policy_before_the_first_pull_and_tells_their_age() {
    let mut first = Counter::armed();
    answer(&mut first, PULL);
    let (peers, policy) = (first.get("/v1/peers"), first.get("/v1/policies"));
    assert!(peers.1.contains("10.0.0.2") && policy.1.contains(r#"{ "fingerprint":"f"}"#));
    let mut again = restarted(&first, seconds(3 * 3600 + 720), same_node());
    assert_eq!((again.get("/v1/peers"), again.get("/v1/policies")), (peers, policy));
    assert_eq!(again.get("/v1/state/metadata").1, "{\"m\":\"1\"}\n");
    let told = told(&again, "is served until a pull succeeds");
    let [text] = told.as_slice() else { panic!("{told:?}") };
    assert!(text.starts_with("what was pulled at most 3 h 12 min ago, at 2027-"), "{text}");
    assert!(text.ends_with("1 peers, a policy, 1 metadata, 1 data entries"), "{text}");
    assert_eq!(age(&again), Some(11_520));
    again.bench.pass(seconds(7));
    assert_eq!(age(&again), Some(11_527), "it keeps counting");
    answer(&mut again, PULL);
    assert_eq!(age(&again), Some(0), "the first pull of this process");
}

#[test]
fn a_clock_behind_the_time_of_the_last_pull_makes_its_age_unknown() {
    let mut first = Counter::armed();
    answer(&mut first, PULL);
    first.bench.now.wall = Wall::from_origin(seconds(5));
    let mut again = restarted(&first, seconds(1), same_node());
    assert_eq!(age(&again), None);
    assert_eq!(told(&again, "which this node's clock has not reached").len(), 1);
    assert!(again.get("/v1/peers").1.contains("10.0.0.2"));
    again.bench.now.wall = crate::bench::at(seconds(90)).wall;
    assert_eq!(age(&again), Some(90), "once the clock is right");
}

#[test]
fn the_file_is_written_when_its_content_changes_and_otherwise_seldom() {
    let mut counter = Counter::armed();
    answer(&mut counter, PULL);
    let first = held(&counter);
    assert_eq!(first.node_id, NODE);
    let text = String::from_utf8(counter.files[&file()].clone()).expect("a text");
    let expected = format!(
        r#"{{"node_id":"{NODE}","pulled_at":"2027-01-15T08:00:00Z","peers":[{{"id":"n","public_key":"k","mesh_ip":"10.0.0.2","endpoint":""}}],"policy":{{ "fingerprint":"f"}}}}"#
    );
    assert_eq!(text, expected + "\n", "what stands on the disks of others");
    let mut writes = 0;
    for minute in 1..=40 {
        let before = held(&counter).pulled_at;
        pull_after(&mut counter, seconds(60), PULL);
        writes += usize::from(held(&counter).pulled_at != before);
        assert!(held(&counter).pulled_at.skew(counter.bench.now.wall) < REFRESH, "{minute}");
    }
    assert_eq!(writes, 4, "once in ten minutes");
    pull_after(&mut counter, seconds(60), r#"{"peers":[],"policy":null}"#);
    let last = held(&counter);
    assert_eq!((last.peers.len(), last.policy), (0, None));
    assert_eq!(last.pulled_at.skew(counter.bench.now.wall), Duration::ZERO);
}

#[test]
fn a_stop_writes_the_time_of_the_last_pull_where_an_older_one_stands_and_waits_for_that() {
    let mut counter = Counter::started(BTreeMap::new(), same_node());
    answer(&mut counter, PULL);
    let first = held(&counter).pulled_at;
    pull_after(&mut counter, seconds(60), PULL);
    let last = Timestamp::from(counter.bench.now.wall);
    assert_eq!(held(&counter).pulled_at, first, "it is not written for each pull");
    counter.bench.pass(seconds(5));
    let has_ended = |counter: &Counter| counter.orders.iter().any(|o| matches!(o, Effect::Exit(_)));
    counter.hanging = Some(Vec::new());
    counter.give(agent::Input::Draining);
    assert!(!has_ended(&counter), "the stop waits for the disk");
    counter.release();
    assert!(has_ended(&counter));
    assert_eq!(held(&counter).pulled_at, last);
    // What the next process pulls nothing behind is not written again.
    counter.hanging = None;
    let mut again = restarted(&counter, seconds(30), same_node());
    again.hanging = Some(Vec::new());
    again.give(agent::Input::Draining);
    assert!(has_ended(&again));
}

#[test]
fn a_pull_that_comes_while_the_file_is_written_has_its_time_written_by_the_stop() {
    let mut counter = Counter::started(BTreeMap::new(), same_node());
    counter.hanging = Some(Vec::new());
    answer(&mut counter, PULL);
    pull_after(&mut counter, seconds(60), PULL);
    let last = Timestamp::from(counter.bench.now.wall);
    counter.give(agent::Input::Draining);
    while counter.hanging.as_ref().is_some_and(|hanging| !hanging.is_empty()) {
        counter.release();
    }
    assert_eq!(held(&counter).pulled_at, last);
    assert!(counter.orders.iter().any(|order| matches!(order, Effect::Exit(_))));
}

#[test]
fn a_disk_that_refuses_the_time_at_a_stop_is_not_asked_again() {
    let mut counter = Counter::started(BTreeMap::new(), same_node());
    answer(&mut counter, PULL);
    pull_after(&mut counter, seconds(60), PULL);
    counter.full = true;
    counter.give(agent::Input::Draining);
    assert!(counter.orders.iter().any(|order| matches!(order, Effect::Exit(_))));
}

#[test]
fn a_start_goes_on_with_the_time_in_the_file_and_does_not_write_it_at_once() {
    let mut first = Counter::armed();
    answer(&mut first, PULL);
    let before = first.files.clone();
    let mut again = restarted(&first, seconds(30), same_node());
    answer(&mut again, PULL);
    assert_eq!(again.files, before);
    let mut late = restarted(&first, REFRESH, same_node());
    answer(&mut late, PULL);
    assert_ne!(late.files[&file()], before[&file()]);
}

#[test]
fn what_was_pulled_for_another_node_is_not_served_but_cleared() {
    let mut first = Counter::armed();
    answer(&mut first, PULL);
    let mut other = restarted(&first, seconds(60), other_node());
    assert_eq!(other.get("/v1/peers").1, "[]\n");
    assert_eq!(other.get("/v1/policies").1, "{}\n");
    assert_eq!(other.get("/v1/state/metadata").1, "{}\n");
    assert_eq!(other.get("/v1/state/data/d").0, 404);
    assert_eq!(age(&other), None);
    assert_eq!(told(&other, "was pulled for another node").len(), 1);
    assert_eq!(pulled(&other), [&file()], "this names the other node still");
    answer(&mut other, PULL);
    assert_ne!(held(&other).node_id, NODE);
    assert_eq!(pulled(&other).len(), 3);
}

/// A crash may come at any time: as long as anything of the other node is left, the file names that node.
#[test]
fn the_file_names_the_new_node_only_when_nothing_of_the_other_is_left() {
    let mut first = Counter::armed();
    answer(&mut first, PULL);
    let mut slow = {
        let mut slow = restarted(&first, seconds(60), Memory::default());
        slow.hanging = Some(Vec::new());
        slow
    };
    assert_eq!(slow.get("/v1/peers").1, "[]\n", "nobody is served before there is an identity");
    assert_eq!(slow.get("/v1/state/metadata").1, "{}\n");
    let state = first.files.iter().map(|(file, bytes)| agent::FoundFile {
        file: file.clone(),
        content: agent::FoundContent::Bytes(agent::Content(bytes.clone())),
    });
    let memory = Memory { state: state.collect(), ..other_node() };
    slow.bench.agent = agent::Agent::default();
    slow.orders.clear();
    slow.give(agent::Input::Restarted(Box::new(memory)));
    answer(&mut slow, r#"{"peers":[]}"#);
    while slow.hanging.as_ref().is_some_and(|open| !open.is_empty()) {
        let before = held(&slow).node_id;
        let left = pulled(&slow).len();
        assert!(left == 1 || before == NODE, "{left} files");
        slow.release();
    }
    assert_ne!(held(&slow).node_id, NODE);
}

#[test]
fn files_that_nothing_names_a_node_for_are_served_to_the_identity_beside_them_alone() {
    let mut first = Counter::armed();
    answer(&mut first, PULL);
    first.files.remove(&file());
    let mut again = restarted(&first, seconds(60), same_node());
    assert_eq!(again.get("/v1/state/metadata").1, "{\"m\":\"1\"}\n");
    assert_eq!(told(&again, "what was pulled at an unknown time is served").len(), 1);
    assert_eq!(age(&again), None);
    let mut fresh = restarted(&first, seconds(60), Memory::default());
    assert_eq!(fresh.get("/v1/state/metadata").1, "{}\n");
    register(&mut fresh);
    assert_eq!(fresh.get("/v1/state/metadata").1, "{}\n", "they may be of another node");
    assert!(
        fresh.files.keys().all(|file| file.folder == Folder::Report),
        "{:?}",
        fresh.files.keys()
    );
}

/// Lets an agent without an identity register.
fn register(counter: &mut Counter) {
    use crate::bench::{gathered, nsk, public_key, registration_body, token_value};
    counter.give(agent::Input::Gathered(Box::new(gathered(token_value()))));
    counter.give(agent::Input::Stored(agent::Stored::KeyMade(public_key(1))));
    let (call, _) = sent_to(&counter.orders, "/register");
    let answer = responded(201, &registration_body(nsk().expose()));
    counter.give(agent::Input::Answered { call, answer, jitter: Jitter::NONE });
    counter.give(agent::Input::Stored(agent::Stored::Persisted));
    assert!(counter.bench.agent.identity().is_some());
}

#[test]
fn a_damaged_file_is_told_and_kept_beside_and_the_start_goes_on() {
    let mut first = Counter::armed();
    answer(&mut first, PULL);
    for damage in [&b""[..], b"\0\0\0", b"{\"node_id\":", b"[]"] {
        first.files.insert(file(), damage.to_vec());
        let mut again = restarted(&first, seconds(60), same_node());
        assert_eq!(told(&again, "state/network.json holds no network").len(), 1);
        assert_eq!(again.get("/v1/peers").1, "[]\n");
        assert_eq!(again.get("/v1/state/metadata").1, "{\"m\":\"1\"}\n", "the others are served");
        let aside = again.files.keys().filter(|file| kept::is_damaged_name(&file.name)).count();
        assert_eq!((aside, again.files.contains_key(&file())), (1, false));
        answer(&mut again, PULL);
        assert_eq!(held(&again).peers.len(), 1);
    }
}

#[test]
fn a_refused_write_is_told_once_and_made_again_with_the_next_pull() {
    let mut counter = Counter::armed();
    counter.full = true;
    answer(&mut counter, r#"{"peers":[]}"#);
    let refusals =
        |counter: &Counter| told(counter, "the peers and the policy that were pulled").len();
    assert_eq!(refusals(&counter), 1);
    pull_after(&mut counter, seconds(60), r#"{"peers":[]}"#);
    assert_eq!(refusals(&counter), 0);
    counter.full = false;
    pull_after(&mut counter, seconds(60), r#"{"peers":[]}"#);
    assert_eq!(held(&counter).pulled_at.skew(counter.bench.now.wall), Duration::ZERO);
}
