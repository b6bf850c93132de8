//! The numbers of a node, of this process and of the peers: texts as the kernel and `ping` write them, and any bytes.

use std::{fs, net::IpAddr, time::Duration};

use meshward_core::{
    time::Wall,
    wire::{
        record::{MetricPoint, PointGroup, Reading},
        sources::{
            own::{Heap, Own},
            peers::{PING_MAX, Peer, Pinged, STALE, arguments, latency, pinged, rtt},
            proc::{Cpu, Disk, Load, Memory, Network, System},
        },
        timestamp::Timestamp,
    },
};
use proptest::prelude::*;

use crate::support::seeds_in;

const NOW: Wall = Wall::from_origin(Duration::from_secs(1_770_000_000));

const STAT: &str = "cpu  167518 5 32665 852999 3393 0 581 4367 11 0\ncpu0 76303 0 14877 436669 717 0 31 2016 0 0\nintr 1 2 3\n";
const MEMINFO: &str = "MemTotal:       24684092 kB\nMemFree:        19525196 kB\nMemAvailable:   23354944 kB\nHugePages_Total:       0\n";
const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3245      30    0    0    0     0          0         0     3245      30    0    0    0     0       0          0
  eth0: 92896194    2537    0    0    0     0          0         0   182825    1476    0    0    0     0       0          0
meshward0:100 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0
";
/// As iputils prints it.
const PING: &str = "PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.\n64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.045 ms\n\n--- 127.0.0.1 ping statistics ---\n1 packets transmitted, 1 received, 0% packet loss, time 0ms\nrtt min/avg/max/mdev = 0.045/0.045/0.045/0.000 ms\n";
/// As BusyBox prints it.
const PING_SMALL: &str = "PING 127.0.0.1 (127.0.0.1): 56 data bytes\n64 bytes from 127.0.0.1: seq=0 ttl=64 time=0.089 ms\n\n--- 127.0.0.1 ping statistics ---\n1 packets transmitted, 1 packets received, 0% packet loss\n";
const PING_SILENT: &str = "PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\n\n--- 10.0.0.9 ping statistics ---\n1 packets transmitted, 0 received, 100% packet loss, time 0ms\n";

fn cpu(times: &str) -> Cpu {
    Cpu::read(format!("cpu {times}").as_bytes()).expect("times of the processors")
}

#[test]
fn the_share_of_the_time_between_two_readings_was_busy_that_was_neither_idle_nor_waiting() {
    let rows = [
        // user nice system idle waiting interrupts soft stolen
        ("0 0 0 0 0 0 0 0", "10 10 10 50 10 3 3 4", Some(40.0)),
        ("5 5 5 5 5 5 5 5", "5 5 5 105 5 5 5 5", Some(0.0)),
        ("5 5 5 5 5 5 5 5", "105 5 5 5 5 5 5 5", Some(100.0)),
        // Guests are within the time of the user, and a kernel that knows four times is one, too.
        ("0 0 0 0 0 0 0 0 0 0", "50 0 0 50 0 0 0 0 50 0", Some(50.0)),
        ("0 0 0 0", "1 0 0 3", Some(25.0)),
        // Waiting goes back a little at times.
        ("0 0 0 0 9 0 0 0", "1 0 0 1 8 0 0 0", Some(50.0)),
        ("7 7 7 7 7 7 7 7", "7 7 7 7 7 7 7 7", None),
    ];
    for (earlier, later, busy) in rows {
        assert_eq!(cpu(later).busy_since(cpu(earlier)), busy, "{earlier} {later}");
    }
}

#[test]
fn texts_of_the_kernel_tell_their_numbers() {
    let spent = cpu("167618 5 32665 853099 3393 0 581 4367");
    let earlier = Cpu::read(STAT.as_bytes()).expect("times");
    assert_eq!(spent.busy_since(earlier), Some(50.0));
    let (used, total) = ((24_684_092 - 23_354_944) * 1024, 24_684_092 * 1024);
    assert_eq!(Memory::read(MEMINFO.as_bytes()), Some(Memory { used, total }));
    let (received, sent) = (92_896_194 + 100, 182_825 + 50);
    assert_eq!(Network::read(DEV.as_bytes()), Some(Network { received, sent }));
    assert_eq!(Load::read(b"2.80 1.88 1.30 5/141 31115\n"), Some(Load([2.8, 1.88, 1.3])));
    assert_eq!(Disk::of(1000, 250, 4096), Disk { used: 750 * 4096, total: 1000 * 4096 });
}

