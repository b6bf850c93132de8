//! What the tunnel and `ping` tell of the peers, as points of the groups `tunnel` and `latency`.
//! A peer that does not answer is told as the specification says, by -1; one that could not be asked is not told at all.
//!
//! Specification: "Agent-side conversion rules for ingest"; `gaps-agent.md` section 4.1.

use alloc::{
    format,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use core::{net::IpAddr, time::Duration};

use super::proc::decimal;
use crate::{
    legible,
    time::Wall,
    wire::{
        record::{MetricPoint, PointGroup, Reading},
        timestamp::Timestamp,
    },
};

/// The longest output of `ping` that is read, in bytes; one answer takes some 250.
pub const PING_MAX: usize = 4 << 10;

/// How old a handshake may be; WireGuard makes a new one after two minutes of traffic, and gives a key up after three.
pub const STALE: Duration = Duration::from_secs(180);

/// What stands for a number that was not measured.
pub const UNMEASURED: f64 = -1.0;

/// The longest time that an answer is believed to have taken.
const RTT_MAX: Duration = Duration::from_secs(60);

/// How much is repeated of what a tool complains of, in characters.
const COMPLAINT_MAX: usize = 200;

/// How long an answer is waited for, in seconds, as `ping` takes it.
const WAIT: &str = "2";

/// A peer as the tunnel knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    pub id: String,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub last_handshake: Option<Wall>,
}

impl Peer {
    /// The point of it.
    ///
    /// Unspecified: a peer without any handshake has a stale one.
    pub fn point(self, now: Wall) -> MetricPoint {
        // The tunnel of the kernel tells a handshake that never was by the time zero.
        let last = self.last_handshake.filter(|last| !last.since_origin().is_zero());
        let is_stale = last.is_none_or(|last| now.since(last) > STALE);
        let seconds = last.map_or(0, |last| last.since_origin().as_secs());
        let data = vec![
            (Reading::RxBytes, self.rx_bytes as f64),
            (Reading::TxBytes, self.tx_bytes as f64),
            (Reading::HandshakeSucceeded, f64::from(u8::from(last.is_some()))),
            (Reading::HandshakeStale, f64::from(u8::from(is_stale))),
            // One ping a round is no measure of it, and no tunnel counts what it did not get.
            (Reading::PacketLossPercent, UNMEASURED),
            (Reading::LastHandshakeTimestampSeconds, seconds as f64),
        ];
        let (timestamp, peer_id) = (Timestamp::from(now), Some(self.id));
        MetricPoint { timestamp, group: PointGroup::Tunnel, peer_id, data }
    }
}

/// What one `ping` came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pinged {
    Answered(Duration),
    Silent,
    /// It failed for another reason than silence, which is told.
    Failed(String),
    /// Nobody was asked, or nothing can be made of what was said; the text tells why and the mend.
    Untold(String),
}

/// What `ping` is given to ask once; what stands behind the two dashes is no option, whatever it is.
pub fn arguments(address: IpAddr) -> [String; 7] {
    let address = address.to_canonical().to_string();
    ["-n".into(), "-c".into(), "1".into(), "-W".into(), WAIT.into(), "--".into(), address]
}

/// What is made of the end of a `ping`: its code, of which there is none where a signal ended it, and what it said.
pub fn pinged(code: Option<i32>, stdout: &[u8], stderr: &[u8]) -> Pinged {
    match code {
        Some(0) => match rtt(stdout) {
            Some(rtt) => Pinged::Answered(rtt),
            None => Pinged::Untold(UNREADABLE.to_string()),
        },
        Some(1) => Pinged::Silent,
        Some(code) => Pinged::Failed(format!("ping ended with {code}: {}", complaint(stderr))),
        None => Pinged::Untold("ping was ended by a signal, and peers are not measured".into()),
    }
}

const UNREADABLE: &str = "ping told no time between \"time=\" and \" ms\", and peers are not measured: install the ping of iputils";

/// How long the first answer took, out of what `ping` printed.
pub fn rtt(output: &[u8]) -> Option<Duration> {
    const MARK: &[u8] = b" time=";
    let output = output.get(..PING_MAX).unwrap_or(output);
    let at = output.windows(MARK.len()).position(|window| window == MARK)?;
    let rest = output.get(at + MARK.len()..)?;
    let (number, unit) = rest.split_at_checked(rest.iter().position(|byte| *byte == b' ')?)?;
    unit.starts_with(b" ms").then_some(())?;
    let rtt = Duration::try_from_secs_f64(decimal(number)? / 1000.0).ok()?;
    (rtt <= RTT_MAX).then_some(rtt)
}

/// The point of a `ping`, where there is one.
pub fn latency(id: String, pinged: &Pinged, now: Wall) -> Option<MetricPoint> {
    let seconds = match pinged {
        Pinged::Answered(rtt) => rtt.as_secs_f64(),
        Pinged::Silent | Pinged::Failed(_) => UNMEASURED,
        Pinged::Untold(_) => return None,
    };
    let (timestamp, peer_id) = (Timestamp::from(now), Some(id));
    let data = vec![(Reading::RttSeconds, seconds)];
    Some(MetricPoint { timestamp, group: PointGroup::Latency, peer_id, data })
}

/// What a tool complains of, on one line and cut.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr.get(..PING_MAX).unwrap_or(stderr));
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => "it does not say why".into(),
        false => legible::line(&lines.join("; ")).chars().take(COMPLAINT_MAX).collect(),
    }
}
