//! What went wrong in a round of reading files, as much of it as is told.

use std::{collections::BTreeSet, fmt::Display};

use meshward_core::{agent::voice, legible};
use rustix::io::Errno;

use crate::voice::way::Astray;

/// The most troubles of one round that are told, beside the two that are of the round as a whole, and the line that says
/// how many more there are.
const TROUBLES_MAX: usize = voice::TROUBLES_MAX - 3;

/// The troubles of one round.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    told: BTreeSet<String>,
    untold: usize,
}

impl Troubles {
    /// Tells what is wrong with a path, and how to mend it where that is known.
    pub(super) fn tell(&mut self, path: &str, what: impl Display) {
        let path = legible::line(if path.is_empty() { "/" } else { path });
        let text = format!("{path}: {what}");
        if self.told.len() < TROUBLES_MAX {
            self.told.insert(text);
        } else if !self.told.contains(&text) {
            self.untold += 1;
        }
    }

    /// Tells of files that were read before and are found no more, in one line for all of them.
    pub(super) fn gone(&mut self, paths: &[String]) {
        let Some((first, others)) = paths.split_first() else { return };
        let text = match others.len() {
            0 => format!("it was read before, and is {GONE}"),
            more => format!("it and {more} more were read before, and are {GONE}"),
        };
        self.tell_of_all(format!("{}: {text}", legible::line(first)));
    }

    /// Tells what is wrong with the round as a whole.
    pub(super) fn tell_of_all(&mut self, what: String) {
        self.told.insert(what);
    }

    /// Tells that the system refused something about a path, or that its way is not gone.
    pub(super) fn refused(&mut self, path: &str, why: impl Into<Astray>) {
        match why.into() {
            Astray::System(error @ (Errno::ACCESS | Errno::PERM)) => {
                self.tell(path, format_args!("{error}: {MAY_NOT}"))
            }
            Astray::System(error) => self.tell(path, format_args!("it cannot be read: {error}")),
            foreign @ Astray::Foreign => self.tell(path, foreign),
        }
    }

    pub(super) fn texts(self) -> Vec<String> {
        let untold = (self.untold > 0).then(|| format!("{} more are not told", self.untold));
        self.told.into_iter().chain(untold).collect()
    }
}

const GONE: &str = "found no more: what was written since, if anything, was not sent";
const MAY_NOT: &str = "add the user of the agent to the group that may read it, such as adm";
