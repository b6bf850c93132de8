//! The committed corpus runs through its targets on stable, without a fuzzer.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use meshward_fuzz::{TARGETS, local_statuses, plane_statuses};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| {
            entry
                .expect("the folder can be read")
                .file_name()
                .into_string()
                .expect("names are UTF-8")
        })
        .collect()
}

#[test]
fn every_corpus_file_passes_its_target() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let corpus = folder("corpus").join(target.name);
        let files = names(&corpus);
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        for file in files {
            let bytes = fs::read(corpus.join(&file)).unwrap();
            let run = std::panic::catch_unwind(|| (target.run)(&bytes));
            if run.is_err() {
                broken.push(format!("corpus/{}/{file}", target.name));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_target_has_a_binary_and_a_corpus_and_none_is_left_over() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let binaries: BTreeSet<String> = targets.iter().map(|target| format!("{target}.rs")).collect();
    assert_eq!(names(&folder("corpus")), targets);
    assert_eq!(names(&folder("fuzz_targets")), binaries);
    let manifest = fs::read_to_string(folder("Cargo.toml")).unwrap();
    for target in &targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} in Cargo.toml");
    }
}

#[test]
fn every_target_takes_the_empty_input_and_each_single_byte() {
    for target in TARGETS {
        (target.run)(&[]);
        for byte in 0..=u8::MAX {
            (target.run)(&[byte]);
        }
    }
}

/// What stands for the status of a request that a fault lost, or that waits.
const UNANSWERED: u16 = 0;

#[test]
fn the_corpus_of_the_plane_meets_every_status_it_serves() {
    let corpus = folder("corpus/plane_http");
    let met: BTreeSet<u16> = names(&corpus)
        .into_iter()
        .flat_map(|file| plane_statuses(&fs::read(corpus.join(file)).unwrap()))
        .filter(|status| *status != UNANSWERED)
        .collect();
    let served =
        [200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 501, 503];
    assert_eq!(met, BTreeSet::from(served));
}

#[test]
fn the_corpus_of_the_plane_tells_these_stories() {
    let statuses =
        |file: &str| plane_statuses(&fs::read(folder("corpus/plane_http").join(file)).unwrap());
    // No rotation pending, armed by the operator, completed, replayed twice, armed, replayed, completed.
    assert_eq!(statuses("rotation"), [409, 204, 200, 200, 200, 200, 204, 200, 200]);
    // Opened, two events, replays, descoped, refused twice, an event, restored, a replay, two bad cursors, an event,
    // reset, a replay of nothing, an event.
    let events =
        [200, 204, 204, 200, 200, 204, 501, 501, 204, 204, 200, 400, 400, 204, 204, 200, 204];
    assert_eq!(statuses("events"), events);
    // Acknowledged, started, declared, too large, uploaded, uploaded again, read, ended.
    assert_eq!(statuses("declare-and-upload"), [200, 200, 200, 413, 200, 409, 200, 200],);
    // Manifests: first, again, another, without a version, a hook twice. Endpoints around a TTL, one without a time, two
    // TTLs out of range. Batches of three, none, as many as may be and one more.
    let manifests = [200, 200, 200, 400, 400, 200, 204, 200, 400, 400, 400, 200, 400, 200, 400];
    assert_eq!(statuses("manifests"), manifests);
    // Plain, gzip, no record, too many, no time, two times, an encoding, encoding before time, over the cap, broken.
    let batches = [202, 202, 400, 413, 400, 400, 415, 415, 413, 400, 401, 200];
    assert_eq!(statuses("batches"), batches.repeat(3));
    // Never seen, configured, the three kinds with an empty command between, unknown, elsewhere, over the cap, revoked.
    let sessions = [404, 204, 204, 400, 204, 204, 404, 403, 400, 204, 409, 409];
    assert_eq!(statuses("sessions"), sessions);
    // Four seconds: three rows in time, one too late, and no other end by a snapshot without the session.
    assert_eq!(statuses("sessions-expire"), [204, 204, 204, 204, 409, 204, 409]);
    // The current version, the first, one beyond, none; then two refusals, the third version, an empty one, no number.
    let secrets = [200, 200, 404, 400, 204, 429, 429, 200, 200, 200, 400];
    assert_eq!(statuses("secrets"), secrets);
    // Nothing to delete, stored twice, too long, no value, deleted, gone, stored, forgotten by a snapshot, over the cap.
    let reports = [404, 200, 200, 400, 400, 204, 404, 200, 204, 404, 413, 400];
    assert_eq!(statuses("reports"), reports);
    // The two releases and a third: the file of each, the bundle of each, another asset; then three methods.
    let releases = [200, 200, 404, 200, 200, 404, 404, 404, 404, 200, 200, 405];
    assert_eq!(statuses("releases"), releases);
    // One request: at least one, not none, at most two, no goal, no path, two that are waited for. Rules: an answer
    // replaced once, a rule for no time, a request lost; all taken away, none left by that name, the journal emptied.
    let watch = [
        200, 200, 409, 200, 400, 400, 0, 200, 201, 503, 400, 201, 0, 200, 204, 200, 404, 200, 204,
        204, 200,
    ];
    assert_eq!(statuses("watch"), watch);
    // Every way to bend a stream, each rule for all routes, and a stream and an event behind it.
    assert_eq!(statuses("spoilt-streams"), [201, 200, 204].repeat(9));
}

