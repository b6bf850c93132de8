//! The rows of sessions: when each is sent, what its answer means, how often it is tried, and the end of all in a stop.

use meshward_core::{
    agent::{
        Act, Acted, Answer, Carried, Effect as Order, Exit, Failure, Input as Fact, Level, Lost,
        SessionFact, SessionOrder, StagedFile, StateFile,
        sessions::{
            ENDED_MAX, ENDED_TIMEOUT, ENDED_WAITS, ENDED_WINDOW, Effect, Input, STARTED_TIMEOUT,
            Sessions,
        },
        verdict::session::{Reported, read},
    },
    wire::{
        grammar::Name,
        session::{Phase, TcpActivity, TerminatedBy},
    },
};

use crate::{
    bench::{Bench, problem, responded, seconds, sent, sent_to},
    sessions::{Desk, entry, id, ordered, rows, told},
};

fn failed() -> Reported {
    Reported::Failed("no news".into())
}

fn ended(terminated_by: TerminatedBy) -> TcpActivity {
    TcpActivity {
        target_host: Name("db.internal".into()),
        target_port: Some(5432),
        bytes_in: Some(3),
        bytes_out: Some(4),
        terminated_by: Some(terminated_by),
        ..TcpActivity::of(Phase::SessionEnded)
    }
}

fn timeouts(effects: &[Effect]) -> Vec<core::time::Duration> {
    let timeout = |effect: &Effect| match effect {
        Effect::Post { timeout, .. } => Some(*timeout),
        Effect::Order { .. } | Effect::Tell(_) => None,
    };
    effects.iter().filter_map(timeout).collect()
}

#[test]
fn each_answer_to_a_row_has_its_meaning() {
    let lost = |failure| Answer::Failed(Lost::from(failure));
    for status in [200, 204, 299] {
        assert_eq!(read(&responded(status, "")), Reported::Accepted);
    }
    assert_eq!(read(&lost(Failure::Oversized { status: 200 })), Reported::Accepted);
    let text =
        |status: u16, code: &str| format!("{status}: {code}: told so (correlation id c0ffee)");
    for code in ["session_already_revoked", "session_expired"] {
        assert_eq!(read(&problem(409, code)), Reported::Drain(text(409, code)));
    }
    let missing = "session_not_found";
    assert_eq!(read(&problem(404, missing)), Reported::NotFound(text(404, missing)));
    for answer in [
        problem(409, "news"),
        problem(404, "news"),
        problem(500, "session_expired"),
        problem(403, "nsk_node_mismatch"),
        problem(400, "malformed_session_activity"),
        responded(404, ""),
        responded(409, "{}"),
        responded(301, ""),
        lost(Failure::TimedOut),
        lost(Failure::Unreachable),
        lost(Failure::Oversized { status: 409 }),
    ] {
        assert!(matches!(read(&answer), Reported::Failed(_)), "{answer:?}");
    }
}

#[test]
fn a_begin_that_was_not_taken_is_told_again_with_the_next_pull_by_the_same_row() {
    for reported in [failed(), Reported::NotFound("404".into())] {
        let mut desk = Desk::new();
        desk.pull(&[entry("a")]);
        let first = desk.opened("a");
        assert_eq!(timeouts(&first), [STARTED_TIMEOUT]);
        assert_eq!(desk.pull(&[entry("a")]), [], "one at a time");
        let answered = desk.answer("a", Phase::SessionStarted, reported.clone());
        assert_eq!((told(&answered, Level::Warn).len(), answered.len()), (1, 1), "{reported:?}");
        assert_eq!(
            desk.give(Input::Pulled { entries: None, unread: [].into() }).len(),
            1,
            "a block of null touches nothing"
        );
        assert_eq!(rows(&desk.pull(&[entry("a")])), rows(&first), "{reported:?}");
        desk.answer("a", Phase::SessionStarted, Reported::Accepted);
        assert_eq!(desk.pull(&[entry("a")]), []);
        assert_eq!(desk.answer("a", Phase::SessionStarted, failed()), [], "an answer to nothing");
    }
}

