//! One key: what is durable, the change of its file that is under way, and what waits behind it.

use super::{Done, Draft, Effect, REPORTS_MAX, Refusal, Reports, WRITES_MAX};
use crate::{
    agent::{
        facts::{Change, Content, Folder, StateFile},
        notice::Notice,
    },
    ids::CallId,
    time::Now,
    wire::{
        grammar::{Name, ReportKey},
        kept::{self, KeptReport},
        local::ReportEntry,
        timestamp::Timestamp,
    },
};
use alloc::{collections::VecDeque, format, string::String, vec::Vec};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    /// The report; none where it was deleted, or was never written.
    pub(super) entry: Option<ReportEntry>,
    /// One more with each durable write.
    pub(super) generation: u64,
    /// The node for which this generation was delivered.
    pub(super) synced: Option<String>,
    pub(super) errand: Option<Errand>,
    pub(super) queue: VecDeque<Wish>,
}

/// What is asked for a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wish {
    Put {
        /// The agent itself where there is none.
        asker: Option<CallId>,
        draft: Draft,
        if_match: Option<i64>,
    },
    Delete {
        asker: CallId,
    },
}

/// What the change that is under way is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Errand {
    Put {
        asker: Option<CallId>,
        entry: ReportEntry,
    },
    Delete {
        asker: CallId,
    },
    /// To have the file say what is known.
    Mend,
    /// To get a damaged file out of the way.
    Aside,
}

impl Wish {
    const fn asker(&self) -> Option<CallId> {
        match self {
            Self::Put { asker, .. } => *asker,
            Self::Delete { asker } => Some(*asker),
        }
    }
}

impl Errand {
    const fn asker(&self) -> Option<CallId> {
        match self {
            Self::Put { asker, .. } => *asker,
            Self::Delete { asker } => Some(*asker),
            Self::Mend | Self::Aside => None,
        }
    }
}

impl Slot {
    pub(super) const fn is_busy(&self) -> bool {
        self.errand.is_some()
    }

    /// How many programs wait for this key.
    fn askers(&self) -> usize {
        let errand = self.errand.as_ref().and_then(Errand::asker);
        let waiting = self.queue.iter().filter_map(Wish::asker);
        errand.into_iter().chain(waiting).count()
    }

    /// What the wish makes of what is durable.
    fn judge(&self, now: Now, key: &ReportKey, wish: Wish) -> Result<Errand, Refusal> {
        match wish {
            Wish::Put { asker, draft, if_match } => {
                let version = self.entry.as_ref().map_or(0, |entry| entry.version);
                if if_match.is_some_and(|wanted| u64::try_from(wanted) != Ok(version)) {
                    return Err(Refusal::Conflict);
                }
                let entry = ReportEntry {
                    key: key.as_str().into(),
                    content_type: draft.content_type,
                    payload: draft.payload,
                    version: version.saturating_add(1),
                    updated_at: Timestamp::from(now.wall),
                };
                Ok(Errand::Put { asker, entry })
            }
            Wish::Delete { asker } if self.entry.is_some() => Ok(Errand::Delete { asker }),
            Wish::Delete { .. } => Err(Refusal::Missing),
        }
    }

    /// The change that makes the file say what is known.
    pub(super) fn mending(&self, key: &ReportKey, is_unsynced: bool) -> Change {
        match &self.entry {
            Some(entry) => {
                let (entry, synced) = (entry.clone(), self.synced.clone());
                write(&KeptReport::Entry { entry, synced })
            }
            None if is_unsynced => write(&KeptReport::Deleted(key.clone())),
            None => Change::Remove,
        }
    }
}

fn write(report: &KeptReport) -> Change {
    Change::Write(Content(report.encode()))
}

pub(super) fn file(key: &ReportKey) -> StateFile {
    StateFile { folder: Folder::Report, name: kept::file_name(key.as_str()) }
}

impl Reports {
    /// Takes a wish to its key at once, or lets it wait there.
    pub(super) fn wished(
        &mut self,
        now: Now,
        key: &ReportKey,
        wish: Wish,
        effects: &mut Vec<Effect>,
    ) {
        if let (Some(asker), Err(refusal)) = (wish.asker(), self.has_room(key, &wish)) {
            return effects.push(Effect::Answer { asker, outcome: Err(refusal) });
        }
        let slot = self.slots.entry(key.clone()).or_default();
        slot.queue.push_back(wish);
        self.advance(now, key, effects);
    }

    /// Programs wait for each other only. A deletion of what is not there needs no room: it is refused at once.
    fn has_room(&self, key: &ReportKey, wish: &Wish) -> Result<(), Refusal> {
        if self.slots.values().map(Slot::askers).sum::<usize>() >= WRITES_MAX {
            return Err(Refusal::Busy);
        }
        let is_new = matches!(wish, Wish::Put { .. }) && !self.slots.contains_key(key);
        if is_new && self.slots.len() >= REPORTS_MAX { Err(Refusal::Full) } else { Ok(()) }
    }

    pub(super) fn published(
        &mut self,
        now: Now,
        key: &ReportKey,
        draft: Draft,
        effects: &mut Vec<Effect>,
    ) {
        let slot = self.slots.get(key);
        let stands = slot.and_then(|slot| slot.entry.as_ref()).is_some_and(|entry| {
            entry.payload == draft.payload && entry.content_type == draft.content_type
        });
        if !stands && !slot.is_some_and(Slot::is_busy) {
            self.wished(now, key, Wish::Put { asker: None, draft, if_match: None }, effects);
        }
    }

