//! Scripts drawn from a seed: most of what may go wrong, at rates that differ from world to world.

use meshward_core::agent::OrderKind;

use crate::{
    net::{Fate, PLAIN_DELAY, Passage},
    rng::Rng,
    route::Route,
    script::{Event, FAULTS_FOR, Faults, Script, Spot, Token},
};

/// Statuses that something between the two may answer.
const REFUSALS: [u16; 4] = [429, 500, 501, 503];

/// The orders between whose writes a crash is aimed.
const ORDERS: [OrderKind; 9] = [
    OrderKind::Commit,
    OrderKind::Commit,
    OrderKind::Persist,
    OrderKind::Stage,
    OrderKind::MakeKey,
    OrderKind::Discard,
    OrderKind::Shelve,
    OrderKind::Retire,
    OrderKind::Restore,
];

impl Script {
    /// Draws a script; one in eight is free of faults, one in ten has two nodes that bear one name.
    pub fn drawn(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let calm = rng.odds(125);
        let nodes = if rng.odds(100) { 2 } else { 1 };
        let mut rate = |most: u64| if calm { 0 } else { rng.below(most) };
        let faults = Faults {
            lose_request: rate(200),
            lose_reply: rate(250),
            duplicate: rate(80),
            delay: rate(120),
            shuffle: rate(1000),
            refuse: rate(150),
        };
        let count = 4 + rng.below(16);
        let mut events: Vec<_> = (0..count)
            .map(|name| {
                let event = drawn(&mut rng, name as u32, (calm, nodes));
                (rng.below(FAULTS_FOR), event)
            })
            .collect();
        events.sort_by_key(|(at, _)| *at);
        Self { seed, nodes, faults, fates: Vec::new(), events }
    }
}

fn drawn(rng: &mut Rng, name: u32, (calm, nodes): (bool, usize)) -> Event {
    let node = rng.below(nodes as u64) as usize;
    match rng.below(if calm { 11 } else { 25 }) {
        0..2 => {
            let expires = 30 + rng.below(2400);
            Event::OpenSession { name, expires, idle: rng.odds(500) }
        }
        2 if name > 0 => Event::EndSession { name: rng.below(u64::from(name)) as u32 },
        3..6 => {
            let expires = 60 + rng.below(2) * 14_400 + rng.below(600);
            Event::Dispatch { name, expires, known: !rng.odds(150) }
        }
        6..9 => Event::AskRotation,
        9..11 => report(rng, node, name),
        11..16 => Event::Crash { node, spot: spot(rng) },
        16 => Event::SetClock { node, ahead: ahead(rng) },
        17..19 => Event::FailWrites { node, count: 1 + rng.below(3) as u32 },
        19 => Event::Stop { node },
        20 if rng.odds(300) => Event::RestartPlane,
        21 if rng.odds(300) => Event::Damage { node },
        22 => report(rng, node, name),
        23 => Event::Revoke { node },
        24 => Event::PutToken { node, token: TOKENS[rng.below(4) as usize] },
        _ => Event::AskRotation,
    }
}

/// What may be found where a token may be.
const TOKENS: [Token; 4] = [Token::Good, Token::Good, Token::Consumed, Token::None];

/// One of three keys, so that writes of one meet; each value is written once.
const fn report(rng: &mut Rng, node: usize, name: u32) -> Event {
    let key = rng.below(3) as u32;
    if rng.odds(250) {
        Event::DeleteReport { node, key }
    } else {
        Event::PutReport { node, key, value: name }
    }
}

/// Mostly within minutes, sometimes a year and more.
const fn ahead(rng: &mut Rng) -> i64 {
    let most = if rng.odds(200) { 40_000_000 } else { 200 };
    rng.below(2 * most + 1) as i64 - most as i64
}

fn spot(rng: &mut Rng) -> Spot {
    let route = Route::ALL[rng.below(Route::ALL.len() as u64) as usize];
    match rng.below(11) {
        0..4 => Spot::Behind(rng.below(12) as u32),
        4..6 => Spot::Write(ORDERS[rng.below(9) as usize], rng.below(4) as u32),
        6 => Spot::Sent(route),
        7 => Spot::Heard(route),
        8 => Spot::Ordered,
        9 => Spot::Kept,
        _ => Spot::Began,
    }
}

impl Faults {
    /// Draws what becomes of one call.
    pub(crate) fn fate(&self, rng: &mut Rng) -> Fate {
        if *self == Self::default() {
            return Fate::PLAIN;
        }
        let request = self.passage(rng, self.lose_request);
        let reply = self.passage(rng, self.lose_reply);
        let instead = rng.odds(self.refuse).then(|| REFUSALS[rng.below(4) as usize]);
        Fate { request, reply, instead }
    }

    const fn passage(&self, rng: &mut Rng, lose: u64) -> Passage {
        let first = if rng.odds(self.shuffle) { 1 + rng.below(200) } else { PLAIN_DELAY };
        if rng.odds(lose) {
            Passage::Lost
        } else if rng.odds(self.delay) {
            Passage::After(rng.below(120_000))
        } else if rng.odds(self.duplicate) {
            Passage::Twice(first, first + rng.below(40_000))
        } else {
            Passage::After(first)
        }
    }
}
