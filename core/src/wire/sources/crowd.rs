//! Whose files are followed where there are more than can be.
//!
//! A program that makes files without end takes the room of no other user's files: not by its files, nor by the folders and
//! the names that have to be looked at to find them.
//!
//! | Whose | Of files | Of folders and names |
//! |---|---|---|
//! | those of root, and of the user of the agent | first of all | all |
//! | those of all others | what those leave | half |
//! | those of each of the others | as much as of any other one that has so many | a quarter |
//!
//! Files of one user that different patterns mean are as those of different users. Who counts as root is for the caller
//! to say.
//!
//! Specification: `reliability.md` section 3 (Log files by glob), which leaves it open.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    string::String,
    vec::Vec,
};

/// The pattern by its number, and the user by theirs.
pub type Group = (usize, u32);

/// How much of something may be used, and how much is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    most: usize,
    used: usize,
    by_others: usize,
    by_each: BTreeMap<u32, usize>,
}

/// The files that were met, of each pattern and user, and what is known of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crowd<T> {
    most: usize,
    met: BTreeSet<String>,
    groups: BTreeMap<Group, BTreeMap<String, T>>,
}

impl Budget {
    /// So many, of which nothing is used.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { most, used: 0, by_others: 0, by_each: BTreeMap::new() }
    }

    /// Uses one on behalf of a user, if they may still have one.
    pub fn take(&mut self, user: u32, is_trusted: bool) -> bool {
        if self.used >= self.most {
            return false;
        }
        if !is_trusted {
            let by_this = self.by_each.entry(user).or_default();
            if self.by_others >= self.most / 2 || *by_this >= self.most / 4 {
                return false;
            }
            *by_this += 1;
            self.by_others += 1;
        }
        self.used += 1;
        true
    }
}

impl<T> Crowd<T> {
    /// Nothing was met; so many are followed at the most.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { most, met: BTreeSet::new(), groups: BTreeMap::new() }
    }

    /// Notes a file; tells whether there is room for it at all.
    pub fn found(&mut self, group: Group, path: String, known: T) -> bool {
        let group = self.groups.entry(group).or_default();
        let is_new = !self.met.contains(&path);
        if is_new && group.len() < self.most {
            self.met.insert(path.clone());
            group.insert(path, known);
            return true;
        }
        !is_new
    }

    /// Those that are followed, and whether others are not.
    #[must_use]
    pub fn shared(self, is_trusted: impl Fn(u32) -> bool) -> (BTreeMap<String, T>, bool) {
        let mut files = BTreeMap::new();
        let (first, then): (Vec<_>, Vec<_>) =
            self.groups.into_iter().partition(|((_, user), _)| is_trusted(*user));
        for mut groups in [first, then] {
            groups.sort_by_key(|(_, of)| of.len());
            let mut left = groups.len();
            for (_, of) in groups {
                let share = (self.most - files.len()) / left;
                files.extend(of.into_iter().take(share));
                left -= 1;
            }
        }
        let is_left_out = files.len() < self.met.len();
        (files, is_left_out)
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec, vec::Vec};

    use super::{Budget, Crowd, Group};

    const ROOT: u32 = 0;
    const APP: u32 = 1_000;
    const OTHER: u32 = 1_001;
    const FILES_MAX: usize = 512;

    fn crowd(of: &[(Group, usize)]) -> Crowd<usize> {
        let mut crowd = Crowd::new(FILES_MAX);
        for ((pattern, user), files) in of {
            for at in 0..*files {
                let path = format!("/{pattern}/{user}/{at:04}");
                crowd.found((*pattern, *user), path, at);
            }
        }
        crowd
    }

    fn shares(of: &[(Group, usize)]) -> (Vec<usize>, bool) {
        let (files, is_left_out) = crowd(of).shared(|user| user == ROOT);
        let of_group = |((pattern, user), _): &(Group, usize)| {
            let begin = format!("/{pattern}/{user}/");
            files.keys().filter(|path| path.starts_with(&begin)).count()
        };
        (of.iter().map(of_group).collect(), is_left_out)
    }

    #[test]
    fn files_without_end_take_the_room_of_no_other_users_files() {
        assert_eq!(shares(&[((0, APP), 300), ((0, ROOT), 212)]), (vec![300, 212], false));
        assert_eq!(shares(&[((0, APP), 9_000), ((1, ROOT), 300)]), (vec![212, 300], true));
        let three = [((0, APP), 9_000), ((0, OTHER), 20), ((1, ROOT), 92)];
        assert_eq!(shares(&three), (vec![400, 20, 92], true));
        assert_eq!(shares(&[((0, APP), 600), ((0, OTHER), 600)]), (vec![256, 256], true));
        assert_eq!(shares(&[((0, ROOT), 600), ((1, ROOT), 10)]), (vec![502, 10], true));
    }

    #[test]
    fn a_file_that_two_patterns_mean_counts_once() {
        let mut crowd = Crowd::new(FILES_MAX);
        assert!(crowd.found((0, APP), "/a".into(), ()));
        assert!(crowd.found((1, APP), "/a".into(), ()));
        let (files, is_left_out) = crowd.shared(|_| false);
        assert_eq!((files.len(), is_left_out), (1, false));
    }

    #[test]
    fn no_user_but_root_has_more_than_a_quarter_of_what_may_be_looked_at() {
        let mut budget = Budget::new(100);
        let mut take = |user| (0..200).filter(|_| budget.take(user, user == ROOT)).count();
        assert_eq!([take(APP), take(OTHER), take(1_002)], [25, 25, 0]);
        assert_eq!([take(ROOT), take(APP)], [50, 0]);
    }
}
