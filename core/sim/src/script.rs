//! What happens and what goes wrong, drawn from a seed; a list of [`Event`]s is a script that can be replayed.

use std::time::Duration;

use crate::{
    net::{Fate, Passage},
    rng::Rng,
};

/// One thing that happens, at its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The operator asks for a new mesh key with the next heartbeat answers.
    AskRotation,
    /// The operator puts an execution on the desired state; it expires after so many seconds.
    Dispatch { name: u32, expires: u64 },
    /// The agent dies behind so many further effects or writes.
    Crash { behind: u32 },
    /// The control plane starts anew and has forgotten everything.
    RestartPlane,
    /// The agent's wall clock is set so many seconds ahead.
    SetClock { ahead: i64 },
    /// So many of the next writes are refused.
    FailWrites { count: u32 },
    /// The process is told to stop; it is started again later.
    Stop,
}

/// How often what goes wrong on the network, in thousandths of all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub lose_request: u64,
    pub lose_reply: u64,
    pub duplicate: u64,
    /// Delays up to two minutes, which is past every timeout.
    pub delay: u64,
    pub refuse: u64,
}

/// A run of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub seed: u64,
    pub faults: Faults,
    /// Each with the second at which it happens.
    pub events: Vec<(u64, Event)>,
}

/// How long the faults go on, in seconds.
pub const FAULTS_FOR: u64 = 1200;

/// Statuses that something between the two may answer.
const REFUSALS: [u16; 4] = [429, 500, 501, 503];

impl Script {
    /// Draws a script; one in eight is free of faults.
    pub fn drawn(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let calm = rng.odds(125);
        let mut rate = |most: u64| if calm { 0 } else { rng.below(most) };
        let faults = Faults {
            lose_request: rate(200),
            lose_reply: rate(250),
            duplicate: rate(80),
            delay: rate(120),
            refuse: rate(150),
        };
        let count = 4 + rng.below(16);
        let mut events: Vec<_> = (0..count)
            .map(|name| (rng.below(FAULTS_FOR), Event::drawn(&mut rng, name as u32, calm)))
            .collect();
        events.sort_by_key(|(at, _)| *at);
        Self { seed, faults, events }
    }

    /// Whether the control plane forgets in this script, which voids what depends on its memory.
    pub fn forgets(&self) -> bool {
        self.events.iter().any(|(_, event)| *event == Event::RestartPlane)
    }
}

impl Event {
    fn drawn(rng: &mut Rng, name: u32, calm: bool) -> Self {
        match rng.below(if calm { 6 } else { 16 }) {
            0..3 => Self::Dispatch { name, expires: 60 + rng.below(2) * 14_400 + rng.below(600) },
            3..6 => Self::AskRotation,
            6..11 => Self::Crash { behind: rng.below(12) as u32 },
            11 => Self::SetClock { ahead: rng.below(400) as i64 - 200 },
            12..14 => Self::FailWrites { count: 1 + rng.below(3) as u32 },
            14 => Self::Stop,
            _ if rng.odds(300) => Self::RestartPlane,
            _ => Self::AskRotation,
        }
    }
}

impl Faults {
    /// Draws what becomes of one call.
    pub fn fate(&self, rng: &mut Rng) -> Fate {
        let quick = |rng: &mut Rng| Duration::from_millis(1 + rng.below(200));
        let passage = |rng: &mut Rng, lose: u64| {
            let first = quick(rng);
            if rng.odds(lose) {
                Passage::Lost
            } else if rng.odds(self.delay) {
                Passage::After(Duration::from_secs(rng.below(120)))
            } else if rng.odds(self.duplicate) {
                Passage::Twice(first, first + Duration::from_secs(rng.below(40)))
            } else {
                Passage::After(first)
            }
        };
        let request = passage(rng, self.lose_request);
        let reply = passage(rng, self.lose_reply);
        let instead = rng.odds(self.refuse).then(|| REFUSALS[rng.below(4) as usize]);
        Fate { request, reply, instead }
    }
}
