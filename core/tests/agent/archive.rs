//! What was pulled, kept on the disk: versions go on over a start, only what differs is written, and little at once.

use std::collections::{BTreeMap, BTreeSet};

use meshward_core::{
    agent::{
        self, Change, Content, Folder, FoundContent, FoundFile, StateFile,
        archive::{Archive, Effect, Input, KEYS_MAX, WRITING_MAX},
        view::View,
    },
    backoff::Jitter,
    wire::{
        grammar::Name,
        kept,
        snapshot::{Entries, Entry},
    },
};
use proptest::{collection::vec, prelude::*};

use crate::{
    bench::{at, responded, seconds, sent_to},
    counter::Counter,
    support,
};

/// An archive with the view beside it, over a disk that does what it is told.
#[derive(Clone, Debug, Default)]
struct Desk {
    archive: Archive,
    view: View,
    files: BTreeMap<StateFile, FoundContent>,
    open: Vec<(StateFile, Change)>,
    told: Vec<String>,
    /// How many changes were ordered.
    ordered: usize,
    second: u64,
}

fn entries(pairs: impl IntoIterator<Item = (String, String)>) -> Vec<Entry> {
    let entry = |(key, value)| Entry { key: Name(key), value, workload_tag: Name::default() };
    pairs.into_iter().map(entry).collect()
}

fn data(key: &str) -> StateFile {
    StateFile { folder: Folder::Data, name: kept::file_name(key) }
}

fn metadata() -> StateFile {
    StateFile { folder: Folder::Root, name: kept::METADATA.into() }
}

fn bytes(text: &str) -> FoundContent {
    FoundContent::Bytes(Content(text.into()))
}

impl Desk {
    fn give(&mut self, input: Input) {
        let archive = std::mem::take(&mut self.archive);
        let step = archive.step(at(seconds(self.second)), &self.view, input);
        self.archive = step.state;
        for effect in step.effects {
            match effect {
                Effect::Show(view) => self.view = *view,
                Effect::Keep { file, change } => {
                    assert!(self.open.iter().all(|(open, _)| *open != file), "two of {file}");
                    self.open.push((file, change));
                    self.ordered += 1;
                }
                Effect::Tell(notice) => self.told.push(notice.text),
            }
        }
        assert!(self.open.len() <= WRITING_MAX, "{} at once", self.open.len());
    }

    fn pull_all(&mut self, state: Entries) {
        self.second += 1;
        let view = std::mem::take(&mut self.view);
        self.view = view.refreshed(at(seconds(self.second)), Some(state));
        self.give(Input::Pulled);
    }

    fn pull(&mut self, pairs: &[(&str, &str)]) {
        let data = entries(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())));
        self.pull_all(Entries { data, ..Entries::default() });
    }

    /// The disk takes the change at this place, or refuses it.
    fn settle_one(&mut self, place: usize, refuses: bool) {
        let (file, change) = self.open.remove(place);
        if refuses {
            let outcome = Err("no space left".into());
            return self.give(Input::Kept { file, outcome });
        }
        match change {
            Change::Write(content) => {
                self.files.insert(file.clone(), FoundContent::Bytes(content));
            }
            Change::Remove => drop(self.files.remove(&file)),
            Change::Rename(name) => {
                let content = self.files.remove(&file).expect("it was found");
                self.files.insert(StateFile { name, ..file.clone() }, content);
            }
        }
        self.give(Input::Kept { file, outcome: Ok(()) });
    }

    fn settle(&mut self) {
        while !self.open.is_empty() {
            self.settle_one(0, false);
        }
        assert!(self.archive.is_idle());
    }

    fn restarted(&self) -> Self {
        let mut desk = Self { files: self.files.clone(), second: self.second, ..Self::default() };
        let found = |(file, content): (&StateFile, &FoundContent)| FoundFile {
            file: file.clone(),
            content: content.clone(),
        };
        let files = desk.files.iter().map(found).collect();
        desk.give(Input::Loaded(files));
        desk
    }

    fn version(&self, key: &str) -> Option<u64> {
        Some(self.view.data.get(key)?.version)
    }
}

#[test]
fn a_start_serves_what_was_kept_and_versions_go_on_from_there() {
    let mut desk = Desk::default();
    desk.pull(&[("app/config", "a"), ("b", "x")]);
    desk.pull(&[("app/config", "b"), ("b", "x")]);
    desk.settle();
    let before = desk.view.clone();
    let mut desk = desk.restarted();
    assert_eq!(desk.view, before, "before the first pull");
    assert_eq!((&desk.told, desk.ordered), (&Vec::new(), 0));
    desk.pull(&[("app/config", "b"), ("b", "y")]);
    assert_eq!(desk.view.data["app/config"], before.data["app/config"], "version and time stay");
    assert_eq!(desk.version("b"), Some(2));
    let [(file, Change::Write(_))] = desk.open.as_slice() else { panic!("{:?}", desk.open) };
    assert_eq!(*file, data("b"), "only what differs is written");
}

