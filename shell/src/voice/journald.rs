//! The journal of this node, read by `journalctl` from where the last round ended, as
//! [`Reading`](meshward_core::wire::sources::journald::reading) orders it.
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
    time::Now,
    wire::{
        record::LogEntry,
        sources::{
            journald::{
                ENTRY_MAX, Entry, FIELDS,
                reading::{Ask, Move, Ran, Reading},
            },
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

/// What the place of the journal is called.
const PLACE: &str = "journald";

/// The source.
#[derive(Debug)]
pub(crate) struct Journald {
    program: OsString,
    arguments: Vec<OsString>,
    limit: Duration,
    hostname: Arc<str>,
    reading: Reading,
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
    /// Those of them behind the entry from which was asked and before another one.
    first_bad: u64,
    /// Those of them behind the last entry, which the next run meets again.
    last_bad: u64,
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
            reading: Reading::default(),
            troubles: Vec::new(),
            process: std::process::id(),
        }
    }

    fn round(&mut self, wanted: &Wanted, now: Now) -> Feed {
        let mut fed = feed(Source::Journald, Records::Lines(Vec::new()));
        let kept = wanted.from.as_ref().map(|from| from.places.get(PLACE));
        let is_bad = kept.is_some_and(|kept| !self.reading.go_on(kept));
        fed.troubles.extend(is_bad.then(|| lost("")));
        let known = self.reading.position();
        let room = wanted.room.min(ENTRIES_MAX);
        let asked = if room == 0 { None } else { self.reading.begin(now.mono) };
        let Some(asked) = asked else {
            fed.troubles.extend(self.troubles.iter().cloned());
            return fed;
        };
        match self.read(asked, room, &mut fed) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.reading.missing(now.mono);
                fed.troubles.push(MISSING.to_owned());
            }
            Err(error) => fed.troubles.push(format!("journalctl cannot be run: {error}")),
        }
        self.troubles.clone_from(&fed.troubles);
        let position = self.reading.position();
        if is_bad || position != known {
            fed.marks.push((PLACE.to_owned(), position));
        }
        fed
    }

    /// Runs the tool, and once more where the first run leads nowhere.
    fn read(&mut self, mut asked: Ask, room: usize, fed: &mut Feed) -> io::Result<()> {
        let mut said_first = None;
        loop {
            let (mut brought, ended, words) = self.run(&asked, room)?;
            let has_moved = brought.has_moved(asked.from.as_deref());
            let (last, is_found) = (brought.cursor.take(), brought.is_found);
            let Brought { first_bad, last_bad, .. } = brought;
            let ran = Ran { last, is_found, end: ended.end(), first_bad, last_bad };
            let (next, met) = self.reading.ran(ran);
            match next {
                Move::Again(next) => {
                    (asked, said_first) = (next, Some(words));
                    continue;
                }
                Move::Unreadable => {
                    fed.troubles.extend(complaint(&ended, &words));
                    return Ok(());
                }
                Move::Follow => {}
                Move::Gap => fed.troubles.push(GAP.to_owned()),
                Move::Anew => {
                    fed.troubles.push(lost(said_first.as_deref().unwrap_or_default()));
                }
            }
            brought.bad -= met;
            take(brought, asked.is_brief, fed);
            fed.more = has_moved && matches!(ended, Ended::Enough);
            fed.troubles.extend(complaint(&ended, &words));
            return Ok(());
        }
    }

    fn run(&self, asked: &Ask, room: usize) -> io::Result<(Brought, Ended, String)> {
        let last = asked.from.as_deref();
        let from =
            last.map_or_else(|| "--since=-60s".to_owned(), |last| format!("--cursor={last}"));
        let fields = format!("--output-fields={FIELDS}");
        // Without it the tool writes no field of 4096 bytes or more.
        let all: &[&str] = if asked.is_brief { &[] } else { &["--all"] };
        let own = [&["--output=json", "--no-pager"], all, &[&fields, &from]].concat();
        let own = own.into_iter().map(OsString::from);
        let arguments: Vec<OsString> = self.arguments.iter().cloned().chain(own).collect();
        let mut brought = Brought::default();
        let (ended, words) = ask(&self.program, &arguments, self.limit, |line| {
            brought.line(line, (last, self.process), &self.hostname);
            let is_full = brought.entries.len() >= room;
            let is_long = brought.bytes >= BYTES_MAX && brought.cursor.as_deref() != last;
            if is_full || is_long { Wish::Enough } else { Wish::More }
        })?;
        Ok((brought, ended, words))
    }
}

/// Takes over what a run brought.
fn take(brought: Brought, is_brief: bool, fed: &mut Feed) {
    if brought.bad > 0 {
        fed.troubles.push(format!(
            "{} lines of journalctl are no entries, or longer than {ENTRY_MAX} bytes, and were passed over",
            brought.bad
        ));
    }
    let left_out = if is_brief { brought.mute } else { 0 };
    fed.troubles.extend((left_out > 0).then(|| format!("{left_out} {LEFT_OUT}")));
    fed.lost += brought.bad + left_out;
    fed.records = Records::Lines(brought.entries);
}

impl Brought {
    /// Whether an entry came but the one from which was asked.
    fn has_moved(&self, from: Option<&str>) -> bool {
        self.cursor.is_some() && self.cursor.as_deref() != from
    }

    fn spoilt(&mut self, from: Option<&str>) {
        self.bad += 1;
        self.last_bad += 1;
        self.first_bad += u64::from(!self.has_moved(from));
    }

    fn line(&mut self, line: Line<'_>, (last, process): (Option<&str>, u32), hostname: &Arc<str>) {
        let line = match line {
            Line::Whole(line) => line,
            Line::Start(_) => return self.spoilt(last),
        };
        self.bytes += line.len();
        if line.is_empty() || line.starts_with(REMARK) {
            return;
        }
        let Ok(entry) = Entry::decode(line, hostname) else { return self.spoilt(last) };
        if last == Some(entry.cursor.as_str()) {
            self.is_found = true;
        } else if entry.pid != Some(process) {
            self.mute += u64::from(entry.log.is_none());
            self.entries.extend(entry.log);
        }
        self.cursor = Some(entry.cursor);
        self.last_bad = 0;
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
    let status = match ended {
        Ended::Whole(status) => status,
        Ended::Enough => return None,
        Ended::Late => return Some(LATE.to_owned()),
    };
    let told = match (status.success(), words.is_empty()) {
        (true, true) => return None,
        (true, false) => "journalctl: ".to_owned(),
        (false, true) => format!("journalctl failed ({status})"),
        (false, false) => format!("journalctl failed ({status}): "),
    };
    let may_not = UNSEEN.iter().any(|unseen| words.contains(unseen));
    let hint = if may_not { format!("; {MAY_NOT}") } else { String::new() };
    Some(format!("{told}{}{hint}", legible::line(words)))
}

/// What the tool says, in the words of the locale C, to whom it may not show everything.
const UNSEEN: [&str; 2] = ["insufficient permissions", "not seeing messages from"];

const MAY_NOT: &str =
    "the user of the agent must be in the group systemd-journal to read all of it";
const LATE: &str = "journalctl did not end within 10 seconds and was ended: look what keeps it, such as a slow disk or \
                    a very large journal";
