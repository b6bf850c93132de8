//! Chance for a rule, from its own seed: the same seed falls the same way at every run.
//!
//! Specification: `decisions.md` section 6 (`/test/faults`).

/// How many equally likely outcomes a draw has.
const OUTCOMES: f64 = (1_u64 << 53) as f64;

/// A generator (SplitMix64) and how many of its outcomes make a rule act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odds {
    acting: u64,
    /// Drawn from the rule's own number where it names no seed.
    seed: Option<u64>,
    drawn: u64,
}

impl Odds {
    /// Reads a probability; `None` where it is not above zero and at most one.
    pub(super) fn of(probability: f64, seed: Option<u64>) -> Option<Self> {
        let legal = probability > 0.0 && probability <= 1.0;
        let acting = ((probability * OUTCOMES) as u64).max(1);
        legal.then_some(Self { acting, seed, drawn: 0 })
    }

    /// Draws once for the rule of this number.
    pub(super) fn fall(&mut self, rule: u64) -> bool {
        self.drawn = self.drawn.wrapping_add(1);
        let start = self.seed.unwrap_or(rule);
        let state = start.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) < self.acting
    }
}
