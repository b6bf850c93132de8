//! The capability manifest: what is declared, when it is sent, and what each answer leads to.

use std::time::Duration;

use meshward_core::{
    agent::{
        Failure, FoundHook, Level, Lost,
        hooks::{self, Hooks},
        manifest::{BACKOFF, BODY_MAX, CHANGE_WAIT, Effect, Input, Kit, Manifest},
        verdict::{
            Trouble,
            manifest::{Declared, read},
        },
    },
    backoff::Jitter,
    step::Step,
    time::Now,
    wire::{
        capabilities::{CapabilityManifestRequest, CapabilityManifestResponse, DECLARED_HOOKS_MAX},
        grammar::{Checksum, Fingerprint},
        json,
    },
};
use proptest::prelude::*;

use crate::{
    bench::{at, echoing, problem, responded, seconds, start},
    hooks::{digest, seen, whole},
    support::seeds_in,
};

const IMAGE: Checksum = Checksum::from_bytes([7; 32]);

/// A manifest with the hooks and the clock that it goes by.
struct Desk {
    manifest: Manifest,
    hooks: Hooks,
    host_key: bool,
    now: Now,
}

impl Desk {
    fn of(hooks: Hooks, host_key: bool) -> Self {
        Self { manifest: Manifest::default(), hooks, host_key, now: start() }
    }

    /// Where nobody looks at hooks.
    fn bare() -> Self {
        Self::of(Hooks::default(), false)
    }

    /// In the midst of the first look.
    fn looking() -> Self {
        let hooks = Hooks::default().step(start(), hooks::Input::Started).state;
        Self::of(hooks, false)
    }

    /// Armed, with these hooks declared and accepted.
    fn settled(files: &[FoundHook]) -> Self {
        let mut desk = Self::looking();
        desk.look(files);
        put(&desk.give(Input::Armed)).expect("the first manifest is sent at once");
        assert_eq!(put(&desk.answer(accepted())), None);
        desk
    }

    fn give(&mut self, input: Input) -> Vec<Effect> {
        let kit =
            Kit { hooks: &self.hooks, host_key: self.host_key, version: "1.2.3", checksum: IMAGE };
        let Step { state, effects } = std::mem::take(&mut self.manifest).step(kit, self.now, input);
        self.manifest = state;
        effects
    }

    fn answer(&mut self, verdict: Declared) -> Vec<Effect> {
        self.give(Input::Answered { verdict, jitter: Jitter::NONE })
    }

    /// A look at the hooks meets this.
    fn look(&mut self, files: &[FoundHook]) -> Vec<Effect> {
        let hooks = std::mem::take(&mut self.hooks);
        let looking = hooks.step(self.now, hooks::Input::Verify).state;
        self.hooks = looking.step(self.now, hooks::Input::Scanned(seen(files))).state;
        self.give(Input::Looked)
    }

    fn left(&self) -> Option<Duration> {
        self.manifest.wakeup().map(|due| due.since(self.now.mono))
    }

    /// Lets the wanted time come.
    fn wake(&mut self) -> (Duration, Vec<Effect>) {
        let left = self.left().expect("a time is wanted");
        self.now = self.now.after(left);
        (left, self.give(Input::Ticked))
    }
}

fn put(effects: &[Effect]) -> Option<CapabilityManifestRequest> {
    let puts: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Put(manifest) => Some((**manifest).clone()),
            Effect::Measure | Effect::Tell(_) => None,
        })
        .collect();
    assert!(puts.len() <= 1, "one at a time");
    puts.into_iter().next()
}

fn warnings(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Tell(notice) if notice.level == Level::Warn => Some(notice.text.clone()),
            Effect::Tell(_) | Effect::Put(_) | Effect::Measure => None,
        })
        .collect()
}

fn names(manifest: &CapabilityManifestRequest) -> Vec<&str> {
    manifest.declared_hooks.iter().map(|hook| hook.name.as_str()).collect()
}

fn accepted() -> Declared {
    Declared::Accepted(None)
}

fn failed(reason: &str) -> Declared {
    Declared::Failed(Trouble { reason: reason.into(), retry_after: None })
}

fn key(text: &str) -> Fingerprint {
    Fingerprint::parse(text).expect("a fingerprint")
}

