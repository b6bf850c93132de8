//! Events through the whole agent: what a verified one leads to, that nothing else counts, and what outlives a restart.

use ed25519_dalek::SigningKey;
use meshward_core::{
    agent::{
        Act, Acted, Bytes, Change, Content, Effect, EventSettings, Folder, FoundContent, FoundFile,
        Heard, Input, Level, Listen, SenseSettings, StagedFile, StateFile, pull::FLOOR,
    },
    backoff::Jitter,
    ids::CallId,
    wire::{http::Response, kept, signing_keys::KeySet, sse::Frame},
};

use crate::{
    bench::{Bench, SIGNING, remembered, responded, seconds, settings},
    signed::Signer,
};

/// The pair of the key that the tests' identity has, whose file tells no id.
fn registered() -> Signer {
    let seed = [
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c,
        0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae,
        0x7f, 0x60,
    ];
    let signer = Signer { id: "k0".into(), pair: SigningKey::from_bytes(&seed) };
    assert_eq!(signer.public_text(), SIGNING);
    signer
}

fn keys_file() -> StateFile {
    StateFile { folder: Folder::Root, name: kept::SIGNING_KEYS.into() }
}

/// An agent whose stream is open, over a control plane that answers each pull at once, and a disk that refuses nothing.
struct Streaming {
    bench: Bench,
    stream: CallId,
    sequence: u64,
    /// What the last input led to, without the pulls, the files that are none of keys, and what stands in the log.
    ordered: Vec<Effect>,
    pulls: usize,
    told: Vec<(Level, String)>,
}

impl Streaming {
    fn start(file: Option<Vec<u8>>) -> Self {
        let events = EventSettings { idle_timeout: seconds(90), reprobe_interval: seconds(600) };
        let senses = SenseSettings { events: Some(events), ..SenseSettings::default() };
        let bench = Bench::new(meshward_core::agent::Settings { senses, ..settings() });
        let mut memory = remembered(StagedFile::Missing);
        memory.state = file
            .map(|bytes| FoundFile {
                file: keys_file(),
                content: FoundContent::Bytes(Content(bytes)),
            })
            .into_iter()
            .collect();
        let mut started = Self {
            bench,
            stream: CallId::default(),
            sequence: 0,
            ordered: Vec::new(),
            pulls: 0,
            told: Vec::new(),
        };
        started.give(Input::Restarted(Box::new(memory)));
        let opened = started.ordered.iter().find_map(|effect| {
            if let Effect::Act(Act::Listen(stream, Listen::Open { .. })) = effect {
                return Some(*stream);
            }
            assert!(!matches!(effect, Effect::Exit(_)));
            None
        });
        started.stream = opened.expect("a stream is asked for");
        let head = Response::empty(200).with("content-type", "text/event-stream");
        started.hear(Heard::Answered(head));
        started
    }

    fn give(&mut self, input: Input) {
        self.ordered.clear();
        self.pulls = 0;
        self.told.clear();
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for effect in self.bench.give(input) {
                match effect {
                    // Which event it was is told for each.
                    Effect::Tell(notice) if notice.text.contains(": event \"") => {
                        assert_eq!(notice.level, Level::Debug);
                    }
                    Effect::Tell(notice)
                        if notice.text == "refused: an event that cannot be read" => {}
                    Effect::Tell(notice) => self.told.push((notice.level, notice.text)),
                    Effect::Send { call, request, .. } if request.path.ends_with("/state") => {
                        self.pulls += 1;
                        let answer = responded(200, r#"{"peers":[]}"#);
                        inputs.push(Input::Answered { call, answer, jitter: Jitter::NONE });
                    }
                    Effect::Keep { file, .. } if file != keys_file() => {
                        inputs.push(Input::Kept { file, outcome: Ok(()) });
                    }
                    Effect::Gather
                    | Effect::Store(_)
                    | Effect::Keep { .. }
                    | Effect::Send { .. }
                    | Effect::Act(_)
                    | Effect::Reply { .. }
                    | Effect::Stream(_)
                    | Effect::Exit(_) => self.ordered.push(effect),
                }
            }
        }
    }

