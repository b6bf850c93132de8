//! The journal of this node, read by `journalctl` from where the last round ended.
//!
//! | What is known | What is asked for |
//! |---|---|
//! | nothing yet | the last minute |
//! | the last entry that was read | that entry and what stands behind it, in order; it is there, or something is lost |
//! | it is gone, and later entries are there | these; that some are lost is told |
//! | it is gone, and nothing stands behind its place | the last minute; that some may be lost is told |
//! | the last run failed, or was late, and came to nothing | the same, but for long messages: one may take more than a run has |
//!
//! The tool's own `--lines` is not used: what it counts from depends on the version. The run ends where enough was read.
//! What this very process has written is passed over, since each batch that is told in its log would make another one.
//!
//! Specification: `gaps-agent.md` section 4.1 (journald); `decisions.md` section 8 (Offsets and cursors of log sources).

mod ask;
#[cfg(test)]
mod tests;

use std::{ffi::OsString, io, sync::Arc, time::Duration};

use meshward_core::{
    agent::{Feed, Records, Source},
    legible,
    time::{Mono, Now},
    wire::{
        positions::{Position, Positions},
        record::LogEntry,
        sources::{
            journald::{ENTRY_MAX, Entry, FIELDS, is_cursor},
            lines::Line,
        },
    },
};

use super::source::{Collector, Wanted, feed};
use crate::clock;
use ask::{Ended, Wish, ask};

/// The most entries of one round.
const ENTRIES_MAX: usize = 1_000;

/// The most bytes of one round.
const BYTES_MAX: usize = 16 << 20;

/// How long one run may take.
const RUN_MAX: Duration = Duration::from_secs(10);

/// When a tool that is missing is looked for again.
const AGAIN: Duration = Duration::from_secs(300);

/// What the place of the journal is called.
const PLACE: &str = "journald";

/// The source.
#[derive(Debug)]
pub(crate) struct Journald {
    program: OsString,
    arguments: Vec<OsString>,
    limit: Duration,
    hostname: Arc<str>,
    /// The last entry that was read.
    cursor: Option<String>,
    /// The last run came to nothing, so that the next one leaves long messages out.
    is_brief: bool,
    /// The tool is missing, and is not asked before.
    missing_until: Option<Mono>,
    /// What was wrong when the tool was asked last, which is so until it is asked again.
    troubles: Vec<String>,
    process: u32,
}

/// What one run has brought.
#[derive(Debug, Default)]
struct Brought {
    entries: Vec<LogEntry>,
    /// The last entry, whatever it was.
    cursor: Option<String>,
    /// The entry from which was asked was there.
    is_found: bool,
    /// Lines that are no entries, or too long.
    bad: u64,
    /// Entries without a message.
    mute: u64,
    bytes: usize,
}

impl Journald {
    pub(crate) fn new(hostname: Arc<str>) -> Self {
        Self {
            program: "journalctl".into(),
            arguments: Vec::new(),
            limit: RUN_MAX,
            hostname,
            cursor: None,
            is_brief: false,
            missing_until: None,
            troubles: Vec::new(),
            process: std::process::id(),
        }
    }