#[test]
fn an_answer_means_what_the_table_says() {
    let body = r#"{"accepted_at":"2026-01-01T00:00:00Z","fields_changed":["declared_hooks"],"host_key_changed":false}"#;
    for status in [200, 202] {
        let Declared::Accepted(Some(told)) = read(&responded(status, body), start().wall) else {
            panic!("{status} with a body is a success")
        };
        let CapabilityManifestResponse { fields_changed, host_key_changed, .. } = told;
        assert_eq!((fields_changed, host_key_changed), (vec!["declared_hooks".to_owned()], false));
    }
    assert_eq!(read(&responded(204, ""), start().wall), Declared::Accepted(None));
    for body in ["", "{}", "not JSON"] {
        assert!(matches!(read(&responded(200, body), start().wall), Declared::Failed(_)), "{body}");
    }
    let of = |code: &str, detail: &str| {
        let mut answer = problem(400, code);
        if let meshward_core::agent::Answer::Responded(response) = &mut answer {
            response.body = format!(r#"{{"code":"{code}","detail":"{detail}"}}"#).into();
        }
        read(&answer, start().wall)
    };
    let named = "declared_hooks[17] must have a name";
    for code in ["declared_hook_invalid", "declared_hook_duplicate"] {
        assert!(matches!(of(code, named), Declared::Unfit { at: 17, .. }), "{code}");
        for detail in ["told so", "declared_hooks[", "declared_hooks[-1]", "declared_hooks[x]"] {
            assert!(matches!(of(code, detail), Declared::Failed(_)), "{code}: {detail}");
        }
    }
    for code in [
        "malformed_capabilities_request",
        "binary_version_empty",
        "binary_checksum_invalid",
        "ssh_host_key_fingerprint_invalid",
        "declared_hooks_too_many",
        "unheard_of",
    ] {
        assert!(matches!(of(code, named), Declared::Failed(_)), "{code} names no hook's fault");
    }
    for status in [300, 401, 403, 404, 413, 422, 500, 501] {
        let Declared::Failed(trouble) = read(&echoing(status, "told so"), start().wall) else {
            panic!("{status} is a failure")
        };
        assert_eq!(trouble, Trouble { reason: format!("{status}: told so"), retry_after: None });
    }
    for failure in [Failure::Unreachable, Failure::TimedOut, Failure::Oversized { status: 200 }]
        .map(Lost::from)
    {
        let answer = meshward_core::agent::Answer::Failed(failure);
        assert!(matches!(read(&answer, start().wall), Declared::Failed(_)));
    }
}

#[test]
fn a_busy_control_plane_says_when_and_no_other() {
    for (status, expected) in [(429, Some(7)), (503, Some(7)), (500, None), (400, None)] {
        let answer = meshward_core::agent::Answer::Responded(
            meshward_core::wire::http::Response::empty(status).with("retry-after", "7"),
        );
        let Declared::Failed(trouble) = read(&answer, start().wall) else { panic!("{status}") };
        assert_eq!(trouble.retry_after, expected.map(seconds), "{status}");
    }
}

#[test]
fn the_first_manifest_waits_for_the_first_look_and_holds_what_it_met() {
    let mut desk = Desk::looking();
    assert_eq!(desk.give(Input::Armed), []);
    assert_eq!(desk.left(), None, "nothing is sent before the look");
    let manifest = put(&desk.look(&[whole("b", 2), whole("a", 1)])).expect("it is sent at once");
    assert_eq!((manifest.binary_version.as_str(), manifest.binary_checksum), ("1.2.3", IMAGE));
    assert_eq!(names(&manifest), ["a", "b"]);
    let [a, b] = manifest.declared_hooks.as_slice() else { panic!("{manifest:?}") };
    assert_eq!((a.checksum, b.checksum), (digest(1), digest(2)));
    assert_eq!(manifest.ssh_host_key_fingerprint, None);
}

#[test]
fn where_nobody_looks_at_hooks_it_is_sent_when_the_identity_is_armed() {
    let manifest = put(&Desk::bare().give(Input::Armed)).expect("it is sent at once");
    assert_eq!(manifest.declared_hooks, []);
}

#[test]
fn a_configured_host_key_is_waited_for_and_declared_as_it_was_read_last() {
    let mut desk = Desk { host_key: true, ..Desk::bare() };
    assert_eq!(desk.give(Input::Armed), [Effect::Measure]);
    let effects = desk.give(Input::Measured(Ok(Some(key("SHA256:one")))));
    let manifest = put(&effects).expect("everything is known");
    assert_eq!(manifest.ssh_host_key_fingerprint, Some(key("SHA256:one")));
    desk.answer(accepted());
    assert_eq!(desk.give(Input::Measured(Ok(Some(key("SHA256:one"))))), []);
    assert_eq!(desk.give(Input::Measured(Err(()))), []);
    assert_eq!(desk.left(), None, "one that cannot be read may be what it was");
    desk.give(Input::Measured(Ok(Some(key("SHA256:two")))));
    let (wait, effects) = desk.wake();
    assert_eq!(wait, CHANGE_WAIT);
    let manifest = put(&effects).expect("another key is declared");
    assert_eq!(manifest.ssh_host_key_fingerprint, Some(key("SHA256:two")));
    desk.answer(accepted());
    desk.give(Input::Measured(Ok(None)));
    let manifest = put(&desk.wake().1).expect("that it has gone is declared");
    assert_eq!(manifest.ssh_host_key_fingerprint, None);
}

#[test]
fn a_change_is_sent_once_a_second_later_and_nothing_where_nothing_has_changed() {
    let mut desk = Desk::settled(&[whole("a", 1)]);
    assert_eq!(desk.look(&[whole("a", 1)]), []);
    assert_eq!(desk.look(&[whole("a", 2)]), [], "a changed hook is held to what it was");
    assert_eq!(desk.left(), None);
    desk.look(&[whole("a", 1), whole("b", 2)]);
    assert_eq!(desk.left(), Some(CHANGE_WAIT));
    desk.now = desk.now.after(CHANGE_WAIT / 2);
    desk.look(&[whole("a", 1), whole("b", 2), whole("c", 3)]);
    let (wait, effects) = desk.wake();
    assert_eq!(wait, CHANGE_WAIT / 2, "a second change does not put it off");
    assert_eq!(names(&put(&effects).expect("it is due")), ["a", "b", "c"]);
    desk.answer(accepted());
    desk.look(&[whole("a", 1)]);
    desk.look(&[whole("a", 1), whole("b", 2), whole("c", 3)]);
    assert_eq!(desk.left(), None, "what was taken back is not sent");
}

#[test]
fn what_changes_while_one_is_under_way_is_sent_behind_it() {
    let mut desk = Desk::looking();
    desk.look(&[whole("a", 1)]);
    desk.give(Input::Armed);
    assert_eq!(put(&desk.look(&[whole("b", 2)])), None, "one is in flight");
    desk.answer(accepted());
    let (wait, effects) = desk.wake();
    assert_eq!(wait, CHANGE_WAIT);
    assert_eq!(names(&put(&effects).expect("the newest wins")), ["b"]);
}

#[test]
fn after_a_failure_it_waits_longer_each_time_and_then_sends_what_is_so_by_then() {
    let mut desk = Desk::looking();
    desk.look(&[whole("a", 1)]);
    desk.give(Input::Armed);
    let told = warnings(&desk.answer(failed("503")));
    let words = "the capability manifest was not taken, and is sent again until it is: 503";
    assert_eq!(told, [words]);
    desk.look(&[whole("b", 2)]);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let (wait, effects) = desk.wake();
        waits.push(wait.as_secs());
        assert_eq!(names(&put(&effects).expect("it is due")), ["b"]);
        assert_eq!(warnings(&desk.answer(failed("again"))), [""; 0], "it is told once");
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 60]);
    desk.wake();
    let told = desk.answer(accepted());
    let again =
        "the capability manifest is accepted again, after 7 failures in a row within 3 min 2 s";
    assert!(told.iter().any(|effect| matches!(effect, Effect::Tell(told) if told.text == again)));
    assert_eq!(desk.left(), None);
}

