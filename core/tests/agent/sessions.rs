//! Sessions: what each entry of the block earns, what is closed and when, and in which order.

use meshward_core::{
    agent::{
        Carried, Forward, Level, SessionFact, SessionOrder, SessionSettings,
        sessions::{
            CLOSE_MAX, CONNECT_TIMEOUT, Effect, IDLE_MAX, Input, Kit, LISTED_MAX, Sessions,
        },
        verdict::session::Reported,
    },
    ids::SessionId,
    time::Now,
    wire::{
        grammar::Name,
        session::{Phase, TcpActivity},
        snapshot::{K8sTarget, Session, SshTarget, Target, TcpTarget},
    },
};

use crate::bench::{at, expires, seconds, sessions, start};

/// A machine with its clock, and what it ordered by the last input.
pub(crate) struct Desk {
    pub(crate) machine: Sessions,
    pub(crate) settings: SessionSettings,
    pub(crate) mesh_ip: &'static str,
    pub(crate) now: Now,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let machine = Sessions::default();
        Self { machine, settings: sessions(), mesh_ip: "10.0.0.7", now: start() }
    }

    pub(crate) fn give(&mut self, input: Input) -> Vec<Effect> {
        let kit = Kit { settings: &self.settings, mesh_ip: self.mesh_ip };
        let step = std::mem::take(&mut self.machine).step(kit, self.now, input);
        self.machine = step.state;
        step.effects
    }

    pub(crate) fn pull(&mut self, entries: &[Session]) -> Vec<Effect> {
        self.give(Input::Pulled { entries: Some(entries.to_vec()), unread: [].into() })
    }

    pub(crate) fn tell(&mut self, session: &str, fact: SessionFact) -> Vec<Effect> {
        self.give(Input::Told { session: id(session), fact })
    }

    pub(crate) fn opened(&mut self, session: &str) -> Vec<Effect> {
        self.tell(session, SessionFact::Opened { endpoint: ([10, 0, 0, 7], 4000).into() })
    }

    pub(crate) fn closed(&mut self, session: &str) -> Vec<Effect> {
        self.tell(session, SessionFact::Closed(Carried { bytes_in: 3, bytes_out: 4 }))
    }

    pub(crate) fn answer(
        &mut self,
        session: &str,
        phase: Phase,
        reported: Reported,
    ) -> Vec<Effect> {
        self.give(Input::Answered { session: id(session), phase, reported })
    }

    /// A session that is open, and whose begin was taken.
    pub(crate) fn with(entry: &Session) -> Self {
        let mut desk = Self::new();
        let session = entry.session_id.as_str();
        assert_eq!(ordered(&desk.pull(std::slice::from_ref(entry))), [format!("open {session}")]);
        assert_eq!(rows(&desk.opened(session)).len(), 1);
        desk.answer(session, Phase::SessionStarted, Reported::Accepted);
        desk
    }

    pub(crate) fn tick_at_wakeup(&mut self) -> Vec<Effect> {
        let due = self.machine.wakeup().expect("a tick is wanted");
        self.now = self.now.after(due.since(self.now.mono));
        self.give(Input::Ticked)
    }
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId(text.into())
}

/// A sound entry with ten minutes left.
pub(crate) fn entry(id: &str) -> Session {
    Session {
        session_id: Name(id.into()),
        jti: Name(id.into()),
        kind: "tcp".into(),
        target: Some(tcp("db.internal", 5432)),
        expires_at: Some(expires(at(seconds(600)).wall)),
        idle_timeout_seconds: None,
    }
}

fn tcp(host: &str, port: u16) -> Target {
    Target { tcp: Some(TcpTarget { host: Name(host.into()), port }), ..Target::default() }
}

/// The orders to listeners, in words.
pub(crate) fn ordered(effects: &[Effect]) -> Vec<String> {
    let mut all = Vec::new();
    for effect in effects {
        match effect {
            Effect::Order { session, order: SessionOrder::Open(_) } => {
                all.push(format!("open {}", session.0));
            }
            Effect::Order { session, order: SessionOrder::Close { within } } => {
                assert_eq!(*within, CLOSE_MAX);
                all.push(format!("close {}", session.0));
            }
            Effect::Post { .. } | Effect::Tell(_) => {}
        }
    }
    all
}

fn forwards(effects: &[Effect]) -> Vec<Forward> {
    let forward = |effect: &Effect| match effect {
        Effect::Order { order: SessionOrder::Open(forward), .. } => Some(forward.clone()),
        Effect::Order { .. } | Effect::Post { .. } | Effect::Tell(_) => None,
    };
    effects.iter().filter_map(forward).collect()
}

