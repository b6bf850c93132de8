//! Rotation of the signing keys: what of it is taken, what is refused, and what of it outlives a restart.

use std::time::Duration;

use meshward_core::{
    agent::{
        Change, Content, FoundContent, Level, Notice,
        signing::{BACKOFF, Effect, Input, KEY_ID_MAX, RETIRED_MAX, Signing},
    },
    time::Now,
    wire::{
        event::Event,
        grammar::{NodeSecretKey, base64_text},
        identity::Identity,
        kept,
        signing_keys::KeySet,
        timestamp::Timestamp,
    },
};

use crate::{
    bench::{at, seconds},
    signed::Signer,
};

/// The machine over a disk that does what it is told.
#[derive(Debug)]
struct Node {
    signing: Signing,
    now: Now,
    /// What stands on the disk.
    file: Option<Vec<u8>>,
    open: Option<Change>,
    aside: Vec<String>,
    told: Vec<Notice>,
    reacted: Vec<Effect>,
}

impl Node {
    fn start(now: Now, file: Option<Vec<u8>>, identity: Box<Identity>) -> Self {
        let mut node = Self {
            signing: Signing::default(),
            now,
            file: file.clone(),
            open: None,
            aside: Vec::new(),
            told: Vec::new(),
            reacted: Vec::new(),
        };
        if let Some(bytes) = file {
            node.give(Input::Loaded(FoundContent::Bytes(Content(bytes))));
        }
        node.give(Input::Armed(identity));
        node
    }

    fn registered(signer: &Signer) -> Self {
        Self::start(at(Duration::ZERO), None, signer.identity())
    }

    fn give(&mut self, input: Input) {
        let step = std::mem::take(&mut self.signing).step(self.now, input);
        self.signing = step.state;
        for effect in step.effects {
            match effect {
                Effect::Keep(change) => {
                    assert!(self.open.is_none(), "two changes at once");
                    self.open = Some(change);
                }
                Effect::Tell(notice) => self.told.push(notice),
                Effect::Reconcile | Effect::RotateKeys => self.reacted.push(effect),
            }
        }
        assert_eq!(self.signing.is_changing(), self.open.is_some());
    }

    /// An envelope that comes now; tells whether it was verified.
    fn come(&mut self, data: &[u8]) -> bool {
        let judged = self.signing.judge(self.now.wall, data);
        let is_verified = judged.is_ok();
        self.give(Input::Judged(judged));
        is_verified
    }

    /// The disk does what is open.
    fn keep(&mut self) {
        match self.open.take().expect("a change is open") {
            Change::Write(Content(bytes)) => self.file = Some(bytes),
            Change::Remove => self.file = None,
            Change::Rename(name) => {
                self.file = None;
                self.aside.push(name);
            }
        }
        self.give(Input::Kept(Ok(())));
    }

    fn refuse(&mut self) {
        self.open.take().expect("a change is open");
        self.give(Input::Kept(Err("no room".into())));
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    /// The keys under which a fresh event counts now.
    fn counting<'s>(&self, signers: &'s [Signer]) -> Vec<&'s str> {
        let counts = |signer: &&Signer| {
            let fresh = signer.envelope(self.now.wall, "policy_updated");
            self.signing.judge(self.now.wall, &fresh).is_ok()
        };
        signers.iter().filter(counts).map(|signer| signer.id.as_str()).collect()
    }

    fn restart(self, identity: Box<Identity>) -> Self {
        Self::start(self.now, self.file, identity)
    }

    fn shown(&self) -> Vec<&str> {
        self.told.iter().map(|notice| notice.text.as_str()).collect()
    }
}

fn signers() -> Vec<Signer> {
    (0..6).map(Signer::new).collect()
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn during_a_transition_two_keys_count_and_the_former_one_stops_at_its_end() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    assert_eq!(node.counting(&all), ["k0"]);
    assert!(node.come(&all[0].rotation(node.now.wall, &all[1], Some((&all[0], 10 * MINUTE)))));
    assert_eq!(node.counting(&all), ["k0", "k1"]);
    assert_eq!(
        node.shown(),
        ["the signing key is rotated to k1; k0 counts until 2027-01-15T08:10:00Z"]
    );
    let nano = Duration::from_nanos(1);
    node.pass(10 * MINUTE - nano);
    assert_eq!(node.counting(&all), ["k0", "k1"]);
    assert_eq!(node.signing.wakeup(), Some(at(10 * MINUTE).mono));
    node.pass(nano);
    assert_eq!(node.counting(&all), ["k1"], "exactly at the end it has stopped");
}

