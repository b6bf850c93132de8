//! Integrity: what is held to what, what a difference leads to, and what is kept of it on the disk.

use std::time::Duration;

use meshward_core::{
    agent::{
        Change, Content, FoundContent, FoundHook, HostKey, IntegritySettings, KEEP_RETRY, Level,
        Measured,
        hooks::{self, Hooks},
        integrity::{
            ARTIFACT_ID_MAX, BASELINES_MAX, Effect, Input, Integrity, Kit, QUEUE_MAX, REPORTED_MAX,
        },
        verdict::violations::Reported,
    },
    backoff::Jitter,
    step::Step,
    time::Now,
    wire::{
        checksums::Checksums,
        grammar::{Checksum, Fingerprint},
        integrity::{DetectedBy, Finding, IntegrityViolation, Seen, VIOLATIONS_MAX},
    },
};

use crate::{
    bench::{seconds, start},
    hooks::{digest, seen, whole},
};

pub(crate) const IMAGE: Checksum = Checksum::from_bytes([7; 32]);
pub(crate) const INTERVAL: Duration = seconds(300);
const PROGRAM: &str = "/usr/bin/meshward";
const KEY_FILE: &str = "/etc/ssh/ssh_host_ed25519_key";

/// A node with its hooks, its clock and its disk.
pub(crate) struct Desk {
    pub(crate) integrity: Integrity,
    pub(crate) hooks: Hooks,
    pub(crate) settings: IntegritySettings,
    pub(crate) version: &'static str,
    pub(crate) image: Checksum,
    pub(crate) now: Now,
    /// What stands in the file, and a change of it that is under way.
    pub(crate) disk: Option<Vec<u8>>,
    pub(crate) change: Option<Change>,
}

impl Desk {
    /// A process that has just started over this disk, and looks at its hooks.
    pub(crate) fn over(disk: Option<Vec<u8>>) -> Self {
        let mut desk = Self {
            integrity: Integrity::default(),
            hooks: Hooks::default().step(start(), hooks::Input::Started).state,
            settings: IntegritySettings { verify_interval: INTERVAL, watch_enabled: true },
            version: "1.2.3",
            image: IMAGE,
            now: start(),
            disk: disk.clone(),
            change: None,
        };
        if let Some(bytes) = disk {
            let effects = desk.give(Input::Loaded(FoundContent::Bytes(Content(bytes))));
            assert_eq!(effects, [], "it is sound");
        }
        desk
    }

    pub(crate) fn new() -> Self {
        Self::over(None)
    }

    /// The next process.
    pub(crate) fn again(self) -> Self {
        Self::over(self.disk)
    }

    pub(crate) fn give(&mut self, input: Input) -> Vec<Effect> {
        let kit = Kit {
            settings: &self.settings,
            hooks: &self.hooks,
            version: self.version,
            image: self.image,
        };
        let step = std::mem::take(&mut self.integrity).step(kit, self.now, input);
        let Step { state, effects } = step;
        self.integrity = state;
        for effect in &effects {
            if let Effect::Keep(change) = effect {
                assert_eq!(self.change, None, "two changes of the file at once");
                self.change = Some(change.clone());
            }
        }
        effects
    }

    /// The change under way becomes durable, or is refused.
    pub(crate) fn kept(&mut self, outcome: Result<(), String>) -> Vec<Effect> {
        let change = self.change.take().expect("a change is under way");
        if outcome.is_ok() {
            self.disk = match change {
                Change::Write(Content(bytes)) => Some(bytes),
                Change::Remove | Change::Rename(_) => None,
            };
        }
        self.give(Input::Kept(outcome))
    }

    pub(crate) fn known(&self) -> Checksums {
        let bytes = self.disk.as_deref().expect("the file is there");
        Checksums::decode(bytes).expect("it is sound")
    }

    /// A look at the hooks meets this.
    pub(crate) fn look(&mut self, files: &[FoundHook]) -> Vec<Effect> {
        let hooks = std::mem::take(&mut self.hooks).step(self.now, hooks::Input::Verify).state;
        self.hooks = hooks.step(self.now, hooks::Input::Scanned(seen(files))).state;
        self.give(Input::Looked)
    }