pub(crate) fn rows(effects: &[Effect]) -> Vec<TcpActivity> {
    let row = |effect: &Effect| match effect {
        Effect::Post { row, .. } => Some(row.clone()),
        Effect::Order { .. } | Effect::Tell(_) => None,
    };
    effects.iter().filter_map(row).collect()
}

/// What the operator is told at this level.
pub(crate) fn told(effects: &[Effect], level: Level) -> Vec<String> {
    let text = |effect: &Effect| match effect {
        Effect::Tell(notice) if notice.level == level => Some(notice.text.clone()),
        Effect::Tell(_) | Effect::Order { .. } | Effect::Post { .. } => None,
    };
    effects.iter().filter_map(text).collect()
}

#[test]
fn a_session_is_opened_on_the_mesh_address_and_told_with_its_endpoint() {
    let mut desk = Desk::new();
    let entry = Session { idle_timeout_seconds: Some(60), ..entry("a") };
    let effects = desk.pull(std::slice::from_ref(&entry));
    let forward = Forward {
        listen: [10, 0, 0, 7].into(),
        target_host: "db.internal".into(),
        target_port: 5432,
        connect_timeout: CONNECT_TIMEOUT,
        idle: Some(seconds(60)),
    };
    assert_eq!(forwards(&effects), [forward]);
    assert_eq!(rows(&effects), [], "no row before it listens");
    let expected = TcpActivity {
        target_host: Name("db.internal".into()),
        target_port: Some(5432),
        listener_endpoint: "10.0.0.7:4000".into(),
        ..TcpActivity::of(Phase::SessionStarted)
    };
    assert_eq!(rows(&desk.opened("a")), [expected]);
    assert_eq!(desk.machine.counts(), (1, 0));
    assert_eq!(ordered(&desk.pull(&[entry])), [""; 0], "it is open already");
}

#[test]
fn an_entry_that_can_never_be_opened_is_settled_with_one_warning_while_it_is_listed() {
    let ssh = Target { ssh: Some(SshTarget::default()), ..Target::default() };
    let k8s = Target { k8s: Some(K8sTarget::default()), ..Target::default() };
    let both = Target { ssh: ssh.ssh.clone(), ..tcp("h", 1) };
    let kind = |kind: &str, target| Session { kind: kind.into(), target, ..entry("a") };
    let lapsed = Some(expires(start().wall));
    for (bad, unsupported, reason) in [
        (entry(""), 0, "it has no session_id"),
        (entry("."), 0, "its id cannot stand in a path"),
        (entry(".."), 0, "its id cannot stand in a path"),
        (kind("ssh", Some(ssh.clone())), 1, "sessions of kind ssh are not served by this agent"),
        (kind("k8s", Some(k8s)), 1, "sessions of kind k8s are not served by this agent"),
        (kind("vnc", Some(tcp("h", 1))), 0, "its kind \"vnc\" is unknown"),
        (kind("tcp", Some(ssh)), 0, "its target does not match its kind"),
        (kind("tcp", Some(both)), 0, "its target does not match its kind"),
        (kind("tcp", None), 0, "its target does not match its kind"),
        (Session { expires_at: None, ..entry("a") }, 0, "it has no expires_at"),
        (Session { expires_at: lapsed, ..entry("a") }, 0, "its expires_at has passed"),
    ] {
        let mut desk = Desk::new();
        let id = bad.session_id.as_str();
        let expected = format!("session {id:?} is settled without being opened: {reason}");
        let first = desk.pull(std::slice::from_ref(&bad));
        assert_eq!(told(&first, Level::Warn), std::slice::from_ref(&expected));
        assert_eq!((ordered(&first).len(), rows(&first).len()), (0, 0), "{reason}");
        assert_eq!(desk.machine.counts(), (0, unsupported), "{reason}");
        assert_eq!(desk.pull(std::slice::from_ref(&bad)), [], "{reason}: told once");
        // A sound entry of the same id is not opened while it is listed; once it was gone, all begins anew.
        assert_eq!(desk.pull(&[entry(id)]), [], "{reason}: settled for good");
        assert_eq!(desk.pull(&[]), []);
        assert_eq!(desk.machine, Sessions::default(), "{reason}: nothing is kept");
        assert_eq!(told(&desk.pull(&[bad]), Level::Warn), [expected]);
    }
}

