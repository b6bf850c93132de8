//! The built-in actions: how their parameters are read, which tool they take, and what the agent tells of itself.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use meshward_core::{
    agent::{
        Captured, Cause, Ending, Program, Run,
        builtins::{
            self, ALL, HEALTH_CHECK, Host, Known, PING, Parameters, Prepared, RECONNECT,
            SYSTEM_INFO, TRACEROUTE, described,
            peer::{Tool, ending, tool},
            prepare, snapshot, switch, system_info,
        },
        readiness::Readiness,
    },
    time::{Mono, Wall},
    wire::{local::PeerRow, timestamp::Timestamp},
};
use proptest::prelude::*;

use crate::bench::{seconds, start};

fn given(pairs: &[(&str, &str)]) -> Parameters {
    pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn command(action: &str, pairs: &[(&str, &str)]) -> Result<String, &'static str> {
    let tool = tool(action, &given(pairs)).expect("a tool does it")?;
    Ok([vec![tool.name.to_owned()], tool.arguments].concat().join(" "))
}

#[test]
fn a_peer_is_pinged_by_its_address_behind_two_dashes_and_a_count_within_its_range() {
    let rows = [
        (None, "1"),
        (Some("3"), "3"),
        (Some("007"), "7"),
        (Some("+4"), "4"),
        (Some("10"), "10"),
        (Some("11"), "10"),
        (Some("99999999999999999999999999"), "10"),
        (Some("0"), "1"),
        (Some("-5"), "1"),
        (Some("-99999999999999999999999999"), "1"),
        (Some("many"), "1"),
        (Some(""), "1"),
        (Some("3.7"), "1"),
        (Some("7e0"), "1"),
        (Some(" 7"), "1"),
        (Some("-"), "1"),
        (Some("٧"), "1"),
    ];
    for (count, sent) in rows {
        let mut pairs = vec![("peer_id", "10.99.0.2")];
        pairs.extend(count.map(|count| ("count", count)));
        assert_eq!(command(PING, &pairs), Ok(format!("ping -n -c {sent} -W 3 -- 10.99.0.2")));
    }
}

#[test]
fn a_route_is_traced_to_its_address_behind_two_dashes_and_hops_within_their_range() {
    let rows =
        [(None, "15"), (Some("64"), "64"), (Some("65"), "64"), (Some("0"), "1"), (Some("x"), "15")];
    for (hops, sent) in rows {
        let mut pairs = vec![("peer_id", "fd00::2")];
        pairs.extend(hops.map(|hops| ("max_hops", hops)));
        assert_eq!(
            command(TRACEROUTE, &pairs),
            Ok(format!("traceroute -n -m {sent} -w 3 -- fd00::2"))
        );
    }
}

#[test]
fn a_peer_is_an_address_and_nothing_else() {
    for action in [PING, TRACEROUTE] {
        for none in [&[][..], &[("peer_id", "")], &[("peer", "10.0.0.1")]] {
            assert_eq!(command(action, none), Err("peer_id is required: the mesh IP of a peer"));
        }
        for text in [
            "localhost",
            "-h",
            "--",
            "-c100",
            "10.0.0",
            "10.0.0.1/8",
            "10.0.0.1:80",
            " 10.0.0.1",
            "10.0.0.1 ",
            "010.0.0.1",
            "fe80::1%eth0",
            "[::1]",
            "::1%1",
            "10.0.0.1\n",
            "10.0.0.1\0",
            "0x7f.1",
            "2130706433",
            "1.2.3.4;id",
            "$(id)",
        ] {
            let refused = Err("peer_id must be an IP address");
            assert_eq!(command(action, &[("peer_id", text)]), refused, "{text:?}");
        }
    }
    assert!(command(PING, &[("peer_id", "::FFFF:10.0.0.1")]).unwrap().ends_with(" -- 10.0.0.1"));
    assert!(command(PING, &[("peer_id", "FD00:0:0::2")]).unwrap().ends_with(" -- fd00::2"));
    assert_eq!(tool("diagnostics.collect", &given(&[])), None);
}

