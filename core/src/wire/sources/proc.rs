//! The kernel's numbers of this node, read from its texts below `/proc`, and what they come to.
//! A text that does not hold what the kernel is known to write there tells nothing, and nothing is put in its place.
//!
//! | Reading | From | Is |
//! |---|---|---|
//! | `cpu_usage_percent` | the first line of `stat`, twice | the share of the time between that was neither idle nor spent waiting for a disk |
//! | `memory_*` | `meminfo` | `MemTotal`, and what of it is not in `MemAvailable` |
//! | `disk_*` | `statfs` | all blocks, and those that are not free |
//! | `network_*` | `net/dev` | the bytes of all interfaces but `lo` |
//! | `load_avg_*` | `loadavg` | its first three numbers |
//!
//! Specification: "Agent-side conversion rules for ingest"; `gaps-agent.md` section 4.1.

use alloc::vec::Vec;

use crate::{
    time::Wall,
    wire::{
        record::{MetricPoint, PointGroup, Reading},
        timestamp::Timestamp,
    },
};

/// The longest text that is read, in bytes; a line of `net/dev` takes some 120.
pub const TEXT_MAX: usize = 4 << 20;

/// The times of the first line of `stat` that make up the whole; those of guests are within them.
const TIMES: usize = 8;
/// What every kernel tells: user, nice, system, idle.
const TIMES_MIN: usize = 4;
const IDLE: usize = 3;
const WAITING: usize = 4;

/// Where the bytes that were sent stand in a line of `net/dev`; those received stand first.
const SENT: usize = 8;

/// What all processors have done since the start of the kernel, in its ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu([u64; TIMES]);

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub used: u64,
    pub total: u64,
}

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    pub used: u64,
    pub total: u64,
}

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub received: u64,
    pub sent: u64,
}

/// The averages over one, five and fifteen minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load(pub [f64; 3]);

/// What is known of a node; what is absent is not told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct System {
    pub cpu_percent: Option<f64>,
    pub memory: Option<Memory>,
    pub disk: Option<Disk>,
    pub network: Option<Network>,
    pub load: Option<Load>,
}

impl Cpu {
    /// Reads `/proc/stat`.
    pub fn read(stat: &[u8]) -> Option<Self> {
        let mut words = words(stat.split(|byte| *byte == b'\n').next()?);
        (words.next()? == b"cpu").then_some(())?;
        let (mut times, mut told) = ([0; TIMES], 0);
        for (time, word) in times.iter_mut().zip(words) {
            *time = number(word)?;
            told += 1;
        }
        (told >= TIMES_MIN).then_some(Self(times))
    }

    /// How busy the processors were since an earlier reading, from 0 to 100; `None` where no time has passed.
    pub fn busy_since(self, earlier: Self) -> Option<f64> {
        let [mut whole, mut idle] = [0_u64; 2];
        for (at, (now, then)) in self.0.into_iter().zip(earlier.0).enumerate() {
            // The kernel lets the time of waiting go back a little.
            let spent = now.saturating_sub(then);
            whole = whole.saturating_add(spent);
            if matches!(at, IDLE | WAITING) {
                idle = idle.saturating_add(spent);
            }
        }
        (whole > 0).then(|| 100.0 * whole.saturating_sub(idle) as f64 / whole as f64)
    }
}

impl Memory {
    /// Reads `/proc/meminfo`.
    pub fn read(meminfo: &[u8]) -> Option<Self> {
        let (mut total, mut available) = (None, None);
        for line in meminfo.split(|byte| *byte == b'\n') {
            let mut words = words(line);
            match words.next() {
                Some(b"MemTotal:") => total = kibibytes(words),
                Some(b"MemAvailable:") => available = kibibytes(words),
                Some(_) | None => {}
            }
        }
        let (total, available) = (total?, available?);
        Some(Self { used: total.saturating_sub(available), total })
    }
}

impl Disk {
    /// Of what `statfs` tells: blocks of so many bytes, with those that are free to whoever may write.
    pub const fn of(blocks: u64, free: u64, block_size: u64) -> Self {
        let used = blocks.saturating_sub(free);
        Self { used: used.saturating_mul(block_size), total: blocks.saturating_mul(block_size) }
    }
}

impl Network {
    /// Reads `/proc/net/dev`.
    pub fn read(dev: &[u8]) -> Option<Self> {
        let mut lines = dev.split(|byte| *byte == b'\n');
        // Without its head an empty text would be a network without traffic.
        (lines.next()?.starts_with(b"Inter-|") && lines.next()?.contains(&b'|')).then_some(())?;
        let mut all = Self { received: 0, sent: 0 };
        for line in lines.filter(|line| !line.is_empty()) {
            // No number holds a colon, whatever the name holds.
            let (name, numbers) = line.split_at_checked(line.iter().rposition(|b| *b == b':')?)?;
            if name.trim_ascii() == b"lo" {
                continue;
            }
            let mut numbers = words(numbers.get(1..)?);
            all.received = all.received.saturating_add(number(numbers.next()?)?);
            all.sent = all.sent.saturating_add(number(numbers.nth(SENT - 1)?)?);
        }
        Some(all)
    }
}

impl Load {
    /// Reads `/proc/loadavg`.
    pub fn read(loadavg: &[u8]) -> Option<Self> {
        let mut words = words(loadavg);
        let mut next = || decimal(words.next()?);
        Some(Self([next()?, next()?, next()?]))
    }
}

impl System {
    /// The point of all that is known; `None` where nothing is.
    pub fn point(self, now: Wall) -> Option<MetricPoint> {
        let mut data = Vec::new();
        data.extend(self.cpu_percent.map(|percent| (Reading::CpuUsagePercent, percent)));
        if let Some(Memory { used, total }) = self.memory {
            data.push((Reading::MemoryUsedBytes, used as f64));
            data.push((Reading::MemoryTotalBytes, total as f64));
        }
        if let Some(Disk { used, total }) = self.disk {
            data.push((Reading::DiskUsedBytes, used as f64));
            data.push((Reading::DiskTotalBytes, total as f64));
        }
        if let Some(Network { received, sent }) = self.network {
            data.push((Reading::NetworkRxBytes, received as f64));
            data.push((Reading::NetworkTxBytes, sent as f64));
        }
        if let Some(Load([one, five, fifteen])) = self.load {
            data.push((Reading::LoadAvg1, one));
            data.push((Reading::LoadAvg5, five));
            data.push((Reading::LoadAvg15, fifteen));
        }
        let (timestamp, group) = (Timestamp::from(now), PointGroup::System);
        (!data.is_empty()).then_some(MetricPoint { timestamp, group, peer_id: None, data })
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Digits alone.
fn number(word: &[u8]) -> Option<u64> {
    word.iter().all(u8::is_ascii_digit).then_some(())?;
    core::str::from_utf8(word).ok()?.parse().ok()
}

fn kibibytes<'l>(mut words: impl Iterator<Item = &'l [u8]>) -> Option<u64> {
    let number = number(words.next()?)?;
    (words.next()? == b"kB").then(|| number.saturating_mul(1024))
}

/// The longest number with a fraction that is read, in bytes.
const DECIMAL_MAX: usize = 32;

/// Digits with a point between them.
pub(super) fn decimal(word: &[u8]) -> Option<f64> {
    let shape = word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    (shape && word.len() <= DECIMAL_MAX).then_some(())?;
    core::str::from_utf8(word).ok()?.parse().ok()
}