#[test]
fn the_kernel_of_this_host_is_understood() {
    let read = |name: &str| fs::read(format!("/proc/{name}")).expect("proc is mounted");
    assert!(Cpu::read(&read("stat")).is_some());
    assert!(Memory::read(&read("meminfo")).is_some_and(|memory| memory.used < memory.total));
    assert!(Network::read(&read("net/dev")).is_some());
    assert!(Load::read(&read("loadavg")).is_some());
}

#[test]
fn a_text_that_misses_something_or_holds_something_else_tells_nothing() {
    for stat in
        ["", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4", "cpu 1 2 -3 4", "cpu 1 2 3 4x", "x\ncpu 1 2 3 4"]
    {
        assert_eq!(Cpu::read(stat.as_bytes()), None, "{stat}");
    }
    for memory in ["", "MemTotal: 1 kB", "MemAvailable: 1 kB", "MemTotal: 1\nMemAvailable: 1 kB"] {
        assert_eq!(Memory::read(memory.as_bytes()), None, "{memory}");
    }
    let head: String = DEV.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(Network::read(head.as_bytes()), Some(Network { received: 0, sent: 0 }));
    for rest in ["eth0: 1 2 3\n", "eth0 1 2 3 4 5 6 7 8 9\n", "eth0: 1 2 3 4 5 6 7 8 x 9\n"] {
        assert_eq!(Network::read(format!("{head}{rest}").as_bytes()), None, "{rest}");
    }
    assert_eq!(Network::read(b""), None, "no head, no network");
    for load in
        ["", "1.0 2.0", "1.0 2.0 nan", "1.0 inf 2.0", "1.0 -1.0 2.0", "1 2 1e3", "1 2 1.2.3"]
    {
        assert_eq!(Load::read(load.as_bytes()), None, "{load}");
    }
}

#[test]
fn an_interface_may_be_called_as_it_likes() {
    let named = |name: &[u8]| {
        let text = DEV.replace("meshward0", "@").into_bytes();
        let at = text.iter().position(|byte| *byte == b'@').expect("the mark");
        [&text[..at], name, &text[at + 1..]].concat()
    };
    for name in [&b"\xff\xfe"[..], b"eth0:1", b"a|b", b"lo0"] {
        let network = Network::read(&named(name)).expect("a network");
        assert_eq!(network.received, 92_896_194 + 100, "{name:?}");
    }
}

#[test]
fn a_point_of_the_system_holds_what_is_known_in_the_order_of_the_table() {
    let whole = System {
        cpu_percent: Some(12.5),
        memory: Some(Memory { used: 1, total: 2 }),
        disk: Some(Disk { used: 3, total: 4 }),
        network: Some(Network { received: 5, sent: 6 }),
        load: Some(Load([7.0, 8.0, 9.0])),
    };
    let data = vec![
        (Reading::CpuUsagePercent, 12.5),
        (Reading::MemoryUsedBytes, 1.0),
        (Reading::MemoryTotalBytes, 2.0),
        (Reading::DiskUsedBytes, 3.0),
        (Reading::DiskTotalBytes, 4.0),
        (Reading::NetworkRxBytes, 5.0),
        (Reading::NetworkTxBytes, 6.0),
        (Reading::LoadAvg1, 7.0),
        (Reading::LoadAvg5, 8.0),
        (Reading::LoadAvg15, 9.0),
    ];
    let (timestamp, group) = (Timestamp::from(NOW), PointGroup::System);
    let point = |data| MetricPoint { timestamp, group, peer_id: None, data };
    assert_eq!(whole.point(NOW), Some(point(data.clone())));
    let without = System { memory: None, ..whole };
    let left = [&data[..1], &data[3..]].concat();
    assert_eq!(without.point(NOW), Some(point(left)));
    assert_eq!(System::default().point(NOW), None);
}

#[test]
fn a_process_tells_its_tasks_and_its_heap_where_it_knows_it() {
    let names = |own: Own| {
        let point = own.point(NOW);
        assert_eq!((point.group, point.peer_id), (PointGroup::Agent, None));
        point.data
    };
    let heap = Some(Heap { allocated: 5, held: 9 });
    let all = [
        (Reading::GoroutineCount, 3.0),
        (Reading::HeapAllocBytes, 5.0),
        (Reading::HeapSysBytes, 9.0),
    ];
    assert_eq!(names(Own { tasks: 3, heap }), all);
    assert_eq!(names(Own { tasks: 3, heap: None }), all[..1]);
}

#[test]
fn a_handshake_is_stale_after_its_time_and_where_there_was_none() {
    let ago = |age: Duration| Some(Wall::from_origin(NOW.since_origin().saturating_sub(age)));
    let ms = Duration::from_millis(1);
    let rows = [
        (ago(Duration::ZERO), [1.0, 0.0]),
        (ago(STALE), [1.0, 0.0]),
        (ago(STALE + ms), [1.0, 1.0]),
        // The clock was set back.
        (Some(NOW.after(STALE * 2)), [1.0, 0.0]),
        (None, [0.0, 1.0]),
        (Some(Wall::default()), [0.0, 1.0]),
    ];
    for (last_handshake, [succeeded, stale]) in rows {
        let peer = Peer { id: "p".into(), rx_bytes: 10, tx_bytes: 20, last_handshake };
        let point = peer.point(NOW);
        let seconds = match succeeded > 0.0 {
            true => last_handshake.map_or(0, |last| last.since_origin().as_secs()) as f64,
            false => 0.0,
        };
        let data = [
            (Reading::RxBytes, 10.0),
            (Reading::TxBytes, 20.0),
            (Reading::HandshakeSucceeded, succeeded),
            (Reading::HandshakeStale, stale),
            (Reading::PacketLossPercent, -1.0),
            (Reading::LastHandshakeTimestampSeconds, seconds),
        ];
        assert_eq!(point.data, data, "{last_handshake:?}");
        assert_eq!((point.group, point.peer_id.as_deref()), (PointGroup::Tunnel, Some("p")));
    }
}

#[test]
fn a_peer_is_pinged_once_by_its_address_behind_two_dashes() {
    let address: IpAddr = "::ffff:10.99.0.2".parse().expect("an address");
    assert_eq!(arguments(address).join(" "), "-n -c 1 -W 2 -- 10.99.0.2");
}

#[test]
fn a_ping_tells_how_long_the_answer_took() {
    let micros = Duration::from_micros;
    assert_eq!(rtt(PING.as_bytes()), Some(micros(45)));
    assert_eq!(rtt(PING_SMALL.as_bytes()), Some(micros(89)));
    assert_eq!(rtt(b"x time=1001 ms"), Some(Duration::from_millis(1001)));
    for none in [
        PING_SILENT,
        "",
        " time=",
        " time=ms",
        " time=-1 ms",
        " time=nan ms",
        " time=1 s",
        " time=60001 ms",
    ] {
        assert_eq!(rtt(none.as_bytes()), None, "{none}");
    }
    let late = format!("{}{PING}", " ".repeat(PING_MAX));
    assert_eq!(rtt(late.as_bytes()), None, "no more is looked at");
}

#[test]
fn the_end_of_a_ping_is_a_time_or_minus_one_or_nothing() {
    let seconds = |pinged: &Pinged| {
        let point = latency("p".into(), pinged, NOW)?;
        assert_eq!((point.group, point.peer_id.as_deref()), (PointGroup::Latency, Some("p")));
        assert_eq!((point.data.len(), point.data[0].0), (1, Reading::RttSeconds));
        Some(point.data[0].1)
    };
    let answered = pinged(Some(0), PING.as_bytes(), b"");
    assert_eq!(
        (seconds(&answered), answered),
        (Some(0.000_045), Pinged::Answered(Duration::from_micros(45)))
    );
    let silent = pinged(Some(1), PING_SILENT.as_bytes(), b"");
    assert_eq!((seconds(&silent), silent), (Some(-1.0), Pinged::Silent));
    let failed = pinged(Some(2), b"", b"\nping: a\x1b[2J\r\n  ping: b\n");
    assert_eq!(seconds(&failed), Some(-1.0));
    assert_eq!(failed, Pinged::Failed("ping ended with 2: ping: a\u{fffd}[2J; ping: b".into()));
    let wordless = Pinged::Failed("ping ended with 2: it does not say why".into());
    assert_eq!(pinged(Some(2), b"", b" \n"), wordless);
    for (code, said) in [(Some(0), PING_SILENT), (None, PING)] {
        let untold = pinged(code, said.as_bytes(), b"");
        assert!(matches!(untold, Pinged::Untold(_)), "{untold:?}");
        assert_eq!(seconds(&untold), None);
    }
}

/// Bytes that are near a text, or any.
fn near(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let broken = (any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    let broken = prop::collection::vec(broken, 0..4).prop_map(move |breaks| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte, cut) in breaks {
            let at = at.index(bytes.len().max(1));
            match bytes.get_mut(at) {
                Some(_) if cut => bytes.truncate(at),
                Some(place) => *place = byte,
                None => {}
            }
        }
        bytes
    });
    prop_oneof![3 => broken, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #![proptest_config(seeds_in("sources_numbers"))]

    #[test]
    fn whatever_is_read_is_finite_and_within_its_range(
        (earlier, later) in (near(STAT), near(STAT)),
        meminfo in near(MEMINFO),
        dev in near(DEV),
        loadavg in near("2.80 1.88 1.30 5/141 31115\n"),
        ping in near(PING),
    ) {
        if let (Some(earlier), Some(later)) = (Cpu::read(&earlier), Cpu::read(&later)) {
            let busy = later.busy_since(earlier);
            prop_assert!(busy.is_none_or(|percent| (0.0..=100.0).contains(&percent)), "{busy:?}");
        }
        if let Some(memory) = Memory::read(&meminfo) {
            prop_assert!(memory.used <= memory.total);
        }
        if let Some(Load(load)) = Load::read(&loadavg) {
            prop_assert!(load.iter().all(|one| one.is_finite() && *one >= 0.0));
        }
        let _ = Network::read(&dev);
        prop_assert!(rtt(&ping).is_none_or(|rtt| rtt <= Duration::from_secs(60)));
        if let Pinged::Failed(reason) = pinged(Some(2), b"", &ping) {
            prop_assert!(reason.chars().count() < 250 && !reason.contains(char::is_control));
        }
    }

    #[test]
    fn what_was_written_is_what_is_read(
        times in prop::array::uniform8(0..1_u64 << 40),
        spent in prop::array::uniform8(0..1_u64 << 40),
        counts in prop::collection::vec((any::<u32>(), any::<u32>()), 0..5),
        micros in 0..60_000_000_u64,
    ) {
        let text = |times: [u64; 8]| times.map(|time| time.to_string()).join(" ");
        let mut later = times;
        later.iter_mut().zip(spent).for_each(|(time, spent)| *time += spent);
        let whole: u64 = spent.iter().sum();
        let expected = (whole > 0).then(|| 100.0 * (whole - spent[3] - spent[4]) as f64 / whole as f64);
        prop_assert_eq!(cpu(&text(later)).busy_since(cpu(&text(times))), expected);

        let mut dev: String = DEV.lines().take(3).map(|line| format!("{line}\n")).collect();
        for (at, (received, sent)) in counts.iter().enumerate() {
            dev.push_str(&format!("eth{at}: {received} 1 2 3 4 5 6 7 {sent} 1 2 3 4 5 6 7\n"));
        }
        let sum = |of: fn(&(u32, u32)) -> u32| counts.iter().map(|pair| u64::from(of(pair))).sum();
        let network = Network { received: sum(|pair| pair.0), sent: sum(|pair| pair.1) };
        prop_assert_eq!(Network::read(dev.as_bytes()), Some(network));

        let line = format!("64 bytes: time={}.{:03} ms\n", micros / 1000, micros % 1000);
        prop_assert_eq!(rtt(line.as_bytes()), Some(Duration::from_micros(micros)));
    }
}
