//! Rotation against a model that knows one thing: the key in hand, on disk or not, decided or not.

use meshward_core::{
    agent::{
        StagedFile,
        rotation::{Effect, Input, Source},
        verdict::Rotated,
    },
    wire::grammar::PublicKey,
};
use proptest::prelude::*;

use crate::{
    bench::seconds,
    rotation::{Mill, inputs},
    support,
};

/// All that matters of a rotation from outside: the key on disk, and whether the control plane has decided on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hand {
    /// Staged and not yet committed or discarded.
    key: Option<PublicKey>,
    /// Accepted by the control plane, not yet the current key on disk.
    accepted: bool,
    /// A stage is under way or due.
    wanted: bool,
    /// A refused key is still on disk.
    left: bool,
}

impl Hand {
    const fn is_empty(self) -> bool {
        self.key.is_none() && !self.wanted
    }

    /// What an input that the shell or the control plane can give at this point makes of the hand.
    fn after(self, input: &Input) -> Self {
        match input {
            Input::Armed(StagedFile::Key(key)) if self.is_empty() => {
                Self { key: Some(*key), ..self }
            }
            Input::Signalled(_) if self.is_empty() => Self { wanted: true, left: false, ..self },
            Input::DiscardFailed { .. } | Input::ShelveFailed { .. } if self.is_empty() => {
                Self { left: true, ..self }
            }
            Input::Staged(key) if self.wanted => Self { key: Some(*key), ..Self::default() },
            Input::Answered { key, verdict, .. } if self.key == Some(*key) && !self.accepted => {
                match verdict {
                    Rotated::Completed(_) | Rotated::Unchanged => Self { accepted: true, ..self },
                    Rotated::NothingPending | Rotated::Refused(_) => Self::default(),
                    Rotated::Undecided(_) => self,
                }
            }
            Input::Committed if self.accepted => Self::default(),
            Input::Armed(_)
            | Input::Signalled(_)
            | Input::Staged(_)
            | Input::StageFailed { .. }
            | Input::Answered { .. }
            | Input::Committed
            | Input::CommitFailed { .. }
            | Input::DiscardFailed { .. }
            | Input::ShelveFailed { .. }
            | Input::Ticked => self,
        }
    }
}

/// The machine, its clock, and the hand as its own orders tell it.
struct Real {
    mill: Mill,
    hand: Hand,
    /// A question or an order is out, so that its answer may come.
    out: bool,
    /// A discard is out.
    discarding: bool,
    /// A key is being put aside.
    shelving: bool,
}

impl Real {
    fn new() -> Self {
        Self {
            mill: Mill::new(),
            hand: Hand::default(),
            out: false,
            discarding: false,
            shelving: false,
        }
    }

    fn take(&mut self, waited: u64, input: &Input) {
        self.mill.now = self.mill.now.after(seconds(waited));
        if self.is_possible(input) {
            let before = self.hand;
            let effects = self.mill.give(input.clone());
            self.hand = before.after(input);
            self.check(before, input, &effects);
        }
    }

    /// Answers come only to what is out.
    fn is_possible(&self, input: &Input) -> bool {
        match input {
            Input::Staged(_) | Input::StageFailed { .. } => self.out && self.hand.wanted,
            Input::Answered { .. } => self.out && self.hand.key.is_some() && !self.hand.accepted,
            Input::Committed | Input::CommitFailed { .. } => self.out && self.hand.accepted,
            Input::DiscardFailed { .. } => self.discarding,
            Input::ShelveFailed { .. } => self.shelving,
            Input::Armed(_) => self.hand.is_empty() && !self.hand.left,
            Input::Signalled(_) | Input::Ticked => true,
        }
    }

    fn check(&mut self, before: Hand, input: &Input, effects: &[Effect]) {
        let rests = matches!(input, Input::Signalled(Source::Heartbeat)) && effects.is_empty();
        if rests && before.is_empty() {
            self.hand = before;
        }
        let other = matches!(input, Input::Answered { key, .. } if before.key != Some(*key));
        let idle_input = matches!(
            input,
            Input::Signalled(_)
                | Input::Ticked
                | Input::Armed(_)
                | Input::DiscardFailed { .. }
                | Input::ShelveFailed { .. }
        ) || other;
        if !(idle_input && effects.is_empty()) {
            self.out = false;
        }
        self.discarding = effects.contains(&Effect::Discard);
        self.shelving = effects.contains(&Effect::Shelve);
        self.hand.left &= !self.discarding && !self.shelving;
        for effect in effects {
            self.judge(before, effect);
        }
        assert_eq!(self.mill.rotation.is_idle(), self.hand.is_empty());
        assert_eq!(self.mill.rotation.is_committing(), self.hand.accepted);
        let due = self.mill.rotation.wakeup().is_some();
        assert_eq!(
            due,
            self.hand.left || !self.out && !self.hand.is_empty(),
            "either an answer or a tick is awaited"
        );
    }

    fn judge(&mut self, before: Hand, effect: &Effect) {
        match effect {
            Effect::Stage => assert!(self.hand.wanted && self.hand.key.is_none()),
            Effect::Post(key) => assert!(self.hand.key == Some(*key) && !self.hand.accepted),
            Effect::Commit(_) => assert!(self.hand.accepted),
            Effect::Discard | Effect::Shelve => {
                assert!(!before.accepted && (self.hand.is_empty() || before.left));
            }
            Effect::Install(_) => assert!(before.accepted && self.hand.is_empty()),
            Effect::Tell(_) => {}
        }
        self.out = matches!(effect, Effect::Stage | Effect::Post(_) | Effect::Commit(_));
    }
}

proptest! {
    #![proptest_config(support::seeds_in("agent_rotation"))]

    /// One key at a time, on disk before it is posted, and kept until it is decided.
    #[test]
    fn a_rotation_follows_the_key_in_hand(
        acts in prop::collection::vec((0_u64..400, inputs()), 0..60),
    ) {
        let mut real = Real::new();
        for (waited, input) in acts {
            real.take(waited, &input);
        }
    }
}