#[test]
fn metadata_is_kept_in_one_file_that_goes_with_the_last_of_it() {
    let with = |value: &str| Entries {
        metadata: entries([("region".into(), value.into())]),
        ..Entries::default()
    };
    let mut desk = Desk::default();
    desk.pull_all(with("eu"));
    desk.settle();
    assert_eq!(desk.files.keys().collect::<Vec<_>>(), [&metadata()]);
    let mut desk = desk.restarted();
    assert_eq!(desk.view.metadata["region"], "eu");
    desk.pull_all(with("eu"));
    assert_eq!(desk.ordered, 0, "an unchanged pull writes nothing");
    desk.pull_all(with("us"));
    desk.settle();
    assert_eq!(desk.restarted().view.metadata["region"], "us");
    desk.pull(&[]);
    desk.settle();
    assert_eq!(desk.files.len(), 0);
}

#[test]
fn an_unchanged_pull_writes_nothing_and_one_that_clears_all_removes_all() {
    let mut desk = Desk::default();
    desk.pull(&[("a", "1"), ("b", "2")]);
    desk.settle();
    desk.ordered = 0;
    desk.pull(&[("a", "1"), ("b", "2")]);
    assert_eq!(desk.ordered, 0);
    desk.pull(&[("b", "2")]);
    assert_eq!(desk.open, [(data("a"), Change::Remove)]);
    desk.settle();
    desk.pull_all(Entries::default());
    desk.settle();
    assert_eq!(desk.files.len(), 0);
    assert_eq!(desk.restarted().view, View::default());
}

#[test]
fn few_changes_are_under_way_at_once_and_all_are_done_in_the_end() {
    let mut desk = Desk::default();
    let many = (0..200).map(|number| (format!("k{number}"), "v".to_owned()));
    desk.pull_all(Entries { data: entries(many), ..Entries::default() });
    assert_eq!(desk.open.len(), WRITING_MAX);
    assert!(!desk.archive.is_idle());
    desk.settle();
    assert_eq!((desk.ordered, desk.files.len()), (200, 200));
}

#[test]
fn what_the_disk_refuses_is_told_once_and_tried_again_with_the_next_pull() {
    let mut desk = Desk::default();
    desk.pull(&[("a", "1"), ("b", "2")]);
    desk.settle_one(0, true);
    desk.settle_one(0, true);
    assert!(desk.archive.is_idle(), "it is not tried without end");
    assert_eq!(desk.version("a"), Some(1), "it is served nevertheless");
    desk.pull(&[("a", "1"), ("b", "2")]);
    assert_eq!(desk.open.len(), 2);
    desk.settle_one(0, true);
    assert_eq!(desk.told.len(), 1, "{:?}", desk.told);
    assert!(desk.told[0].contains("not kept on the disk"), "{:?}", desk.told);
    desk.settle();
    desk.pull(&[("b", "2")]);
    assert_eq!(desk.open, [(data("a"), Change::Remove)], "a refused write may have left something");
    desk.settle();
    desk.pull(&[("b", "2")]);
    desk.pull(&[("b", "3")]);
    desk.settle_one(0, true);
    assert_eq!(desk.told.len(), 2, "it was well in between");
}

#[test]
fn a_refused_removal_is_tried_again() {
    let mut desk = Desk::default();
    desk.pull(&[("a", "1")]);
    desk.settle();
    desk.pull(&[]);
    desk.settle_one(0, true);
    desk.pull(&[]);
    assert_eq!(desk.open, [(data("a"), Change::Remove)]);
    desk.settle();
    desk.ordered = 0;
    desk.pull(&[]);
    assert_eq!(desk.ordered, 0);
}

/// Here the wall clock stands, so that both lives of the key have the same version and time.
#[test]
fn a_key_that_left_and_came_back_during_its_write_is_kept_as_it_came_back() {
    let mut desk = Desk::default();
    let pull = |desk: &mut Desk, pairs: &[(&str, &str)]| {
        desk.second = 0;
        desk.pull(pairs);
    };
    pull(&mut desk, &[("a", "old")]);
    pull(&mut desk, &[]);
    pull(&mut desk, &[("a", "new")]);
    desk.settle();
    assert_eq!(desk.restarted().view, desk.view);
    pull(&mut desk, &[]);
    pull(&mut desk, &[("a", "newer")]);
    desk.settle();
    assert_eq!(desk.restarted().view, desk.view);
}