#[test]
fn a_begin_that_is_answered_as_over_closes_and_settles_the_session_and_no_end_is_told() {
    let mut desk = Desk::new();
    desk.pull(&[entry("a")]);
    desk.opened("a");
    let drained = desk.answer("a", Phase::SessionStarted, Reported::Drain("409".into()));
    assert_eq!(ordered(&drained), ["close a"]);
    assert_eq!(told(&drained, Level::Warn), ["session \"a\" is ended by the control plane: 409"]);
    let closed = desk.closed("a");
    let counts =
        "session \"a\" is closed with 3 bytes in and 4 bytes out: the control plane has ended it";
    assert_eq!((told(&closed, Level::Info), rows(&closed)), (vec![counts.into()], vec![]));
    assert!(desk.machine.is_idle());
    assert_eq!(desk.pull(&[entry("a")]), [], "it is not opened again while it is listed");
    desk.pull(&[]);
    assert_eq!(desk.machine, Sessions::default());
}

#[test]
fn a_drain_signal_that_comes_while_or_after_the_session_ends_is_heeded_all_the_same() {
    for closes_first in [false, true] {
        let mut desk = Desk::new();
        desk.pull(&[entry("a")]);
        desk.opened("a");
        desk.tell("a", SessionFact::Idle);
        let mut effects = Vec::new();
        if closes_first {
            effects.extend(desk.closed("a"));
        }
        effects.extend(desk.answer("a", Phase::SessionStarted, Reported::Drain("409".into())));
        if !closes_first {
            effects.extend(desk.closed("a"));
        }
        assert_eq!(rows(&effects), [], "{closes_first}");
        assert!(desk.machine.is_idle());
    }
}

#[test]
fn the_end_tells_final_counts_and_its_cause() {
    let idle = Input::Told { session: id("a"), fact: SessionFact::Idle };
    for (input, cause) in [
        (idle, TerminatedBy::IdleTimeout),
        (Input::Pulled { entries: Some(Vec::new()), unread: [].into() }, TerminatedBy::AgentClose),
        (Input::Draining, TerminatedBy::AgentClose),
    ] {
        let mut desk = Desk::with(&entry("a"));
        assert_eq!(ordered(&desk.give(input)), ["close a"]);
        let effects = desk.closed("a");
        assert_eq!((rows(&effects), timeouts(&effects)), (vec![ended(cause)], vec![ENDED_TIMEOUT]));
        assert_eq!(desk.answer("a", Phase::SessionEnded, Reported::Accepted), []);
        assert!(desk.machine.is_idle());
    }
    let mut desk = Desk::with(&entry("a"));
    desk.tick_at_wakeup();
    assert_eq!(rows(&desk.closed("a")), [ended(TerminatedBy::TtlExpired)]);
    let mut desk = Desk::with(&entry("a"));
    // Not listed any more, and its time was over before that.
    desk.now = desk.now.after(seconds(600));
    assert_eq!(ordered(&desk.pull(&[])), ["close a"]);
    assert_eq!(rows(&desk.closed("a")), [ended(TerminatedBy::TtlExpired)]);
}

#[test]
fn a_listener_that_ends_by_itself_is_told_as_ended_and_not_opened_again() {
    let mut desk = Desk::with(&entry("a"));
    assert_eq!(rows(&desk.closed("a")), [ended(TerminatedBy::AgentClose)]);
    assert_eq!(desk.closed("a"), [], "once");
    desk.answer("a", Phase::SessionEnded, Reported::Accepted);
    assert_eq!(desk.pull(&[entry("a")]), []);
}

#[test]
fn the_end_waits_for_the_answer_to_the_begin() {
    for reported in [Reported::Accepted, failed(), Reported::NotFound("404".into())] {
        let mut desk = Desk::new();
        desk.pull(&[entry("a")]);
        desk.opened("a");
        desk.tell("a", SessionFact::Idle);
        assert_eq!(rows(&desk.closed("a")), []);
        assert_eq!(desk.machine.wakeup(), None);
        assert!(!desk.machine.is_idle());
        let effects = desk.answer("a", Phase::SessionStarted, reported);
        assert_eq!(rows(&effects), [ended(TerminatedBy::IdleTimeout)]);
    }
}

