//! What was seen is held against the baselines.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::{ARTIFACT_ID_MAX, Effect, Integrity, Kit, QUEUE_MAX};
use crate::{
    agent::{
        facts::{HostKey, Measured},
        notice::{
            Notice,
            streak::{Kind, Streak},
        },
    },
    legible,
    time::Mono,
    wire::{
        checksums,
        grammar::{Checksum, Fingerprint, Name},
        integrity::{DetectedBy, Finding, IntegrityViolation, Seen},
    },
};

/// A file that is held to what it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Artifact {
    Program,
    Hook(String),
    HostKey,
}

impl Integrity {
    /// Whether all baselines are on the disk, or were refused by it.
    pub const fn is_idle(&self) -> bool {
        !self.baselines.is_writing()
    }

    /// How many violations were not delivered yet.
    pub fn waiting(&self) -> usize {
        self.outbox.len()
    }

    /// How many violations the control plane did not take, although each was alone in its request.
    pub const fn dropped(&self) -> u64 {
        self.outbox.dropped()
    }

    pub(super) fn armed(&mut self, kit: Kit<'_>, now: Mono, effects: &mut Vec<Effect>) {
        self.outbox.arm();
        if self.due.is_none() {
            self.verify(kit, now, effects);
        }
    }

    /// Looks at everything, and again after the interval.
    pub(super) fn verify(&mut self, kit: Kit<'_>, now: Mono, effects: &mut Vec<Effect>) {
        self.due = Some(now.after(kit.settings.verify_interval));
        effects.extend([Effect::Measure, Effect::Look]);
    }

    /// The next look comes no later than it would by the interval that holds now.
    pub(super) fn retime(&mut self, kit: Kit<'_>, now: Mono) {
        let most = now.after(kit.settings.verify_interval);
        self.due = self.due.map(|due| due.min(most));
    }

    /// Holds each hook to its baseline; one that has none is held to what it is now.
    pub(super) fn looked(&mut self, kit: Kit<'_>, now: Mono, effects: &mut Vec<Effect>) {
        let stirred = kit.hooks.was_stirred();
        let detected_by = if stirred { DetectedBy::Inotify } else { DetectedBy::StartupScan };
        let mut put_off = 0;
        for (name, observed) in kit.hooks.observed() {
            let expected = self.baselines.learn_hook(name, observed, effects);
            if observed != expected && (kit.settings.watch_enabled || !stirred) {
                let violation = of_hook(name, (observed, expected), detected_by);
                put_off += self.report(Artifact::Hook(name.into()), violation, effects);
            }
        }
        self.put_off(now, put_off, effects);
    }

    /// A hook that was refused when it was to run.
    pub(super) fn differs(
        &mut self,
        kit: Kit<'_>,
        now: Mono,
        (hook, observed): (String, Checksum),
        effects: &mut Vec<Effect>,
    ) {
        let Some(expected) = self.baselines.hook(&hook).or_else(|| kit.hooks.pin(&hook)) else {
            return;
        };
        if observed != expected {
            let violation = of_hook(&hook, (observed, expected), DetectedBy::PreDispatch);
            let put_off = self.report(Artifact::Hook(hook), violation, effects);
            self.put_off(now, put_off, effects);
        }
    }

    pub(super) fn measured(
        &mut self,
        kit: Kit<'_>,
        now: Mono,
        measured: Measured,
        effects: &mut Vec<Effect>,
    ) {
        let Measured { image, checksum, host_key } = measured;
        let checksum = self.readable(Artifact::Program, &image, checksum, effects);
        let mut put_off = 0;
        if let Some(observed) = checksum {
            put_off += self.program(kit, image, observed, effects);
        }
        let Some(HostKey { path, fingerprint }) = host_key else {
            self.unread.remove(&Artifact::HostKey);
            return self.put_off(now, put_off, effects);
        };
        if let Some(observed) = self.readable(Artifact::HostKey, &path, fingerprint, effects) {
            put_off += self.host_key(path, observed, effects);
        }
        self.put_off(now, put_off, effects);
    }

    /// What was read of a file; that it could not be is told once as long as that lasts.
    fn readable<T>(
        &mut self,
        artifact: Artifact,
        path: &str,
        read: Result<T, String>,
        effects: &mut Vec<Effect>,
    ) -> Option<T> {
        match read {
            Ok(value) => {
                self.unread.remove(&artifact);
                Some(value)
            }
            Err(reason) => {
                if self.unread.insert(artifact) {
                    effects.push(Effect::Tell(Notice::warn(format!(
                        "whether {} is what it was cannot be told: {reason}",
                        legible::line(path)
                    ))));
                }
                None
            }
        }
    }

