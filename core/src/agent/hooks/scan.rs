//! What a look at the directory makes of the hooks.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use super::{
    DEBOUNCE, ENTRIES_MAX, Effect, HOOK_MAX, HOOKS_MAX, Hooks, Listed, PINS_MAX, RESCAN, SETTLE,
    look::Phase,
};
use crate::{
    agent::{
        facts::{FoundHook, FoundProgram, FoundSidecar, Held, Scan, Sight},
        notice::Notice,
    },
    legible,
    step::Step,
    time::{Mono, Now, Wall},
    wire::{
        grammar::Checksum,
        hook::{SIDECAR_MAX, Sidecar},
        local::HookInfo,
    },
};

/// Where the hooks of a directory come from.
const SOURCE: &str = "local";
/// The sandbox that every hook gets.
const NO_SANDBOX: &str = "none";
const CHANGED: &str = "it was changed since it was discovered";

/// Whether a file has been left alone for long enough; one from the future has.
pub fn is_settled(held: &Held, now: Wall) -> bool {
    held.changed > now || now.since(held.changed) >= SETTLE
}

/// One look, while it is being read.
struct Look {
    before: BTreeMap<String, Listed>,
    pins: BTreeMap<String, Checksum>,
    listed: BTreeMap<String, Listed>,
    unsettled: BTreeSet<String>,
    wrong: BTreeSet<String>,
    failure: Option<String>,
}

impl Hooks {
    pub(super) fn scanned(mut self, now: Now, scan: Scan) -> Step<Self, Effect> {
        let Scan { sight, watched } = scan;
        let mut look = Look {
            before: core::mem::take(&mut self.listed),
            pins: core::mem::take(&mut self.pins),
            listed: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            wrong: BTreeSet::new(),
            failure: None,
        };
        look.see(sight);
        let unwatched = watched.err();
        if let Some(reason) = &unwatched {
            look.complain(format!(
                "changes in the hooks directory are not noticed at once, but each minute: {reason}"
            ));
        }
        let again = look.failure.is_some() || unwatched.is_some();
        self.taken(now, look, again)
    }

    /// Tells what is new, answers who waited, and rests until there is a reason to look again.
    fn taken(mut self, now: Now, look: Look, again: bool) -> Step<Self, Effect> {
        let mut effects: Vec<_> = look.news().map(Effect::Tell).collect();
        let fresh = look.wrong.difference(&self.wrong);
        effects.extend(fresh.map(|wrong| Effect::Tell(Notice::warn(wrong.clone()))));
        let stirred = self.phase == Phase::Looking { stirred: true };
        self.phase = self.rest(now.mono, !look.unsettled.is_empty(), again);
        self.looked = true;
        self.stirred |= stirred;
        let Look { pins, listed, unsettled, wrong, failure, .. } = look;
        let seen = Self { pins, listed, unsettled, wrong, ..self };
        let Step { state, effects: more } = seen.answer(failure);
        Step { state, effects }.emit_all(more)
    }

    /// Until when nothing is looked at.
    fn rest(&self, now: Mono, unsettled: bool, again: bool) -> Phase {
        let stirred = self.phase == Phase::Looking { stirred: true };
        let (due, since) = match (stirred, unsettled, again) {
            (true, _, _) => (Some(now.after(DEBOUNCE)), Some(now)),
            (false, true, _) => (Some(now.after(SETTLE)), None),
            (false, false, true) => (Some(now.after(RESCAN)), None),
            (false, false, false) => (None, None),
        };
        Phase::Resting { due, since }
    }
}

impl Look {
    fn see(&mut self, sight: Sight) {
        match sight {
            Sight::Absent => {}
            Sight::Distrusted { path, why } => {
                self.complain(format!("no hook runs, because of {path}: {why}"));
            }
            Sight::Failed(reason) => {
                self.listed = self.before.clone();
                self.complain(format!("the hooks directory cannot be looked at: {reason}"));
                self.failure = Some(reason);
            }
            Sight::Found { mut files, crowded } => {
                files.sort_by(|one, other| one.name.cmp(&other.name));
                files.dedup_by(|one, other| one.name == other.name);
                for file in files.into_iter().take(ENTRIES_MAX) {
                    self.see_file(file);
                }
                if crowded {
                    self.complain(format!(
                        "the hooks directory holds more than {ENTRIES_MAX} files, and no more are looked at: move away \
                         what is no hook"
                    ));
                }
            }
        }
    }