proptest! {
    #[test]
    fn whatever_is_given_a_tool_sees_its_options_two_dashes_and_an_address(
        peer in "\\PC*|[0-9a-f:.%-]{1,40}",
        number in "\\PC*|-?[0-9]{1,30}",
    ) {
        for action in [PING, TRACEROUTE] {
            let pairs = given(&[("peer_id", &peer), ("count", &number), ("max_hops", &number)]);
            let Ok(Tool { arguments, .. }) = tool(action, &pairs).expect("a tool does it") else {
                prop_assert!(peer.parse::<IpAddr>().is_err());
                continue;
            };
            prop_assert_eq!(arguments.len(), 7);
            prop_assert_eq!(&arguments[5], "--");
            let reached: IpAddr = arguments[6].parse().expect("an address");
            prop_assert_eq!(reached, peer.parse::<IpAddr>().expect("an address").to_canonical());
            let sent: u64 = arguments[2].parse().expect("a number");
            prop_assert!((1..=64).contains(&sent) && (action == TRACEROUTE || sent <= 10));
        }
    }
}

fn stream(text: &str, cut: bool) -> Captured {
    Captured { bytes: text.into(), cut }
}

fn end(code: i32, stdout: Captured, stderr: Captured) -> Ending {
    Ending { cause: Cause::Exited(code), stdout, stderr }
}

#[test]
fn a_tool_that_fails_ends_the_run_with_one_and_all_that_it_said_on_stderr() {
    let none = Captured::default;
    let broken = Cause::Broken("permission denied".into());
    let rows = [
        (end(0, stream("reply", false), none()), end(0, stream("reply", false), none())),
        (
            end(0, stream("reply", true), stream("warning", false)),
            end(0, stream("reply", true), stream("warning", false)),
        ),
        (end(1, stream("lost", false), none()), end(1, none(), stream("lost", false))),
        (
            end(2, stream("a\n", false), stream("b\n", false)),
            end(1, none(), stream("a\nb\n", false)),
        ),
        (
            end(2, stream(&"a".repeat(40), false), stream(&"b".repeat(40), false)),
            end(1, none(), stream(&["a".repeat(40), "b".repeat(24)].concat(), true)),
        ),
        (end(1, none(), stream("b", true)), end(1, none(), stream("b", true))),
        (
            Ending { cause: Cause::Signalled(9), ..end(0, stream("a\n", false), none()) },
            end(1, none(), stream("a\nping was ended by signal 9\n", false)),
        ),
        (
            Ending { cause: broken, ..end(0, none(), none()) },
            end(1, none(), stream("ping cannot be run: permission denied\n", false)),
        ),
    ];
    for (ended, expected) in rows {
        let is = ending("ping", Some(ended.clone()), 64);
        assert_eq!(is, expected, "{ended:?}");
    }
    for cause in [Cause::TimedOut, Cause::Cancelled] {
        let ended = Ending { cause, ..end(0, stream("so far", false), none()) };
        assert_eq!(ending("ping", Some(ended.clone()), 64), ended);
    }
    for tool in ["ping", "traceroute"] {
        let told = stream(&format!("{tool} not available\n"), false);
        assert_eq!(ending(tool, None, 64), end(1, none(), told));
    }
}

#[test]
fn a_snapshot_asks_for_a_number_of_lines_and_for_none_from_before_a_moment() {
    let now = Wall::from_origin(seconds(1_800_000_000));
    let asked = |pairs: &[(&str, &str)]| snapshot(&given(pairs), now);
    for (lines, taken) in
        [("7", 7), ("0", 1), ("-1", 1), ("10000", 10_000), ("10001", 10_000), ("all", 100)]
    {
        assert_eq!(asked(&[("lines", lines)]).unwrap().lines, taken, "{lines}");
    }
    assert_eq!(asked(&[]).unwrap().lines, 100);
    let at = |text: &str| Some(Timestamp::parse(text).expect("a time"));
    for (since, moment) in [
        ("", None),
        ("2027-01-15T07:00:00Z", at("2027-01-15T07:00:00Z")),
        ("2027-01-15T08:30:00.5+01:30", at("2027-01-15T07:00:00.5Z")),
        ("0s", at("2027-01-15T08:00:00Z")),
        ("1h30m", at("2027-01-15T06:30:00Z")),
        ("8784h", at("2026-01-14T08:00:00Z")),
    ] {
        assert_eq!(asked(&[("since", since)]).unwrap().since, moment, "{since}");
    }
    for broken in ["yesterday", "15", "2027-01-15", "2027-01-15 07:00:00Z", "-5m", "8785h"] {
        let told = asked(&[("since", broken)]).unwrap_err();
        assert!(told.starts_with("since must be a time such as "), "{broken}: {told}");
    }
    let long_ago = snapshot(&given(&[("since", "8784h")]), Wall::from_origin(seconds(1)));
    assert_eq!(long_ago.unwrap().since, at("1970-01-01T00:00:00Z"));
}

