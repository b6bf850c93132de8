//! What went wrong in a round of reading files, as much of it as is told.

use std::{collections::BTreeSet, fmt::Display};

use meshward_core::legible;
use rustix::io::Errno;

use crate::voice::way::Astray;

/// The most troubles of one round that are told.
const TROUBLES_MAX: usize = 8;

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

const MAY_NOT: &str = "add the user of the agent to the group that may read it, such as adm";