    /// Something stirs, and the look that it leads to meets this.
    pub(crate) fn stir(&mut self, files: &[FoundHook]) -> Vec<Effect> {
        let hooks = std::mem::take(&mut self.hooks).step(self.now, hooks::Input::Stirred).state;
        self.now = self.now.after(hooks::DEBOUNCE);
        let hooks = hooks.step(self.now, hooks::Input::Ticked).state;
        self.hooks = hooks.step(self.now, hooks::Input::Scanned(seen(files))).state;
        self.give(Input::Looked)
    }

    pub(crate) fn measure(&mut self, program: Checksum, host_key: Option<&str>) -> Vec<Effect> {
        let fingerprint = |text: &str| Fingerprint::parse(text).map_err(|_| "it is none".into());
        let host_key =
            host_key.map(|text| HostKey { path: KEY_FILE.into(), fingerprint: fingerprint(text) });
        let measured = Measured { image: PROGRAM.into(), checksum: Ok(program), host_key };
        self.give(Input::Measured(Box::new(measured)))
    }

    pub(crate) fn answer(&mut self, verdict: Reported) -> Vec<Effect> {
        self.give(Input::Answered { verdict, jitter: Jitter::NONE })
    }

    pub(crate) fn left(&self) -> Option<Duration> {
        self.integrity.wakeup().map(|due| due.since(self.now.mono))
    }

    pub(crate) fn wake(&mut self) -> Vec<Effect> {
        let left = self.left().expect("a time is wanted");
        self.now = self.now.after(left);
        self.give(Input::Ticked)
    }
}

pub(crate) fn posted(effects: &[Effect]) -> Vec<IntegrityViolation> {
    let posts: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Post(batch) => Some(batch.clone()),
            Effect::Measure | Effect::Look | Effect::Keep(_) | Effect::Tell(_) => None,
        })
        .collect();
    assert!(posts.len() <= 1 && posts.iter().all(|batch| !batch.is_empty()), "{posts:?}");
    posts.into_iter().flatten().collect()
}

/// What the operator is told, from this level on.
pub(crate) fn told(effects: &[Effect], level: Level) -> Vec<String> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Tell(notice) if notice.level <= level => Some(notice.text.clone()),
            Effect::Tell(_)
            | Effect::Post(_)
            | Effect::Measure
            | Effect::Look
            | Effect::Keep(_) => None,
        })
        .collect()
}

fn of_hook(name: &str, observed: u8, expected: u8, detected_by: DetectedBy) -> IntegrityViolation {
    let seen = Seen { observed: digest(observed), expected: Some(digest(expected)) };
    let finding = Finding::HookChecksum(seen);
    IntegrityViolation { finding, detected_by, artifact_id: name.into() }
}

/// Armed, with this seen and kept.
fn settled(files: &[FoundHook]) -> Desk {
    let mut desk = Desk::new();
    assert_eq!(desk.give(Input::Armed), [Effect::Measure, Effect::Look]);
    desk.look(files);
    desk.measure(IMAGE, Some("SHA256:one"));
    while desk.change.is_some() {
        desk.kept(Ok(()));
    }
    desk
}