    fn hear(&mut self, heard: Heard) {
        let stream = self.stream;
        self.give(Input::Acted(Acted::Heard { stream, heard, jitter: Jitter::NONE }));
    }

    /// The next frame of the stream, whose `event:` line says what it likes.
    fn frame(&mut self, line: &str, data: &[u8]) {
        self.sequence += 1;
        // A pull may follow at once.
        self.bench.pass(FLOOR);
        let frame = Frame::event(self.sequence, line, data);
        self.hear(Heard::Bytes(Bytes(frame.0.to_vec())));
    }

    /// What was ordered to be written.
    fn written(&self) -> Option<Vec<u8>> {
        self.ordered.iter().find_map(|effect| {
            let Effect::Keep { file, change: Change::Write(Content(bytes)) } = effect else {
                return None;
            };
            (*file == keys_file()).then(|| bytes.clone())
        })
    }

    fn kept(&mut self) {
        self.give(Input::Kept { file: keys_file(), outcome: Ok(()) });
    }

    /// Takes the id of the key, which the identity does not tell, so that nothing else is written by what follows.
    fn acquainted() -> (Self, Vec<u8>) {
        let mut streaming = Self::start(None);
        let data = registered().envelope(streaming.bench.now.wall, "policy_updated");
        streaming.frame("policy_updated", &data);
        let file = streaming.written().expect("the id of the key is kept");
        streaming.kept();
        (streaming, file)
    }
}

#[test]
fn a_verified_event_leads_to_one_pull_whatever_its_event_line_says() {
    let (mut streaming, _) = Streaming::acquainted();
    let signer = registered();
    for line in ["policy_updated", "rotate_keys", "signing_key_rotated", "message", ""] {
        let data = signer.envelope(streaming.bench.now.wall, "node_state_updated");
        streaming.frame(line, &data);
        assert_eq!(
            (streaming.pulls, streaming.ordered.len()),
            (1, 0),
            "{line}: {:?}",
            streaming.ordered
        );
    }
}

#[test]
fn an_event_to_rotate_the_mesh_key_stages_one() {
    let (mut streaming, _) = Streaming::acquainted();
    let data = registered().envelope(streaming.bench.now.wall, "rotate_keys");
    streaming.frame("policy_updated", &data);
    assert_eq!(streaming.pulls, 0);
    assert_eq!(streaming.ordered, [Effect::Store(meshward_core::agent::Order::Stage)]);
}

#[test]
fn an_unknown_type_leads_to_nothing() {
    let (mut streaming, _) = Streaming::acquainted();
    let data = registered().envelope(streaming.bench.now.wall, "novel");
    streaming.frame("policy_updated", &data);
    assert_eq!((streaming.pulls, streaming.ordered.len()), (0, 0));
    let told = "events of the type novel lead to nothing: it is not known";
    assert_eq!(streaming.told, [(Level::Debug, told.to_owned())]);
}

