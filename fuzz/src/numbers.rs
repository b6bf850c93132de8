//! What the kernel and `ping` write: whatever the bytes are, each number is within its range.

use std::time::Duration;

use meshward_core::{
    time::Wall,
    wire::sources::{
        peers::{Pinged, latency, pinged},
        proc::{Cpu, Load, Memory, Network, System},
    },
};

/// The bytes are tried as each of the texts; of two that are set apart by a NUL the second is the later one.
pub fn numbers(bytes: &[u8]) {
    let at = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (first, rest) = bytes.split_at(at);
    let cpu_percent = match (Cpu::read(first), Cpu::read(rest.get(1..).unwrap_or_default())) {
        (Some(earlier), Some(later)) => later.busy_since(earlier),
        (Some(_) | None, Some(_) | None) => None,
    };
    assert!(cpu_percent.is_none_or(|percent| (0.0..=100.0).contains(&percent)));
    let memory = Memory::read(bytes);
    assert!(memory.is_none_or(|memory| memory.used <= memory.total));
    let (network, load) = (Network::read(bytes), Load::read(bytes));
    let system = System { cpu_percent, memory, disk: None, network, load };
    let point = system.point(Wall::default());
    assert_eq!(point.is_none(), system == System::default());
    if let Some(point) = point {
        assert!(point.data.iter().all(|(_, value)| value.is_finite() && *value >= 0.0));
    }
    for (code, stdout, stderr) in [(Some(0), bytes, first), (Some(2), first, bytes)] {
        let pinged = pinged(code, stdout, stderr);
        let is_told = latency(String::new(), &pinged, Wall::default()).is_some();
        match pinged {
            Pinged::Answered(rtt) => assert!(is_told && rtt <= Duration::from_secs(60)),
            Pinged::Silent => assert!(is_told),
            Pinged::Failed(why) => assert!(is_told && !why.contains(char::is_control)),
            Pinged::Untold(why) => assert!(!is_told && !why.is_empty()),
        }
    }
}
