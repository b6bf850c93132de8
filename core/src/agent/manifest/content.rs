//! What is declared, and when.

use alloc::{boxed::Box, collections::BTreeSet, format, string::String, vec::Vec};

use super::{BACKOFF, BODY_MAX, CHANGE_WAIT, Effect, Kit, Manifest, Phase};
use crate::{
    agent::{
        notice::{
            Notice,
            streak::{Kind, Streak},
        },
        verdict::{Trouble, manifest::Declared},
    },
    backoff::Jitter,
    legible,
    time::Mono,
    wire::{
        capabilities::{
            CapabilityManifestRequest, CapabilityManifestResponse, DECLARED_HOOKS_MAX, DeclaredHook,
        },
        grammar::Name,
        json,
    },
};

impl Manifest {
    /// Another identity has declared nothing.
    pub(super) fn armed(&mut self, kit: Kit<'_>, effects: &mut Vec<Effect>) {
        if !matches!(self.phase, Phase::Dormant) {
            return;
        }
        self.phase = Phase::Resting { due: None };
        self.accepted = None;
        self.unfit.clear();
        self.streak = Streak::default();
        if kit.host_key {
            effects.push(Effect::Measure);
        }
        self.renew(kit, effects);
    }

    /// Makes out what is to be declared, once everything of it is known.
    pub(super) fn renew(&mut self, kit: Kit<'_>, effects: &mut Vec<Effect>) {
        if kit.hooks.is_unseen() || (kit.host_key && !self.measured) {
            return;
        }
        let (wanted, wrong) = self.content(kit);
        let fresh = wrong.difference(&self.wrong).cloned();
        effects.extend(fresh.map(|wrong| Effect::Tell(Notice::warn(wrong))));
        self.wanted = Some(wanted);
        self.wrong = wrong;
    }

    /// The manifest, and what is wrong with what it leaves out.
    fn content(&mut self, kit: Kit<'_>) -> (CapabilityManifestRequest, BTreeSet<String>) {
        let pinned = |name: &str| kit.hooks.pin(name);
        self.unfit.retain(|name, checksum| pinned(name) == Some(*checksum));
        let mut wrong = BTreeSet::new();
        let mut manifest = CapabilityManifestRequest {
            binary_version: kit.version.into(),
            binary_checksum: kit.checksum,
            ssh_host_key_fingerprint: self.fingerprint.clone(),
            declared_hooks: Vec::new(),
        };
        // Two bytes for the brackets of the list and as many as its name has are more than what stands without it.
        let mut length = json::encode(&manifest).len() + "\"declared_hooks\":[],".len();
        let mut left_out = 0_usize;
        for (name, checksum) in kit.hooks.pinned() {
            if self.unfit.contains_key(name) {
                continue;
            }
            if name.trim().is_empty() {
                wrong.insert(blank(name));
                continue;
            }
            let hook = DeclaredHook { name: Name::from(name), checksum };
            length += json::encode(&hook).len() + ",".len();
            match manifest.declared_hooks.len() < DECLARED_HOOKS_MAX && length <= BODY_MAX {
                true => manifest.declared_hooks.push(hook),
                false => left_out += 1,
            }
        }
        if left_out > 0 {
            wrong.insert(crowded());
        }
        (manifest, wrong)
    }

    /// Sends what differs from what was accepted: at once where nothing was, else when it is due.
    pub(super) fn advance(&mut self, now: Mono, effects: &mut Vec<Effect>) {
        let Phase::Resting { due } = self.phase else { return };
        let Some(wanted) =
            self.wanted.as_ref().filter(|wanted| self.accepted.as_ref() != Some(*wanted))
        else {
            self.phase = Phase::Resting { due: None };
            return;
        };
        let soon = if self.accepted.is_none() { now } else { now.after(CHANGE_WAIT) };
        let due = due.unwrap_or(soon);
        self.phase = if due <= now {
            effects.push(Effect::Put(Box::new(wanted.clone())));
            Phase::Sending(Box::new(wanted.clone()))
        } else {
            Phase::Resting { due: Some(due) }
        };
    }

    pub(super) fn answered(
        &mut self,
        kit: Kit<'_>,
        now: Mono,
        (verdict, jitter): (Declared, Jitter),
        effects: &mut Vec<Effect>,
    ) {
        if !matches!(self.phase, Phase::Sending(_)) {
            return;
        }
        let before = core::mem::replace(&mut self.phase, Phase::Resting { due: None });
        let Phase::Sending(sent) = before else { return };
        match verdict {
            Declared::Accepted(told) => {
                effects.push(Effect::Tell(accepted(told.as_ref())));
                let again = self.streak.ended(now, "the capability manifest is accepted");
                effects.extend(again.map(Effect::Tell));
                self.streak = Streak::default();
                self.accepted = Some(*sent);
            }
            Declared::Unfit { at, trouble } => match sent.declared_hooks.get(at) {
                Some(hook) => {
                    self.drop_hook(hook, &trouble.reason, effects);
                    self.renew(kit, effects);
                    self.phase = Phase::Resting { due: Some(now.after(CHANGE_WAIT)) };
                }
                None => self.failed(now, trouble, jitter, effects),
            },
            Declared::Failed(trouble) => self.failed(now, trouble, jitter, effects),
        }
    }

    fn drop_hook(&mut self, hook: &DeclaredHook, reason: &str, effects: &mut Vec<Effect>) {
        let name = hook.name.as_str();
        self.unfit.insert(name.into(), hook.checksum);
        effects.push(Effect::Tell(Notice::warn(format!(
            "the hook {} is not declared any more: the control plane does not take it: {reason}",
            legible::line(name)
        ))));
    }

    /// What was not answered may have arrived and be in the place of what was accepted before.
    fn failed(&mut self, now: Mono, trouble: Trouble, jitter: Jitter, effects: &mut Vec<Effect>) {
        let Trouble { reason, retry_after } = trouble;
        self.accepted = None;
        let text = format!(
            "the capability manifest was not taken, and is sent again until it is: {reason}"
        );
        let (streak, notice) = self.streak.failed(now, Kind::Failed, Notice::warn(text));
        self.streak = streak;
        let wait = BACKOFF.wait(streak.failures(), jitter).max(retry_after.unwrap_or_default());
        self.phase = Phase::Resting { due: Some(now.after(wait)) };
        effects.push(Effect::Tell(notice));
    }
}

fn accepted(told: Option<&CapabilityManifestResponse>) -> Notice {
    let changed = told.map(|told| told.fields_changed.join(", ")).unwrap_or_default();
    Notice::debug(format!("the capability manifest is accepted; changed: {changed}"))
}

fn blank(name: &str) -> String {
    format!("the hook {name:?} is not declared: its name is blank; rename it")
}

fn crowded() -> String {
    format!(
        "the control plane is told of the first {DECLARED_HOOKS_MAX} hooks at most, by their names, and of as many as \
         {BODY_MAX} bytes take; the others run, but are not declared"
    )
}