#[test]
fn a_switch_is_on_for_anything_but_false() {
    for (given_as, default, is_on) in [
        (None, true, true),
        (None, false, false),
        (Some("false"), true, false),
        (Some("true"), false, true),
        (Some("no"), false, true),
        (Some(""), false, true),
    ] {
        let pairs: BTreeMap<_, _> =
            given_as.map(|value| ("x".into(), value.into())).into_iter().collect();
        assert_eq!(switch(&pairs, "x", default), is_on, "{given_as:?}");
    }
}

fn peers() -> Vec<PeerRow> {
    let row = |id: &str| PeerRow {
        id: id.into(),
        public_key: "k".into(),
        mesh_ip: "10.0.0.2".into(),
        endpoint: String::new(),
    };
    vec![row("p1"), row("p2")]
}

fn known(peers: &[PeerRow]) -> Known<'_> {
    let now = start();
    let ago = |time: u64| Mono::from_origin(now.mono.since_origin() - seconds(time));
    Known {
        node_id: "n",
        mesh_ip: "10.0.0.7",
        version: "1.2.3",
        peers,
        readiness: Readiness::Ready,
        pulls: true,
        started: ago(90),
        last_heartbeat: Some(ago(10)),
        last_reconcile: None,
        now,
    }
}

fn run(name: &str, pairs: &[(&str, &str)]) -> Run {
    let program = Program::Builtin { name: name.into(), parameters: given(pairs) };
    Run { program, deadline: Duration::from_secs(600), max_output_bytes: 1 << 20 }
}

fn text(ending: &Ending) -> String {
    String::from_utf8(ending.stdout.bytes.clone()).expect("a text")
}

#[test]
fn a_health_check_tells_times_readiness_and_the_peers_where_they_are_wanted() {
    let peers = peers();
    let Prepared::Ended(plain) = prepare(&known(&peers), run(HEALTH_CHECK, &[])) else { panic!() };
    assert_eq!(plain.cause, Cause::Exited(0));
    let expected = "{\n  \"tunnel_count\": 0,\n  \"connected_peers\": 0,\n  \"uptime\": 90,\n  \
        \"last_heartbeat\": \"2027-01-15T07:59:50Z\",\n  \"last_reconcile\": null,\n  \"status\": \"healthy\",\n  \
        \"reason\": \"ok\",\n  \"include_peers\": false,\n  \"peers\": []\n}";
    assert_eq!(text(&plain), expected);
    let wanted = run(HEALTH_CHECK, &[("include_peers", "true")]);
    let Prepared::Ended(with) = prepare(&known(&peers), wanted) else { panic!() };
    assert!(
        text(&with)
            .contains("\"include_peers\": true,\n  \"peers\": [\n    {\n      \"id\": \"p1\",")
    );
    let ill = Known { readiness: Readiness::IdentityRefused, ..known(&peers) };
    let Prepared::Ended(ill) = prepare(&ill, run(HEALTH_CHECK, &[])) else { panic!() };
    let told = "\"status\": \"degraded\",\n  \"reason\": \"not ready: identity refused\"";
    assert!(text(&ill).contains(told));
    let narrow = Run { max_output_bytes: 20, ..run(HEALTH_CHECK, &[]) };
    let Prepared::Ended(narrow) = prepare(&known(&peers), narrow) else { panic!() };
    assert_eq!((narrow.stdout.bytes.len(), narrow.stdout.cut), (20, true));
}