#[test]
fn a_key_whose_time_is_over_does_not_come_back_when_the_clock_is_set_back() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    node.come(&all[0].rotation(node.now.wall, &all[1], Some((&all[0], 10 * MINUTE))));
    node.keep();
    node.pass(10 * MINUTE);
    node.give(Input::Ticked);
    node.keep();
    assert_eq!(node.told[1], Notice::info("the former signing key k0 counts no more"));
    assert_eq!(node.signing.wakeup(), None);
    node.now.wall = at(Duration::ZERO).wall;
    assert_eq!(node.counting(&all), ["k1"]);
    let node = node.restart(all[0].identity());
    assert_eq!(node.counting(&all), ["k1"]);
}

#[test]
fn without_a_former_key_that_is_held_or_without_an_end_the_keys_before_count_no_more() {
    let all = signers();
    let old = Duration::ZERO;
    let payloads: [(&str, Option<(&Signer, Duration)>); 3] = [
        ("nothing is named", None),
        ("another is named", Some((&all[5], 10 * MINUTE))),
        ("the end has come", Some((&all[0], old))),
    ];
    for (what, former) in payloads {
        let mut node = Node::registered(&all[0]);
        assert!(node.come(&all[0].rotation(node.now.wall, &all[1], former)));
        assert_eq!(node.counting(&all), ["k1"], "{what}");
        assert_eq!(node.shown(), ["the signing key is rotated to k1"], "{what}");
    }
    for end in
        ["", r#","transition_expires":null"#, r#","transition_expires":"0001-01-01T00:00:00Z""#]
    {
        let mut node = Node::registered(&all[0]);
        let payload = format!(
            r#"{{"key_id":"k1","public_key":"{}","previous_key_id":"k0"{end}}}"#,
            all[1].public_text()
        );
        let event = all[0].event(node.now.wall, "signing_key_rotated", &payload);
        assert!(node.come(&all[0].seal(&event)));
        assert_eq!(node.counting(&all), ["k1"], "{end}");
    }
}

#[test]
fn of_two_keys_that_are_held_the_one_that_is_named_goes_on() {
    let all = signers();
    let (mut later, mut earlier) = (Node::registered(&all[0]), Node::registered(&all[0]));
    for node in [&mut later, &mut earlier] {
        node.come(&all[0].rotation(node.now.wall, &all[1], Some((&all[0], 10 * MINUTE))));
        node.pass(MINUTE);
    }
    later.come(&all[1].rotation(later.now.wall, &all[2], Some((&all[1], 10 * MINUTE))));
    assert_eq!(later.counting(&all), ["k1", "k2"]);
    earlier.come(&all[0].rotation(earlier.now.wall, &all[2], Some((&all[0], 10 * MINUTE))));
    assert_eq!(earlier.counting(&all), ["k0", "k2"]);
}

/// A rotation with this payload, which comes verified.
fn rotation(signer: &Signer, now: Now, payload: &str) -> Event {
    signer.event(now.wall, "signing_key_rotated", payload)
}

#[test]
fn a_rotation_that_cannot_be_taken_is_refused_with_its_reason_and_changes_nothing() {
    let all = signers();
    let key = all[1].public_text();
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let long = "k".repeat(KEY_ID_MAX + 1);
    let with = |id: &str, key: &str| format!(r#"{{"key_id":"{id}","public_key":"{key}"}}"#);
    let rows = [
        ("null".into(), "its payload cannot be read: must be an object"),
        ("[]".into(), "its payload cannot be read: must be an object"),
        (r#"{"key_id":7}"#.into(), "its payload cannot be read: key_id: must be a string"),
        (
            r#"{"key_id":"k1","key_id":"k1"}"#.into(),
            "its payload cannot be read: key_id: member stands twice",
        ),
        (
            format!(r#"{{"key_id":"k1","public_key":"{key}","transition_expires":"soon"}}"#),
            "its payload cannot be read: transition_expires: must be an RFC 3339 timestamp such as \
             2026-01-15T10:30:00Z",
        ),
        ("{}".into(), "it has no key id"),
        (with("", &key), "it has no key id"),
        (with(&long, &key), "its key id is longer than 512 bytes or holds control characters"),
        (with("k\\n1", &key), "its key id is longer than 512 bytes or holds control characters"),
        (with("k1", ""), "its public key is not base64 of 32 bytes"),
        (with("k1", "AAAA"), "its public key is not base64 of 32 bytes"),
        (with("k1", &key[..43]), "its public key is not base64 of 32 bytes"),
        (with("k1", &base64_text(&neutral)), "nothing can be verified under its public key"),
        (with("k1", &base64_text(&[2; 32])), "nothing can be verified under its public key"),
        (with("k0", &key), "its key id stood for another key"),
    ];
    for (payload, reason) in rows {
        let mut node = Node::registered(&all[0]);
        let before = node.signing.keys().cloned();
        let event = rotation(&all[0], node.now, &payload);
        assert!(node.come(&all[0].seal(&event)), "the event itself counts");
        assert_eq!(node.signing.keys().cloned(), before, "{payload}");
        assert!(node.open.is_none(), "{payload}");
        let told =
            format!("an event is refused and has no effect: rotation of the signing key: {reason}");
        assert_eq!(node.shown(), [told], "{payload}");
        assert_eq!(node.told[0].level, Level::Error);
    }
}

#[test]
fn a_rotation_that_comes_twice_changes_nothing_more_and_is_not_told() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    let first = all[0].rotation(node.now.wall, &all[1], Some((&all[0], 10 * MINUTE)));
    assert!(node.come(&first));
    node.keep();
    let before = node.signing.clone();
    assert!(node.come(&first), "the former key signs for a while");
    assert_eq!(node.signing, before);
    assert!(node.open.is_none());
}

#[test]
fn no_replay_of_an_earlier_rotation_leads_back() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    let mut sent = Vec::new();
    for number in 0..4 {
        let (from, to) = (&all[number], &all[number + 1]);
        let data = from.rotation(node.now.wall, to, Some((from, 10 * MINUTE)));
        assert!(node.come(&data));
        sent.push(data);
        node.pass(seconds(30));
        let keys = node.signing.keys().cloned();
        for earlier in &sent {
            node.come(earlier);
            assert_eq!(node.signing.keys().cloned(), keys);
        }
    }
    assert_eq!(node.counting(&all), ["k3", "k4"]);
    // Nor does one that is signed afresh by the former key, whether it is newer or not.
    let back = all[3].rotation(node.now.wall, &all[0], None);
    assert!(node.come(&back));
    assert_eq!(node.counting(&all), ["k3", "k4"]);
    let same_time = node.signing.keys().and_then(|keys| keys.rotated_at).expect("rotated");
    let mut event = rotation(
        &all[4],
        node.now,
        &format!(r#"{{"key_id":"k5","public_key":"{}"}}"#, all[5].public_text()),
    );
    event.issued_at = same_time;
    assert!(node.come(&all[4].seal(&event)));
    assert_eq!(node.counting(&all), ["k3", "k4"], "of two at one time the first counts");
}

#[test]
fn no_more_retired_ids_are_remembered_than_are_named_and_the_latest_are() {
    let first = Signer::new(0);
    let mut node = Node::registered(&first);
    let mut from = first;
    for number in 1..=200 {
        let mut to = Signer::new(number);
        to.id = format!("key-{number}");
        node.pass(seconds(1));
        assert!(node.come(&from.rotation(node.now.wall, &to, None)));
        from = to;
        if node.open.is_some() {
            node.keep();
        }
    }
    let keys = node.signing.keys().expect("keys");
    assert_eq!(keys.retired.len(), RETIRED_MAX);
    assert_eq!(keys.retired.last().map(String::as_str), Some("key-199"));
    assert_eq!(keys.retired.first().map(String::as_str), Some("key-136"));
}

#[test]
fn rotated_keys_are_written_at_once_and_count_after_a_restart_with_the_end_of_the_former_one() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    assert!(node.open.is_none(), "the keys of the registration stand in the identity");
    node.come(&all[0].rotation(node.now.wall, &all[1], Some((&all[0], 10 * MINUTE))));
    node.keep();
    let keys = node.signing.keys().cloned();
    node.pass(5 * MINUTE);
    let mut node = node.restart(all[0].identity());
    assert_eq!(node.signing.keys().cloned(), keys);
    assert_eq!(node.counting(&all), ["k0", "k1"]);
    assert!(node.told.is_empty() && node.open.is_none());
    node.pass(5 * MINUTE);
    assert_eq!(node.counting(&all), ["k1"]);
    // What led back is not forgotten either.
    let late = Node::start(at(11 * MINUTE), node.file, all[0].identity());
    assert_eq!(late.counting(&all), ["k1"]);
}

#[test]
fn a_change_during_a_write_is_written_behind_it() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    node.come(&all[0].rotation(node.now.wall, &all[1], None));
    node.pass(seconds(1));
    node.come(&all[1].rotation(node.now.wall, &all[2], None));
    node.keep();
    assert!(node.open.is_some(), "the second rotation");
    node.keep();
    assert!(node.open.is_none());
    assert_eq!(node.restart(all[0].identity()).counting(&all), ["k2"]);
}

#[test]
fn a_write_that_fails_is_told_once_and_tried_again_after_waits_that_grow_to_a_bound() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    node.come(&all[0].rotation(node.now.wall, &all[1], None));
    let mut waits = Vec::new();
    for _ in 0..9 {
        node.refuse();
        let due = node.signing.wakeup().expect("it is tried again");
        let wait = due.since(node.now.mono);
        waits.push(wait.as_secs());
        node.pass(wait - Duration::from_nanos(1));
        node.give(Input::Ticked);
        assert!(node.open.is_none(), "not yet");
        node.pass(Duration::from_nanos(1));
        node.give(Input::Ticked);
    }
    assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
    assert_eq!(BACKOFF.cap.as_secs(), 300);
    node.keep();
    let expected = [
        "the signing key is rotated to k1",
        "the signing keys cannot be written: no room; they count all the same, and are written as soon as that is \
         possible",
        "the signing keys are written",
    ];
    assert_eq!(node.shown(), expected);
    assert_eq!(node.counting(&all), ["k1"]);
    assert_eq!(node.restart(all[0].identity()).counting(&all), ["k1"]);
}

