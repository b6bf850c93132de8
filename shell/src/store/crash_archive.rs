//! Every crash point of what was pulled, as it is written and removed: of each key a start finds what stood there
//! before or what was pulled, whole, and no version goes back while its key lives.

use std::collections::{BTreeMap, VecDeque};

use meshward_core::{
    agent::{
        FoundFile, StateFile,
        archive::{Archive, Effect, Input},
        network::{
            Network,
            file::{self, NetworkFile},
        },
        view::View,
    },
    time::{Now, Wall},
    wire::{
        grammar::Name,
        kept,
        local::{DataEntry, PeerRow},
        snapshot::{Entries, Entry},
    },
};

use super::{
    shadow::{Fate, Shadow},
    shelf::{Most, Shelf},
};

const NO_SPACE: i32 = 28;
const IO_ERROR: i32 = 5;

type Pull = &'static [(&'static str, &'static str)];

/// Keys that come, change, stay, leave and come back.
const PULLS: [Pull; 5] = [
    &[("a", "1"), ("b/c", "1")],
    &[("a", "2"), ("b/c", "1")],
    &[("b/c", "2")],
    &[("a", "3"), ("b/c", "2")],
    &[],
];

/// What a start may find of each key.
type Allowed = BTreeMap<String, Vec<Option<DataEntry>>>;

#[derive(Debug)]
struct Process {
    archive: Archive,
    view: View,
    shelf: Shelf<Shadow>,
    allowed: Allowed,
    refused: bool,
}

fn now(pull: usize) -> Now {
    let second = 1_800_000_000 + pull as u64;
    Now { wall: Wall::from_origin(std::time::Duration::from_secs(second)), ..Now::default() }
}

fn open(disk: &Shadow) -> Shelf<Shadow> {
    Shelf::open(disk.restarted()).expect("a disk without a fate refuses nothing")
}

/// What a start on this disk knows and serves.
fn started(shelf: &mut Shelf<Shadow>) -> (Archive, View) {
    let loaded = shelf.load(Most::PULLED).expect("a disk without a fate refuses nothing");
    let folder = meshward_core::agent::Folder::Data;
    let found = |(name, content)| FoundFile { file: StateFile { folder, name }, content };
    let files = Input::Loaded(loaded.files.into_iter().map(found).collect());
    let step = Archive::default().step(now(0), &View::default(), files);
    let [Effect::Show(view)] = step.effects.as_slice() else {
        panic!("no crash damages a file: {:?}", step.effects)
    };
    (step.state, (**view).clone())
}

fn check(disk: &Shadow, allowed: &Allowed) {
    let (_, view) = started(&mut open(disk));
    assert!(view.data.keys().all(|key| allowed.contains_key(key)), "a key from nowhere");
    for (key, allowed) in allowed {
        let found = view.data.get(key).cloned();
        assert!(allowed.contains(&found), "{key} is {found:?}, allowed {allowed:?}");
    }
}

impl Process {
    fn start(disk: &Shadow) -> Self {
        let mut shelf = open(disk);
        let (archive, view) = started(&mut shelf);
        let mut process = Self { archive, view, shelf, allowed: Allowed::new(), refused: false };
        process.settled();
        process
    }

    /// The disk has the view, and nothing else.
    fn settled(&mut self) {
        for pull in PULLS {
            for (key, _) in pull {
                let entry = self.view.data.get(*key).cloned();
                self.allowed.insert((*key).to_owned(), vec![entry]);
            }
        }
    }

    /// One pull with all that it sets off; tells how many disks were looked at.
    fn pull(&mut self, number: usize, pairs: Pull) -> usize {
        let entry = |(key, value): &(&str, &str)| Entry {
            key: Name((*key).to_owned()),
            value: (*value).to_owned(),
            workload_tag: Name::default(),
        };
        let data = pairs.iter().map(entry).collect();
        let state = Entries { data, ..Entries::default() };
        self.view = std::mem::take(&mut self.view).refreshed(now(number), Some(state));
        for (key, allowed) in &mut self.allowed {
            allowed.push(self.view.data.get(key).cloned());
        }
        self.refused = false;
        let mut inputs = VecDeque::from([Input::Pulled]);
        let mut looked = 0;
        while let Some(input) = inputs.pop_front() {
            let step = std::mem::take(&mut self.archive).step(now(number), &self.view, input);
            self.archive = step.state;
            for effect in step.effects {
                let Effect::Keep { file, change } = effect else { continue };
                let outcome = self.shelf.carry_out(&[(file.name.clone(), change)]).remove(0);
                self.refused |= outcome.is_err();
                let outcome = outcome.map_err(|fault| fault.to_string());
                inputs.push_back(Input::Kept { file, outcome });
                looked += self.check_all();
            }
        }
        assert!(self.archive.is_idle());
        if !self.refused {
            self.settled();
            looked += self.check_all();
        }
        looked
    }

    fn check_all(&mut self) -> usize {
        let disk = self.shelf.disk();
        check(disk, &self.allowed);
        let images = disk.images();
        for image in &images {
            check(image, &self.allowed);
        }
        images.len() + 1
    }
}

