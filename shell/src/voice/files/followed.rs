//! All files that are followed: which are new, which have left their paths, which one is read next.
//!
//! Files of one path are read one after the other, the oldest first; files of different paths in turns.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{
    follow::{Record, Share, Tail},
    glob::FILES_MAX,
    troubles::Troubles,
};
use crate::voice::place::{Finder, Identity};
use meshward_core::{
    time::Now,
    wire::{
        positions::{LATER_MAX, Position, Positions, file_name},
        sources::{pattern::Pattern, tail::Place},
    },
};

/// How many files are held open at the most between two rounds.
const OPEN_MAX: usize = 64;

/// The most bytes of one round, so that it ends whatever the files hold.
const BYTES_MAX: usize = 32 << 20;

/// What a file may give before it is the turn of the next one, at least.
const SHARE_MIN: usize = 16;

/// How many bytes a file may take before it is the turn of the next one.
const SHARE_BYTES: usize = 1 << 20;

/// The most files, of which at most half can be at their paths.
const TAILS_MAX: usize = 2 * FILES_MAX;

/// How many paths are known of which a file has had a number.
const NUMBERED_MAX: usize = 16 * TAILS_MAX;

/// The kind of the places of files.
pub(super) const KIND: &str = "file";

/// The files, in the order in which they were met.
#[derive(Debug)]
pub(super) struct Followed {
    tails: Vec<Tail>,
    /// Where files go on that were not met yet, by their paths, the oldest first.
    kept: BTreeMap<String, Vec<(u64, Place)>>,
    numbers: Numbers,
    /// What was told last of each place.
    told: Positions,
    patience: Duration,
    /// How often a file had its turn: the next one is the first of the next round.
    turn: usize,
}

