//! Faults on demand: rules that lose requests, replace answers, or bring them otherwise.
//!
//! The first rule that means a request and has times left acts. Without a rule that means it, nothing of a request, its
//! answer or a stream is touched.
//!
//! Unspecified: a rule for `GET` also meets a `HEAD`, as its route does, and one for `HEAD` meets nothing else; a rule
//! whose draw falls against it is passed over with its times, and the next one is asked; a rule without a seed draws from
//! its own number.
//!
//! | Rule | Acts on | Route and counters |
//! |---|---|---|
//! | `drop`, `reset: before_headers`, `never` | the request | never hear of it, and nothing is captured |
//! | `status` | the request | never hear of it, and nothing is captured |
//! | any other member of an answer | the answer | act and count as without the rule |
//! | `stream`: `bom`, `stall` | the next streams that open | as without the rule |
//! | other `stream`, `corrupt_signature` | the next live frames of each open stream | as without the rule |
//!
//! Specification: `decisions.md` sections 6 and 7 (`/test/faults`).

mod act;
mod bend;
mod clash;
mod odds;
pub mod rule;
mod streams;

use alloc::vec::Vec;

use super::pattern::is_own;
use crate::wire::{
    faults::{ServedRule, ServedRules},
    http::Method,
};

use act::Act;
pub use act::{Answer, Begin, Bend, Deed, Loss, Substitute, name};
pub use bend::{BOM, Bent, STALE, Unsigned, bend};
use rule::{Read, Refusal};
use streams::Streams;
pub use streams::{SILENCE, Sent};

/// How many rules there are at once; those that have acted as often as they may make room for new ones.
pub const RULES_MAX: usize = 100;

/// A rule, and how often it may still act.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    id: u64,
    left: u32,
    read: Read,
}

impl Rule {
    fn served(&self) -> ServedRule<'_> {
        ServedRule { id: self.id, left: self.left, rule: &self.read.text }
    }

    /// What of an act is asked for, if the rule acts now.
    fn strike<T>(
        &mut self,
        method: Method,
        path: &str,
        asked: fn(&Act) -> Option<T>,
    ) -> Option<(u64, T)> {
        if self.left == 0 || !self.read.pattern.meets(method, path) {
            return None;
        }
        let act = asked(&self.read.act)?;
        let falls = self.read.odds.as_mut().is_none_or(|odds| odds.fall(self.id));
        falls.then(|| {
            self.left -= 1;
            (self.id, act)
        })
    }
}

/// Every rule in the order it came, and the streams that rules may bend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// How many rules there have been.
    issued: u64,
    rules: Vec<Rule>,
    streams: Streams,
}

impl Faults {
    /// Takes a rule up behind the others.
    pub fn add(&mut self, read: Read) -> Result<ServedRule<'_>, Refusal> {
        if self.rules.len() >= RULES_MAX {
            let spent = self.rules.iter().position(|rule| rule.left == 0);
            self.rules.remove(spent.ok_or(Refusal::Full)?);
        }
        self.issued = self.issued.saturating_add(1);
        self.rules.push(Rule { id: self.issued, left: read.times, read });
        self.rules.last().map(Rule::served).ok_or(Refusal::Full)
    }

    pub fn served(&self) -> ServedRules<'_> {
        ServedRules { faults: self.rules.iter().map(Rule::served).collect() }
    }

    /// Takes every rule away; what streams have become stays.
    pub fn clear(&mut self) {
        self.rules.clear();
    }

    /// Takes one rule away.
    pub fn remove(&mut self, id: &str) -> Result<(), Refusal> {
        let known = id.parse().ok().and_then(|id: u64| self.rules.iter().position(|r| r.id == id));
        self.rules.remove(known.ok_or(Refusal::Unknown)?);
        Ok(())
    }

    /// What becomes of a request, and the rule that says so; none in the usual case.
    pub fn meet(&mut self, method: Method, path: &str) -> Option<(u64, Deed)> {
        self.strike(method, path, |act| match act {
            Act::Request(deed) => Some(deed.clone()),
            Act::Begin(_) | Act::Frame(_) => None,
        })
    }

    fn strike<T>(
        &mut self,
        method: Method,
        path: &str,
        asked: fn(&Act) -> Option<T>,
    ) -> Option<(u64, T)> {
        if self.rules.is_empty() || is_own(path) {
            return None;
        }
        self.rules.iter_mut().find_map(|rule| rule.strike(method, path, asked))
    }
}
