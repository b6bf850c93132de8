//! Which member names an object has had, so that none stands twice.

use alloc::{borrow::Cow, collections::BTreeSet, vec::Vec};

/// Names that the type does not know are compared one by one up to this many.
const FEW: usize = 16;

/// The names met so far: those that the type knows as bits, the others by themselves.
#[derive(Debug)]
pub(super) struct Names<'t> {
    known: &'static [&'static str],
    met: u64,
    /// Members mostly come in the order of their declaration.
    expected: usize,
    few: Vec<Cow<'t, str>>,
    many: BTreeSet<Cow<'t, str>>,
}

impl<'t> Names<'t> {
    pub(super) const fn new(known: &'static [&'static str]) -> Self {
        Self { known, met: 0, expected: 0, few: Vec::new(), many: BTreeSet::new() }
    }

    /// The known name that most likely comes next, and its place.
    pub(super) fn expected(&self) -> Option<(usize, &'static str)> {
        Some((self.expected, self.known.get(self.expected)?))
    }

    /// The place of a name among the known ones.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.known.iter().position(|known| *known == name)
    }

    /// Notes a name; false where it has been met before.
    pub(super) fn note(&mut self, place: Option<usize>, name: Cow<'t, str>) -> bool {
        match place {
            Some(place @ 0..64) => {
                self.expected = place + 1;
                let bit = 1 << place;
                let fresh = self.met & bit == 0;
                self.met |= bit;
                fresh
            }
            Some(_) | None => self.note_other(name),
        }
    }

    fn note_other(&mut self, name: Cow<'t, str>) -> bool {
        if self.few.contains(&name) {
            return false;
        }
        if self.few.len() < FEW {
            self.few.push(name);
            return true;
        }
        self.many.insert(name)
    }
}
