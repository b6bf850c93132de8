//! The log files of this node, found by patterns and read as they grow.
//!
//! | What happens to a file | What is read |
//! |---|---|
//! | it is there for the first time | all of it |
//! | the agent was away | what was written meanwhile, under another name in its folder too |
//! | it is renamed, and another one made | what is left of it, then the other one |
//! | it is emptied, or copied and emptied | what is written behind that |
//! | it is removed | what is left of it, for as long as somebody may write to it |
//! | it has a line that nobody ends | nothing of that line, until the file is left for good |
//!
//! A file is known by device, inode and its first bytes, so that none is read twice under two names. One that is copied
//! loses what was written between the last round and its emptying, and its copy is another file.
//!
//! Specification: "Observability configuration" (`file_patterns`), "Limits" (File log source); `decisions.md` section 8
//! (Offsets and cursors of log sources).

mod follow;
mod followed;
mod glob;
#[cfg(test)]
mod tests;
mod troubles;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use meshward_core::{
    agent::{Feed, Records, Source},
    time::Now,
    wire::{positions::file_name, sources::pattern::Pattern, timestamp::Timestamp},
};

use super::{
    place::Identity,
    source::{Collector, Wanted, feed},
};
use crate::clock;
use follow::{CHUNK, Record};
use followed::Followed;

/// How long a file that has left its path is kept, since its writer may not know that yet.
const PATIENCE: Duration = Duration::from_secs(60);

/// The patterns of the files, which may be replaced while they are followed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(Arc<Mutex<Arc<[Pattern]>>>);

/// The source.
#[derive(Debug)]
pub(crate) struct Files {
    patterns: Patterns,
    hostname: Arc<str>,
    followed: Followed,
    buffer: Box<[u8]>,
    /// The folder in which nothing is read, whatever the patterns mean.
    own: Option<PathBuf>,
}

impl Patterns {
    /// Texts that are no patterns are left out; the configuration has refused them.
    pub(crate) fn new(texts: &[String]) -> Self {
        let patterns = Self::default();
        patterns.replace(texts);
        patterns
    }

    /// Follows these instead, from the next round on.
    pub(crate) fn replace(&self, texts: &[String]) {
        let parsed = texts.iter().filter_map(|text| Pattern::parse(text).ok()).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = parsed;
    }

    fn now(&self) -> Arc<[Pattern]> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Files {
    pub(crate) fn new(patterns: Patterns, hostname: Arc<str>) -> Self {
        let buffer = vec![0; CHUNK].into();
        Self { patterns, hostname, followed: Followed::new(PATIENCE), buffer, own: None }
    }

    /// Reads nothing in this folder, which holds the keys of the agent.
    pub(crate) fn keeping_out_of(self, folder: &Path) -> Self {
        Self { own: Some(folder.to_owned()), ..self }
    }

    fn round(&mut self, wanted: &Wanted, now: Now) -> Feed {
        if let Some(from) = &wanted.from {
            self.followed.go_on(from);
        }
        let patterns = self.patterns.now();
        let own = self.own.as_deref().and_then(|own| fs::metadata(own).ok());
        let mut walk = glob::walk(&patterns, own.map(|own| Identity::of(&own)));
        self.followed.settle(&walk.files, &patterns, (now, &mut walk.troubles));
        let timestamp = Timestamp::from(now.wall);
        let mut record = Record { hostname: &self.hostname, timestamp, entries: Vec::new() };
        self.followed.look(now, &mut walk.troubles);
        let (lines, troubles) = (&mut record, &mut walk.troubles);
        let room = (wanted.room, &mut *self.buffer);
        let more = self.followed.read(&walk.files, room, (lines, troubles));
        self.followed.leave(&walk.files, now, &mut record);
        let marks = self.followed.marks();
        Feed {
            marks,
            more,
            troubles: walk.troubles.texts(),
            ..feed(Source::Files, Records::Lines(record.entries))
        }
    }
}

/// What a first round finds.
#[derive(Debug)]
pub(crate) struct Glance {
    pub(crate) files: Vec<String>,
    /// In the words of the log.
    pub(crate) troubles: Vec<String>,
}

/// Looks for the files that these patterns mean, and takes no line of them.
pub(crate) fn glance(patterns: &[String], own: &Path) -> Glance {
    let mut files = Files::new(Patterns::new(patterns), Arc::default()).keeping_out_of(own);
    let Feed { marks, troubles, .. } = files.round(&Wanted::default(), clock::now());
    let kind = file_name(followed::KIND, "", 0);
    let path = |(name, _): (String, _)| name.strip_prefix(&kind).map(str::to_owned);
    Glance { files: marks.into_iter().filter_map(path).collect(), troubles }
}

impl Collector for Files {
    fn source(&self) -> Source {
        Source::Files
    }

    fn collect(&mut self, wanted: &Wanted) -> Feed {
        self.round(wanted, clock::now())
    }
}
