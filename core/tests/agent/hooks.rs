//! The hooks: what a look at the directory makes of them, when it is looked at again, and what is told.

use std::time::Duration;

use meshward_core::{
    agent::{
        Content, FoundHook, FoundProgram, FoundSidecar, Level, Scan, Sight,
        hooks::{
            DEBOUNCE, DEBOUNCE_MAX, Effect, HOOKS_MAX, Hooks, Input, PINS_MAX, RELOAD_LOOKS_MAX,
            RELOADS_MAX, RESCAN, SETTLE, trust::Distrust,
        },
    },
    ids::CallId,
    step::Step,
    time::Now,
    wire::grammar::Checksum,
};

use crate::bench::{seconds, start};

pub(crate) fn digest(byte: u8) -> Checksum {
    Checksum::from_bytes([byte; 32])
}

pub(crate) fn whole(name: &str, byte: u8) -> FoundHook {
    let found = FoundProgram::Whole { digest: digest(byte), sidecar: FoundSidecar::Absent };
    FoundHook { name: name.into(), found }
}

pub(crate) fn beside(name: &str, sidecar: &str) -> FoundHook {
    let sidecar = FoundSidecar::Bytes(Content(sidecar.into()));
    let found = FoundProgram::Whole { digest: digest(1), sidecar };
    FoundHook { name: name.into(), found }
}

pub(crate) fn seen(files: &[FoundHook]) -> Scan {
    Scan { sight: Sight::Found { files: files.into(), crowded: false }, watched: Ok(()) }
}

fn blind(sight: Sight) -> Scan {
    Scan { sight, watched: Ok(()) }
}

fn but(name: &str, found: FoundProgram) -> FoundHook {
    FoundHook { name: name.into(), found }
}

/// The hooks with their clock.
struct Stage {
    hooks: Hooks,
    now: Now,
}

impl Stage {
    /// In the midst of the first look.
    fn looking() -> Self {
        let mut stage = Self { hooks: Hooks::default(), now: start() };
        assert_eq!(stage.give(Input::Started), [Effect::Look]);
        stage
    }

    /// Behind a first look that met this.
    fn after(files: &[FoundHook]) -> Self {
        let mut stage = Self::looking();
        stage.give(Input::Scanned(seen(files)));
        stage
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let Step { state, effects } = std::mem::take(&mut self.hooks).step(self.now, input);
        self.hooks = state;
        effects
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
    }

    /// Lets the wanted time come, and tells how long that took.
    fn wake(&mut self) -> Duration {
        let due = self.hooks.wakeup().expect("a time is wanted");
        let wait = due.since(self.now.mono);
        self.pass(wait);
        assert_eq!(self.give(Input::Ticked), [Effect::Look]);
        wait
    }

    /// Looks again, because something stirred; what that told.
    fn met(&mut self, scan: Scan) -> Vec<String> {
        self.give(Input::Stirred);
        self.wake();
        told(&self.give(Input::Scanned(scan)))
    }

    fn names(&self) -> Vec<String> {
        self.hooks.list().into_iter().map(|hook| hook.name).collect()
    }
}

/// What the operator is warned of.
fn told(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Tell(notice) if notice.level == Level::Warn => Some(notice.text.clone()),
            Effect::Tell(_) | Effect::Look | Effect::Answer { .. } | Effect::Refuse { .. } => None,
        })
        .collect()
}

#[test]
fn nothing_is_known_of_a_hook_before_the_first_look_and_everything_behind_it() {
    assert!(Hooks::default().is_known("a"), "where nobody looks there are none");
    let mut stage = Stage::looking();
    assert!(!stage.hooks.is_known("a"));
    stage.give(Input::Scanned(seen(&[whole("b", 2), whole("a", 1)])));
    assert!(stage.hooks.is_known("a") && stage.hooks.is_known("missing"));
    assert_eq!(stage.names(), ["a", "b"]);
    assert_eq!(stage.hooks.pin("a"), Some(digest(1)));
    assert_eq!(stage.hooks.pin("missing"), None);
    assert_eq!(stage.hooks.pinned().collect::<Vec<_>>(), [("a", digest(1)), ("b", digest(2))]);
    assert_eq!(stage.hooks.wakeup(), None, "a watched directory is left alone");
}