impl Followed {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            tails: Vec::new(),
            kept: BTreeMap::new(),
            numbers: Numbers::default(),
            told: Positions::default(),
            patience,
            turn: 0,
        }
    }

    /// Goes on where an earlier process was.
    pub(super) fn go_on(&mut self, from: &Positions) {
        for (path, places) in from.files(KIND) {
            for (nth, position) in places {
                self.numbers.has(path, nth);
                self.told.places.insert(file_name(KIND, path, nth), position.clone());
                let place = Place::read(position).map(|place| (nth, place));
                self.kept.entry(path.to_owned()).or_default().extend(place);
            }
        }
    }

    /// Takes up what is new at each path, and notes which files are at theirs no longer.
    pub(super) fn settle(
        &mut self,
        files: &BTreeMap<String, Identity>,
        patterns: &[Pattern],
        (now, troubles): (Now, &mut Troubles),
    ) {
        let is_meant = |path: &str| patterns.iter().any(|pattern| pattern.matches(path));
        self.tails.retain(|tail| is_meant(&tail.unit));
        self.kept.retain(|path, _| is_meant(path));
        for tail in &mut self.tails {
            // A walk that could not look everywhere has not seen that it is gone.
            let there = files.get(&*tail.unit).copied().or_else(|| identity_at(&tail.unit));
            tail.left = (there != Some(tail.identity())).then(|| tail.left.unwrap_or(now.mono));
        }
        self.take_up(files, (now, &mut *troubles));
        let mut known: BTreeSet<Identity> = self.tails.iter().map(Tail::identity).collect();
        for (path, identity) in files {
            if self.kept.contains_key(path) || !known.insert(*identity) {
                continue;
            }
            match Tail::open(&path.as_str().into(), (*identity, None), now) {
                Ok(Some(mut tail)) => {
                    tail.nth = self.numbers.next(path);
                    self.tails.push(tail);
                }
                Ok(None) => {}
                Err(error) => troubles.refused(path, error),
            }
        }
        self.give_up(troubles);
    }

    /// The files that an earlier process has read, each by the name that it has now.
    fn take_up(
        &mut self,
        files: &BTreeMap<String, Identity>,
        (now, troubles): (Now, &mut Troubles),
    ) {
        let (mut finder, mut gone) = (Finder::default(), Vec::new());
        for (path, places) in std::mem::take(&mut self.kept) {
            let unit: Arc<str> = path.as_str().into();
            let mut places = places.into_iter();
            while let Some((nth, place)) = places.next() {
                let at_path = files.get(&path).filter(|identity| identity.inode == place.inode);
                let opened = match at_path {
                    Some(identity) => Tail::open(&unit, (*identity, Some(place)), now),
                    None => Ok(None),
                };
                let is_at_path = matches!(opened, Ok(Some(_)));
                // What stood there at the walk may have another name by now.
                let taken = match opened {
                    Ok(None) => Tail::find(&unit, (place, &mut finder), now),
                    opened => opened,
                };
                match taken {
                    // Two names of one file.
                    Ok(Some(tail)) if self.is_followed(tail.identity()) => {}
                    Ok(Some(mut tail)) => {
                        tail.nth = nth;
                        tail.left = (!is_at_path).then_some(now.mono);
                        self.tails.push(tail);
                    }
                    Ok(None) => gone.push(path.clone()),
                    Err(error) => {
                        troubles.refused(&path, error);
                        // The ones behind it wait for it.
                        let left = [(nth, place)].into_iter().chain(places).collect();
                        self.kept.insert(path, left);
                        break;
                    }
                }
            }
        }
        troubles.gone(&gone);
    }

    fn is_followed(&self, identity: Identity) -> bool {
        self.tails.iter().any(|tail| tail.identity() == identity)
    }

    /// Files that leave their paths faster than they are read would be more and more.
    fn give_up(&mut self, troubles: &mut Troubles) {
        while self.tails.len() > TAILS_MAX
            && let Some(at) = self.tails.iter().position(|tail| tail.left.is_some())
        {
            troubles.tell(&self.tails.remove(at).unit, TOO_MANY);
        }
    }

    /// Looks what became of each file.
    pub(super) fn look(&mut self, now: Now, troubles: &mut Troubles) {
        self.tails.retain_mut(|tail| match tail.look(now) {
            Ok(is_found) => {
                let is_gone = !is_found && tail.left.is_some();
                if is_gone && !tail.is_at_end() {
                    troubles.tell(&tail.unit, REMOVED);
                }
                !is_gone
            }
            Err(error) => {
                troubles.refused(&tail.unit, error);
                true
            }
        });
    }

    /// Reads so many lines at the most, and tells whether there are more.
    pub(super) fn read(
        &mut self,
        files: &BTreeMap<String, Identity>,
        (room, buffer): (usize, &mut [u8]),
        (record, troubles): (&mut Record<'_>, &mut Troubles),
    ) -> bool {
        let mut bytes = BYTES_MAX;
        loop {
            self.pass(files);
            let (mut ready, is_one_untold) = self.ready();
            let left = room.saturating_sub(record.entries.len());
            if ready.is_empty() || left == 0 || bytes == 0 {
                return !ready.is_empty() || is_one_untold;
            }
            let first = self.turn % ready.len();
            ready.rotate_left(first);
            let lines = (left / ready.len()).max(SHARE_MIN);
            for at in ready {
                let left = room.saturating_sub(record.entries.len());
                if left == 0 {
                    break;
                }
                self.turn = self.turn.wrapping_add(1);
                let share = Share { lines: lines.min(left), bytes: SHARE_BYTES.min(bytes) };
                let tail = &mut self.tails[at];
                match tail.read(share, buffer, record) {
                    Ok(read) => bytes = bytes.saturating_sub(read),
                    Err(error) => {
                        troubles.tell(&tail.unit, format_args!("it cannot be read: {error}"));
                        tail.close();
                    }
                }
            }
        }
    }

    /// Of each path the oldest file, where it can give something; and whether one cannot before it is told of.
    fn ready(&self) -> (Vec<usize>, bool) {
        let (mut taken, mut ready, mut is_one_untold) = (BTreeSet::new(), Vec::new(), false);
        for (at, tail) in self.tails.iter().enumerate() {
            let is_first = !tail.passed && taken.insert(&tail.unit);
            if !(is_first || tail.passed) || tail.is_at_end() || !tail.is_held() {
                continue;
            }
            match self.is_untold(tail) {
                true => is_one_untold = true,
                false => ready.push(at),
            }
        }
        (ready, is_one_untold)
    }

    /// Where a file begins is told a round before its lines, so that it is found again wherever it is moved before any of
    /// them is taken.
    fn is_untold(&self, tail: &Tail) -> bool {
        let told = self.told.places.get(&tail.name()).and_then(Place::read);
        !tail.passed && told.is_none_or(|told| Identity::at(&told) != tail.identity())
    }

    /// Lets the next file of a path have its turn, where the one before was read to its end and has its new name, if it has
    /// one, so that no kept place forgets it.
    fn pass(&mut self, files: &BTreeMap<String, Identity>) {
        while self.rename(files) {}
        let named: BTreeSet<&Identity> = files.values().collect();
        let mut newer = BTreeSet::new();
        for tail in self.tails.iter_mut().rev() {
            let is_last = newer.insert(Arc::clone(&tail.unit));
            let is_done = tail.left.is_some() && tail.is_at_end();
            tail.passed |= !is_last && is_done && !named.contains(&tail.identity());
        }
    }

    /// Lets go of files that have left their paths for good, and closes those that are too many.
    pub(super) fn leave(
        &mut self,
        files: &BTreeMap<String, Identity>,
        now: Now,
        record: &mut Record<'_>,
    ) {
        let named: BTreeSet<&Identity> = files.values().collect();
        let patience = self.patience;
        self.tails.retain_mut(|tail| {
            let quiet = tail.left.map(|left| now.mono.since(left.max(tail.grew)));
            let is_quiet = tail.is_at_end() && quiet.is_some_and(|quiet| quiet >= patience);
            let stays = !is_quiet || named.contains(&tail.identity());
            if !stays {
                tail.finish(record);
            }
            stays
        });
        let mut held: Vec<&mut Tail> =
            self.tails.iter_mut().filter(|tail| tail.is_held()).collect();
        held.sort_by_key(|tail| (tail.left.is_none(), std::cmp::Reverse(tail.grew)));
        held.into_iter().skip(OPEN_MAX).for_each(Tail::close);
    }

    /// A file that was read to its end and is found under another name is followed under that one, once the file that had
    /// it has a new name too, or none.
    fn rename(&mut self, files: &BTreeMap<String, Identity>) -> bool {
        let is_done = |tail: &Tail| tail.left.is_some() && tail.is_at_end();
        let named: BTreeSet<&Identity> = files.values().collect();
        let others =
            self.tails.iter().filter(|tail| !is_done(tail) || named.contains(&tail.identity()));
        let units: BTreeSet<&str> = others.map(|tail| &*tail.unit).collect();
        let new_name = |tail: &Tail| {
            let mut names = files.iter().filter(|(_, identity)| **identity == tail.identity());
            names.find(|(name, _)| !units.contains(name.as_str())).map(|(name, _)| name.clone())
        };
        let mut done = self.tails.iter().enumerate().filter(|(_, tail)| is_done(tail));
        let Some((at, name)) = done.find_map(|(at, tail)| Some((at, new_name(tail)?))) else {
            return false;
        };
        let mut tail = self.tails.remove(at);
        tail.nth = self.numbers.next(&name);
        tail.unit = name.into();
        tail.left = None;
        tail.passed = false;
        self.tails.push(tail);
        true
    }

    /// Where the reading of each path goes on, as far as that has changed: in the file that is read, and at the beginning of
    /// those that came into its place meanwhile.
    pub(super) fn marks(&mut self) -> Vec<(String, Option<Position>)> {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        let mut places: BTreeMap<String, Position> = BTreeMap::new();
        for tail in self.tails.iter().filter(|tail| !tail.passed) {
            let before = files.entry(&tail.unit).or_default();
            if *before <= LATER_MAX {
                places.insert(tail.name(), tail.place.position());
            }
            *before += 1;
        }
        for (path, kept) in &self.kept {
            let kept = kept.iter();
            places.extend(kept.map(|(nth, place)| (file_name(KIND, path, *nth), place.position())));
        }
        self.told.turn_into(places)
    }
}

/// Which numbers the files of a path have, none of which is given to two.
#[derive(Debug, Default)]
struct Numbers {
    last: u64,
    /// The paths of which one has had a number.
    used: BTreeSet<String>,
}

impl Numbers {
    /// An earlier process has given this one.
    fn has(&mut self, path: &str, nth: u64) {
        self.last = self.last.max(nth);
        self.used.insert(path.to_owned());
    }

    fn next(&mut self, path: &str) -> u64 {
        if self.used.len() > NUMBERED_MAX {
            self.used.clear();
        }
        if self.used.insert(path.to_owned()) {
            return 0;
        }
        self.last += 1;
        self.last
    }
}

impl Tail {
    /// Of its place.
    fn name(&self) -> String {
        file_name(KIND, &self.unit, self.nth)
    }
}

fn identity_at(path: &str) -> Option<Identity> {
    std::fs::symlink_metadata(path).ok().map(|found| Identity::of(&found))
}

const REMOVED: &str =
    "it was removed before it was read to its end: rotate it less often, or keep more of it";
const TOO_MANY: &str = "the rest of a file that was rotated away is given up, since more is written than is sent: \
                        raise logs.batch_size, or narrow logs.file_patterns";
