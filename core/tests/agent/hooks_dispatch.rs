//! An execution of a hook: deferred until hooks are known, held to its pin, ended by the least of three times.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    agent::{
        FoundHook, FoundProgram, Program, Run,
        execution::{Effect, environment},
        hooks,
        verdict::Called,
    },
    time::Now,
    wire::{
        execution::{Execution, Status},
        grammar::Name,
        json::Raw,
    },
};

use crate::{
    bench::{entry, seconds},
    floor::{Floor, NODE, posted, runs},
    hooks::{beside, digest, seen, whole},
};

fn hook(id: &str, name: &str) -> Execution {
    Execution { action: Name(name.into()), kind: "hook".into(), ..entry(id, "ack") }
}

/// A floor whose hooks are being looked at.
fn looking() -> Floor {
    let mut floor = Floor::new();
    give(&mut floor, hooks::Input::Started);
    floor
}

fn give(floor: &mut Floor, input: hooks::Input) {
    let now: Now = floor.now;
    floor.hooks = std::mem::take(&mut floor.hooks).step(now, input).state;
}

fn saw(floor: &mut Floor, files: &[FoundHook]) {
    give(floor, hooks::Input::Scanned(seen(files)));
}

/// The last callback that is said of an entry.
fn said(effects: &[Effect]) -> Option<(Status, Option<String>)> {
    posted(effects).pop().map(|(_, callback, _)| (callback.status, callback.error))
}

fn run(floor: &mut Floor, entry: Execution) -> Run {
    let id = entry.execution_id.0.clone();
    floor.pulled(&[entry]);
    let effects = floor.answer(&id, Status::Started, Called::Accepted);
    runs(&effects).pop().expect("an accepted claim runs").1
}

#[test]
fn an_entry_waits_until_it_is_known_whether_there_is_such_a_hook() {
    let mut floor = looking();
    assert_eq!(said(&floor.pulled(&[hook("e", "a")])), None, "nothing is said before the look");
    saw(&mut floor, &[FoundHook { name: "a".into(), found: FoundProgram::Unsettled }]);
    assert_eq!(said(&floor.pulled(&[hook("e", "a")])), None, "it is being written");
    let effects = floor.pulled(&[hook("f", "other")]);
    assert_eq!(said(&effects), Some((Status::Started, None)), "there is none of this name");
    let effects = floor.answer("f", Status::Started, Called::Accepted);
    assert_eq!(said(&effects), Some((Status::Failed, Some("unknown_action".into()))));
}

#[test]
fn a_hook_runs_with_its_pin_and_its_environment() {
    let mut floor = looking();
    saw(&mut floor, &[whole("a", 1)]);
    let parameters = Raw::parse(r#"{"to":"x","n":1e2}"#);
    let order = run(&mut floor, Execution { parameters, ..hook("e", "a") });
    let given = [("to".to_owned(), "x".to_owned()), ("n".to_owned(), "1e2".to_owned())];
    let environment = environment(&BTreeMap::from(given), NODE, "e").expect("it can be made");
    let program = Program::Hook { name: "a".into(), digest: digest(1), environment };
    assert_eq!(order.program, program);
    give(&mut floor, hooks::Input::Stirred);
    floor.pass(hooks::DEBOUNCE);
    give(&mut floor, hooks::Input::Ticked);
    saw(&mut floor, &[whole("a", 2)]);
    let order = run(&mut floor, hook("f", "a"));
    assert!(
        matches!(order.program, Program::Hook { digest: pin, .. } if pin == digest(1)),
        "the run finds that it has changed"
    );
}

#[test]
fn a_run_ends_by_the_least_of_what_is_left_what_is_allowed_and_what_its_sidecar_says() {
    let rows: [(&str, Duration, Duration); 4] = [
        (r#"{"timeout":"7s"}"#, seconds(600), seconds(7)),
        (r#"{"timeout":"7m"}"#, seconds(600), seconds(60)),
        (r#"{"timeout":"30s"}"#, seconds(20), seconds(20)),
        ("{}", seconds(20), seconds(20)),
    ];
    for (sidecar, most, expected) in rows {
        let mut floor = looking();
        floor.settings.max_action_timeout = most;
        saw(&mut floor, &[beside("a", sidecar)]);
        assert_eq!(run(&mut floor, hook("e", "a")).deadline, expected, "{sidecar}");
    }
}

#[test]
fn parameters_that_make_no_environment_are_reported_in_words_and_nothing_runs() {
    let mut floor = looking();
    saw(&mut floor, &[whole("a", 1)]);
    let parameters = Raw::parse(r#"{"a.b":"x","a-b":"y"}"#);
    floor.pulled(&[Execution { parameters, ..hook("e", "a") }]);
    let effects = floor.answer("e", Status::Started, Called::Accepted);
    assert!(runs(&effects).is_empty());
    let words = "the parameters a-b and a.b would both be given as AGENT_PARAM_A_B";
    assert_eq!(said(&effects), Some((Status::Failed, Some(words.into()))));
}
