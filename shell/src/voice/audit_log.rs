//! The kernel's audit by the log of auditd, for an agent that may read it but not hear the kernel.

use std::{io, path::Path};

use meshward_core::{
    agent::voice::bytes_of,
    time::Mono,
    wire::{
        positions::{Position, Positions, file_name},
        sources::auditd::{Events, LINE_MAX, Record},
    },
};

use super::{
    follow_end::{FollowEnd, Go, Round},
    place,
};

/// Where auditd writes unless it is told otherwise.
pub(crate) const PATH: &str = "/var/log/audit/audit.log";

const KIND: &str = "auditd";

/// Whether there is one that may be read.
pub(crate) fn look(path: &Path) -> io::Result<()> {
    place::open(path).map(drop)
}

/// The log, followed from its end.
#[derive(Debug)]
pub(super) struct AuditLog {
    follow: FollowEnd,
}

impl AuditLog {
    pub(super) fn new(path: &Path) -> Self {
        Self { follow: FollowEnd::new(KIND, path, LINE_MAX) }
    }

    /// Reads until so many events have ended, or few long ones. A line that is no record counts as lost.
    pub(super) fn read(
        &mut self,
        events: &mut Events,
        (room, from, now): (usize, Option<&Positions>, Mono),
    ) -> Round {
        let mut unread = 0;
        let go = |events: &Events| match events.ended() < room
            && events.ended_bytes() < bytes_of(room)
        {
            true => Go::On,
            false => Go::Stop,
        };
        let mut round = self.follow.read((from, go(events)), |line, place| {
            match Record::of_line(line) {
                Some(record) => events.take(&record, place, now),
                None => unread += 1,
            }
            go(events)
        });
        round.lost += unread;
        round
    }

    /// Where it goes on, as far as that has changed.
    pub(super) fn marks(&mut self, events: &Events) -> Vec<(String, Option<Position>)> {
        self.follow.marks(events.first())
    }
}

/// The names under which places of the log are kept.
pub(super) fn names(from: &Positions, path: &Path) -> Vec<String> {
    let path = path.display().to_string();
    let places = from.files(KIND).remove(path.as_str()).unwrap_or_default();
    places.into_iter().map(|(nth, _)| file_name(KIND, &path, nth)).collect()
}