#[test]
fn with_sessions_disabled_everything_listed_is_settled() {
    let mut desk = Desk::new();
    desk.settings.enabled = false;
    let warned = told(&desk.pull(&[entry("a"), entry("b")]), Level::Warn);
    assert_eq!(warned.len(), 2);
    assert!(warned.iter().all(|text| text.ends_with("sessions.enabled is false")), "{warned:?}");
    assert_eq!(desk.pull(&[entry("a"), entry("b")]), []);
}

#[test]
fn what_may_be_mended_is_looked_at_again_on_each_pull_and_told_once() {
    let target = |host: &str, port| Session { target: Some(tcp(host, port)), ..entry("a") };
    let idle = |seconds| Session { idle_timeout_seconds: Some(seconds), ..entry("a") };
    let long = "h".repeat(254);
    for bad in [
        target("", 1),
        target("h", 0),
        target("0.0.0.0", 1),
        target("::", 1),
        target("::ffff:0.0.0.0", 1),
        target("224.0.0.1", 1),
        target("ff02::1", 1),
        target("::ffff:224.0.0.1", 1),
        target("fe80::1%eth0", 1),
        target("[::1]", 1),
        target("a b", 1),
        target("a/b", 1),
        target("127.1", 1),
        target("2130706433", 1),
        target("1.2.3.4.", 1),
        target(&long, 1),
        idle(IDLE_MAX + 1),
    ] {
        let mut desk = Desk::new();
        let first = desk.pull(std::slice::from_ref(&bad));
        assert_eq!(told(&first, Level::Warn).len(), 1, "{bad:?}");
        assert_eq!(ordered(&first), [""; 0], "{bad:?}");
        assert_eq!(desk.pull(std::slice::from_ref(&bad)), [], "{bad:?}: told once");
        assert_eq!(ordered(&desk.pull(&[entry("a")])), ["open a"], "{bad:?}: mended");
    }
    for good in [
        target("127.0.0.1", 65_535),
        target("::1", 1),
        target("db-1.x_y.example", 1),
        target("localhost.", 1),
        idle(IDLE_MAX),
        idle(0),
    ] {
        assert_eq!(ordered(&Desk::new().pull(std::slice::from_ref(&good))), ["open a"], "{good:?}");
    }
}

#[test]
fn no_listener_is_opened_on_an_address_that_is_no_single_host() {
    let every =
        ["", "0.0.0.0", "::", "::ffff:0.0.0.0", "224.0.0.1", "ff02::1", "fe80::1%eth0", "x"];
    for mesh_ip in every {
        let mut desk = Desk { mesh_ip, ..Desk::new() };
        let first = desk.pull(&[entry("a")]);
        let expected = format!(
            "session \"a\" waits for the next pull: nobody can listen on the mesh address {mesh_ip:?}"
        );
        assert_eq!((told(&first, Level::Warn), ordered(&first)), (vec![expected], vec![]));
    }
    let mut desk = Desk { mesh_ip: "::ffff:10.0.0.7", ..Desk::new() };
    assert_eq!(forwards(&desk.pull(&[entry("a")]))[0].listen.to_string(), "10.0.0.7");
    let mut desk = Desk { mesh_ip: "", ..Desk::new() };
    desk.settings.listen_address = Some([127, 0, 0, 1].into());
    assert_eq!(forwards(&desk.pull(&[entry("a")]))[0].listen.to_string(), "127.0.0.1");
}

#[test]
fn entries_are_opened_one_by_one_in_block_order_up_to_the_most_that_may_be_open() {
    let mut desk = Desk::new();
    let block = [entry("c"), entry("a"), entry("b")];
    assert_eq!(ordered(&desk.pull(&block)), ["open c"]);
    assert_eq!(ordered(&desk.pull(&block)), [""; 0], "one at a time");
    assert_eq!(ordered(&desk.opened("c")), ["open a"]);
    let full = desk.opened("a");
    let waits = "session \"b\" waits for the next pull: sessions.max_sessions (2) are open";
    assert_eq!((told(&full, Level::Warn), ordered(&full)), (vec![waits.into()], vec![]));
    assert_eq!(told(&desk.pull(&block), Level::Warn), [""; 0], "told once");
    // With c gone there is room on the same pull, behind its end.
    assert_eq!(ordered(&desk.pull(&block[1..])), ["close c"]);
    assert_eq!(ordered(&desk.closed("c")), ["open b"]);
}

