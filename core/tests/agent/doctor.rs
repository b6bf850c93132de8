//! What the doctor makes of what was gathered: each state with its words and its mend.

use std::time::Duration;

use meshward_core::{
    agent::{
        Content, FileKind, FoundHook, FoundProgram, FoundSidecar, Held, Sight,
        heartbeat::skew::Skew,
        hooks::trust::{self, Distrust},
    },
    doctor::{
        Ability, DataDir, Finding, Folder, Health, Holder, Identities, KeptFile, Local, Log, Plane,
        Port, ROOM_MIN, ROOM_WARN, Seen, Shake, Socket, State, There, TlsFault, Tokens, Way, hooks,
        is_all_good, proc,
    },
    time::Wall,
    wire::{
        grammar::Checksum,
        identity::{Files, Found, KeyFile},
    },
};
use proptest::prelude::*;

use crate::{
    bench::{remembered, seconds, start},
    support::seeds_in,
};

fn worst(findings: &[Finding]) -> State {
    findings.iter().map(|finding| finding.state).max().expect("there is one")
}

fn plane(shake: Shake) -> Plane {
    Plane {
        way: Some(Way::Connected { address: "192.0.2.1:443".into(), shake }),
        health: Some(Health::Answered { status: 200, told: Some("ok".into()) }),
        skew: Some(Skew::None),
    }
}

#[test]
fn whatever_is_not_good_says_how_to_mend_it_and_what_is_good_does_not() {
    let faults = [
        TlsFault::Expired,
        TlsFault::NotYetValid,
        TlsFault::Name,
        TlsFault::Chain,
        TlsFault::Refused("forged".into()),
        TlsFault::Other("odd".into()),
    ];
    let shakes = [
        Shake::Plain { in_clear: true },
        Shake::Plain { in_clear: false },
        Shake::Unverified,
        Shake::Sound,
    ]
    .into_iter()
    .chain(faults.map(Shake::Failed));
    let mut findings: Vec<_> = shakes.flat_map(|shake| plane(shake).findings()).collect();
    for ability in Ability::ALL {
        for wanted in [false, true] {
            let no = There::No("gone".to_owned());
            for there in [There::Yes, There::Instead("another"), no, There::Hidden] {
                findings.push(Seen { ability, wanted, there }.finding());
            }
        }
    }
    for port in [Port::Free, Port::Agent, Port::Other] {
        for socket in sockets() {
            for agent in [Holder::Nobody, Holder::Process(7), Holder::Hidden] {
                findings.extend(local(agent, socket.clone(), port).findings());
            }
        }
    }
    for finding in findings {
        assert_eq!(finding.state == State::Good, finding.mend.is_empty(), "{finding:?}");
        assert!(!finding.words.is_empty());
    }
}

#[test]
fn behind_the_first_step_that_fails_nothing_is_told_of_the_way() {
    let cause = || "no".to_owned();
    let unresolved = Way::Unresolved { host: "plane.example".into(), cause: cause() };
    let unconnected = Way::Unconnected { tried: "192.0.2.1:443".into(), cause: cause() };
    let unprepared = Way::Unprepared { cause: cause() };
    for way in [None, Some(unresolved), Some(unconnected), Some(unprepared)] {
        let findings = Plane { way, ..plane(Shake::Sound) }.findings();
        assert_eq!((findings.len(), worst(&findings)), (1, State::Bad), "{findings:?}");
    }
    let names = |shake| plane(shake).findings().iter().map(|row| row.name).collect::<Vec<_>>();
    assert_eq!(names(Shake::Failed(TlsFault::Chain)), ["connect", "tls"]);
    assert_eq!(names(Shake::Sound), ["connect", "tls", "control plane", "clock"]);
}

#[test]
fn an_answer_is_a_control_planes_only_where_it_says_how_it_is() {
    let said = |status, told: Option<&str>| {
        let health = Some(Health::Answered { status, told: told.map(str::to_owned) });
        let findings = Plane { health, ..plane(Shake::Sound) }.findings();
        let row = findings.iter().find(|row| row.name == "control plane").expect("it is told");
        (row.state, row.words.clone())
    };
    assert_eq!(said(200, Some("ok")).0, State::Good);
    assert_eq!(said(200, Some("degraded")).0, State::Warn);
    assert_eq!(said(200, None).0, State::Bad);
    let absent = said(404, None);
    let words = "reachable, but no control plane answers at this path".to_owned();
    assert_eq!(absent, (State::Bad, words));
    assert_eq!(said(503, Some("ok")).0, State::Bad);
}