#[test]
fn a_damaged_file_is_told_and_kept_beside_and_the_key_of_the_registration_counts() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    node.come(&all[0].rotation(node.now.wall, &all[1], None));
    node.keep();
    let sound = node.file.expect("a file");
    let rows = [
        (Vec::new(), "it is empty"),
        (vec![0; 512], "it holds only zero bytes"),
        (sound[..sound.len() / 2].to_vec(), "it is cut off or changed: "),
        (b"{}\n".to_vec(), "it is cut off or changed: "),
        (
            String::from_utf8_lossy(&sound).replace("=\"", "\"").into_bytes(),
            "it is cut off or changed: ",
        ),
    ];
    for (bytes, reason) in rows {
        let mut node = Node::start(at(MINUTE), Some(bytes), all[0].identity());
        assert_eq!(node.counting(&all), ["k0"]);
        let told = format!("state/signing_keys.json holds no signing keys, {reason}");
        assert!(node.told[0].text.starts_with(&told), "{:?}", node.told);
        assert_eq!(node.told[0].level, Level::Warn);
        // What changes meanwhile is written behind the renaming.
        node.come(&all[0].rotation(node.now.wall, &all[2], None));
        node.keep();
        assert_eq!(node.aside, ["signing_keys.json.damaged-2027-01-15T08:01:00Z"]);
        assert!(kept::is_damaged_name(&node.aside[0]));
        node.keep();
        assert_eq!(node.restart(all[0].identity()).counting(&all), ["k2"]);
    }
}

