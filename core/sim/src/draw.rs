//! Scripts drawn from a seed: most of what may go wrong, at rates that differ from world to world.

use meshward_core::agent::{OrderKind, Pipe};

use crate::{
    net::{Fate, PLAIN_DELAY, Passage},
    rng::Rng,
    route::Route,
    script::{
        Bus, Change, Event, FAULTS_FOR, Faults, Flow, Folder, Forgery, KeyFile, Murmur, Script,
        Server, Speech, Spot, Token,
    },
};

/// Statuses that something between the two may answer.
const REFUSALS: [u16; 4] = [429, 500, 501, 503];

/// And those that it may answer to who asks for a stream.
const STREAM_REFUSALS: [u16; 8] = [400, 401, 403, 404, 429, 500, 501, 503];

/// And those that it may answer to what is told of a node.
const SENSE_REFUSALS: [u16; 6] = [404, 413, 413, 429, 500, 503];

/// And those that it may answer to records.
const INGEST_REFUSALS: [u16; 8] = [400, 413, 413, 415, 429, 500, 501, 503];

/// The routes of the pipelines.
const INGEST: [Route; 3] = [Route::Metrics, Route::Logs, Route::Audit];

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
            cut: rate(400),
            stall: rate(200),
            split: rate(1000),
        };
        let count = 6 + rng.below(26);
        let mut events: Vec<_> = (0..count)
            .map(|name| {
                let event = drawn(&mut rng, name as u32, (calm, nodes));
                (rng.below(FAULTS_FOR), event)
            })
            .collect();
        events.extend(around(seed, nodes));
        let voice = speech(seed);
        if voice.is_some() {
            events.extend(murmurs(seed, (calm, nodes)));
        }
        events.sort_by_key(|(at, _)| *at);
        Self { faults, events, voice, ..Self::quiet(seed).nodes(nodes) }
    }
}

/// One world in five is not mute.
fn speech(seed: u64) -> Option<Speech> {
    let mut rng = Rng::new(seed ^ 0x5b_ee);
    let collect = 20 + rng.below(100);
    let report = collect + rng.below(150);
    let batch = 1 + rng.below(6) as usize;
    let spool = rng.odds(400);
    rng.odds(220).then_some(Speech { collect, report, batch, spool })
}

/// What befalls the records of a world that is not mute.
fn murmurs(seed: u64, (calm, nodes): (bool, usize)) -> Vec<(u64, Event)> {
    let mut rng = Rng::new(seed ^ 0x6d_75);
    let mut events = Vec::new();
    for _ in 0..2 + rng.below(8) {
        let (at, node) = (rng.below(FAULTS_FOR), rng.below(nodes as u64) as usize);
        let pipe = Pipe::ALL[rng.below(3) as usize];
        let route = INGEST[pipe as usize];
        match rng.below(if calm { 6 } else { 13 }) {
            0..4 => {
                let murmur = Murmur::Burst { pipe, count: 1 + rng.below(20) as usize };
                events.push((at, Event::Murmur { node, murmur }));
            }
            4..6 => events.push((at, Event::Murmur { node, murmur: Murmur::Huge { pipe } })),
            6..8 => {
                let status = INGEST_REFUSALS[rng.below(8) as usize];
                let until = (at + rng.below(400)).min(FAULTS_FOR);
                events.push((at, Event::Block { route, status }));
                events.push((until, Event::Unblock { route }));
            }
            8 => events.push((at, Event::FailWrites { node, count: 1 + rng.below(6) as u32 })),
            _ => {
                let spots = [Spot::Sent(route), Spot::Heard(route), Spot::Spooling, Spot::Spooled];
                let spot = spots[rng.below(4) as usize];
                events.push((at, Event::Crash { node, spot }));
            }
        }
    }
    events
}

/// What changes around the nodes.
fn around(seed: u64, nodes: usize) -> Vec<(u64, Event)> {
    let mut rng = Rng::new(seed ^ 0xa0_0d);
    let count = 2 + rng.below(10);
    let mut event = |_| {
        let node = rng.below(nodes as u64) as usize;
        (rng.below(FAULTS_FOR), Event::Around { node, change: change(&mut rng) })
    };
    (0..count).map(&mut event).collect()
}

/// A content that was there before comes back now and then.
const fn change(rng: &mut Rng) -> Change {
    let content = rng.below(4) as u8;
    match rng.below(16) {
        0..5 => {
            let name = rng.below(3) as u8;
            let content = if rng.odds(250) { None } else { Some(content) };
            Change::Hook { name, content }
        }
        5 => Change::Hooks(Folder::Unwatched),
        6 => Change::Hooks(Folder::Failing),
        7 => Change::Hooks(Folder::Watched),
        8 => Change::HostKey(KeyFile::Absent),
        9 => Change::HostKey(KeyFile::Unreadable),
        10 | 11 => Change::HostKey(KeyFile::Key(content)),
        12 => Change::Program { content, version: rng.below(2) as u8 },
        13 => Change::Servers(server(rng), server(rng)),
        _ => Change::Move { place: 1 + rng.below(9) as u8, symmetric: rng.odds(300) },
    }
}