#[test]
fn a_clock_is_bad_from_the_second_on_that_the_control_plane_refuses() {
    for (by, state) in [
        (0, State::Good),
        (30, State::Good),
        (31, State::Warn),
        (60, State::Warn),
        (61, State::Bad),
    ] {
        for skew in [Skew::Ahead(seconds(by)), Skew::Behind(seconds(by))] {
            let findings = Plane { skew: Some(skew), ..plane(Shake::Sound) }.findings();
            assert_eq!(worst(&findings), state, "{skew:?}");
        }
    }
}

fn folder() -> Folder {
    let path = "/var/lib/meshward".into();
    let holder = Holder::Process(7);
    Folder { path, owner: 0, ours: 0, mode: 0o700, writable: true, free: Some(1 << 30), holder }
}

#[test]
fn a_data_directory_is_good_where_it_is_the_agents_alone() {
    let state = |folder: Folder| worst(&DataDir::There(folder).findings());
    assert_eq!(state(folder()), State::Good);
    assert_eq!(state(Folder { owner: 1, ..folder() }), State::Bad);
    assert_eq!(state(Folder { mode: 0o750, ..folder() }), State::Bad);
    assert_eq!(state(Folder { writable: false, ..folder() }), State::Bad);
    assert_eq!(state(Folder { free: Some(ROOM_WARN - 1), ..folder() }), State::Warn);
    assert_eq!(state(Folder { free: Some(ROOM_MIN - 1), ..folder() }), State::Bad);
    let path = || "/d".to_owned();
    let absent = |creatable| worst(&DataDir::Absent { path: path(), creatable }.findings());
    assert_eq!((absent(true), absent(false)), (State::Good, State::Bad));
    assert_eq!(worst(&DataDir::NoFolder { path: path() }.findings()), State::Bad);
    assert_eq!(worst(&DataDir::Closed { path: path(), cause: "no".into() }.findings()), State::Bad);
    assert_eq!(DataDir::There(folder()).holder(), Holder::Process(7));
}

fn identities(files: Files, tokens: Tokens) -> Identities {
    Identities { files: Ok(files), kept: Vec::new(), tokens, foreign: false }
}

fn kept(mode: u32) -> KeptFile {
    KeptFile { path: "/f".into(), mode }
}

#[test]
fn a_node_without_an_identity_needs_a_token_and_one_with_it_does_not() {
    let state = |files: Files, tokens: Tokens| worst(&identities(files, tokens).findings());
    let registered = remembered(meshward_core::agent::StagedFile::Missing).files;
    assert_eq!(state(registered.clone(), Tokens::default()), State::Good);
    assert_eq!(state(Files::default(), Tokens::default()), State::Bad);
    let file = |mode| Tokens { file: Some(kept(mode)), ..Tokens::default() };
    assert_eq!(state(Files::default(), file(0o600)), State::Good);
    assert_eq!(state(Files::default(), file(0o640)), State::Bad);
    let elsewhere = Tokens { elsewhere: true, ..Tokens::default() };
    assert_eq!(state(Files::default(), elsewhere), State::Good);
    let metadata = Tokens { metadata: true, ..Tokens::default() };
    assert_eq!(state(Files::default(), metadata), State::Good);
    let unreadable = Tokens { unreadable: Some("/t: denied".into()), ..Tokens::default() };
    assert_eq!(state(Files::default(), unreadable), State::Bad);
    let corrupt = Files {
        identity: Found::Content(b"{".to_vec()),
        private_key: KeyFile::Sound,
        ..Files::default()
    };
    assert_eq!(state(corrupt, Tokens::default()), State::Bad);
    let open = Identities {
        kept: vec![kept(0o600), kept(0o604)],
        ..identities(registered, Tokens::default())
    };
    let findings = open.findings();
    assert!(findings.iter().all(|finding| finding.state == State::Bad), "{findings:?}");
    let closed = Identities { files: Err("denied".into()), ..open };
    assert_eq!(worst(&closed.findings()), State::Bad);
}

fn sockets() -> [Socket; 6] {
    [
        Socket::Absent,
        Socket::NoSocket,
        Socket::Closed("denied".into()),
        Socket::Left,
        Socket::Silent("late".into()),
        Socket::Answers { group: true, has_group: true },
    ]
}

fn local(agent: Holder, socket: Socket, port: Port) -> Local {
    Local {
        agent,
        socket_path: "/run/meshward/api.sock".into(),
        socket: Some(socket),
        health: Some((":9101".into(), Some(port))),
        tcp: Some(("127.0.0.1:9100".into(), Some(port))),
    }
}