#[test]
fn a_file_that_is_no_file_or_cannot_be_renamed_is_told_and_the_start_goes_on() {
    let all = signers();
    let mut node = Node {
        signing: Signing::default(),
        now: at(Duration::ZERO),
        file: None,
        open: None,
        aside: Vec::new(),
        told: Vec::new(),
        reacted: Vec::new(),
    };
    node.give(Input::Loaded(FoundContent::Foreign("a directory".into())));
    node.give(Input::Armed(all[0].identity()));
    node.refuse();
    assert_eq!(
        node.shown(),
        [
            "state/signing_keys.json holds no signing keys, it is a directory; it is kept beside as \
             signing_keys.json.damaged-2027-01-15T08:00:00Z, and the key of the registration counts",
            "state/signing_keys.json cannot be renamed: no room; the next rotation of the signing key replaces it",
        ]
    );
    assert!(node.come(&all[0].rotation(node.now.wall, &all[1], None)));
    node.keep();
    assert_eq!(node.counting(&all), ["k1"]);
}

/// An identity that differs in one part.
fn other(change: impl FnOnce(&mut Identity)) -> Box<Identity> {
    let mut identity = Signer::new(0).identity();
    change(&mut identity);
    identity
}

#[test]
fn the_keys_of_another_node_or_of_an_earlier_registration_do_not_count() {
    let all = signers();
    let rotated = || {
        let mut node = Node::registered(&all[0]);
        node.come(&all[0].rotation(node.now.wall, &all[1], Some((&all[0], 10 * MINUTE))));
        node.keep();
        node
    };
    let afresh = [
        ("another node", other(|identity| identity.file.node_id = "other".into())),
        ("a fresh secret", other(|identity| identity.key = NodeSecretKey::from_bytes([7; 32]))),
        ("another id", other(|identity| identity.file.signing_key_id = "k0b".into())),
    ];
    for (what, identity) in afresh {
        let id = identity.file.signing_key_id.clone();
        let signer = Signer { id, ..all[0].clone() };
        let signers = [signer, all[1].clone()];
        let node = rotated().restart(identity.clone());
        assert_eq!(node.counting(&signers).len(), 1, "{what}, after a restart");
        assert_eq!(node.counting(&signers[1..]), [""; 0], "{what}");
        let told = "state/signing_keys.json is of another registration and is passed over";
        assert_eq!(node.told, [Notice::info(told)], "{what}");
        let mut node = rotated();
        node.give(Input::Armed(identity));
        assert_eq!(node.counting(&signers[1..]), [""; 0], "{what}, within one process");
    }
    // The key of the registration afresh counts, also where it is the one that was rotated to.
    let node = rotated().restart(all[1].identity());
    assert_eq!(node.counting(&all), ["k1"]);
    // The same identity goes on with its keys.
    let mut node = rotated();
    node.give(Input::Armed(all[0].identity()));
    assert_eq!(node.counting(&all), ["k0", "k1"]);
}