    /// Begins what comes next for a key, the first wish that is not refused; and the mends for which there is room.
    fn advance(&mut self, now: Now, key: &ReportKey, effects: &mut Vec<Effect>) {
        self.begin(now, key, effects);
        self.mend(effects);
        let is_known = self.unsynced.contains_key(key.as_str()) || self.mends.is_due(key);
        let is_void = |slot: &Slot| slot.errand.is_none() && slot.entry.is_none();
        if !is_known && self.slots.get(key).is_some_and(is_void) {
            self.slots.remove(key);
        }
    }

    fn begin(&mut self, now: Now, key: &ReportKey, effects: &mut Vec<Effect>) {
        let Some(slot) = self.slots.get_mut(key) else { return };
        while slot.errand.is_none()
            && let Some(wish) = slot.queue.pop_front()
        {
            let asker = wish.asker();
            match slot.judge(now, key, wish) {
                Ok(errand) => {
                    let change = match &errand {
                        Errand::Put { entry, .. } => {
                            write(&KeptReport::Entry { entry: entry.clone(), synced: None })
                        }
                        Errand::Delete { .. } | Errand::Mend | Errand::Aside => {
                            write(&KeptReport::Deleted(key.clone()))
                        }
                    };
                    slot.errand = Some(errand);
                    effects.push(Effect::Keep { file: file(key), change });
                }
                Err(refusal) => answer(asker, Err(refusal), effects),
            }
        }
    }

    pub(super) fn kept(
        &mut self,
        now: Now,
        file: &StateFile,
        outcome: Result<(), String>,
        effects: &mut Vec<Effect>,
    ) {
        let key = kept::file_key(&file.name).and_then(|key| ReportKey::parse(&key).ok());
        let key = key.filter(|_| file.folder == Folder::Report);
        let errand = key.as_ref().and_then(|key| self.slots.get_mut(key)?.errand.take());
        match (outcome, key, errand) {
            (Ok(()), Some(key), Some(errand)) => {
                self.mends.recovered();
                self.done(&key, errand, effects);
                self.advance(now, &key, effects);
            }
            (Err(reason), Some(key), Some(errand)) => {
                self.failed(&key, errand, &reason, effects);
                self.advance(now, &key, effects);
            }
            (Err(reason), _, None) | (Err(reason), None, Some(_)) => {
                effects.push(Effect::Tell(Notice::warn(reason)));
            }
            (Ok(()), _, None) | (Ok(()), None, Some(_)) => {}
        }
    }

    fn done(&mut self, key: &ReportKey, errand: Errand, effects: &mut Vec<Effect>) {
        if matches!(errand, Errand::Mend) {
            self.mends.ended();
        }
        let Some(slot) = self.slots.get_mut(key) else { return };
        let (entry, asker, done) = match errand {
            Errand::Put { asker, entry } => (Some(entry.clone()), asker, Done::Written(entry)),
            Errand::Delete { asker } => (None, Some(asker), Done::Deleted),
            Errand::Mend | Errand::Aside => return,
        };
        slot.generation += 1;
        (slot.entry, slot.synced) = (entry, None);
        self.mends.needless(key);
        self.unsynced.insert(Name::from(key), slot.generation);
        answer(asker, Ok(done), effects);
        effects.push(Effect::Changed(key.clone()));
    }

    /// Nothing has changed, so the file is to say again what is known: of what was refused something may stand there.
    fn failed(&mut self, key: &ReportKey, errand: Errand, reason: &str, effects: &mut Vec<Effect>) {
        if matches!(errand, Errand::Mend) {
            self.mends.ended();
            self.mends.refused(key.clone());
        }
        let (asker, text) = match errand {
            Errand::Put { asker, .. } => (asker, "is not written"),
            Errand::Delete { asker } => (Some(asker), "is not deleted"),
            Errand::Mend | Errand::Aside => {
                let key = key.as_str();
                let text =
                    format!("the file of the report {key} is not brought up to date: {reason}");
                return effects.push(Effect::Tell(Notice::warn(text)));
            }
        };
        self.mends.want(key.clone());
        answer(asker, Err(Refusal::Internal), effects);
        let text = format!("the report {} {text}: {reason}", key.as_str());
        effects.push(Effect::Tell(Notice::error(text)));
    }

    /// What was delivered for another node is to be delivered for this one.
    pub(super) fn armed(&mut self, node: String) {
        for (key, slot) in &self.slots {
            if slot.entry.is_some() && slot.synced.as_ref() != Some(&node) {
                self.unsynced.insert(Name::from(key), slot.generation);
            }
        }
        self.node = Some(node);
    }

    pub(super) fn settled(
        &mut self,
        now: Now,
        name: &Name,
        generation: u64,
        effects: &mut Vec<Effect>,
    ) {
        if self.unsynced.get(name) != Some(&generation) {
            return;
        }
        self.unsynced.remove(name);
        let Ok(key) = ReportKey::parse(name.as_str()) else { return };
        if let Some(slot) = self.slots.get_mut(&key) {
            slot.synced.clone_from(&self.node);
            self.mends.want(key.clone());
            self.advance(now, &key, effects);
        }
    }
}

fn answer(asker: Option<CallId>, outcome: Result<Done, Refusal>, effects: &mut Vec<Effect>) {
    effects.extend(asker.map(|asker| Effect::Answer { asker, outcome }));
}