    fn round(&mut self, wanted: &Wanted, now: Now) -> Feed {
        let mut fed = feed(Source::Journald, Records::Lines(Vec::new()));
        let is_bad = wanted.from.as_ref().is_some_and(|from| !self.go_on(from));
        fed.troubles.extend(is_bad.then(|| lost("")));
        let known = self.cursor.clone();
        let room = wanted.room.min(ENTRIES_MAX);
        if room == 0 || self.missing_until.is_some_and(|until| now.mono < until) {
            fed.troubles.extend(self.troubles.iter().cloned());
            return fed;
        }
        match self.read_at_length(room, &mut fed) {
            Ok(()) => self.missing_until = None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.missing_until = Some(now.mono.after(AGAIN));
                fed.troubles.push(MISSING.to_owned());
            }
            Err(error) => fed.troubles.push(format!("journalctl cannot be run: {error}")),
        }
        self.troubles.clone_from(&fed.troubles);
        if is_bad || self.cursor != known {
            fed.marks.push((PLACE.to_owned(), self.cursor.clone().map(Position::Cursor)));
        }
        fed
    }

    /// Tells whether what is kept, if anything is, can be a place of a journal.
    fn go_on(&mut self, from: &Positions) -> bool {
        let kept = from.places.get(PLACE);
        if let Some(Position::Cursor(cursor)) = kept
            && is_cursor(cursor)
        {
            self.cursor = Some(cursor.clone());
        }
        kept.is_none() || self.cursor.is_some()
    }

    /// Reads on with whole messages; without the long ones where the last run came to nothing.
    fn read_at_length(&mut self, room: usize, fed: &mut Feed) -> io::Result<()> {
        let (known, was_brief) = (self.cursor.clone(), self.is_brief);
        let is_whole = self.read(room, fed)?;
        self.is_brief = !was_brief && !is_whole && self.cursor == known;
        Ok(())
    }

    /// Reads on from the last entry, or from a minute ago where that leads nowhere. Tells whether the tool had no more to
    /// say.
    fn read(&mut self, room: usize, fed: &mut Feed) -> io::Result<bool> {
        let Some(last) = self.cursor.clone() else {
            let (brought, ended, words) = self.run(None, room)?;
            self.take(brought, &ended, fed);
            fed.troubles.extend(complaint(&ended, &words));
            return Ok(ended.is_good());
        };
        let (brought, ended, words) = self.run(Some(&last), room)?;
        let leads_nowhere = brought.cursor.is_none() && matches!(ended, Ended::Whole(_));
        if !leads_nowhere {
            let is_gap = brought.cursor.is_some() && !brought.is_found;
            fed.troubles.extend(is_gap.then(|| GAP.to_owned()));
            self.take(brought, &ended, fed);
            fed.troubles.extend(complaint(&ended, &words));
            return Ok(ended.is_good());
        }
        let (brought, again, more_words) = self.run(None, room)?;
        if matches!(&again, Ended::Whole(status) if !status.success()) {
            // Nothing can be read at all, which says nothing of the last entry.
            fed.troubles.extend(complaint(&again, &more_words));
            return Ok(false);
        }
        self.cursor = None;
        fed.troubles.push(lost(&words));
        self.take(brought, &again, fed);
        fed.troubles.extend(complaint(&again, &more_words));
        Ok(again.is_good())
    }

    fn run(&self, from: Option<&str>, room: usize) -> io::Result<(Brought, Ended, String)> {
        let from =
            from.map_or_else(|| "--since=-60s".to_owned(), |from| format!("--cursor={from}"));
        let fields = format!("--output-fields={FIELDS}");
        // Without it the tool writes no field of 4096 bytes or more.
        let all: &[&str] = if self.is_brief { &[] } else { &["--all"] };
        let own = [&["--output=json", "--no-pager"], all, &[&fields, &from]].concat();
        let own = own.into_iter().map(OsString::from);
        let arguments: Vec<OsString> = self.arguments.iter().cloned().chain(own).collect();
        let last = from.strip_prefix("--cursor=");
        let mut brought = Brought::default();
        let (ended, words) = ask(&self.program, &arguments, self.limit, |line| {
            brought.line(line, (last, self.process), &self.hostname);
            let is_full = brought.entries.len() >= room;
            let is_long = brought.bytes >= BYTES_MAX && brought.cursor.as_deref() != last;
            if is_full || is_long { Wish::Enough } else { Wish::More }
        })?;
        Ok((brought, ended, words))
    }

    fn take(&mut self, brought: Brought, ended: &Ended, fed: &mut Feed) {
        if let Some(cursor) = brought.cursor {
            self.cursor = Some(cursor);
        }
        if brought.bad > 0 {
            fed.troubles.push(format!(
                "{} lines of journalctl are no entries, or longer than {ENTRY_MAX} bytes, and were passed over",
                brought.bad
            ));
        }
        let left_out = if self.is_brief { brought.mute } else { 0 };
        fed.troubles.extend((left_out > 0).then(|| format!("{left_out} {LEFT_OUT}")));
        fed.lost += brought.bad + left_out;
        fed.more = matches!(ended, Ended::Enough);
        fed.records = Records::Lines(brought.entries);
    }
}

impl Brought {
    fn line(&mut self, line: Line<'_>, (last, process): (Option<&str>, u32), hostname: &Arc<str>) {
        let line = match line {
            Line::Whole(line) => line,
            Line::Start(_) => {
                self.bad += 1;
                return;
            }
        };
        self.bytes += line.len();
        if line.is_empty() || line.starts_with(REMARK) {
            return;
        }
        let Ok(entry) = Entry::decode(line, hostname) else {
            self.bad += 1;
            return;
        };
        if last == Some(entry.cursor.as_str()) {
            self.is_found = true;
        } else if entry.pid != Some(process) {
            self.mute += u64::from(entry.log.is_none());
            self.entries.extend(entry.log);
        }
        self.cursor = Some(entry.cursor);
    }
}

impl Collector for Journald {
    fn source(&self) -> Source {
        Source::Journald
    }

    fn collect(&mut self, wanted: &Wanted) -> Feed {
        self.round(wanted, clock::now())
    }
}

/// How the tool begins what is no entry, as `-- No entries --`.
const REMARK: &[u8] = b"-- ";

const MISSING: &str = "journalctl is not installed, so that the journal is not read: install systemd, or set \
                       logs.journald to false; it is looked for again every five minutes";

const LEFT_OUT: &str = "messages of the journal were left out, since journalctl could not write one of many megabytes \
                        among them: look who writes it";

const GAP: &str = "the journal no longer holds the entry that was read last: entries behind it may have been removed \
                   before they were read; raise SystemMaxUse in journald.conf, or logs.batch_size";

/// Nothing stands behind the place that was known.
fn lost(words: &str) -> String {
    let words =
        if words.is_empty() { String::new() } else { format!(" ({})", legible::line(words)) };
    format!(
        "the journal does not know the entry that was read last{words}: it was removed, or comes from another machine; \
         the reading goes on from the last minute, and what stands between is lost"
    )
}

/// What the tool complains about, where something is wrong.
fn complaint(ended: &Ended, words: &str) -> Option<String> {
    let words = legible::line(words);
    match ended {
        Ended::Whole(status) if status.success() && words.is_empty() => None,
        Ended::Whole(status) if status.success() => Some(format!("journalctl: {words}; {MAY_NOT}")),
        Ended::Whole(status) => Some(format!("journalctl failed ({status}): {words}; {MAY_NOT}")),
        Ended::Enough => None,
        Ended::Late => Some(LATE.to_owned()),
    }
}

const MAY_NOT: &str =
    "the user of the agent must be in the group systemd-journal to read all of it";
const LATE: &str = "journalctl did not end within 10 seconds and was ended: look what keeps it, such as a slow disk or \
                    a very large journal";