#[test]
fn a_look_that_saw_nothing_makes_hooks_known_too() {
    let distrusted = Sight::Distrusted { path: "/etc".into(), why: Distrust::Writable };
    for sight in [Sight::Absent, distrusted, Sight::Failed("no".into())] {
        let mut stage = Stage::looking();
        stage.give(Input::Scanned(blind(sight)));
        assert!(stage.hooks.is_known("a") && stage.hooks.pin("a").is_none());
    }
}

#[test]
fn a_changed_hook_stays_with_its_pin_is_told_once_and_heals_by_its_content() {
    let mut stage = Stage::after(&[whole("a", 1)]);
    let warning = "hook a: it was changed since it was discovered, and does not run: put its former content back, or \
        start the agent again";
    assert_eq!(stage.met(seen(&[whole("a", 2)])), [warning]);
    assert_eq!(stage.hooks.pin("a"), Some(digest(1)), "the pin is never updated");
    let hook = stage.hooks.list().remove(0);
    assert_eq!(hook.checksum, digest(2).to_hex());
    assert_eq!(hook.fault.as_deref(), Some("it was changed since it was discovered"));
    assert_eq!(stage.met(seen(&[whole("a", 3)])), [""; 0], "it is the same fault");
    stage.give(Input::Stirred);
    stage.wake();
    let effects = stage.give(Input::Scanned(seen(&[whole("a", 1)])));
    assert!(matches!(&effects[..], [Effect::Tell(notice)]
        if notice.text == "hooks with their content back: a" && notice.level == Level::Info));
    assert_eq!(stage.hooks.list()[0].fault, None);
    assert_eq!(stage.met(seen(&[whole("a", 2)])), [warning], "it came back");
}

#[test]
fn a_hook_that_left_is_none_and_comes_back_with_its_first_pin_alone() {
    let mut stage = Stage::after(&[whole("a", 1)]);
    stage.met(seen(&[]));
    assert_eq!((stage.hooks.pin("a"), stage.names().len()), (None, 0));
    assert_eq!(stage.met(seen(&[whole("a", 2)])).len(), 1);
    assert_eq!(stage.hooks.pin("a"), Some(digest(1)));
}

#[test]
fn what_is_wrong_with_a_file_is_told_once_as_long_as_it_lasts() {
    let rows = [
        (FoundProgram::Misnamed, "no hook can have this name: rename it"),
        (
            FoundProgram::Distrusted(Distrust::Owner(7)),
            "it belongs to user 7: give it to root (chown root)",
        ),
        (FoundProgram::TooLarge, "it is longer than 33554432 bytes"),
        (FoundProgram::Unreadable("eaten".into()), "it cannot be read: eaten"),
    ];
    for (found, text) in rows {
        let mut stage = Stage::after(&[]);
        let wrong = seen(&[but("x\u{1b}", found)]);
        assert_eq!(stage.met(wrong.clone()), [format!("hook x\u{fffd}: {text}")]);
        assert_eq!(stage.met(wrong.clone()), [""; 0]);
        assert!(stage.names().is_empty() && stage.hooks.pin("x\u{1b}").is_none());
        stage.met(seen(&[]));
        assert_eq!(stage.met(wrong).len(), 1, "it is wrong again");
    }
}

#[test]
fn a_directory_that_is_not_trusted_has_no_hooks_and_one_that_cannot_be_read_keeps_them() {
    let mut stage = Stage::after(&[whole("a", 1)]);
    let why = Distrust::Writable;
    let told = stage.met(blind(Sight::Distrusted { path: "/etc".into(), why }));
    let text = "no hook runs, because of /etc: its group or everybody can change it: take that right from them \
        (chmod go-w)";
    assert_eq!(told, [text]);
    assert_eq!(stage.hooks.pin("a"), None);
    stage.met(seen(&[whole("a", 1)]));
    let told = stage.met(blind(Sight::Failed("/etc: no".into())));
    assert_eq!(told, ["the hooks directory cannot be looked at: /etc: no"]);
    assert_eq!(stage.hooks.pin("a"), Some(digest(1)));
    assert_eq!(stage.wake(), RESCAN);
}