const fn server(rng: &mut Rng) -> Server {
    match rng.below(4) {
        0 => Server::Lies,
        1 => Server::Fails,
        _ => Server::Answers,
    }
}

fn drawn(rng: &mut Rng, name: u32, (calm, nodes): (bool, usize)) -> Event {
    let node = rng.below(nodes as u64) as usize;
    match rng.below(if calm { 17 } else { 43 }) {
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
        11..17 => Event::Bus(bus(rng)),
        17..22 => Event::Crash { node, spot: spot(rng) },
        22 => Event::SetClock { node, ahead: ahead(rng) },
        23..25 => Event::FailWrites { node, count: 1 + rng.below(3) as u32 },
        25 => Event::Stop { node },
        26 if rng.odds(300) => Event::RestartPlane,
        27 if rng.odds(300) => Event::Damage { node },
        28 => report(rng, node, name),
        29 => Event::Revoke { node },
        30 => Event::PutToken { node, token: TOKENS[rng.below(4) as usize] },
        31..33 => Event::Drift { node, rate: rate(rng) },
        33 => Event::Suspend { node, seconds: away(rng, 28_800) },
        34 => Event::Pause { node, seconds: away(rng, 600) },
        35..43 => Event::Bus(mishap(rng, node)),
        _ => Event::AskRotation,
    }
}

/// What the operator lets the streams carry.
fn bus(rng: &mut Rng) -> Bus {
    match rng.below(10) {
        0..4 => Bus::Change,
        4 => Bus::Hush,
        5 => Bus::RotateKeys,
        6 | 7 => Bus::RotateSigning { transition: rng.below(3) * (30 + rng.below(600)) },
        8 => Bus::Babble { count: 1 + rng.below(4) as u32 },
        _ => Bus::Babble { count: 60 + rng.below(80) as u32 },
    }
}

/// What goes wrong with the streams.
fn mishap(rng: &mut Rng, node: usize) -> Bus {
    match rng.below(12) {
        0 => Bus::Cut { node },
        1..3 => Bus::Stall { node, seconds: 1 + rng.below(120) },
        3 => Bus::Descope,
        4 => Bus::Restore,
        5 => Bus::RotateSigning { transition: rng.below(3) * (30 + rng.below(600)) },
        _ => Bus::Forge { node, forgery: forgery(rng) },
    }
}

fn forgery(rng: &mut Rng) -> Forgery {
    match rng.below(8) {
        0 => Forgery::Signature,
        1 => Forgery::Content,
        2 => Forgery::Stranger,
        3 => Forgery::Former,
        4 => Forgery::Replay { back: rng.below(8) as u32 },
        5 => Forgery::Rollback,
        6 => Forgery::Cursor { huge: rng.odds(500) },
        _ => Forgery::Noise,
    }
}

/// Mostly what quartz does, sometimes a hundredth.
const fn rate(rng: &mut Rng) -> i64 {
    let most = if rng.odds(300) { 10_000 } else { 200 };
    rng.below(2 * most + 1) as i64 - most as i64
}

/// Mostly minutes.
const fn away(rng: &mut Rng, most: u64) -> u64 {
    let most = if rng.odds(200) { most } else { 240 };
    1 + rng.below(most)
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
    let route = Route::ALL[rng.below(Route::MUTE as u64) as usize];
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
    pub(crate) fn fate(&self, rng: &mut Rng, route: Route) -> Fate {
        if *self == Self::default() {
            return Fate::PLAIN;
        }
        let request = self.passage(rng, self.lose_request);
        let reply = self.passage(rng, self.lose_reply);
        let refusals = match route {
            Route::Events => &STREAM_REFUSALS[..],
            Route::Endpoint | Route::Manifest | Route::Violations => &SENSE_REFUSALS[..],
            Route::Register
            | Route::Heartbeat
            | Route::Pull
            | Route::Rotate
            | Route::Ack
            | Route::Started
            | Route::Declared
            | Route::Terminal
            | Route::Report
            | Route::SessionStarted
            | Route::SessionEnded
            | Route::Upload => &REFUSALS[..],
            Route::Metrics | Route::Logs | Route::Audit => &INGEST_REFUSALS[..],
        };
        let instead =
            rng.odds(self.refuse).then(|| refusals[rng.below(refusals.len() as u64) as usize]);
        Fate { request, reply, instead }
    }

    /// Draws how one stream comes through.
    pub(crate) fn flow(&self, rng: &mut Rng) -> Flow {
        if *self == Self::default() {
            return Flow::PLAIN;
        }
        Flow {
            piece: if rng.odds(self.split) { 1 + rng.below(400) as usize } else { 0 },
            delay: if rng.odds(self.shuffle) { 1 + rng.below(200) } else { PLAIN_DELAY },
            cut: rng.odds(self.cut).then(|| rng.below(6_000)),
            stall: rng.odds(self.stall).then(|| rng.below(6_000)),
        }
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