#[test]
fn what_is_seen_first_is_kept_and_nobody_is_told() {
    let desk = settled(&[whole("a", 1), whole("b", 2)]);
    let known = desk.known();
    let program = known.program.expect("the program is known");
    assert_eq!((program.path.as_str(), program.version.as_str()), (PROGRAM, "1.2.3"));
    assert_eq!(program.checksum, IMAGE);
    assert_eq!(known.host_key.expect("the key is known").fingerprint.as_str(), "SHA256:one");
    assert_eq!(known.hooks.into_keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(desk.integrity.waiting(), 0);
}

#[test]
fn everything_is_looked_at_when_armed_and_each_interval() {
    let mut desk = settled(&[]);
    assert_eq!(desk.left(), Some(INTERVAL));
    assert_eq!(desk.wake(), [Effect::Measure, Effect::Look]);
    assert_eq!(desk.left(), Some(INTERVAL));
    desk.give(Input::Quieted);
    assert_eq!(desk.left(), None, "the identity rests");
    assert_eq!(desk.give(Input::Armed), [Effect::Measure, Effect::Look]);
}

#[test]
fn a_hook_that_was_changed_while_nobody_looked_is_found_by_the_first_look_of_the_next_process() {
    let mut desk = settled(&[whole("a", 1), whole("b", 2)]).again();
    let effects = desk.look(&[whole("a", 9), whole("b", 2)]);
    assert_eq!(posted(&effects), [], "no identity is armed yet");
    let line = told(&effects, Level::Error).concat();
    let words = format!(
        "integrity violation: the hook \"a\" is {}, and was {} when it was seen first",
        digest(9).to_hex(),
        digest(1).to_hex()
    );
    assert_eq!(line, words);
    let batch = posted(&desk.give(Input::Armed));
    assert_eq!(batch, [of_hook("a", 9, 1, DetectedBy::StartupScan)]);
    assert_eq!(desk.change, None, "the baseline stays");
}

#[test]
fn who_has_noticed_it_is_told() {
    let rows: [(bool, bool, &[DetectedBy]); 4] = [
        (true, true, &[DetectedBy::Inotify]),
        (true, false, &[DetectedBy::StartupScan]),
        (false, true, &[]),
        (false, false, &[DetectedBy::StartupScan]),
    ];
    for (watch_enabled, stirred, expected) in rows {
        let mut desk = settled(&[whole("a", 1)]);
        desk.settings.watch_enabled = watch_enabled;
        let files = [whole("a", 9)];
        let effects = if stirred { desk.stir(&files) } else { desk.look(&files) };
        let by: Vec<_> = posted(&effects).iter().map(|violation| violation.detected_by).collect();
        assert_eq!(by, expected, "watched {watch_enabled}, stirred {stirred}");
    }
}

#[test]
fn a_hook_that_the_watch_brought_is_held_to_that_also_where_the_watch_tells_nothing() {
    let mut desk = settled(&[]);
    desk.settings.watch_enabled = false;
    desk.stir(&[whole("a", 1)]);
    let effects = desk.look(&[whole("a", 2)]);
    assert_eq!(posted(&effects), [of_hook("a", 2, 1, DetectedBy::StartupScan)]);
}

#[test]
fn a_look_that_settles_what_a_stir_has_met_is_owed_to_the_stir() {
    let mut desk = settled(&[whole("a", 1)]);
    let unsettled = meshward_core::agent::FoundProgram::Unsettled;
    desk.stir(&[FoundHook { name: "a".into(), found: unsettled }]);
    let effects = desk.look(&[whole("a", 9)]);
    assert_eq!(posted(&effects), [of_hook("a", 9, 1, DetectedBy::Inotify)]);
    desk.answer(Reported::Delivered(Some(1)));
    let effects = desk.look(&[whole("a", 8)]);
    assert_eq!(posted(&effects), [of_hook("a", 8, 1, DetectedBy::StartupScan)]);
}

#[test]
fn one_digest_is_reported_once_by_a_process_and_again_by_the_next() {
    let mut desk = settled(&[whole("a", 1)]);
    assert_eq!(posted(&desk.look(&[whole("a", 9)])).len(), 1);
    desk.answer(Reported::Delivered(Some(1)));
    for files in [[whole("a", 9)], [whole("a", 1)], [whole("a", 9)]] {
        assert_eq!(desk.look(&files), [], "it is known");
    }
    let differs = Input::Differs { hook: "a".into(), observed: digest(9) };
    assert_eq!(desk.give(differs), [], "however it is met");
    assert_eq!(posted(&desk.stir(&[whole("a", 8)])), [of_hook("a", 8, 1, DetectedBy::Inotify)]);
    let mut desk = desk.again();
    desk.give(Input::Armed);
    assert_eq!(posted(&desk.look(&[whole("a", 9)])).len(), 1);
}

#[test]
fn a_hook_that_has_gone_is_nothing_and_is_held_to_what_it_was_when_it_comes_back() {
    let mut desk = settled(&[whole("a", 1)]).again();
    desk.give(Input::Armed);
    assert_eq!(desk.look(&[]), []);
    assert_eq!(desk.look(&[whole("a", 1)]), []);
    desk.look(&[]);
    assert_eq!(posted(&desk.look(&[whole("a", 2)])), [of_hook("a", 2, 1, DetectedBy::StartupScan)]);
}

#[test]
fn a_hook_that_is_refused_when_it_is_to_run_is_reported_with_what_it_was() {
    let mut desk = settled(&[whole("a", 1)]);
    let effects = desk.give(Input::Differs { hook: "a".into(), observed: digest(9) });
    assert_eq!(posted(&effects), [of_hook("a", 9, 1, DetectedBy::PreDispatch)]);
    assert_eq!(desk.give(Input::Differs { hook: "gone".into(), observed: digest(9) }), []);
}

#[test]
fn a_hook_that_is_back_to_its_baseline_is_no_violation_although_this_process_holds_it_to_another() {
    let mut desk = settled(&[whole("a", 1)]).again();
    desk.give(Input::Armed);
    assert_eq!(posted(&desk.look(&[whole("a", 2)])).len(), 1);
    desk.answer(Reported::Delivered(Some(1)));
    assert_eq!(desk.give(Input::Differs { hook: "a".into(), observed: digest(1) }), []);
}

#[test]
fn a_program_that_was_replaced_is_an_error_a_violation_and_nothing_else() {
    let mut desk = settled(&[]);
    let effects = desk.measure(digest(9), Some("SHA256:one"));
    let seen = Seen { observed: digest(9), expected: Some(IMAGE) };
    let violation = IntegrityViolation {
        finding: Finding::BinaryChecksum(seen),
        detected_by: DetectedBy::StartupScan,
        artifact_id: PROGRAM.into(),
    };
    assert_eq!(posted(&effects), [violation]);
    assert_eq!(told(&effects, Level::Error).len(), 1);
    assert_eq!(desk.change, None, "the baseline stays");
    assert_eq!(desk.measure(digest(9), Some("SHA256:one")), [], "it is told once");
}

#[test]
fn a_file_that_stands_in_the_place_of_the_program_at_the_first_look_already_is_found() {
    let mut desk = Desk::new();
    desk.give(Input::Armed);
    assert_eq!(posted(&desk.measure(digest(9), None)).len(), 1);
    desk.kept(Ok(()));
    assert_eq!(desk.known().program.expect("it is known").checksum, IMAGE);
}

#[test]
fn another_version_or_another_place_is_held_to_what_runs_and_the_same_version_is_not() {
    let mut desk = settled(&[]).again();
    (desk.version, desk.image) = ("1.3.0", digest(3));
    let effects = desk.measure(digest(3), Some("SHA256:one"));
    let line = "this program is version 1.3.0 at /usr/bin/meshward, and was 1.2.3 at /usr/bin/meshward: it is held to \
                what it is now";
    assert_eq!(told(&effects, Level::Info), [line]);
    desk.kept(Ok(()));
    assert_eq!(desk.known().program.expect("it is known").checksum, digest(3));
    let mut desk = desk.again();
    (desk.version, desk.image) = ("1.3.0", digest(4));
    desk.give(Input::Armed);
    assert_eq!(posted(&desk.measure(digest(4), None)).len(), 1, "the same version is another file");
    let measured = Measured { image: "/opt/m".into(), checksum: Ok(digest(4)), host_key: None };
    let effects = desk.give(Input::Measured(Box::new(measured)));
    assert_eq!(told(&effects, Level::Error), [""; 0], "it stands elsewhere");
}

#[test]
fn another_host_key_is_a_violation_and_one_that_is_not_there_is_none() {
    let mut desk = settled(&[]);
    assert_eq!(desk.measure(IMAGE, None), []);
    let effects = desk.measure(IMAGE, Some("SHA256:two"));
    let parse = |text| Fingerprint::parse(text).expect("a fingerprint");
    let seen = Seen { observed: parse("SHA256:two"), expected: Some(parse("SHA256:one")) };
    let violation = IntegrityViolation {
        finding: Finding::SshHostKey(seen),
        detected_by: DetectedBy::StartupScan,
        artifact_id: KEY_FILE.into(),
    };
    assert_eq!(posted(&effects), [violation]);
    assert_eq!(desk.change, None, "the baseline stays");
    let fingerprint = Ok(parse("SHA256:three"));
    let host_key = Some(HostKey { path: "/elsewhere".into(), fingerprint });
    let measured = Measured { image: PROGRAM.into(), checksum: Ok(IMAGE), host_key };
    desk.give(Input::Measured(Box::new(measured)));
    desk.kept(Ok(()));
    assert_eq!(desk.known().host_key.expect("it is known").path, "/elsewhere");
}

#[test]
fn what_cannot_be_read_is_told_once_as_long_as_it_lasts_and_is_no_violation() {
    let mut desk = settled(&[]);
    let blind = || Measured {
        image: PROGRAM.into(),
        checksum: Err("no".into()),
        host_key: Some(HostKey { path: KEY_FILE.into(), fingerprint: Err("none".into()) }),
    };
    let effects = desk.give(Input::Measured(Box::new(blind())));
    let lines = [
        "whether /usr/bin/meshward is what it was cannot be told: no",
        "whether /etc/ssh/ssh_host_ed25519_key is what it was cannot be told: none",
    ];
    assert_eq!(told(&effects, Level::Warn), lines);
    assert_eq!(desk.give(Input::Measured(Box::new(blind()))), []);
    assert_eq!(desk.measure(IMAGE, Some("SHA256:one")), []);
    assert_eq!(told(&desk.give(Input::Measured(Box::new(blind()))), Level::Warn).len(), 2);
}

#[test]
fn what_the_disk_refuses_is_told_once_and_given_to_it_again() {
    let mut desk = Desk::new();
    desk.look(&[whole("a", 1)]);
    let effects = desk.kept(Err("it is full".into()));
    assert_eq!(told(&effects, Level::Warn).len(), 1);
    assert!(desk.change.is_none() && desk.integrity.is_idle(), "a stop does not wait for it");
    assert_eq!(desk.left(), Some(KEEP_RETRY));
    desk.look(&[whole("a", 1), whole("b", 2)]);
    assert_eq!(desk.change, None, "it waits");
    desk.wake();
    assert_eq!(desk.kept(Err("it is full".into())), [], "it is told once");
    desk.wake();
    desk.look(&[whole("a", 1), whole("b", 2), whole("c", 3)]);
    assert!(!desk.integrity.is_idle());
    desk.kept(Ok(()));
    assert_eq!(desk.known().hooks.len(), 2);
    desk.kept(Ok(()));
    assert_eq!(desk.known().hooks.len(), 3, "what came meanwhile goes along with the next change");
}

#[test]
fn a_damaged_file_is_told_and_kept_beside_and_the_files_count_as_they_are() {
    for content in [
        FoundContent::Bytes(Content(Vec::new())),
        FoundContent::Bytes(Content(vec![0; 64])),
        FoundContent::Bytes(Content(br#"{"hooks":{"a":"xx"}}"#.into())),
        FoundContent::Bytes(Content(br#"{"hooks":"#.into())),
        FoundContent::Foreign("a folder".into()),
    ] {
        let mut desk = Desk::new();
        let effects = desk.give(Input::Loaded(content));
        assert_eq!(told(&effects, Level::Error).len(), 1);
        let name = "checksums.json.damaged-2027-01-15T08:00:00Z";
        assert_eq!(desk.change, Some(Change::Rename(name.into())));
        desk.look(&[whole("a", 1)]);
        desk.kept(Ok(()));
        desk.kept(Ok(()));
        assert_eq!(desk.known().hooks.len(), 1);
    }
    let mut desk = Desk::new();
    desk.give(Input::Loaded(FoundContent::Foreign("a folder".into())));
    let effects = desk.kept(Err("no".into()));
    assert_eq!(told(&effects, Level::Warn), ["state/checksums.json stays: no"]);
}

#[test]
fn hooks_beyond_the_limit_are_told_once_and_held_to_nothing() {
    let mut desk = Desk::new();
    let mut looks = 0;
    while desk.hooks.pinned().count() < hooks::HOOKS_MAX || looks * hooks::HOOKS_MAX < BASELINES_MAX
    {
        let file = |at: usize| whole(&format!("{looks:03}-{at:03}"), 1);
        let files: Vec<_> = (0..hooks::HOOKS_MAX).map(file).collect();
        desk.look(&files);
        if desk.change.is_some() {
            desk.kept(Ok(()));
        }
        looks += 1;
    }
    while desk.change.is_some() {
        desk.kept(Ok(()));
    }
    assert_eq!(desk.known().hooks.len(), BASELINES_MAX);
    // A process of its own, which has not yet seen too many hooks to discover another.
    let mut desk = desk.again();
    let effects = desk.look(&[whole("another", 1), whole("one-more", 1)]);
    assert_eq!(told(&effects, Level::Warn).len(), 1);
    assert_eq!(desk.look(&[whole("another", 2)]), []);
}

#[test]
fn a_name_that_the_control_plane_does_not_take_is_told_and_not_sent() {
    let mut desk = settled(&[whole(" ", 1)]);
    let effects = desk.look(&[whole(" ", 2)]);
    assert!(posted(&effects).is_empty());
    let end = "; the control plane takes no such name, and is not told";
    assert!(told(&effects, Level::Error).concat().ends_with(end));
    assert_eq!(desk.look(&[whole(" ", 2)]), [], "it is told once");
    let image = "x".repeat(ARTIFACT_ID_MAX + 1);
    let measured = Measured { image, checksum: Ok(digest(9)), host_key: None };
    let effects = desk.give(Input::Measured(Box::new(measured)));
    assert!(posted(&effects).is_empty() && told(&effects, Level::Error).len() == 1);
}

#[test]
fn what_there_is_no_room_for_is_told_and_found_again_by_a_later_look() {
    let mut desk = settled(&[whole("a", 0)]);
    let mut found = 0_usize;
    let observed = |desk: &mut Desk, at: usize| {
        let mut bytes = [1; 32];
        bytes[..8].copy_from_slice(&at.to_be_bytes());
        let observed = Checksum::from_bytes(bytes);
        desk.give(Input::Differs { hook: "a".into(), observed })
    };
    while desk.integrity.waiting() < QUEUE_MAX {
        observed(&mut desk, found);
        found += 1;
    }
    let effects = observed(&mut desk, found);
    let line = "1 more integrity violations are not told to the control plane now, as 1024 wait for it already: what is \
                still so at a later look is told then";
    assert_eq!(told(&effects, Level::Error), [line]);
    for _ in 0..11 {
        desk.now = desk.now.after(INTERVAL);
        assert_eq!(told(&observed(&mut desk, found), Level::Error), [""; 0], "it is told once");
    }
    desk.now = desk.now.after(INTERVAL);
    let again = told(&observed(&mut desk, found), Level::Error).concat();
    assert_eq!(again, format!("{line} (failure 13 in a row, for 1 h)"), "and then hourly");
    desk.answer(Reported::Delivered(None));
    assert_eq!(desk.integrity.waiting(), QUEUE_MAX - 1, "the first was sent alone");
    let effects = observed(&mut desk, found);
    assert!(told(&effects, Level::Error).concat().starts_with("integrity violation: "));
    let mut sent = VIOLATIONS_MAX;
    while desk.integrity.waiting() > 0 {
        sent += posted(&desk.answer(Reported::Delivered(None))).len();
    }
    assert_eq!(sent, QUEUE_MAX);
}

#[test]
fn so_many_reports_are_remembered_that_only_the_oldest_is_made_again() {
    let mut desk = settled(&[whole("a", 0)]);
    let mut reported = |at: u64| {
        let mut bytes = [1; 32];
        bytes[..8].copy_from_slice(&at.to_be_bytes());
        let observed = Checksum::from_bytes(bytes);
        let effects = desk.give(Input::Differs { hook: "a".into(), observed });
        while desk.integrity.waiting() > 0 {
            desk.answer(Reported::Delivered(None));
        }
        !posted(&effects).is_empty()
    };
    let most = u64::try_from(REPORTED_MAX).expect("it fits");
    assert!((0..most).all(&mut reported));
    assert!(!(0..most).any(&mut reported), "all of them are remembered");
    assert!(reported(most), "one more");
    assert!(!reported(1) && reported(0), "the oldest was forgotten for it");
}