#[test]
fn what_the_agent_offers_is_held_against_whether_it_runs() {
    let answers = |group, has_group| Socket::Answers { group, has_group };
    let rows = [
        (true, answers(true, true), Port::Agent, State::Good, State::Good),
        (true, answers(false, true), Port::Free, State::Warn, State::Bad),
        (true, answers(false, false), Port::Other, State::Warn, State::Bad),
        (true, Socket::Absent, Port::Agent, State::Bad, State::Good),
        (false, Socket::Absent, Port::Free, State::Good, State::Good),
        (false, Socket::Left, Port::Agent, State::Good, State::Bad),
        (true, Socket::Left, Port::Agent, State::Bad, State::Good),
        (false, Socket::Silent("late".into()), Port::Free, State::Bad, State::Good),
        (false, Socket::NoSocket, Port::Other, State::Bad, State::Bad),
    ];
    for (running, socket, port, at_socket, at_port) in rows {
        let agent = if running { Holder::Process(7) } else { Holder::Nobody };
        let findings = local(agent, socket.clone(), port).findings();
        let states: Vec<_> = findings.iter().map(|finding| finding.state).collect();
        assert_eq!(states, [at_socket, at_port, at_port], "{running} {socket:?} {port:?}");
    }
}

/// The words that every check has which this user cannot make.
fn is_untold(finding: &Finding) -> bool {
    finding.state == State::Bad
        && finding.words.contains("cannot be told as this user")
        && finding.mend.contains("ask as the user of the agent")
}

#[test]
fn what_another_user_cannot_see_is_neither_good_nor_laid_to_another_cause() {
    for port in [Port::Free, Port::Agent] {
        let closed = Socket::Closed("denied".into());
        let findings = local(Holder::Hidden, closed, port).findings();
        assert!(findings.iter().all(is_untold), "{findings:?}");
        let findings = local(Holder::Hidden, Socket::Absent, port).findings();
        assert!(findings.iter().all(is_untold), "{findings:?}");
    }
    let hidden = Folder { owner: 1, holder: Holder::Hidden, free: None, ..folder() };
    let findings = DataDir::There(hidden).findings();
    assert!(findings.iter().skip(1).all(is_untold), "{findings:?}");
    let failed = Sight::Failed("/h: denied".into());
    let unreadable = hook(FoundProgram::Unreadable("denied".into()));
    for sight in [failed, unreadable] {
        let findings = hooks(start(), Some(sight.clone()), true);
        assert!(!findings.is_empty() && findings.iter().all(is_untold), "{findings:?}");
        let findings = hooks(start(), Some(sight), false);
        assert!(findings[0].mend.starts_with("let the user of the agent read it"), "{findings:?}");
    }
    let tokens = Tokens { unreadable: Some("/t: denied".into()), ..Tokens::default() };
    let foreign = Identities { foreign: true, ..identities(Files::default(), tokens) };
    assert!(foreign.findings().iter().any(is_untold));
    let seen = Seen { ability: Ability::AuditRead, wanted: true, there: There::Hidden };
    assert!(is_untold(&seen.finding()));
    let no = || There::No("the agent has it not".into());
    for (there, log, foreign, expected) in [
        (no(), Log::Readable, false, There::Instead("the log of auditd is read")),
        (no(), Log::Readable, true, There::Hidden),
        (no(), Log::Closed, true, There::Hidden),
        (no(), Log::Closed, false, no()),
        (no(), Log::Absent, false, no()),
        (no(), Log::Absent, true, no()),
        (There::Yes, Log::Readable, false, There::Yes),
        (There::Hidden, Log::Readable, false, There::Hidden),
    ] {
        assert_eq!(there.clone().or_by(log, foreign), expected, "{there:?} {log:?} {foreign}");
    }
    let instead = Seen { there: There::Instead("the log of auditd is read"), ..seen };
    assert_eq!(instead.finding().words, "not there: the log of auditd is read");
}

#[test]
fn another_user_is_who_does_not_own_the_data_directory_or_cannot_come_near_it() {
    let path = || "/d".to_owned();
    assert!(DataDir::Closed { path: path(), cause: "no".into() }.is_foreign());
    assert!(DataDir::Absent { path: path(), creatable: false }.is_foreign());
    assert!(!DataDir::Absent { path: path(), creatable: true }.is_foreign());
    assert!(DataDir::There(Folder { owner: 1, ..folder() }).is_foreign());
    assert!(!DataDir::There(folder()).is_foreign());
    assert_eq!(DataDir::Closed { path: path(), cause: "no".into() }.holder(), Holder::Hidden);
}

#[test]
fn a_port_that_the_kernel_gives_is_not_looked_at() {
    for agent in [Holder::Nobody, Holder::Process(7), Holder::Hidden] {
        let health = Some(("127.0.0.1:0".into(), Some(Port::Other)));
        let findings = Local { health, ..local(agent, Socket::Absent, Port::Free) }.findings();
        assert_eq!(findings[1].state, State::Good, "{findings:?}");
    }
}