#[test]
fn a_sidecar_tells_of_its_hook_and_a_broken_one_of_nothing() {
    let text =
        r#"{"description":"D","timeout":"90s","sandbox":"none","parameters":[{"name":"p"}]}"#;
    let mut stage = Stage::after(&[beside("a", text)]);
    let hook = stage.hooks.list().remove(0);
    assert_eq!((hook.description.as_str(), hook.timeout.as_str()), ("D", "90s"));
    assert_eq!((hook.sandbox.as_str(), hook.source.as_str()), ("none", "local"));
    assert_eq!(hook.parameters[0].name, "p");
    assert_eq!(stage.hooks.timeout("a"), Some(seconds(90)));
    let told = stage.met(seen(&[beside("a", r#"{"description":"D","timeout":"x"}"#)]));
    assert!(told[0].starts_with("hook a: its sidecar is passed over: its timeout must be"));
    let hook = stage.hooks.list().remove(0);
    assert_eq!((hook.description.as_str(), hook.timeout.as_str()), ("", ""));
    assert_eq!((stage.hooks.timeout("a"), stage.hooks.pin("a")), (None, Some(digest(1))));
}

#[test]
fn a_sidecar_that_others_can_change_or_is_too_long_or_unreadable_counts_for_nothing() {
    let rows = [
        (FoundSidecar::Distrusted(Distrust::Writable), "its group or everybody can change it"),
        (FoundSidecar::TooLarge, "it is longer than 16384 bytes"),
        (FoundSidecar::Unreadable("eaten".into()), "it cannot be read: eaten"),
    ];
    for (sidecar, words) in rows {
        let mut stage = Stage::after(&[]);
        let found = FoundProgram::Whole { digest: digest(1), sidecar };
        let told = stage.met(seen(&[but("a", found)]));
        assert!(told[0].starts_with(&format!("hook a: its sidecar is passed over: {words}")));
        assert_eq!(stage.hooks.pin("a"), Some(digest(1)));
    }
}

#[test]
fn a_wish_for_a_sandbox_is_shown_and_told_to_be_in_vain() {
    let mut stage = Stage::after(&[]);
    let told = stage.met(seen(&[beside("a", r#"{"sandbox":"namespaced"}"#)]));
    assert_eq!(
        told,
        ["hook a: it runs without the sandbox \"namespaced\", which this agent has not"]
    );
    assert_eq!(stage.hooks.list()[0].sandbox, "namespaced");
}

#[test]
fn a_file_that_is_being_written_is_not_discovered_and_looked_at_soon_again() {
    let mut stage = Stage::after(&[but("a", FoundProgram::Unsettled), whole("b", 2)]);
    assert!(!stage.hooks.is_known("a") && stage.hooks.is_known("b") && stage.hooks.is_known("c"));
    assert_eq!(stage.hooks.pin("a"), None);
    assert_eq!(stage.wake(), SETTLE);
    stage.give(Input::Scanned(seen(&[whole("a", 1), whole("b", 2)])));
    assert_eq!(stage.hooks.pin("a"), Some(digest(1)));
    stage.met(seen(&[but("a", FoundProgram::Unsettled), whole("b", 2)]));
    assert!(stage.hooks.is_known("a"), "what is pinned stays as it was");
    assert_eq!(stage.hooks.pin("a"), Some(digest(1)));
}

#[test]
fn a_hook_that_cannot_be_read_for_once_stays_as_it_was() {
    let mut stage = Stage::after(&[whole("a", 1)]);
    stage.met(seen(&[but("a", FoundProgram::Unreadable("for once".into()))]));
    assert_eq!(stage.hooks.pin("a"), Some(digest(1)));
}

#[test]
fn a_stir_is_followed_by_a_look_once_all_is_quiet_or_after_a_while() {
    let mut stage = Stage::after(&[]);
    stage.give(Input::Stirred);
    stage.pass(DEBOUNCE / 2);
    stage.give(Input::Stirred);
    assert_eq!(stage.wake(), DEBOUNCE, "counted from the last");
    stage.give(Input::Scanned(seen(&[])));
    let mut waited = Duration::ZERO;
    loop {
        stage.give(Input::Stirred);
        let due = stage.hooks.wakeup().expect("a time is wanted").since(stage.now.mono);
        if due < DEBOUNCE {
            assert_eq!(waited + stage.wake(), DEBOUNCE_MAX);
            break;
        }
        stage.pass(DEBOUNCE - Duration::from_millis(1));
        waited += DEBOUNCE - Duration::from_millis(1);
    }
}

#[test]
fn a_stir_during_a_look_is_followed_by_another() {
    let mut stage = Stage::looking();
    stage.give(Input::Stirred);
    stage.give(Input::Scanned(seen(&[])));
    assert_eq!(stage.wake(), DEBOUNCE);
}

#[test]
fn a_directory_that_cannot_be_watched_is_looked_at_each_minute_and_that_is_told_once() {
    let mut stage = Stage::looking();
    let scan = Scan { watched: Err("no watches left".into()), ..seen(&[whole("a", 1)]) };
    let warnings = told(&stage.give(Input::Scanned(scan.clone())));
    let text =
        "changes in the hooks directory are not noticed at once, but each minute: no watches left";
    assert_eq!(warnings, [text]);
    assert_eq!(stage.wake(), RESCAN);
    assert_eq!(told(&stage.give(Input::Scanned(scan))), [""; 0]);
}

#[test]
fn a_reload_is_answered_by_a_look_that_began_behind_it() {
    let mut stage = Stage::looking();
    assert_eq!(stage.give(Input::Reload(CallId(1))), [], "the look under way may have passed it");
    let effects = stage.give(Input::Scanned(seen(&[whole("a", 1)])));
    assert_eq!(effects.last(), Some(&Effect::Look));
    assert_eq!(stage.give(Input::Reload(CallId(2))), []);
    let effects = stage.give(Input::Scanned(seen(&[but("x", FoundProgram::TooLarge)])));
    let wrong = vec!["hook x: it is longer than 33554432 bytes".to_owned()];
    let answer = Effect::Answer { askers: vec![CallId(1)], wrong, failure: None };
    assert!(effects.contains(&answer) && effects.last() == Some(&Effect::Look));
    let failed = blind(Sight::Failed("gone".into()));
    let effects = stage.give(Input::Scanned(failed));
    assert!(effects.iter().any(|effect| matches!(effect,
        Effect::Answer { askers, failure: Some(_), .. } if askers == &[CallId(2)])));
    assert_eq!(stage.give(Input::Reload(CallId(3))), [Effect::Look], "nothing is waited for");
}

#[test]
fn a_reload_waits_for_a_hook_that_is_being_written_but_not_for_ever() {
    let writing = seen(&[but("a", FoundProgram::Unsettled)]);
    let mut stage = Stage::after(&[]);
    stage.give(Input::Reload(CallId(1)));
    assert_eq!(stage.give(Input::Scanned(writing.clone())), []);
    stage.give(Input::Stirred);
    assert_eq!(stage.wake(), SETTLE, "no stir puts an answer off");
    let effects = stage.give(Input::Scanned(seen(&[whole("a", 1)])));
    assert!(matches!(effects.last(), Some(Effect::Answer { .. })));
    stage.give(Input::Reload(CallId(2)));
    for _ in 1..RELOAD_LOOKS_MAX {
        assert_eq!(stage.give(Input::Scanned(writing.clone())), []);
        stage.wake();
    }
    assert!(matches!(stage.give(Input::Scanned(writing))[..], [Effect::Answer { .. }]));
}

#[test]
fn reloads_are_refused_where_nobody_looks_and_beyond_a_number() {
    let refused = |call, crowded| [Effect::Refuse { asker: CallId(call), crowded }];
    let mut stage = Stage { hooks: Hooks::default(), now: start() };
    assert_eq!(stage.give(Input::Reload(CallId(1))), refused(1, false));
    let mut stage = Stage::looking();
    let most = u64::try_from(RELOADS_MAX).expect("a small number");
    for call in 1..=most {
        assert_eq!(stage.give(Input::Reload(CallId(call))), []);
    }
    assert_eq!(stage.give(Input::Reload(CallId(99))), refused(99, true));
    let effects = stage.give(Input::Quieted);
    assert_eq!(effects.len(), RELOADS_MAX);
    assert_eq!(effects[0], refused(1, false)[0]);
    assert_eq!(stage.give(Input::Reload(CallId(1))), refused(1, false));
    assert_eq!(stage.give(Input::Scanned(seen(&[]))), [], "nobody waits for it any more");
}

#[test]
fn hooks_and_pins_are_as_many_as_allowed_and_no_more() {
    let many: Vec<_> = (0..=HOOKS_MAX).map(|at| whole(&format!("h{at:04}"), 1)).collect();
    let mut stage = Stage::after(&[]);
    let told = stage.met(seen(&many));
    assert_eq!(told, ["there are more than 256 hooks, and those behind the first are not offered"]);
    assert_eq!(stage.names().len(), HOOKS_MAX);
    assert_eq!(stage.hooks.pin("h0256"), None);
    let mut stage = Stage::after(&[]);
    for round in 0..PINS_MAX / HOOKS_MAX {
        let files: Vec<_> =
            (0..HOOKS_MAX).map(|at| whole(&format!("h{round:02}-{at:04}"), 1)).collect();
        assert_eq!(stage.met(seen(&files)), [""; 0]);
    }
    let told = stage.met(seen(&[whole("one-more", 1), whole("h00-0000", 1)]));
    assert!(told[0].starts_with("hook one-more: this process has seen too many hooks"));
    assert_eq!(stage.names(), ["h00-0000"], "what is pinned comes and goes");
}

#[test]
fn a_verification_looks_once_where_nobody_looks_already() {
    assert_eq!(Hooks::default().step(start(), Input::Verify).effects, [], "nobody looks");
    let mut stage = Stage::looking();
    assert_eq!(stage.give(Input::Verify), []);
    stage.give(Input::Scanned(seen(&[])));
    assert_eq!(stage.give(Input::Verify), [Effect::Look]);
    assert_eq!(stage.give(Input::Verify), []);
}

#[test]
fn a_look_is_owed_to_what_stirred_and_so_is_the_one_that_settles_what_it_met() {
    let mut stage = Stage::looking();
    assert!(stage.hooks.is_unseen());
    stage.give(Input::Scanned(seen(&[whole("a", 1)])));
    assert!(!stage.hooks.is_unseen() && !stage.hooks.was_stirred());
    stage.met(seen(&[but("a", FoundProgram::Unsettled)]));
    assert!(stage.hooks.was_stirred());
    stage.wake();
    stage.give(Input::Scanned(seen(&[whole("a", 2)])));
    assert!(stage.hooks.was_stirred(), "this is what it met");
    let seen_now: Vec<_> = stage.hooks.observed().collect();
    assert_eq!(seen_now, [("a", digest(2))]);
    assert_eq!(stage.hooks.pinned().collect::<Vec<_>>(), [("a", digest(1))]);
    stage.give(Input::Verify);
    stage.give(Input::Scanned(seen(&[whole("a", 2)])));
    assert!(!stage.hooks.was_stirred());
    stage.give(Input::Verify);
    stage.give(Input::Stirred);
    stage.give(Input::Scanned(seen(&[whole("a", 2)])));
    assert!(stage.hooks.was_stirred(), "something stirred during the look");
}