#[test]
fn a_listener_that_cannot_be_opened_is_tried_again_on_the_next_pull() {
    let mut desk = Desk::new();
    desk.pull(&[entry("a"), entry("b")]);
    let refused = SessionFact::Refused { reason: "no such address".into() };
    let effects = desk.tell("a", refused.clone());
    let expected = "session \"a\" waits for the next pull: its listener cannot be opened: no such address \
         (sessions.listen_address, or else the mesh address, must be one of this host)";
    assert_eq!(told(&effects, Level::Warn), [expected]);
    assert_eq!(ordered(&effects), ["open b"], "the next one has its turn");
    desk.opened("b");
    assert_eq!(ordered(&desk.pull(&[entry("a"), entry("b")])), ["open a"]);
    assert_eq!(told(&desk.tell("a", refused), Level::Warn), [""; 0], "told once");
}

#[test]
fn a_block_of_null_touches_nothing_and_an_empty_one_closes_all_at_once() {
    let mut desk = Desk::with(&entry("a"));
    desk.pull(&[entry("a"), entry("b")]);
    desk.opened("b");
    let before = desk.machine.clone();
    let null = desk.give(Input::Pulled { entries: None, unread: [].into() });
    assert_eq!((told(&null, Level::Warn).len(), null.len()), (1, 1));
    assert_eq!(desk.give(Input::Pulled { entries: None, unread: [].into() }), [], "told once");
    desk.pull(&[entry("a"), entry("b")]);
    assert_eq!(desk.machine, before);
    assert_eq!(
        desk.give(Input::Pulled { entries: None, unread: [].into() }).len(),
        1,
        "and again behind a block"
    );
    assert_eq!(ordered(&desk.pull(&[])), ["close a", "close b"]);
}

#[test]
fn an_id_that_is_listed_twice_is_opened_once_by_its_first_entry() {
    let mut desk = Desk::new();
    let second = Session { target: Some(tcp("elsewhere", 1)), ..entry("a") };
    let effects = desk.pull(&[entry("a"), second.clone(), second.clone()]);
    assert_eq!(forwards(&effects)[0].target_host, "db.internal");
    let expected = "session \"a\" is listed more than once: the first entry counts";
    assert_eq!((told(&effects, Level::Warn), ordered(&effects).len()), (vec![expected.into()], 1));
    assert_eq!(desk.pull(&[entry("a"), second]), []);
    desk.pull(&[]);
    assert_eq!(told(&desk.pull(&[entry("b"), entry("b")]), Level::Warn).len(), 1);
}

#[test]
fn a_block_beyond_the_limit_is_looked_at_up_to_it_and_closes_nothing_that_stands_behind() {
    let mut desk = Desk::with(&entry("z"));
    let ssh = |number: usize| Session { kind: "ssh".into(), ..entry(&format!("s{number}")) };
    let mut block: Vec<_> = (0..LISTED_MAX + 5).map(ssh).collect();
    block.push(entry("z"));
    let effects = desk.pull(&block);
    assert_eq!(told(&effects, Level::Warn).len(), LISTED_MAX + 1);
    assert_eq!(ordered(&effects), [""; 0]);
    assert_eq!(desk.machine.counts(), (1, LISTED_MAX));
    assert_eq!(desk.pull(&block), [], "told once");
}

#[test]
fn a_session_ends_at_its_deadline_or_after_the_longest_time_whichever_is_first() {
    let mut desk = Desk::with(&entry("a"));
    assert_eq!(desk.machine.wakeup(), Some(at(seconds(600)).mono));
    assert_eq!(ordered(&desk.tick_at_wakeup()), ["close a"]);
    let long = Session { expires_at: Some(expires(at(seconds(9000)).wall)), ..entry("a") };
    let mut desk = Desk::new();
    let opened = desk.pull(std::slice::from_ref(&long));
    let capped = "session \"a\" would outlast sessions.default_timeout and ends after 1800 s";
    assert_eq!(told(&opened, Level::Info), [capped]);
    desk.opened("a");
    assert_eq!(desk.machine.wakeup(), Some(at(seconds(1800)).mono));
    assert_eq!(ordered(&desk.tick_at_wakeup()), ["close a"]);
    desk.closed("a");
    assert_eq!(ordered(&desk.pull(&[long])), [""; 0], "it is not opened again while it is listed");
}

#[test]
fn a_wall_clock_that_is_set_moves_the_end() {
    let mut desk = Desk::with(&entry("a"));
    desk.now.wall = at(seconds(599)).wall;
    desk.give(Input::Ticked);
    assert_eq!(desk.machine.wakeup(), Some(desk.now.mono.after(seconds(1))));
    desk.now.wall = start().wall;
    desk.give(Input::Ticked);
    assert_eq!(desk.machine.wakeup(), Some(desk.now.mono.after(seconds(600))));
    desk.now.wall = at(seconds(600)).wall;
    assert_eq!(ordered(&desk.give(Input::Ticked)), ["close a"]);
    // Set back by a year, it lasts no longer than any other.
    let mut desk = Desk::with(&entry("a"));
    desk.now.wall = meshward_core::time::Wall::from_origin(seconds(1_700_000_000));
    desk.give(Input::Ticked);
    assert_eq!(desk.machine.wakeup(), Some(at(seconds(1800)).mono));
}