    fn see_file(&mut self, file: FoundHook) {
        let FoundHook { name, found } = file;
        match found {
            FoundProgram::Whole { digest, sidecar } => self.see_hook(name, digest, sidecar),
            FoundProgram::Unsettled => {
                self.keep(&name);
                self.unsettled.insert(name);
            }
            FoundProgram::Misnamed => self.fault(&name, "no hook can have this name: rename it"),
            FoundProgram::Distrusted(why) => self.fault(&name, &why.to_string()),
            FoundProgram::TooLarge => {
                self.fault(&name, &format!("it is longer than {HOOK_MAX} bytes"));
            }
            FoundProgram::Unreadable(reason) => {
                self.keep(&name);
                self.fault(&name, &format!("it cannot be read: {reason}"));
            }
        }
    }

    /// As it was before.
    fn keep(&mut self, name: &str) {
        if let Some(listed) = self.before.get(name) {
            self.listed.insert(name.into(), listed.clone());
        }
    }

    fn see_hook(&mut self, name: String, digest: Checksum, sidecar: FoundSidecar) {
        if self.listed.len() >= HOOKS_MAX {
            return self.complain(format!(
                "there are more than {HOOKS_MAX} hooks, and those behind the first are not offered"
            ));
        }
        let is_new = !self.pins.contains_key(&name);
        if is_new && self.pins.len() >= PINS_MAX {
            return self.fault(
                &name,
                "this process has seen too many hooks to discover another: start the agent again",
            );
        }
        let pin = *self.pins.entry(name.clone()).or_insert(digest);
        let fault = (pin != digest).then(|| String::from(CHANGED));
        if let Some(fault) = &fault {
            self.fault(
                &name,
                &format!(
                    "{fault}, and does not run: put its former content back, or start the agent again"
                ),
            );
        }
        let Sidecar { description, parameters, timeout, sandbox } = self.sidecar(&name, sidecar);
        let (timeout, limit) = timeout.unzip();
        let info = HookInfo {
            name: name.clone(),
            description,
            source: SOURCE.into(),
            checksum: digest.to_hex(),
            parameters,
            timeout: timeout.unwrap_or_default(),
            sandbox,
            fault,
        };
        self.listed.insert(name, Listed { info, digest, timeout: limit });
    }

    /// What is told of a hook; of a broken sidecar nothing counts.
    fn sidecar(&mut self, name: &str, found: FoundSidecar) -> Sidecar {
        let reason = match found {
            FoundSidecar::Absent => return Sidecar::default(),
            FoundSidecar::Bytes(bytes) => match Sidecar::decode(&bytes.0) {
                Ok(sidecar) => {
                    if !matches!(sidecar.sandbox.as_str(), "" | NO_SANDBOX) {
                        let wish = legible::line(&sidecar.sandbox).into_owned();
                        self.fault(
                            name,
                            &format!(
                                "it runs without the sandbox {wish:?}, which this agent has not"
                            ),
                        );
                    }
                    return sidecar;
                }
                Err(fault) => fault.to_string(),
            },
            FoundSidecar::Distrusted(why) => why.to_string(),
            FoundSidecar::TooLarge => format!("it is longer than {SIDECAR_MAX} bytes"),
            FoundSidecar::Unreadable(reason) => format!("it cannot be read: {reason}"),
        };
        self.fault(name, &format!("its sidecar is passed over: {reason}"));
        Sidecar::default()
    }

    fn fault(&mut self, name: &str, text: &str) {
        self.complain(format!("hook {}: {text}", legible::line(name)));
    }

    fn complain(&mut self, text: String) {
        self.wrong.insert(text);
    }

    /// The hooks that were not listed before, and the ones that run again.
    fn news(&self) -> impl Iterator<Item = Notice> {
        let runs = |listed: &Listed| listed.info.fault.is_none();
        let ran = |name: &str| self.before.get(name).is_none_or(runs);
        let new = self.listed.keys().filter(|name| !self.before.contains_key(*name));
        let new: Vec<_> = new.map(String::as_str).collect();
        let healed: Vec<_> = self
            .listed
            .iter()
            .filter(|(name, listed)| runs(listed) && !ran(name))
            .map(|(name, _)| name.as_str())
            .collect();
        let line = |what: &str, names: &[&str]| {
            (!names.is_empty()).then(|| Notice::info(format!("{what}: {}", names.join(", "))))
        };
        let lines =
            [line("hooks discovered", &new), line("hooks with their content back", &healed)];
        lines.into_iter().flatten()
    }
}