/// What stands for the answer that is an event stream.
const STREAMED: u16 = 1;

#[test]
fn the_corpus_of_the_local_api_meets_every_status_it_serves() {
    let corpus = folder("corpus/local_http");
    let met: BTreeSet<u16> = names(&corpus)
        .into_iter()
        .flat_map(|file| local_statuses(&fs::read(corpus.join(file)).unwrap()))
        .collect();
    let served = [STREAMED, 200, 204, 400, 401, 403, 404, 405, 409, 429, 500, 503];
    assert_eq!(met, BTreeSet::from(served));
}

#[test]
fn the_corpus_of_the_local_api_tells_these_stories() {
    let statuses =
        |file: &str| local_statuses(&fs::read(folder("corpus/local_http").join(file)).unwrap());
    // A stream; then a stop that answers who waits for a secret, a write and four reads; behind the end a read, two
    // writes, a secret, a stream that does not open, and the health listener.
    let drained = [1, 200, 503, 200, 503, 503, 503, 200, 503, 503, 503, 503, 200, 200];
    assert_eq!(statuses("drained"), drained);
    // Refused by the disk, read, written, read before the change and behind it; a deletion refused, one that is not.
    let disk = [500, 200, 200, 200, 200, 500, 204, 500, 200, 500, 200, 200];
    assert_eq!(statuses("disk-refuses"), disk);
    // Another token, none, two pages of other sites, no token and no route, the listener broken.
    assert_eq!(statuses("tcp-refused"), [401, 401, 403, 403, 401, 200, 503]);
    // Alive, ready twice, a method, no route, a HEAD; a listener broken.
    assert_eq!(statuses("health"), [200, 200, 200, 405, 404, 200, 503, 503, 503]);
    // Every answer of the control plane, then keys and versions that are none, and a HEAD.
    let secrets =
        [200, 200, 500, 404, 403, 429, 503, 500, 503, 503, 400, 200, 400, 400, 400, 200, 200, 200];
    assert_eq!(statuses("secrets"), secrets);
    // Run, unknown, answered by the agent itself, no body; by a member of the group of the socket; by one of another
    // group, by nobody known and by TCP; one too many. One leaves and makes room; the others end,
    // and the health listener is asked.
    let orders = [200, 200, 200, 400, 200, 403, 403, 403, 503];
    assert_eq!(statuses("orders"), [orders.as_slice(), &[200; 9]].concat());
}