#[test]
fn an_end_that_is_refused_by_code_is_told_once_and_the_counts_are_in_the_log() {
    let counts = "the end of session \"a\", after 3 bytes in and 4 bytes out,";
    for (reported, level) in [
        (Reported::Drain("409".into()), Level::Warn),
        (Reported::NotFound("404".into()), Level::Error),
    ] {
        let mut desk = Desk::with(&entry("a"));
        desk.tell("a", SessionFact::Idle);
        desk.closed("a");
        let effects = desk.answer("a", Phase::SessionEnded, reported);
        let lines = told(&effects, level);
        assert!(lines.len() == 1 && lines[0].starts_with(counts), "{lines:?}");
        assert_eq!(effects.len(), 1);
        assert!(desk.machine.is_idle());
    }
}

#[test]
fn an_end_that_is_not_taken_is_tried_three_times_within_ten_seconds() {
    let mut desk = Desk::with(&entry("a"));
    desk.tell("a", SessionFact::Idle);
    let first = desk.closed("a");
    let begun = desk.now.mono;
    for wait in ENDED_WAITS {
        desk.now = desk.now.after(ENDED_TIMEOUT);
        assert_eq!(desk.answer("a", Phase::SessionEnded, failed()), []);
        assert_eq!(desk.machine.wakeup(), Some(desk.now.mono.after(wait)));
        assert_eq!(rows(&desk.tick_at_wakeup()), rows(&first), "the same row");
    }
    desk.now = desk.now.after(ENDED_TIMEOUT);
    let last = desk.answer("a", Phase::SessionEnded, failed());
    let expected = "the end of session \"a\", after 3 bytes in and 4 bytes out, is not told to the control plane: no news";
    assert_eq!(told(&last, Level::Error), [expected]);
    assert!(desk.machine.is_idle());
    assert!(desk.now.mono.since(begun) <= ENDED_WINDOW);
}

#[test]
fn after_ten_seconds_no_further_try_is_made_and_the_last_one_is_cut_short() {
    let mut desk = Desk::with(&entry("a"));
    desk.tell("a", SessionFact::Idle);
    desk.closed("a");
    desk.answer("a", Phase::SessionEnded, failed());
    desk.now = desk.now.after(ENDED_WINDOW - seconds(1));
    assert_eq!(timeouts(&desk.give(Input::Ticked)), [seconds(1)]);
    desk.answer("a", Phase::SessionEnded, failed());
    desk.now = desk.now.after(seconds(2));
    let late = desk.give(Input::Ticked);
    assert_eq!((rows(&late).len(), told(&late, Level::Error).len()), (0, 1));
    assert!(desk.machine.is_idle());
}

#[test]
fn ends_that_nobody_takes_keep_further_sessions_from_being_opened() {
    let mut desk = Desk::new();
    desk.settings.max_sessions = ENDED_MAX;
    let names: Vec<_> = (0..ENDED_MAX).map(|number| format!("s{number}")).collect();
    let block: Vec<_> = names.iter().map(|name| entry(name)).collect();
    desk.pull(&block);
    for name in &names {
        desk.opened(name);
    }
    desk.pull(&[]);
    for name in &names {
        desk.closed(name);
    }
    let refused = desk.pull(&[entry("a")]);
    assert_eq!((ordered(&refused), told(&refused, Level::Warn).len()), (vec![], 1));
    desk.answer("s0", Phase::SessionStarted, Reported::Accepted);
    desk.answer("s0", Phase::SessionEnded, Reported::Accepted);
    assert_eq!(ordered(&desk.pull(&[entry("a")])), ["open a"]);
}

#[test]
fn a_stop_closes_all_and_tries_each_end_once() {
    let mut desk = Desk::with(&entry("a"));
    desk.pull(&[entry("a"), entry("b")]);
    desk.opened("b");
    desk.answer("b", Phase::SessionStarted, Reported::Accepted);
    desk.tell("a", SessionFact::Idle);
    desk.closed("a");
    desk.answer("a", Phase::SessionEnded, failed());
    let drained = desk.give(Input::Draining);
    assert_eq!(ordered(&drained), ["close b"]);
    assert_eq!(rows(&drained).len(), 1, "what rested is tried once more");
    assert_eq!(told(&desk.answer("a", Phase::SessionEnded, failed()), Level::Error).len(), 1);
    assert_eq!(rows(&desk.closed("b")).len(), 1);
    assert_eq!(told(&desk.answer("b", Phase::SessionEnded, failed()), Level::Error).len(), 1);
    assert!(desk.machine.is_idle());
    assert_eq!(desk.pull(&[entry("c")]), [], "nothing is opened any more");
}