#[test]
fn a_reconnect_pulls_where_anything_is_pulled_and_else_tells_why_not() {
    let awake = prepare(&known(&[]), run(RECONNECT, &[]));
    let Prepared::Reconnect(ending) = awake else { panic!("{awake:?}") };
    assert_eq!(
        (ending.cause.clone(), text(&ending).as_str()),
        (Cause::Exited(0), "{\n  \"status\": \"reconnected\"\n}")
    );
    for (readiness, told) in [
        (Readiness::RegistrationPending, "not ready: registration pending\n"),
        (Readiness::IdentityRefused, "not ready: identity refused\n"),
        (Readiness::SubsystemStopped, "the agent stops\n"),
        (Readiness::Ready, "the agent stops\n"),
    ] {
        let asleep = prepare(&Known { pulls: false, readiness, ..known(&[]) }, run(RECONNECT, &[]));
        assert_eq!(asleep, Prepared::Ended(end(1, Captured::default(), stream(told, false))));
    }
}

#[test]
fn what_a_system_is_comes_from_the_agent_and_from_the_host_and_not_from_who_asks() {
    let peers = peers();
    let ordered = run(SYSTEM_INFO, &[("node_id", "forged"), ("hostname", "forged")]);
    let Prepared::Run(handed) = prepare(&known(&peers), ordered) else { panic!() };
    let Program::Builtin { name, parameters } = handed.program else { panic!() };
    assert_eq!((name.as_str(), handed.max_output_bytes), (SYSTEM_INFO, 1 << 20));
    let host = Host { hostname: "box", os: "linux", arch: "x86_64" };
    let expected = "{\n  \"hostname\": \"box\",\n  \"os\": \"linux\",\n  \"arch\": \"x86_64\",\n  \
        \"version\": \"1.2.3\",\n  \"mesh_ip\": \"10.0.0.7\",\n  \"peer_count\": 2,\n  \"node_id\": \"n\"\n}";
    assert_eq!(String::from_utf8(system_info(&host, &parameters)).unwrap(), expected);
}

#[test]
fn every_other_run_is_begun_as_it_was_ordered() {
    let handed_on =
        ALL.into_iter().filter(|name| ![HEALTH_CHECK, RECONNECT, SYSTEM_INFO].contains(name));
    for name in handed_on {
        let ordered = run(name, &[("a", "b")]);
        assert_eq!(prepare(&known(&[]), ordered.clone()), Prepared::Run(ordered));
    }
}

#[test]
fn a_program_prints_without_the_values_that_it_is_given() {
    let printed = format!("{:?}", run("x", &[("password", "hunter2"), ("a", "b")]));
    assert!(printed.contains(r#"Builtin("x", ["a", "password"])"#), "{printed}");
    assert!(!printed.contains("hunter2"), "{printed}");
}

#[test]
fn every_action_has_words_and_its_parameters_are_listed_as_they_are_read() {
    let listed: Vec<_> = ALL
        .into_iter()
        .flat_map(|name| {
            let info = described(name);
            assert!(info.description.ends_with('.') && info.name == name, "{name}");
            info.parameters.into_iter().map(move |row| {
                assert!(row.description.ends_with('.'), "{name} {}", row.name);
                let required = if row.required { "required" } else { "optional" };
                format!("{name} {} {} {required} {:?}", row.name, row.kind, row.default)
            })
        })
        .collect();
    let expected = [
        r#"diagnostics.collect include_network bool optional "true""#,
        r#"diagnostics.collect include_processes bool optional "true""#,
        r#"diagnostics.ping_peer peer_id string required """#,
        r#"diagnostics.ping_peer count int optional "1""#,
        r#"diagnostics.traceroute_peer peer_id string required """#,
        r#"diagnostics.traceroute_peer max_hops int optional "15""#,
        r#"health.check include_peers bool optional "false""#,
        r#"logs.snapshot lines int optional "100""#,
        r#"logs.snapshot since string optional """#,
    ];
    assert_eq!(listed, expected);
    assert_eq!(described("none").description, "");
}

#[test]
fn what_a_reload_prints_names_the_process() {
    let printed = String::from_utf8(builtins::reload_sent(77)).unwrap();
    assert_eq!(printed, "{\n  \"status\": \"reload_signal_sent\",\n  \"pid\": 77\n}");
}