#[test]
fn a_manifest_that_is_refused_for_hours_is_told_hourly() {
    let mut desk = Desk::bare();
    desk.give(Input::Armed);
    let began = desk.now.mono;
    let mut told = Vec::new();
    while desk.now.mono.since(began) < seconds(3 * 3600) {
        told.extend(warnings(&desk.answer(failed("503"))));
        desk.wake();
    }
    assert_eq!(told.len(), 3, "{told:#?}");
    assert!(told[2].contains("(failure "), "{told:#?}");
}

#[test]
fn a_wait_that_is_asked_for_is_kept_and_none_below_the_own() {
    for (asked, expected) in [(90, 90), (1, 2)] {
        let mut desk = Desk::bare();
        desk.give(Input::Armed);
        let retry_after = Some(seconds(asked));
        desk.answer(Declared::Failed(Trouble { reason: "busy".into(), retry_after }));
        assert_eq!(desk.left(), Some(seconds(expected)));
    }
}

/// A manifest whose answer was lost may be what the control plane holds.
#[test]
fn what_was_accepted_before_is_declared_again_behind_a_manifest_that_failed() {
    let mut desk = Desk::settled(&[whole("a", 1)]);
    desk.look(&[whole("a", 1), whole("b", 2)]);
    desk.wake();
    desk.look(&[whole("a", 1)]);
    desk.answer(failed("no answer within the timeout"));
    let (wait, effects) = desk.wake();
    assert_eq!(wait, BACKOFF.base);
    assert_eq!(names(&put(&effects).expect("it is told again")), ["a"]);
    desk.answer(accepted());
    assert_eq!(desk.left(), None);
}