/// Runs all pulls once for each operation that they take, and has that one meet its fate; tells the points and the
/// disks that were looked at.
fn enumerate(fate: Fate) -> (usize, usize) {
    let mut whole = Process::start(&Shadow::default());
    let opened = whole.shelf.disk().begun;
    for (number, pull) in PULLS.into_iter().enumerate() {
        whole.pull(number, pull);
    }
    let end = whole.shelf.disk().begun;
    let mut looked = 0;
    for point in opened..end {
        let mut process = Process::start(&Shadow::default());
        process.shelf.disk().fate = Some((point, fate));
        for (number, pull) in PULLS.into_iter().enumerate() {
            looked += process.pull(number, pull);
            if process.refused && fate == Fate::Stop {
                looked += resume(&mut process, number);
                break;
            }
        }
        if fate != Fate::Stop {
            // The pull behind the last one mends what was refused.
            looked += process.pull(PULLS.len(), PULLS[PULLS.len() - 1]);
            assert!(!process.refused);
            for image in process.shelf.disk().images() {
                assert_eq!(started(&mut open(&image)).1, process.view, "all is mended");
            }
        }
    }
    (end - opened, looked)
}

/// After a crash, each disk that may be left takes the pull again that met it, and ends with the same files.
fn resume(process: &mut Process, number: usize) -> usize {
    let mut looked = 0;
    for image in process.shelf.disk().images() {
        let mut successor = Process::start(&image);
        let found = successor.view.clone();
        looked += successor.pull(number, PULLS[number]);
        for (key, entry) in &successor.view.data {
            let before = found.data.get(key).map_or(0, |entry| entry.version);
            assert!(entry.version >= before, "{key} goes back");
        }
        let served = started(&mut open(successor.shelf.disk())).1;
        assert_eq!(served, successor.view);
    }
    looked
}

#[test]
fn of_what_was_pulled_a_start_finds_the_old_or_the_new_whole_wherever_the_process_stopped() {
    let (points, disks) = enumerate(Fate::Stop);
    assert_eq!((points, disks), (31, 1_005), "points of a crash, and disks looked at");
}

#[test]
fn what_the_disk_refuses_of_a_pull_is_mended_by_the_next() {
    for code in [NO_SPACE, IO_ERROR] {
        let (points, disks) = enumerate(Fate::Fail(code));
        assert_eq!((points, disks), (31, 1_281), "points of a failure, and disks looked at");
    }
}

/// A process with the file of peers and policy alone.
#[derive(Debug)]
struct Mesh {
    file: NetworkFile,
    network: Network,
    shelf: Shelf<Shadow>,
}

fn network(number: usize) -> Network {
    let row = |id: usize| PeerRow {
        id: format!("n{id}"),
        public_key: number.to_string(),
        mesh_ip: "10.0.0.1".to_owned(),
        endpoint: String::new(),
    };
    Network { peers: (0..number % 3).map(row).collect(), policy: None }
}

/// What a start on this disk serves; nothing where there is no file.
fn served(disk: &Shadow) -> Option<Network> {
    let mut shelf = open(disk);
    let found = shelf.load_one(kept::NETWORK, kept::PULLED_FILE_MAX);
    let content = found.expect("a disk without a fate refuses nothing")?;
    let loaded = file::Input::Loaded(content);
    let step = NetworkFile::default().step(now(0), &Network::default(), loaded);
    assert_eq!(step.effects, [], "no crash damages the file");
    let armed = file::Input::Armed { node: "node".to_owned() };
    let step = step.state.step(now(0), &Network::default(), armed);
    let [file::Effect::Show(network)] = step.effects.as_slice() else { panic!("{step:?}") };
    Some(network.clone())
}

impl Mesh {
    fn start() -> Self {
        let armed = file::Input::Armed { node: "node".to_owned() };
        let file = NetworkFile::default().step(now(0), &Network::default(), armed).state;
        Self { file, network: Network::default(), shelf: open(&Shadow::default()) }
    }

    /// One pull; each disk that a crash may leave serves one of these. Tells whether the disk took it, and how many
    /// were looked at.
    fn pull(&mut self, number: usize, allowed: &[Option<Network>]) -> (bool, usize) {
        self.network = network(number);
        let step =
            std::mem::take(&mut self.file).step(now(number), &self.network, file::Input::Pulled);
        self.file = step.state;
        let [file::Effect::Keep(change)] = step.effects.as_slice() else {
            panic!("{:?}", step.effects)
        };
        let group = [(kept::NETWORK.to_owned(), change.clone())];
        let outcome = self.shelf.carry_out(&group).remove(0).map_err(|fault| fault.to_string());
        let is_taken = outcome.is_ok();
        let kept = file::Input::Kept(outcome);
        self.file = std::mem::take(&mut self.file).step(now(number), &self.network, kept).state;
        let images = self.shelf.disk().images();
        for image in &images {
            let found = served(image);
            let newest = Some(self.network.clone());
            assert!(found == newest || !is_taken && allowed.contains(&found), "{found:?}");
        }
        (is_taken, images.len())
    }
}

#[test]
fn of_peers_and_policy_a_start_finds_the_old_or_the_new_whole_wherever_the_process_stopped() {
    for fate in [Fate::Stop, Fate::Fail(NO_SPACE), Fate::Fail(IO_ERROR)] {
        let mut whole = Mesh::start();
        let opened = whole.shelf.disk().begun;
        for number in 1..5 {
            assert!(whole.pull(number, &[]).0);
        }
        let end = whole.shelf.disk().begun;
        let mut looked = 0;
        for point in opened..end {
            let mut mesh = Mesh::start();
            mesh.shelf.disk().fate = Some((point, fate));
            let mut allowed = vec![None];
            for number in 1..5 {
                let (is_taken, images) = mesh.pull(number, &allowed);
                looked += images;
                if !is_taken && fate == Fate::Stop {
                    break;
                }
                let known = Some(network(number));
                if is_taken { allowed = vec![known] } else { allowed.push(known) }
            }
        }
        assert!(end - opened >= 12 && looked >= 48, "{} points, {looked} disks", end - opened);
    }
}