#[test]
fn a_deadline_that_the_control_plane_moves_is_followed() {
    let mut desk = Desk::with(&entry("a"));
    let moved = |to| Session { expires_at: Some(expires(at(seconds(to)).wall)), ..entry("a") };
    desk.pull(&[moved(60)]);
    assert_eq!(desk.machine.wakeup(), Some(at(seconds(60)).mono));
    desk.pull(&[moved(9000)]);
    assert_eq!(desk.machine.wakeup(), Some(at(seconds(1800)).mono));
    assert_eq!(ordered(&desk.pull(&[moved(0)])), ["close a"]);
}

#[test]
fn a_session_that_waited_past_its_deadline_is_not_opened() {
    let mut desk = Desk::new();
    desk.pull(&[entry("a"), entry("b")]);
    desk.now = at(seconds(600));
    let effects = desk.opened("a");
    assert_eq!(ordered(&effects), ["close a"]);
    let effects = desk.closed("a");
    let expected = "session \"b\" is settled without being opened: its expires_at has passed";
    assert_eq!((told(&effects, Level::Warn), ordered(&effects).len()), (vec![expected.into()], 0));
}

#[test]
fn an_idle_session_is_closed_once_and_not_opened_again_while_it_is_listed() {
    let mut desk = Desk::with(&entry("a"));
    assert_eq!(ordered(&desk.tell("a", SessionFact::Idle)), ["close a"]);
    assert_eq!(desk.tell("a", SessionFact::Idle), []);
    desk.closed("a");
    desk.answer("a", Phase::SessionEnded, Reported::Accepted);
    assert_eq!(desk.pull(&[entry("a")]), []);
    desk.pull(&[]);
    assert_eq!(ordered(&desk.pull(&[entry("a")])), ["open a"]);
}

#[test]
fn a_session_that_was_unlisted_and_is_listed_again_is_opened_anew_when_its_end_is_told() {
    let mut desk = Desk::with(&entry("a"));
    desk.pull(&[]);
    assert_eq!(ordered(&desk.pull(&[entry("a")])), [""; 0], "it is closing");
    desk.closed("a");
    assert_eq!(ordered(&desk.pull(&[entry("a")])), [""; 0], "its end is being told");
    desk.answer("a", Phase::SessionEnded, Reported::Accepted);
    assert_eq!(ordered(&desk.pull(&[entry("a")])), ["open a"]);
}

#[test]
fn one_that_leaves_the_block_while_it_is_opened_is_closed_without_any_row() {
    for outcome in ["opened", "refused"] {
        let mut desk = Desk::new();
        desk.pull(&[entry("a")]);
        assert_eq!(ordered(&desk.pull(&[])), ["close a"]);
        let rows_told = match outcome {
            "opened" => [rows(&desk.opened("a")), rows(&desk.closed("a"))].concat(),
            _ => rows(&desk.tell("a", SessionFact::Refused { reason: "x".into() })),
        };
        assert_eq!(rows_told, [], "{outcome}");
        assert_eq!(desk.machine, Sessions::default(), "{outcome}");
    }
}

#[test]
fn facts_of_nobody_change_nothing() {
    let mut desk = Desk::new();
    for fact in [
        SessionFact::Opened { endpoint: ([127, 0, 0, 1], 1).into() },
        SessionFact::Refused { reason: "x".into() },
        SessionFact::Idle,
        SessionFact::Closed(Carried::default()),
    ] {
        assert_eq!(desk.tell("a", fact), []);
    }
    for phase in [Phase::SessionStarted, Phase::SessionEnded] {
        assert_eq!(desk.answer("a", phase, Reported::Accepted), []);
    }
    assert_eq!(desk.machine, Sessions::default());
}

#[test]
fn a_session_whose_entry_cannot_be_read_any_more_stays_open() {
    let mut desk = Desk::with(&entry("a"));
    let unread = [SessionId("a".into())].into();
    let effects = desk.give(Input::Pulled { entries: Some(Vec::new()), unread });
    assert_eq!(ordered(&effects), [""; 0]);
    assert_eq!(ordered(&desk.pull(&[])), ["close a"]);
}
