//! The real agent in a flood, while the control plane is well, dead, slow, silent, and refuses all it is sent, in turns.
//!
//! What is claimed at every look: it is the same process; it has not come to its cap of memory, which the kernel holds its
//! data to as well; every record is accounted for; and no more are told as sent than receipts were given for. Between two
//! cycles the flood stands still until the agent has read and brought away all of it: then every count agrees exactly.

use std::{
    fmt::Write as _,
    fs::{self, File},
    process::{Command, Stdio},
    sync::atomic::Ordering,
    time::Duration,
};

use serde_json::json;
use tokio::time::{Instant, interval};

use crate::{
    flood::{Count, Flood},
    local::ask,
    node::{Agent, Node, Plane, counter, delete, fixture, post, until},
    way::{Mode, Way},
};

/// The seconds of all turns together, here; `MESHWARD_SOAK_SECONDS` makes it more.
const SECONDS: u64 = 12;

/// The longest turn of a long soak.
const TURN_MAX: Duration = Duration::from_secs(15);

/// How many records of a kind the flood is ahead of the agent at the most, for each second of a turn.
const AHEAD_A_SECOND: u64 = 1_000;

const GLANCE: Duration = Duration::from_millis(200);

/// How long the agent may take to read and bring away what the flood is ahead.
const CALM_MAX: Duration = Duration::from_secs(180);

/// The cap of memory: of what is resident, and of the writable memory of its own.
const MEMORY_MAX: u64 = 64 << 20;

/// By how much the mean of a cycle may grow over the last half of a soak, in bytes: about what a line through means of a
/// machine with other work is off by.
const GROWTH_MAX: f64 = (2 << 20) as f64;

/// The fewest cycles of a last half whose growth means anything.
const CYCLES_MIN: usize = 8;

const PIPES: [&str; 2] = ["logs", "audit"];

#[derive(Clone, Copy, Debug)]
enum Turn {
    Well,
    Dead,
    Slow,
    Silent,
    TooLarge,
    NotPacked,
}

impl Turn {
    const ALL: [Self; 6] =
        [Self::Well, Self::Dead, Self::Slow, Self::Silent, Self::TooLarge, Self::NotPacked];

    /// The way to the control plane, and what is wrong with its answers.
    fn begin(self, plane: &Plane, way: &Way) {
        plane.request(delete("/test/faults"));
        let refused = |status: u16, code: &str| Some(json!({"status": status, "code": code}));
        let (mode, fault) = match self {
            Self::Well => (Mode::Open, None),
            Self::Dead => (Mode::Shut, None),
            Self::Silent => (Mode::Silent, None),
            Self::Slow => (Mode::Open, Some(json!({"delay_ms": 700}))),
            Self::TooLarge => (Mode::Open, refused(413, "ingest_body_too_large")),
            Self::NotPacked => (Mode::Open, refused(415, "ingest_encoding_unsupported")),
        };
        for pipe in PIPES {
            let Some(mut rule) = fault.clone() else { break };
            rule["method"] = json!("POST");
            rule["path"] = json!(format!("/v1/nodes/*/{pipe}"));
            rule["times"] = json!(1_000_000);
            post(plane, "/test/faults", &rule);
        }
        way.set(mode);
    }
}

fn seconds() -> u64 {
    std::env::var("MESHWARD_SOAK_SECONDS").map_or(SECONDS, |seconds| seconds.parse().unwrap())
}

/// What the agent tells of one pipeline.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    collected: u64,
    /// What the agent audits of itself, which goes to no control plane.
    own: u64,
    sent: u64,
    dropped: u64,
    held: u64,
    accepted: u64,
    failed: u64,
}

impl Told {
    fn of(metrics: &str, pipe: &str) -> Self {
        let label = format!("pipeline=\"{pipe}\"");
        let sum = |name: &str, also: &str| {
            let lines = metrics.lines().filter(|line| {
                line.starts_with(&format!("meshward_ingest_{name}{{"))
                    && line.contains(&label)
                    && line.contains(also)
            });
            let values: Vec<u64> =
                lines.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
            assert!(!values.is_empty(), "{name} of {pipe} in {metrics}");
            values.into_iter().sum::<u64>()
        };
        let told = Self {
            collected: sum("records_collected_total", ""),
            own: sum("records_local_only_total", ""),
            sent: sum("records_sent_total", ""),
            dropped: sum("records_dropped_total", ""),
            held: sum("records_held", ""),
            accepted: sum("requests_total", "accepted"),
            failed: sum("requests_total", "failed"),
        };
        let all = told.sent + told.dropped + told.held + told.own;
        assert_eq!(told.collected, all, "{pipe}: every record is accounted for: {told:?}");
        told
    }