fn hook(found: FoundProgram) -> Sight {
    let files = vec![FoundHook { name: "backup".into(), found }];
    Sight::Found { files, crowded: false }
}

#[test]
fn hooks_are_judged_by_the_rules_that_they_are_run_by() {
    let state = |sight| worst(&hooks(start(), sight, false));
    let sidecar = FoundSidecar::Absent;
    let whole = FoundProgram::Whole { digest: Checksum::from_bytes([1; 32]), sidecar };
    assert_eq!(state(Some(hook(whole))), State::Good);
    assert_eq!(state(Some(Sight::Absent)), State::Good);
    assert_eq!(state(None), State::Bad);
    let changed = Wall::from_origin(Duration::ZERO);
    let held = Held { kind: FileKind::Regular, owner: 0, mode: 0o775, changed };
    let why = trust::program(&held).expect_err("its group can change it");
    let findings = hooks(start(), Some(hook(FoundProgram::Distrusted(why))), false);
    assert_eq!(worst(&findings), State::Bad);
    assert!(findings[0].words.contains("backup") && findings[0].words.contains("chmod go-w"));
    let place = Sight::Distrusted { path: "/etc/meshward".into(), why: Distrust::Writable };
    assert_eq!(state(Some(place)), State::Bad);
    let sidecar = FoundSidecar::Bytes(Content(b"no".to_vec()));
    let odd = FoundProgram::Whole { digest: Checksum::from_bytes([1; 32]), sidecar };
    assert_eq!(state(Some(hook(odd))), State::Bad);
}

#[test]
fn what_is_not_needed_may_be_missing() {
    let state =
        |ability, wanted| Seen { ability, wanted, there: There::No("gone".into()) }.finding().state;
    for ability in Ability::ALL {
        assert_eq!(state(ability, false), State::Good);
        let is_of_the_tunnel = matches!(ability, Ability::Tun | Ability::NetAdmin);
        assert_eq!(state(ability, true) == State::Good, is_of_the_tunnel, "{ability:?}");
    }
    assert_eq!(state(Ability::Pidfd, true), State::Bad);
}

#[test]
fn what_this_version_does_not_use_is_no_fault_and_is_said_to_be_unused() {
    for ability in [Ability::Tun, Ability::NetAdmin] {
        let seen = Seen { ability, wanted: true, there: There::No("the agent has it not".into()) };
        let finding = seen.finding();
        assert_eq!(finding.state, State::Good);
        assert!(finding.words.contains("this version has no tunnel"), "{finding:?}");
    }
}

#[test]
fn a_row_is_one_line_whatever_a_peer_wrote_into_it() {
    let finding = Finding::bad("dns", "a\nb\u{1b}", "c\rd");
    assert!(!finding.line().contains(['\n', '\r', '\u{1b}']), "{:?}", finding.line());
    assert!(finding.line().starts_with("bad   dns: a"));
    assert!(!is_all_good(&[Finding::good("a", "b"), Finding::warn("c", "d", "e")]));
    assert!(is_all_good(&[Finding::good("a", "b")]));
}

const LOCKS: &str = "1: POSIX  ADVISORY  WRITE 11 00:1d:77 0 EOF
1: -> POSIX  ADVISORY  WRITE 12 00:1d:77 0 EOF
2: FLOCK  ADVISORY  READ 13 fe:00:77 0 EOF
3: FLOCK  ADVISORY  WRITE 14 fe:00:78 0 EOF
4: FLOCK  ADVISORY  WRITE 15 fe:00:77 0 EOF
";

#[test]
fn a_lock_is_its_holders_by_kind_mode_and_inode() {
    assert_eq!(proc::holder(LOCKS, 77), Some(15));
    assert_eq!(proc::holder(LOCKS, 78), Some(14));
    assert_eq!(proc::holder(LOCKS, 79), None);
}

#[test]
fn capabilities_are_those_in_effect() {
    let status = "Name:\tmeshward\nCapPrm:\tffff\nCapEff:\t0000000000001000\n";
    assert_eq!(proc::capabilities(status), Some(1 << 12));
    assert_eq!(proc::capabilities("CapEff:\tx\n"), None);
    assert_eq!(proc::capabilities(""), None);
}

proptest! {
    #![proptest_config(seeds_in("doctor"))]
    #[test]
    fn any_text_of_the_kernel_is_read_to_its_end(text in "\\PC{0,80}(\n[ 0-9A-Z:>-]{0,60}){0,9}", inode: u64) {
        proc::holder(&text, inode);
        proc::capabilities(&text);
    }
}