#[test]
fn a_hook_that_is_not_taken_is_left_out_alone_until_it_is_another_or_the_identity_is() {
    let files = [whole("a", 1), whole("b", 2), whole("c", 3)];
    let mut desk = Desk::looking();
    desk.look(&files);
    desk.give(Input::Armed);
    let trouble = Trouble { reason: "400: told so".into(), retry_after: None };
    let told = warnings(&desk.answer(Declared::Unfit { at: 1, trouble: trouble.clone() }));
    let words =
        "the hook b is not declared any more: the control plane does not take it: 400: told so";
    assert_eq!(told, [words]);
    let (wait, effects) = desk.wake();
    assert_eq!(wait, CHANGE_WAIT);
    assert_eq!(names(&put(&effects).expect("the others are declared")), ["a", "c"]);
    assert_eq!(warnings(&desk.answer(Declared::Unfit { at: 2, trouble })).len(), 1);
    assert_eq!(desk.left(), Some(BACKOFF.base), "a place that was not in it names nothing");
    desk.wake();
    desk.answer(accepted());
    desk.give(Input::Quieted);
    let manifest = put(&desk.give(Input::Armed)).expect("another identity is told everything");
    assert_eq!(names(&manifest), ["a", "b", "c"]);
}

#[test]
fn an_identity_that_is_armed_anew_is_told_all_of_it_and_an_answer_to_the_one_before_is_nothing() {
    let mut desk = Desk::settled(&[whole("a", 1)]);
    desk.look(&[whole("b", 2)]);
    desk.give(Input::Quieted);
    assert_eq!(desk.left(), None, "the identity rests");
    assert_eq!(desk.look(&[whole("c", 3)]), []);
    assert_eq!(desk.answer(accepted()), []);
    let manifest = put(&desk.give(Input::Armed)).expect("it is sent at once");
    assert_eq!(names(&manifest), ["c"]);
    assert_eq!(desk.give(Input::Armed), [], "armed it is already");
}

#[test]
fn the_first_hooks_by_their_names_are_declared_and_that_there_are_more_is_told_once() {
    let file = |at: usize| whole(&format!("hook-{at:03}"), 1);
    let files: Vec<_> = (0..DECLARED_HOOKS_MAX + 1).map(file).collect();
    let mut desk = Desk::looking();
    assert_eq!(warnings(&desk.look(&files)).len(), 1);
    let effects = desk.give(Input::Armed);
    assert_eq!(warnings(&effects), [""; 0]);
    let manifest = put(&effects).expect("it is sent at once");
    assert_eq!(manifest.declared_hooks.len(), DECLARED_HOOKS_MAX);
    assert_eq!(names(&manifest).last(), Some(&"hook-127"));
    desk.answer(accepted());
    assert_eq!(desk.look(&files), []);
    desk.look(&files[..DECLARED_HOOKS_MAX]);
    assert_eq!(warnings(&desk.look(&files)).len(), 1, "it was over meanwhile");
}

#[test]
fn hooks_with_long_names_are_declared_as_far_as_the_body_goes() {
    let file = |at: usize| whole(&format!("{at:03}{}", "\"".repeat(247)), 1);
    let files: Vec<_> = (0..100).map(file).collect();
    let mut desk = Desk::looking();
    desk.look(&files);
    let manifest = put(&desk.give(Input::Armed)).expect("it is sent at once");
    let length = json::encode(&manifest).len();
    let one = json::encode(&manifest.declared_hooks[0]).len();
    assert!(length <= BODY_MAX && length + 2 * one > BODY_MAX, "{length} of {BODY_MAX}");
}

#[test]
fn a_hook_with_a_blank_name_is_left_out_and_told_once() {
    let mut desk = Desk::looking();
    let words = "the hook \" \" is not declared: its name is blank; rename it";
    assert_eq!(warnings(&desk.look(&[whole(" ", 1), whole("a", 2)])), [words]);
    assert_eq!(names(&put(&desk.give(Input::Armed)).expect("it is sent")), ["a"]);
}

#[derive(Clone, Debug)]
enum Event {
    Armed,
    Quieted,
    Looked(Vec<bool>),
    Measured(u8),
    Answered(u8),
    Passed(u64),
    Woken,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => Just(Event::Armed),
        1 => Just(Event::Quieted),
        4 => prop::collection::vec(any::<bool>(), 4).prop_map(Event::Looked),
        1 => (0_u8..4).prop_map(Event::Measured),
        5 => (0_u8..6).prop_map(Event::Answered),
        1 => (0_u64..3_000).prop_map(Event::Passed),
        5 => Just(Event::Woken),
    ]
}