    /// A program of another version is held to what runs, as it is known by heartbeats; one that was put in its place
    /// while it runs is found by the file.
    fn program(
        &mut self,
        kit: Kit<'_>,
        path: String,
        observed: Checksum,
        effects: &mut Vec<Effect>,
    ) -> usize {
        let expected = match self.baselines.program() {
            Some(known) if known.path == path && known.version == kit.version => known.checksum,
            known => {
                effects.extend(known.map(|known| Effect::Tell(renewed(known, &path, kit.version))));
                let (path, version) = (path.clone(), kit.version.into());
                let program = checksums::Program { path, version, checksum: kit.image };
                self.baselines.set_program(program);
                kit.image
            }
        };
        if observed == expected {
            return 0;
        }
        let finding = Finding::BinaryChecksum(Seen { observed, expected: Some(expected) });
        let violation = IntegrityViolation {
            finding,
            detected_by: DetectedBy::StartupScan,
            artifact_id: Name(path),
        };
        self.report(Artifact::Program, violation, effects)
    }

    fn host_key(
        &mut self,
        path: String,
        observed: Fingerprint,
        effects: &mut Vec<Effect>,
    ) -> usize {
        let expected = match self.baselines.host_key() {
            Some(known) if known.path == path => known.fingerprint.clone(),
            Some(_) | None => {
                let fingerprint = observed;
                self.baselines.set_host_key(checksums::HostKey { path, fingerprint });
                return 0;
            }
        };
        if observed == expected {
            return 0;
        }
        let finding = Finding::SshHostKey(Seen { observed, expected: Some(expected) });
        let violation = IntegrityViolation {
            finding,
            detected_by: DetectedBy::StartupScan,
            artifact_id: Name(path),
        };
        self.report(Artifact::HostKey, violation, effects)
    }

    /// Tells of a violation and queues it, unless that was done; how many there was no room for.
    fn report(
        &mut self,
        artifact: Artifact,
        violation: IntegrityViolation,
        effects: &mut Vec<Effect>,
    ) -> usize {
        let report = (artifact, observed(&violation.finding));
        if self.reported.contains(&report) {
            return 0;
        }
        let id = violation.artifact_id.as_str();
        let is_sendable = !id.trim().is_empty() && id.len() <= ARTIFACT_ID_MAX;
        let notice = told(&violation, is_sendable);
        if is_sendable && !self.outbox.take_in(violation) {
            return 1;
        }
        effects.push(Effect::Tell(notice));
        self.reported.insert(report);
        0
    }

    /// Tells of what there was no room for, look after look, until there is some.
    fn put_off(&mut self, now: Mono, count: usize, effects: &mut Vec<Effect>) {
        if self.outbox.len() < QUEUE_MAX {
            self.crowded = Streak::default();
        }
        if count > 0 {
            let text = format!(
                "{count} more integrity violations are not told to the control plane now, as {QUEUE_MAX} wait for it already: \
                 what is still so at a later look is told then"
            );
            let (crowded, notice) = self.crowded.failed(now, Kind::Failed, Notice::error(text));
            self.crowded = crowded;
            effects.push(Effect::Tell(notice));
        }
    }
}

fn of_hook(
    name: &str,
    (observed, expected): (Checksum, Checksum),
    detected_by: DetectedBy,
) -> IntegrityViolation {
    let finding = Finding::HookChecksum(Seen { observed, expected: Some(expected) });
    IntegrityViolation { finding, detected_by, artifact_id: Name::from(name) }
}

/// What was seen, as a person compares it.
fn observed(finding: &Finding) -> String {
    match finding {
        Finding::BinaryChecksum(seen) | Finding::HookChecksum(seen) => seen.observed.to_hex(),
        Finding::SshHostKey(seen) => seen.observed.to_string(),
    }
}

fn expected(finding: &Finding) -> Option<String> {
    match finding {
        Finding::BinaryChecksum(seen) | Finding::HookChecksum(seen) => {
            seen.expected.map(Checksum::to_hex)
        }
        Finding::SshHostKey(seen) => seen.expected.as_ref().map(ToString::to_string),
    }
}

fn told(violation: &IntegrityViolation, is_sendable: bool) -> Notice {
    let what = match violation.finding {
        Finding::BinaryChecksum(_) => "the program",
        Finding::HookChecksum(_) => "the hook",
        Finding::SshHostKey(_) => "the SSH host key",
    };
    let name = violation.artifact_id.as_str();
    let unsent =
        if is_sendable { "" } else { "; the control plane takes no such name, and is not told" };
    Notice::error(format!(
        "integrity violation: {what} {:?} is {}, and was {} when it was seen first{unsent}",
        legible::line(name),
        observed(&violation.finding),
        expected(&violation.finding).unwrap_or_default(),
    ))
}

/// The program was moved, or is another version.
fn renewed(known: &checksums::Program, path: &str, version: &str) -> Notice {
    Notice::info(format!(
        "this program is version {version} at {}, and was {} at {}: it is held to what it is now",
        legible::line(path),
        legible::line(&known.version),
        legible::line(&known.path)
    ))
}
