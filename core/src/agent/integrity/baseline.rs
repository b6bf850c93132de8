//! What the files were when they were seen first, kept on the disk over restarts.
//!
//! One change of the file at a time; what came meanwhile goes along with the next one. A file that tells nothing is kept
//! beside under another name before the first write.

use alloc::{collections::btree_map::Entry, format, string::String, vec::Vec};
use core::time::Duration;

use super::Effect;
use crate::{
    agent::{
        facts::{Change, Content, FoundContent},
        notice::Notice,
        pen::{Failed, KEEP_RETRY, Pen},
    },
    legible,
    time::{Mono, Wall},
    wire::{
        checksums::{Checksums, HostKey, Program},
        grammar::Checksum,
        kept,
        timestamp::Timestamp,
    },
};

/// How many hooks are held to a baseline, also of those that have gone.
pub const BASELINES_MAX: usize = 4096;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Baselines {
    known: Checksums,
    pen: Pen,
    /// That there is no room for a hook was told.
    is_crowded: bool,
}

impl Baselines {
    pub(super) fn load(&mut self, now: Wall, content: FoundContent, effects: &mut Vec<Effect>) {
        let read = match content {
            FoundContent::Bytes(Content(bytes)) => {
                Checksums::decode(&bytes).map_err(|damage| format!("{damage}"))
            }
            FoundContent::Foreign(kind) => Err(format!("it is {kind}")),
        };
        match read {
            Ok(known) => self.known = known,
            Err(reason) => self.set_aside(now, &reason, effects),
        }
    }

    /// What the files were is not known any more, which whoever damaged the file may have wanted.
    fn set_aside(&mut self, now: Wall, reason: &str, effects: &mut Vec<Effect>) {
        let file = kept::CHECKSUMS;
        let name = kept::damaged_name(file, Timestamp::from(now.second()));
        let beside = name.as_deref().unwrap_or("nothing");
        effects.push(Effect::Tell(Notice::error(format!(
            "state/{file} does not tell what the files of this node were: {reason}; it is kept beside as {beside}, and \
             the files count as they are now: compare them with what was installed"
        ))));
        if let Some(name) = name {
            self.pen.set_aside();
            effects.push(Effect::Keep(Change::Rename(name)));
        }
    }

    pub(super) const fn program(&self) -> Option<&Program> {
        self.known.program.as_ref()
    }

    pub(super) const fn host_key(&self) -> Option<&HostKey> {
        self.known.host_key.as_ref()
    }

    pub(super) fn hook(&self, name: &str) -> Option<Checksum> {
        self.known.hooks.get(name).copied()
    }

    pub(super) fn set_program(&mut self, program: Program) {
        self.known.program = Some(program);
        self.pen.blot();
    }

    pub(super) fn set_host_key(&mut self, key: HostKey) {
        self.known.host_key = Some(key);
        self.pen.blot();
    }

    /// What the hook is held to from now on, where there is room for that.
    pub(super) fn learn_hook(
        &mut self,
        name: &str,
        observed: Checksum,
        effects: &mut Vec<Effect>,
    ) -> Checksum {
        let is_full = self.known.hooks.len() >= BASELINES_MAX;
        match self.known.hooks.entry(name.into()) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(_) if is_full => {}
            Entry::Vacant(place) => {
                place.insert(observed);
                self.pen.blot();
                return observed;
            }
        }
        if !self.is_crowded {
            self.is_crowded = true;
            effects.push(Effect::Tell(Notice::warn(format!(
                "the hook {} and any other new one is not held to what it is now: state/{} knows {BASELINES_MAX} hooks, \
                 and no more",
                legible::line(name),
                kept::CHECKSUMS
            ))));
        }
        observed
    }

    /// Writes what is not on the disk, unless a change is under way or has just been refused.
    pub(super) fn keep(&mut self, now: Mono, effects: &mut Vec<Effect>) {
        if self.pen.takes_up(now, false) {
            effects.push(Effect::Keep(Change::Write(Content(self.known.encode()))));
        }
    }

    pub(super) fn kept(
        &mut self,
        now: Mono,
        outcome: Result<(), String>,
        effects: &mut Vec<Effect>,
    ) {
        let text = match self.pen.ended(now, outcome, Duration::ZERO) {
            None => return,
            Some(Failed::Aside(reason)) => format!("state/{} stays: {reason}", kept::CHECKSUMS),
            Some(Failed::Write(reason)) => format!(
                "what the files of this node are now is not kept on the disk, which is tried again every {} s: {reason}",
                KEEP_RETRY.as_secs()
            ),
        };
        effects.push(Effect::Tell(Notice::warn(text)));
    }

    pub(super) const fn is_writing(&self) -> bool {
        self.pen.is_moving()
    }

    pub(super) fn wakeup(&self) -> Option<Mono> {
        self.pen.wakeup()
    }
}