#[test]
fn an_event_that_is_refused_is_told_and_leads_to_nothing_and_the_stream_stays() {
    let (mut streaming, _) = Streaming::acquainted();
    let (signer, stranger) = (registered(), Signer::new(9));
    let now = streaming.bench.now.wall;
    let sound = signer.envelope(now, "rotate_keys");
    let changed =
        String::from_utf8_lossy(&sound).replace("rotate_keys", "rotate_keyz").into_bytes();
    let named = Signer { id: signer.id.clone(), ..stranger.clone() };
    let old = {
        let issued = meshward_core::time::Wall::from_origin(now.since_origin() - seconds(301));
        signer.envelope(issued, "rotate_keys")
    };
    let rows: [(&[u8], &str); 6] = [
        (b"{}", "missing id"),
        (b"no JSON", "malformed envelope: not valid JSON at byte 0"),
        (&stranger.envelope(now, "rotate_keys"), "unknown signing key id"),
        (&named.envelope(now, "rotate_keys"), "signature verification failed"),
        (&old, "event is stale"),
        (&changed, "signature verification failed"),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (data, reason) in rows {
        streaming.frame("rotate_keys", data);
        assert_eq!((streaming.pulls, streaming.ordered.len()), (0, 0), "{reason}");
        let told = (Level::Error, format!("an event is refused and has no effect: {reason}"));
        let expected: Vec<_> = seen.insert(reason).then_some(told).into_iter().collect();
        assert_eq!(streaming.told, expected);
    }
    streaming.frame("rotate_keys", &signer.envelope(now, "policy_updated"));
    assert_eq!(streaming.pulls, 1, "the stream goes on");
}

#[test]
fn a_rotation_of_the_signing_key_is_written_at_once_and_counts_after_a_restart() {
    let (mut streaming, file) = Streaming::acquainted();
    let (old, new) = (registered(), Signer::new(1));
    let now = streaming.bench.now.wall;
    streaming.frame("message", &old.rotation(now, &new, Some((&old, seconds(600)))));
    assert_eq!(streaming.pulls, 0);
    let written = streaming.written().expect("the keys are kept");
    assert_ne!(written, file);
    streaming.kept();
    for signer in [&old, &new] {
        streaming.frame("message", &signer.envelope(now, "policy_updated"));
        assert_eq!(streaming.pulls, 1, "{}", signer.id);
    }
    let mut again = Streaming::start(Some(written));
    for signer in [&old, &new] {
        again.frame("message", &signer.envelope(now, "policy_updated"));
        assert_eq!((again.pulls, again.ordered.len()), (1, 0), "{}", signer.id);
    }
    again.bench.pass(seconds(600));
    let later = again.bench.now.wall;
    again.frame("message", &old.envelope(later, "policy_updated"));
    assert_eq!(again.pulls, 0);
    let keys = KeySet::decode(&again.written().expect("the former key is let go")).expect("keys");
    assert_eq!((keys.previous, keys.retired), (None, vec!["k0".to_owned()]));
}

#[test]
fn a_damaged_file_of_keys_keeps_no_node_from_starting() {
    let mut streaming = Streaming::start(Some(vec![0; 64]));
    let now = streaming.bench.now.wall;
    let data = registered().envelope(now, "policy_updated");
    streaming.frame("message", &data);
    assert_eq!(streaming.pulls, 1);
    assert_eq!(streaming.written(), None, "the renaming is still under way");
    streaming.kept();
    assert!(streaming.written().is_some());
}

#[test]
fn an_end_waits_for_a_write_of_the_keys() {
    let mut streaming = Streaming::start(None);
    let data = registered().envelope(streaming.bench.now.wall, "policy_updated");
    streaming.frame("message", &data);
    assert!(streaming.written().is_some());
    let is_over = |streaming: &Streaming| {
        streaming.ordered.iter().any(|effect| matches!(effect, Effect::Exit(_)))
    };
    streaming.give(Input::Draining);
    assert!(!is_over(&streaming));
    streaming.kept();
    assert!(is_over(&streaming));
}

#[test]
fn the_third_event_in_a_row_of_a_key_that_is_not_known_is_seen_in_the_status_until_one_is_verified()
{
    let (mut node, _) = Streaming::acquainted();
    let (known, foreign) = (registered(), Signer { id: "k9".into(), ..Signer::new(9) });
    let mut comes = |signer: &Signer| {
        let data = signer.envelope(node.bench.now.wall, "policy_updated");
        node.frame("policy_updated", &data);
        let status = node.bench.agent.status(node.bench.now);
        (status.queues.events_of_unknown_key, status.reason)
    };
    let (none, reason) = comes(&known);
    assert_eq!(none, 0);
    for seen in [0, 0, 3, 4] {
        assert_eq!(comes(&foreign), (seen, reason.clone()), "pulls go on");
    }
    for (signer, seen) in [(&known, 0), (&foreign, 0), (&known, 0), (&foreign, 0), (&foreign, 0)] {
        assert_eq!(comes(signer).0, seen, "a row is one without a verified event");
    }
}
