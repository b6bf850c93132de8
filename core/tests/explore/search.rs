//! A search through all states, the nearest first, so that a failure comes with the shortest way to it.

use std::{
    collections::{HashSet, VecDeque},
    fmt::Debug,
    hash::{DefaultHasher, Hash, Hasher},
};

/// A world whose every next state can be told.
pub(crate) trait World: Clone + Debug + Hash {
    /// What may happen.
    type Act: Copy + Debug;

    /// Every act that is possible, with the state behind it.
    fn nexts(&self) -> Vec<(Self::Act, Self)>;

    /// What does not hold here, if anything.
    fn fault(&self) -> Option<&'static str>;
}

/// How much there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) states: usize,
    pub(crate) edges: usize,
}

/// A search that is over when no state is new.
struct Search<W: World> {
    /// A digest of each state, which two of so few states share at no likelihood that counts.
    seen: HashSet<u64>,
    /// How each state was come to first.
    ways: Vec<(usize, Option<W::Act>)>,
    open: VecDeque<(usize, W)>,
}

impl<W: World> Search<W> {
    fn meet(&mut self, world: W, from: usize, act: Option<W::Act>) {
        if self.seen.insert(digest(&world)) {
            self.ways.push((from, act));
            let at = self.ways.len() - 1;
            if let Some(fault) = world.fault() {
                panic!("{fault}, after {:#?}\nin {world:#?}", self.way(at));
            }
            self.open.push_back((at, world));
        }
    }

    fn way(&self, mut at: usize) -> Vec<W::Act> {
        let mut acts = Vec::new();
        while let (from, Some(act)) = self.ways[at] {
            acts.push(act);
            at = from;
        }
        acts.reverse();
        acts
    }
}

/// Goes through every state; a fault ends it with the way that leads there.
pub(crate) fn explore<W: World>(start: W) -> Extent {
    let mut search = Search { seen: HashSet::new(), ways: Vec::new(), open: VecDeque::new() };
    search.meet(start, 0, None);
    let mut edges = 0;
    while let Some((at, world)) = search.open.pop_front() {
        for (act, next) in world.nexts() {
            edges += 1;
            search.meet(next, at, Some(act));
        }
    }
    Extent { states: search.ways.len(), edges }
}

fn digest(world: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