    /// What was read of the flood.
    fn read(&self) -> u64 {
        self.collected - self.own
    }
}

/// A line of `/proc/PID/status`, in bytes.
fn memory(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name));
    let line = line.unwrap_or_else(|| panic!("the agent is alive and has {name}: {status}"));
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The arenas that the GNU C library gives threads of their own, each of which keeps what it held at its fullest.
fn arenas(agent: &Agent) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", agent.id())).unwrap();
    let is_arena = |line: &&str| {
        let begins = line.split('-').next().and_then(|at| u64::from_str_radix(at, 16).ok());
        let is_aligned = begins.unwrap().is_multiple_of(64 << 20);
        is_aligned && line.contains(" rw-p ") && line.ends_with(" 0 ")
    };
    maps.lines().filter(is_arena).map(str::to_owned).collect()
}

struct Soak {
    plane: Plane,
    way: Way,
    node: Node,
    agent: Agent,
    flood: Flood,
    /// What was resident at the looks of the cycle that is under way.
    resident: Vec<u64>,
    /// The mean of each cycle, in bytes.
    means: Vec<f64>,
}

impl Soak {
    async fn begin(length: Duration) -> Self {
        let plane = fixture().await;
        let way = Way::to(plane.addr()).await;
        let node = Node::new(&way.url(), "[health]\nenabled = false\n[logs]\n[audit]\n");
        let flood = Flood::new(&node.path(""), AHEAD_A_SECOND * length.as_secs().max(1));
        let (logs, events) = (flood.bed.folder.join("*"), &flood.bed.events);
        node.amend(
            "[logs]\n[audit]\n",
            &format!(
                "[logs]\ncollect_interval = \"5s\"\nreport_interval = \"5s\"\njournald = false\nbatch_size = 1000\n\
                 file_patterns = [{logs:?}]\n[audit]\ncollect_interval = \"1s\"\nreport_interval = \"1s\"\n\
                 auditd = false\nk8s_audit_file = {events:?}\nspool_max_bytes = 4194304\n"
            ),
        );
        let agent = capped(&node);
        // That file is read from its end on first sight.
        until("the events are followed", || {
            fs::read_to_string(node.data("state/positions.json"))
                .is_ok_and(|text| text.contains("k8s.log"))
        })
        .await;
        Self { plane, way, node, agent, flood, resident: Vec::new(), means: Vec::new() }
    }

    /// Looks at everything once.
    fn look(&mut self) -> [Told; 2] {
        let status = fs::read_to_string(format!("/proc/{}/status", self.agent.id()));
        let status = status.unwrap();
        let most = memory(&status, "VmHWM:");
        assert!(most <= MEMORY_MAX, "{most} bytes were resident");
        self.resident.push(memory(&status, "VmRSS:"));
        let metrics = ask(&self.node, "/metrics");
        let told = PIPES.map(|pipe| Told::of(&metrics, pipe));
        let sent: u64 = told.iter().map(|told| told.sent).sum();
        let receipts = self.way.records();
        assert!(sent <= receipts, "{sent} are told as sent, {receipts} were taken");
        let bed = &self.flood.bed;
        let counts: [&Count; 2] = [&bed.logs, &bed.audit];
        for (count, told) in counts.into_iter().zip(told) {
            count.read.store(told.read(), Ordering::Relaxed);
        }
        told
    }

    async fn turn(&mut self, turn: Turn, length: Duration) {
        turn.begin(&self.plane, &self.way);
        let end = Instant::now() + length;
        let mut glance = interval(GLANCE);
        while Instant::now() < end {
            glance.tick().await;
            self.look();
        }
    }

    /// Stills the flood, and waits until the agent has read and brought away all of it.
    async fn calm(&mut self) -> [Told; 2] {
        self.flood.shut();
        Turn::Well.begin(&self.plane, &self.way);
        let end = Instant::now() + CALM_MAX;
        let mut glance = interval(GLANCE);
        loop {
            glance.tick().await;
            let is_still = self.flood.is_still();
            let told = self.look();
            let bed = &self.flood.bed;
            let written = [&bed.logs, &bed.audit].map(|count| count.written.load(Ordering::SeqCst));
            let is_done = |(told, written): (Told, u64)| told.read() >= written && told.held == 0;
            if is_still && told.into_iter().zip(written).all(is_done) {
                assert_eq!(told.map(|told| told.read()), written, "no line is read twice");
                self.agrees(&told);
                return told;
            }
            assert!(Instant::now() < end, "it does not come to rest: {told:?} of {written:?}");
        }
    }