#[test]
fn what_waits_when_the_agent_stops_is_never_opened() {
    let mut desk = Desk::new();
    desk.pull(&[entry("a"), entry("b")]);
    assert_eq!(ordered(&desk.give(Input::Draining)), ["close a"]);
    assert_eq!((desk.opened("a"), ordered(&desk.closed("a"))), (vec![], vec![]));
    assert!(desk.machine.is_idle());
}

/// The one order to a listener.
fn act(effects: &[Order]) -> (String, SessionOrder) {
    let act = |effect: &Order| match effect {
        Order::Act(Act::Session(session, order)) => Some((session.0.clone(), order.clone())),
        Order::Act(_)
        | Order::Gather
        | Order::Store(_)
        | Order::Keep { .. }
        | Order::Send { .. }
        | Order::Reply { .. }
        | Order::Stream(_)
        | Order::Tell(_)
        | Order::Exit(_) => None,
    };
    match effects.iter().filter_map(act).collect::<Vec<_>>().as_slice() {
        [one] => one.clone(),
        all => panic!("{} orders in {effects:?}", all.len()),
    }
}

/// The files that are changed.
fn kept(effects: &[Order]) -> Vec<StateFile> {
    let file = |effect: &Order| match effect {
        Order::Keep { file, .. } => Some(file.clone()),
        Order::Act(_)
        | Order::Gather
        | Order::Store(_)
        | Order::Send { .. }
        | Order::Reply { .. }
        | Order::Stream(_)
        | Order::Tell(_)
        | Order::Exit(_) => None,
    };
    effects.iter().filter_map(file).collect()
}

#[test]
fn a_whole_agent_opens_a_session_tells_of_it_and_stops_when_its_end_is_told() {
    let (mut bench, first) = Bench::armed(StagedFile::Missing);
    let body = r#"{"peers":[],"executions":[],"sessions":[{"session_id":"a b/c","jti":"a b/c","kind":"tcp",
        "target":{"tcp":{"host":"db","port":1}},"expires_at":"2099-01-01T00:00:00Z"},
        {"session_id":"s","kind":"ssh","target":{"ssh":{"user":"u"}},"expires_at":"2099-01-01T00:00:00Z"}]}"#;
    let pulled = bench.answer(sent_to(&first, "/state").0, responded(200, body));
    // What goes to the disk besides would be waited for too.
    let mut files = [kept(&first), kept(&pulled)].concat();
    while let Some(file) = files.pop() {
        files.extend(kept(&bench.give(Fact::Kept { file, outcome: Ok(()) })));
    }
    let (session, order) = act(&pulled);
    assert_eq!(session, "a b/c");
    assert!(
        matches!(order, SessionOrder::Open(forward) if forward.listen.to_string() == "10.0.0.7")
    );
    let fact = |fact| Fact::Acted(Acted::Session(id("a b/c"), fact));
    let endpoint = ([10, 0, 0, 7], 4000).into();
    let opened = bench.give(fact(SessionFact::Opened { endpoint }));
    let (call, request) = sent_to(&opened, "/sessions/a%20b%2Fc");
    let row = r#"{"tcp":{"phase":"session_started","target_host":"db","target_port":1,"listener_endpoint":"10.0.0.7:4000"}}"#;
    assert_eq!(request.body.whole((), ()), Ok(row.as_bytes()));
    bench.answer(call, responded(204, ""));
    let queues = bench.agent.status(bench.now).queues;
    assert_eq!((queues.sessions_open, queues.sessions_unsupported), (1, 1));
    let stopped = bench.give(Fact::Draining);
    assert!(matches!(act(&stopped).1, SessionOrder::Close { .. }));
    assert!(!stopped.contains(&Order::Exit(Exit::Drained)), "its end is waited for");
    let closed = bench.give(fact(SessionFact::Closed(Carried { bytes_in: 1, bytes_out: 0 })));
    let (call, request) = sent(&closed)[0].clone();
    let row = r#"{"tcp":{"phase":"session_ended","target_host":"db","target_port":1,"bytes_in":1,"bytes_out":0,"terminated_by":"agent_close"}}"#;
    assert_eq!(request.body.whole((), ()), Ok(row.as_bytes()));
    let last = bench.answer(call, responded(204, ""));
    assert!(last.contains(&Order::Exit(Exit::Drained)), "{last:?}");
}
