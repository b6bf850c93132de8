//! What others write about hooks: the names of files, what stands beside them, and the parameters of a run.

use core::time::Duration;
use std::{collections::BTreeMap, path::Path};

use meshward_core::{
    agent::{
        Content, FoundHook, FoundProgram, FoundSidecar, Scan, Sight,
        execution::environment::{
            ENVIRONMENT_MAX, Fault, HOME, PARAMETER_PREFIX, PARAMETERS_MAX, PATH, VARIABLE_MAX,
            environment,
        },
        hooks::{self, Hooks, NAME_MAX, Named, is_legal, named},
    },
    legible,
    step::Step,
    time::{Mono, Now, Wall},
    wire::{
        grammar::Checksum,
        hook::{self, Sidecar},
        json,
        local::HookInfo,
    },
};

const NODE: &str = "6f1d2c3b-4a59-4768-8796-a5b4c3d2e1f0";
const EXECUTION: &str = "run-1";

/// A name on the disk is a hook's exactly where it is legal as one that is asked for, and then it names nothing else.
pub fn hook_name(bytes: &[u8]) {
    let text = core::str::from_utf8(bytes).ok();
    let legal = text.is_some_and(is_legal);
    match named(bytes) {
        Named::Hook(name) => {
            assert!(legal && name.as_bytes() == bytes);
            let path = Path::new("/hooks").join(name);
            assert_eq!(path.parent(), Some(Path::new("/hooks")), "{name:?}");
            assert_eq!(path.file_name().and_then(|name| name.to_str()), Some(name));
            assert!(name.len() <= NAME_MAX && !name.contains("..") && !name.contains('\\'));
            assert!(!name.chars().any(legible::steers), "{name:?}");
        }
        Named::Other | Named::Misnamed => assert!(!legal),
    }
}

/// A sidecar is read or refused in one short line, and its hook is listed either way.
pub fn hook_sidecar(bytes: &[u8]) {
    let read = Sidecar::decode(bytes);
    if let Ok(sidecar) = &read {
        assert!(sidecar.parameters.len() <= hook::PARAMETERS_MAX);
        assert!(sidecar.parameters.iter().all(|parameter| !parameter.name.is_empty()));
        assert!(sidecar.timeout.as_ref().is_none_or(|(_, limit)| *limit > Duration::ZERO));
    }
    let sidecar = FoundSidecar::Bytes(Content(bytes.into()));
    let found = FoundProgram::Whole { digest: Checksum::from_bytes([1; 32]), sidecar };
    let files = vec![FoundHook { name: "deploy".into(), found }];
    let scan = Scan { sight: Sight::Found { files, crowded: false }, watched: Ok(()) };
    let now =
        Now { mono: Mono::from_origin(Duration::ZERO), wall: Wall::from_origin(Duration::ZERO) };
    let started = Hooks::default().step(now, hooks::Input::Started).state;
    let Step { state, effects } = started.step(now, hooks::Input::Scanned(scan));
    for effect in &effects {
        let hooks::Effect::Tell(notice) = effect else { panic!("{effect:?}") };
        assert!(!notice.text.chars().any(legible::steers), "{notice}");
    }
    let listed = state.list();
    let written = json::encode(&listed);
    let back: Vec<HookInfo> = json::decode_tolerant(&written).expect("what is listed is read");
    assert_eq!(back, listed);
    let [info] = listed.as_slice() else { panic!("{listed:?}") };
    match read {
        Ok(sidecar) => {
            assert_eq!(info.description, sidecar.description);
            assert_eq!(info.parameters, sidecar.parameters);
            assert_eq!(state.timeout("deploy"), sidecar.timeout.map(|(_, limit)| limit));
        }
        Err(_) => {
            assert!(info.description.is_empty() && info.parameters.is_empty());
            assert_eq!((state.timeout("deploy"), info.sandbox.as_str()), (None, ""));
        }
    }
}

/// Parameters make an environment of their values and of nothing else, or are refused for a reason that is true.
pub fn hook_environment(bytes: &[u8]) {
    let Ok(parameters) = json::decode_tolerant::<BTreeMap<String, String>>(bytes) else { return };
    match environment(&parameters, NODE, EXECUTION) {
        Ok(all) => check(&parameters, &all),
        Err(fault) => {
            let told = fault.to_string();
            assert!(told.len() < 1024 && !told.chars().any(legible::steers), "{told}");
            assert!(is_true(&fault, &parameters), "{told}");
        }
    }
}

fn check(parameters: &BTreeMap<String, String>, all: &BTreeMap<String, String>) {
    let own = [
        ("PATH", PATH),
        ("HOME", HOME),
        ("AGENT_NODE_ID", NODE),
        ("AGENT_EXECUTION_ID", EXECUTION),
    ];
    for (name, value) in own {
        assert_eq!(all.get(name).map(String::as_str), Some(value));
    }
    assert_eq!(all.len(), own.len() + parameters.len());
    for (name, value) in all {
        let safe = |byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_');
        assert!(name.bytes().all(safe) && !name.is_empty(), "{name:?}");
        assert!(!value.contains('\0') && name.len() + value.len() + 2 <= VARIABLE_MAX);
    }
    assert!(weight(all.iter()) <= ENVIRONMENT_MAX);
    for (name, value) in parameters {
        assert_eq!(all.get(&variable(name)), Some(value), "{name:?}");
    }
}

fn is_true(fault: &Fault, parameters: &BTreeMap<String, String>) -> bool {
    let mut variables: Vec<_> = parameters.keys().map(|name| variable(name)).collect();
    variables.sort();
    variables.dedup();
    match fault {
        Fault::Crowded { count } => *count == parameters.len() && *count > PARAMETERS_MAX,
        Fault::Nameless => parameters.contains_key(""),
        Fault::Ambiguous { .. } => variables.len() < parameters.len(),
        Fault::Nul { .. } => parameters.values().any(|value| value.contains('\0')),
        Fault::TooLong { .. } => {
            let long = |(name, value): (&String, &String)| {
                variable(name).len() + value.len() + 2 > VARIABLE_MAX
            };
            parameters.iter().any(long)
        }
        Fault::TooLarge => weight(parameters.iter()) * 2 > ENVIRONMENT_MAX,
    }
}

fn weight<'p>(all: impl Iterator<Item = (&'p String, &'p String)>) -> usize {
    all.map(|(name, value)| name.len() + value.len() + 2).sum()
}

/// The rule once more, in another way.
fn variable(name: &str) -> String {
    let mut variable = String::from(PARAMETER_PREFIX);
    for one in name.chars() {
        variable.push(match one {
            'a'..='z' | 'A'..='Z' | '0'..='9' => char::from(one as u8).to_ascii_uppercase(),
            _ => '_',
        });
    }
    variable
}