    /// Nothing is under way: what was taken is what was sent, but for batches whose answers were lost.
    fn agrees(&self, told: &[Told; 2]) {
        let sent: u64 = told.iter().map(|told| told.sent).sum();
        let failed: u64 = told.iter().map(|told| told.failed).sum();
        let (receipts, most) = (self.way.records(), failed * 1_000);
        assert!(sent <= receipts && receipts <= sent + most, "{sent} sent, {receipts} taken");
        for (pipe, told) in PIPES.into_iter().zip(told) {
            let taken = counter(&self.plane, &format!("{pipe}_count"));
            let (least, most) = (told.accepted, told.accepted + told.failed);
            assert!((least..=most).contains(&taken), "{pipe}: {taken} batches taken: {told:?}");
        }
    }

    async fn cycle(&mut self, length: Duration) -> [Told; 2] {
        self.flood.open();
        for turn in Turn::ALL {
            self.turn(turn, length).await;
        }
        let told = self.calm().await;
        assert_eq!(arenas(&self.agent), Vec::<String>::new(), "its threads share the one heap");
        self.flood.clear();
        let count = u32::try_from(self.resident.len()).unwrap();
        let sum = self.resident.drain(..).map(|bytes| bytes as f64).sum::<f64>();
        self.means.push(sum / f64::from(count));
        told
    }

    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.agent.id())).unwrap();
        memory(&status, "VmHWM:")
    }

    /// By how many bytes the line through the means of the last half has grown.
    fn growth(&self) -> f64 {
        let half = &self.means[self.means.len() / 2..];
        let count = half.len() as f64;
        let middle = (count - 1.0) / 2.0;
        let mean = half.iter().sum::<f64>() / count;
        let (mut above, mut below) = (0.0, 0.0);
        for (at, value) in half.iter().enumerate() {
            let away = at as f64 - middle;
            above += away * (value - mean);
            below += away * away;
        }
        if below > 0.0 { above / below * (count - 1.0) } else { 0.0 }
    }
}

/// Starts the agent with the kernel's cap on its data, which is all writable memory of its own, touched or not.
fn capped(node: &Node) -> Agent {
    let run = node.command(&["run"]);
    let mut command = Command::new("sh");
    let line = format!("ulimit -d {} && exec \"$0\" \"$@\"", MEMORY_MAX >> 10);
    command.args(["-c", &line]).arg(run.get_program()).args(run.get_args());
    for (removed, _) in run.get_envs() {
        command.env_remove(removed);
    }
    let log = File::create(node.path("log")).unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Agent::of(command.spawn().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
async fn a_flood_and_an_ailing_control_plane_cost_neither_memory_nor_a_record_that_nobody_counts() {
    let wanted = Duration::from_secs(seconds());
    let turns = u32::try_from(Turn::ALL.len()).unwrap();
    let length = (wanted / turns).min(TURN_MAX);
    let mut soak = Soak::begin(length).await;
    let begun = Instant::now();
    loop {
        let told = soak.cycle(length).await;
        let mut line =
            format!("{:.0} s, cycle {}", begun.elapsed().as_secs_f64(), soak.means.len());
        for (pipe, Told { collected, sent, dropped, .. }) in PIPES.into_iter().zip(told) {
            write!(line, ", {pipe}: {collected} collected = {sent} sent + {dropped} dropped")
                .unwrap();
        }
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        let (mean, peak) = (mib(*soak.means.last().unwrap()), mib(soak.peak() as f64));
        let growth = mib(soak.growth());
        eprintln!(
            "{line}; {mean:.2} MiB resident, {peak:.2} at the most, growth of the last half {growth:.2}"
        );
        assert!(told.iter().all(|told| told.sent > 0), "something was sent: {told:?}");
        if begun.elapsed() >= wanted {
            break;
        }
    }
    if soak.means.len() >= 2 * CYCLES_MIN {
        let growth = soak.growth();
        assert!(
            growth <= GROWTH_MAX,
            "the last half has grown by {growth} bytes: {:?}",
            soak.means
        );
    }
    soak.agent.signal("-TERM");
    assert_eq!(soak.agent.ended(), Some(0));
}