#[test]
fn a_damaged_file_is_told_and_set_aside_before_anything_is_written_there() {
    let mut desk = Desk::default();
    desk.pull(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e.json.damaged-x", "5")]);
    desk.settle();
    let whole = desk.files[&data("b")].clone();
    desk.files.insert(data("a"), bytes(""));
    desk.files.insert(data("c"), whole);
    desk.files.insert(data("d"), FoundContent::Foreign("a symbolic link".into()));
    desk.files.insert(metadata(), bytes("{\"region\":"));
    let mut desk = desk.restarted();
    let served: Vec<_> = desk.view.data.keys().cloned().collect();
    assert_eq!(served, ["b", "e.json.damaged-x"], "the others are served");
    let told = desk.told.join("\n");
    for part in [
        "state/metadata.json holds no metadata, it is cut off",
        "state/data/a.json holds no data entry, it is empty; it is kept beside as a.json.damaged-",
        "state/data/c.json holds no data entry, its key is not the one of its name",
        "state/data/d.json holds no data entry, it is a symbolic link",
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(desk.open.iter().all(|(_, change)| matches!(change, Change::Rename(_))));
    desk.pull(&[("a", "1")]);
    let first = desk.open.iter().find(|(file, _)| *file == data("a"));
    assert!(matches!(first, Some((_, Change::Rename(_)))), "{first:?}");
    desk.settle();
    let aside = desk.files.keys().filter(|file| kept::is_damaged_name(&file.name)).count();
    assert_eq!(aside, 4, "nothing is lost");
    let again = desk.restarted();
    assert_eq!((again.told.len(), again.version("a")), (0, Some(1)));
}

#[test]
fn many_damaged_files_are_renamed_a_few_at_a_time_and_one_without_room_stays() {
    let mut desk = Desk::default();
    for number in 0..100 {
        desk.files.insert(data(&format!("k{number}")), bytes("\0\0"));
    }
    let long = StateFile { folder: Folder::Data, name: "n".repeat(250) };
    desk.files.insert(long.clone(), bytes("x"));
    let mut desk = desk.restarted();
    assert_eq!(desk.open.len(), WRITING_MAX);
    desk.settle();
    assert!(desk.files.contains_key(&long));
    assert!(desk.told.iter().any(|text| text.contains("too long for it to be renamed")));
    let mut again = desk.restarted();
    assert_eq!(again.ordered, 0);
    again.files.insert(data("a"), bytes("x"));
    again = again.restarted();
    again.settle_one(0, true);
    assert!(again.told.last().is_some_and(|text| text.contains("data/a.json stays")));
    assert!(again.archive.is_idle());
}

#[test]
fn there_are_never_more_files_than_the_limit_and_keys_that_have_one_keep_it() {
    let named = |names: std::ops::Range<usize>, first: &str| {
        let keys = names.map(|number| (format!("k{number:05}"), "v".to_owned()));
        let first = (!first.is_empty()).then(|| (first.to_owned(), "v".to_owned()));
        Entries { data: entries(first.into_iter().chain(keys)), ..Entries::default() }
    };
    let mut desk = Desk::default();
    desk.pull_all(named(0..KEYS_MAX, ""));
    desk.settle();
    assert_eq!(desk.told.len(), 0);
    for _ in 0..2 {
        desk.pull_all(named(0..KEYS_MAX, "a"));
        assert_eq!(desk.open, [], "there is no room for one more");
    }
    assert_eq!(desk.told.len(), 1, "{:?}", desk.told);
    assert!(desk.told[0].contains("more than 4096 keys"), "{:?}", desk.told);
    assert_eq!(desk.version("a"), Some(1), "it is served");
    desk.pull_all(named(1..KEYS_MAX, "a"));
    desk.settle();
    assert!(desk.files.contains_key(&data("a")), "a place was left");
    assert_eq!(desk.files.len(), KEYS_MAX);
}

/// Answers the pull that is under way.
fn answer(counter: &mut Counter, state: &str) {
    let (call, _) = sent_to(&counter.orders, "/state");
    let answer = responded(200, &format!(r#"{{"peers":[],"state":{state}}}"#));
    counter.give(agent::Input::Answered { call, answer, jitter: Jitter::drawn(0) });
}

#[test]
fn a_stop_waits_until_what_was_pulled_is_on_the_disk_and_the_next_start_serves_it() {
    let mut counter = Counter::armed();
    counter.hanging = Some(Vec::new());
    answer(
        &mut counter,
        r#"{"metadata":[{"key":"m","value":"1"}],"data":[{"key":"a/b","value":"1"}]}"#,
    );
    counter.give(agent::Input::Draining);
    let is_over = |counter: &Counter| {
        counter.orders.iter().any(|order| matches!(order, agent::Effect::Exit(_)))
    };
    for left in (0..3).rev() {
        assert!(!is_over(&counter), "the disk has not taken all");
        counter.release();
        assert_eq!(counter.hanging.as_ref().map(Vec::len), Some(left));
    }
    assert!(is_over(&counter));
    let served = counter.get("/v1/state/data/a%2Fb");
    assert_eq!(served.0, 200);
    let mut restarted = counter.restarted();
    assert_eq!(restarted.get("/v1/state/data/a%2Fb"), served);
    assert_eq!(restarted.get("/v1/state/metadata").1, "{\"m\":\"1\"}\n");
}

#[derive(Clone, Debug)]
enum Event {
    Pull(Vec<(u8, u8)>),
    Settled { place: usize, refuses: bool },
    Crash,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => vec((0..5_u8, 0..3_u8), 0..5).prop_map(Event::Pull),
        5 => (0..WRITING_MAX, prop::bool::weighted(0.2))
            .prop_map(|(place, refuses)| Event::Settled { place, refuses }),
        1 => Just(Event::Crash),
    ]
}

/// Hostile names among them.
fn key(number: u8) -> String {
    match number {
        0 => "a".into(),
        1 => "../a".into(),
        2 => "long".repeat(100),
        3 => "A".into(),
        _ => ".tmp-a.json".into(),
    }
}

/// What a start may serve: of each key what the last pull held that came to the disk whole, or a later one.
#[derive(Debug, Default)]
struct Allowed {
    /// The views since then, that one first.
    views: Vec<View>,
    /// Something was refused since the last pull.
    refused: bool,
}

impl Allowed {
    fn look(&mut self, desk: &Desk) {
        if desk.archive.is_idle() && !self.refused {
            self.views = vec![desk.view.clone()];
        }
    }

    fn check(&self, found: &View) {
        let keys: BTreeSet<_> =
            self.views.iter().chain([found]).flat_map(|view| view.data.keys()).collect();
        for key in keys {
            let entry = found.data.get(key);
            let known = self.views.iter().any(|view| view.data.get(key) == entry);
            assert!(known, "{key} is {entry:?}");
            let lives = self.views.iter().all(|view| view.data.contains_key(key));
            let floor = self.views[0].data.get(key).map(|entry| entry.version);
            assert!(!lives || entry.map(|entry| entry.version) >= floor, "{key} goes back");
        }
    }
}

proptest! {
    #![proptest_config(support::seeds_in("archive"))]

    #[test]
    fn a_start_serves_the_last_pull_that_came_to_the_disk_or_a_later_one(
        events in vec(event(), 0..60),
    ) {
        let mut desk = Desk::default();
        let mut allowed = Allowed { views: vec![View::default()], refused: false };
        for event in events {
            match event {
                Event::Pull(pairs) => {
                    let data =
                        entries(pairs.iter().map(|(of, value)| (key(*of), value.to_string())));
                    allowed.refused = false;
                    desk.pull_all(Entries { data, ..Entries::default() });
                    allowed.views.push(desk.view.clone());
                }
                Event::Settled { place, refuses } if !desk.open.is_empty() => {
                    allowed.refused |= refuses;
                    desk.settle_one(place % desk.open.len(), refuses);
                }
                Event::Settled { .. } => {}
                Event::Crash => {
                    desk = desk.restarted();
                    prop_assert_eq!(desk.told.len(), 0, "no file is damaged");
                    allowed.check(&desk.view);
                    allowed.refused = false;
                }
            }
            allowed.look(&desk);
            allowed.check(&desk.restarted().view);
        }
        let again = desk.view.data.values().map(|entry| {
            let value = entry.payload.text().trim_matches('"').to_owned();
            (entry.key.clone(), value)
        });
        desk.pull_all(Entries { data: entries(again), ..Entries::default() });
        desk.settle();
        prop_assert_eq!(&desk.restarted().view, &desk.view);
        prop_assert_eq!(desk.files.len(), desk.view.data.len());
    }

    #[test]
    fn every_key_has_a_safe_file_name_of_its_own(
        left in "\\PC{0,120}|[a-z./%\\-]{0,300}",
        right in "\\PC{0,120}|[a-z./%\\-]{0,300}",
    ) {
        let name = kept::file_name(&left);
        prop_assert!(name.len() <= 200);
        prop_assert!(name.bytes().all(|byte| matches!(byte,
            b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'%')));
        prop_assert!(left.is_empty() || !name.starts_with('.'));
        prop_assert!(!kept::is_damaged_name(&name));
        prop_assert_eq!(left == right, name == kept::file_name(&right));
        let mut desk = Desk::default();
        desk.pull(&[(&left, "1")]);
        desk.settle();
        prop_assert_eq!(desk.restarted().version(&left), Some(1), "the name leads back");
    }
}