fn happen(desk: &mut Desk, event: Event) -> Vec<Effect> {
    match event {
        Event::Armed => desk.give(Input::Armed),
        Event::Quieted => desk.give(Input::Quieted),
        Event::Looked(there) => {
            let files = ["a", "b", "c", " "].into_iter().zip(there).filter(|(_, there)| *there);
            let files: Vec<_> = files.map(|(name, _)| whole(name, 1)).collect();
            desk.look(&files)
        }
        Event::Measured(0) => desk.give(Input::Measured(Err(()))),
        Event::Measured(1) => desk.give(Input::Measured(Ok(None))),
        Event::Measured(byte) => {
            desk.give(Input::Measured(Ok(Some(key(&format!("SHA256:{byte}"))))))
        }
        Event::Answered(0..=2) => desk.answer(accepted()),
        Event::Answered(3) => desk.answer(failed("it failed")),
        Event::Answered(at) => {
            let trouble = Trouble { reason: "unfit".into(), retry_after: None };
            desk.answer(Declared::Unfit { at: usize::from(at) - 4, trouble })
        }
        Event::Passed(millis) => {
            desk.now = desk.now.after(Duration::from_millis(millis));
            desk.give(Input::Ticked)
        }
        Event::Woken if desk.left().is_some() => desk.wake().1,
        Event::Woken => desk.give(Input::Ticked),
    }
}

proptest! {
    #![proptest_config(seeds_in("manifest"))]

    /// One at a time; never the same twice in a row to one identity where it was accepted; after whatever happened, a control plane that takes
    /// everything has the newest content in the end, with few requests and not faster than it may.
    #[test]
    fn whatever_happened_the_newest_content_arrives_and_nothing_is_sent_in_a_loop(
        events in prop::collection::vec(event(), 0..60),
        host_key in any::<bool>(),
    ) {
        let mut desk = Desk { host_key, ..Desk::looking() };
        let mut flying: Option<CapabilityManifestRequest> = None;
        let mut taken: Option<CapabilityManifestRequest> = None;
        for event in events {
            match (&event, flying.is_some()) {
                // Another identity has declared nothing.
                (Event::Quieted, _) => (flying, taken) = (None, None),
                (Event::Answered(_), false) => continue,
                (Event::Answered(answer), true) => {
                    let sent = flying.take();
                    // What was not accepted may have arrived.
                    taken = sent.filter(|_| *answer <= 2);
                }
                _ => {}
            }
            if let Some(sent) = put(&happen(&mut desk, event)) {
                prop_assert!(flying.is_none(), "two at once");
                prop_assert!(taken.as_ref() != Some(&sent), "the same again");
                flying = Some(sent);
            }
        }
        desk.give(Input::Quieted);
        desk.look(&[whole("a", 1), whole("d", 4)]);
        desk.give(Input::Measured(Ok(Some(key("SHA256:end")))));
        let manifest = put(&desk.give(Input::Armed)).expect("all is known");
        prop_assert_eq!(names(&manifest), ["a", "d"]);
        prop_assert_eq!(manifest.ssh_host_key_fingerprint, Some(key("SHA256:end")));
        desk.answer(accepted());
        prop_assert_eq!(desk.left(), None);
    }

    /// A control plane that takes nothing is asked a few times an hour, whatever it answers.
    #[test]
    fn a_control_plane_that_takes_nothing_is_not_asked_in_a_loop(answers in prop::collection::vec(0_usize..6, 200)) {
        let mut desk = Desk::looking();
        let files: Vec<_> = (0..100).map(|at| whole(&format!("{at}"), 1)).collect();
        desk.look(&files);
        let mut asked = usize::from(put(&desk.give(Input::Armed)).is_some());
        for answer in answers {
            let trouble = Trouble { reason: "no".into(), retry_after: None };
            let effects = desk.answer(match answer {
                0 => Declared::Failed(trouble),
                at => Declared::Unfit { at: at - 1, trouble },
            });
            prop_assert!(put(&effects).is_none(), "nothing is sent again at once");
            if desk.left().is_some() {
                asked += usize::from(put(&desk.wake().1).is_some());
            }
        }
        let passed = desk.now.mono.since(at(Duration::ZERO).mono);
        prop_assert!(Duration::from_secs(asked as u64) <= passed + seconds(1), "{asked} in {passed:?}");
    }
}