#[test]
fn the_first_verified_event_fixes_the_id_of_an_old_registration_which_is_then_kept() {
    let all = signers();
    let old = || other(|identity| identity.file.signing_key_id = String::new());
    let mut node = Node::start(at(Duration::ZERO), None, old());
    let stranger = Signer { id: "a".into(), ..all[1].clone() };
    assert!(!node.come(&stranger.envelope(node.now.wall, "policy_updated")), "another key");
    let nameless = Signer { id: String::new(), ..all[0].clone() };
    assert!(!node.come(&nameless.envelope(node.now.wall, "policy_updated")), "an empty id");
    let long = Signer { id: "k".repeat(KEY_ID_MAX + 1), ..all[0].clone() };
    assert!(node.come(&long.envelope(node.now.wall, "policy_updated")));
    assert!(node.open.is_none(), "an id that is too long is not taken");
    let ids = ["a", "b"].map(|id| Signer { id: id.into(), ..all[0].clone() });
    assert_eq!(node.counting(&ids), ["a", "b"]);
    assert!(node.come(&ids[0].envelope(node.now.wall, "policy_updated")));
    assert_eq!(node.told.last(), Some(&Notice::info("the id of the signing key is a")));
    assert_eq!(node.counting(&ids), ["a"]);
    node.keep();
    let node = node.restart(old());
    assert_eq!(node.counting(&ids), ["a"]);
}

#[test]
fn a_rotation_may_be_the_first_event_of_an_old_registration() {
    let all = signers();
    let old = other(|identity| identity.file.signing_key_id = String::new());
    let mut node = Node::start(at(Duration::ZERO), None, old);
    assert!(node.come(&all[0].rotation(node.now.wall, &all[1], Some((&all[0], MINUTE)))));
    assert_eq!(node.counting(&all), ["k0", "k1"]);
}

#[test]
fn the_file_of_the_keys_names_no_secret_and_is_read_as_it_was_written() {
    let all = signers();
    let mut node = Node::registered(&all[0]);
    node.come(&all[0].rotation(node.now.wall, &all[1], Some((&all[0], 10 * MINUTE))));
    node.keep();
    let bytes = node.file.expect("a file");
    assert_eq!(KeySet::decode(&bytes).as_ref(), Ok(node.signing.keys().expect("keys")));
    let text = String::from_utf8(bytes).expect("text");
    assert!(!text.contains(base64_text(&[9; 32]).trim_end_matches('=')));
    assert!(text.ends_with("}\n"));
    let end = Timestamp::from(at(10 * MINUTE).wall);
    assert!(text.contains(&format!("\"transition_expires\":\"{end}\"")));
}
