//! Records by their events, each of which ends by its last record, by its age, or where too many are open.

use alloc::{collections::VecDeque, sync::Arc};

use super::{
    ENDED_MAX, OPEN_MAX, WAIT,
    entry::Draft,
    kind::{Role, role},
    record::{Record, Stamp},
};
use crate::{time::Mono, wire::record::AuditEntry};

/// The events of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    hostname: Arc<str>,
    /// In the order in which they began.
    open: VecDeque<Open>,
    /// Those that nobody has taken yet, with the places where they begin.
    ended: VecDeque<(AuditEntry, u64)>,
    ended_bytes: usize,
    past: VecDeque<Stamp>,
    late: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    draft: Draft,
    since: Mono,
    begins: u64,
}

impl Events {
    pub const fn new(hostname: Arc<str>) -> Self {
        Self {
            hostname,
            open: VecDeque::new(),
            ended: VecDeque::new(),
            ended_bytes: 0,
            past: VecDeque::new(),
            late: 0,
        }
    }

    /// Takes a record that stands at `place` of its source and came at this time.
    pub fn take(&mut self, record: &Record<'_>, place: u64, now: Mono) {
        match role(record.number) {
            Role::Alone => self.alone(record, place),
            Role::End => self.end(record.stamp),
            Role::Last => {
                self.add(record, (place, now));
                self.end(record.stamp);
            }
            Role::Companion | Role::Own | Role::Path | Role::Syscall => {
                self.add(record, (place, now));
            }
        }
    }

    /// Ends the events whose rest was waited for long enough.
    pub fn ripen(&mut self, now: Mono) {
        while self.open.front().is_some_and(|open| now.since(open.since) >= WAIT) {
            self.end_oldest();
        }
    }

    /// The next event that has ended.
    pub fn next_ended(&mut self) -> Option<AuditEntry> {
        let (entry, _) = self.ended.pop_front()?;
        self.ended_bytes -= entry.bytes();
        Some(entry)
    }

    /// How many events have ended that nobody has taken.
    pub fn ended(&self) -> usize {
        self.ended.len()
    }

    /// What they take, in bytes.
    pub const fn ended_bytes(&self) -> usize {
        self.ended_bytes
    }

    /// Whether there are events that have not ended.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Where the first event begins that nobody has taken yet.
    pub fn first(&self) -> Option<u64> {
        let open = self.open.iter().map(|open| open.begins);
        open.chain(self.ended.iter().map(|(_, begins)| *begins)).min()
    }

    /// How many records came behind the end of their event, since this was asked for.
    pub fn take_late(&mut self) -> u64 {
        core::mem::take(&mut self.late)
    }

    fn alone(&mut self, record: &Record<'_>, place: u64) {
        let mut draft = Draft::new(record);
        draft.add(record);
        self.put(draft, place);
    }

    fn add(&mut self, record: &Record<'_>, (place, now): (u64, Mono)) {
        if let Some(open) = self.open.iter_mut().find(|open| open.draft.stamp == record.stamp) {
            open.draft.add(record);
            return;
        }
        if self.past.contains(&record.stamp) {
            self.late += 1;
            return;
        }
        if self.open.len() >= OPEN_MAX {
            self.end_oldest();
        }
        let mut draft = Draft::new(record);
        draft.add(record);
        self.open.push_back(Open { draft, since: now, begins: place });
    }

    /// The end of an event that is not open, as behind its last record, means nothing.
    fn end(&mut self, stamp: Stamp) {
        let place = self.open.iter().position(|open| open.draft.stamp == stamp);
        let open = place.and_then(|place| self.open.remove(place));
        self.finish(open);
    }

    fn end_oldest(&mut self) {
        let open = self.open.pop_front();
        self.finish(open);
    }

    fn finish(&mut self, open: Option<Open>) {
        let Some(open) = open else { return };
        if self.past.len() >= ENDED_MAX {
            self.past.pop_front();
        }
        self.past.push_back(open.draft.stamp);
        self.put(open.draft, open.begins);
    }

    fn put(&mut self, draft: Draft, place: u64) {
        let entry = draft.finish(&self.hostname);
        self.ended_bytes += entry.bytes();
        self.ended.push_back((entry, place));
    }
}
