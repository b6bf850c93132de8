//! Runs that programs of this node order: who may, in which order they are refused, how many there are, and how they end.

use meshward_core::{
    agent::{
        Act, Acted, Caller, Captured, Cause, DRAIN_MAX, Door, Effect, Ending, Exit, Input, Level,
        Peer, Program, Run, RunId, StagedFile,
        builtins::{ALL, COLLECT, HEALTH_CHECK, PING, RECONNECT, SYSTEM_INFO},
        local::{RUN_BODY_MAX, head::takes_long},
        local_runs::{LOCAL_OUTPUT_MAX, LOCAL_RUNS_MAX},
        pull::FLOOR,
    },
    ids::CallId,
    wire::http::{Body, Headers, Method, Request, Response},
};

use crate::bench::{Bench, responded, seconds, sent_to, settings};

fn armed() -> Bench {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    bench.settings.actions.builtins = ALL.map(Into::into).into();
    bench
}

fn member(uid: u32) -> Caller {
    let peer = Peer { uid, groups: vec![7], agent: 0, order_group: Some(7), secret_group: None };
    Caller { door: Door::Socket, peer: Some(peer) }
}

pub(crate) fn order(bench: &mut Bench, call: u64, body: impl Into<Vec<u8>>) -> Vec<Effect> {
    order_by(bench, call, member(1000), Body::Whole(body.into()))
}

fn order_by(bench: &mut Bench, call: u64, caller: Caller, body: Body) -> Vec<Effect> {
    let (method, path) = (Method::Post, "/v1/actions/run".into());
    let request = Request { method, path, query: None, headers: Headers::new(), body };
    bench.give(Input::Asked { call: CallId(call), caller, request })
}

pub(crate) fn action(name: &str) -> String {
    format!(r#"{{"action":"{name}"}}"#)
}

fn answered(effects: &[Effect]) -> Vec<(u64, u16, String)> {
    let reply = |effect: &Effect| match effect {
        Effect::Reply { call, response } => {
            let text = String::from_utf8(response.body.clone()).expect("a text");
            Some((call.0, response.status, text.trim_end().to_owned()))
        }
        Effect::Gather
        | Effect::Store(_)
        | Effect::Keep { .. }
        | Effect::Send { .. }
        | Effect::Act(_)
        | Effect::Stream(_)
        | Effect::Tell(_)
        | Effect::Exit(_) => None,
    };
    effects.iter().filter_map(reply).collect()
}

fn acts(effects: &[Effect]) -> Vec<Act> {
    let act = |effect: &Effect| match effect {
        Effect::Act(act) => Some(act.clone()),
        Effect::Gather
        | Effect::Store(_)
        | Effect::Keep { .. }
        | Effect::Send { .. }
        | Effect::Reply { .. }
        | Effect::Stream(_)
        | Effect::Tell(_)
        | Effect::Exit(_) => None,
    };
    effects.iter().filter_map(act).collect()
}

/// The one run among orders.
fn begun(effects: &[Effect]) -> (RunId, Run) {
    match acts(effects).as_slice() {
        [Act::Run { id, run }] => (id.clone(), run.clone()),
        others => panic!("{others:?}"),
    }
}

fn told(effects: &[Effect]) -> Vec<(Level, String)> {
    let line = |effect: &Effect| match effect {
        Effect::Tell(notice) => Some((notice.level, notice.text.clone())),
        Effect::Gather
        | Effect::Store(_)
        | Effect::Keep { .. }
        | Effect::Send { .. }
        | Effect::Act(_)
        | Effect::Reply { .. }
        | Effect::Stream(_)
        | Effect::Exit(_) => None,
    };
    effects.iter().filter_map(line).collect()
}

fn finish(bench: &mut Bench, call: u64, cause: Cause, stdout: &[u8], stderr: &[u8]) -> Vec<Effect> {
    let stream = |bytes: &[u8]| Captured { bytes: bytes.into(), cut: false };
    let ending = Ending { cause, stdout: stream(stdout), stderr: stream(stderr) };
    bench.give(Input::Acted(Acted::Finished { id: RunId::Local(CallId(call)), ending }))
}

fn error(text: &str) -> String {
    format!(r#"{{"error":"{text}"}}"#)
}

#[test]
fn a_run_is_begun_within_its_limits_told_by_its_names_and_answered_when_it_has_ended() {
    let mut bench = armed();
    let body = r#"{"action":"diagnostics.ping_peer","parameters":{"peer_id":"10.9.8.7","count":"2"},"timeout":"1s","x":[]}"#;
    let effects = order(&mut bench, 5, body);
    let (id, run) = begun(&effects);
    assert_eq!(id, RunId::Local(CallId(5)));
    assert_eq!((run.deadline, run.max_output_bytes), (seconds(600), 1 << 20));
    let Program::Builtin { name, parameters } = run.program else { panic!() };
    assert_eq!((name.as_str(), parameters["peer_id"].as_str()), (PING, "10.9.8.7"));
    let line = r#""diagnostics.ping_peer", ordered locally by user 1000, runs for a local program, with the parameters "count", "peer_id""#;
    assert_eq!(told(&effects), [(Level::Info, line.to_owned())]);
    assert!(answered(&effects).is_empty());
    assert_eq!(bench.agent.status(bench.now).queues.local_runs, 1);
    let effects = finish(&mut bench, 5, Cause::Exited(0), b"a\xffb", b"");
    let result = r#"{"status":"success","exit_code":0,"stdout":"a�b","stderr":""}"#;
    assert_eq!(answered(&effects), [(5, 200, result.to_owned())]);
    let line =
        r#""diagnostics.ping_peer", ordered locally by user 1000, ended: success, exit code 0"#;
    assert_eq!(told(&effects), [(Level::Info, line.to_owned())]);
    assert_eq!(bench.agent.status(bench.now).queues.local_runs, 0);
    assert!(finish(&mut bench, 5, Cause::Exited(0), b"", b"").is_empty(), "it is answered once");
}

#[test]
fn every_end_of_a_run_has_its_status_and_code() {
    let rows = [
        (Cause::Exited(0), ("success", 0, "out", "err")),
        (Cause::Exited(3), ("failed", 3, "out", "err")),
        (Cause::Exited(-1), ("failed", -1, "out", "err")),
        (Cause::Signalled(9), ("failed", 137, "out", "err")),
        (Cause::TimedOut, ("error", 1, "out", "err\naction timed out")),
        (Cause::Cancelled, ("error", 1, "out", "err\nthe run was cancelled")),
        (Cause::Broken("it broke".into()), ("error", 1, "out", "err\nit broke")),
    ];
    for (cause, (status, code, stdout, stderr)) in rows {
        let mut bench = armed();
        order(&mut bench, 1, action(COLLECT));
        let effects = finish(&mut bench, 1, cause.clone(), b"out", b"err");
        let stderr = stderr.replace('\n', "\\n");
        let result = format!(
            r#"{{"status":"{status}","exit_code":{code},"stdout":"{stdout}","stderr":"{stderr}"}}"#
        );
        assert_eq!(answered(&effects), [(1, 200, result)], "{cause:?}");
    }
    let mut bench = armed();
    order(&mut bench, 1, action(COLLECT));
    let stdout = Captured { bytes: b"out".to_vec(), cut: true };
    let ending = Ending { cause: Cause::Exited(0), stdout, stderr: Captured::default() };
    let id = RunId::Local(CallId(1));
    let effects = bench.give(Input::Acted(Acted::Finished { id, ending }));
    assert!(answered(&effects)[0].2.contains(r#""stdout":"out\n...[truncated]""#));
}

#[test]
fn an_order_is_refused_by_the_first_rule_that_it_breaks() {
    let invalid = || (400, error("invalid JSON body"));
    let required = || (400, error("action is required"));
    let rows = [
        (Body::EMPTY, invalid()),
        (Body::Oversized, invalid()),
        (Body::Unreadable, invalid()),
        (Body::Whole(b"[]".to_vec()), invalid()),
        (Body::Whole(b"{} {}".to_vec()), invalid()),
        (Body::Whole(br#"{"action":1}"#.to_vec()), invalid()),
        (Body::Whole(br#"{"action":"a","action":"b"}"#.to_vec()), invalid()),
        (Body::Whole(br#"{"parameters":{"a":1}}"#.to_vec()), invalid()),
        (Body::Whole(br#"{"parameters":{"a":"1","a":"2"}}"#.to_vec()), invalid()),
        (Body::Whole(br#"{"parameters":[]}"#.to_vec()), invalid()),
        (Body::Whole(b"{\"action\":\"\xff\"}".to_vec()), invalid()),
        (Body::Whole(b"{}".to_vec()), required()),
        (Body::Whole(br#"{"action":null}"#.to_vec()), required()),
        (Body::Whole(br#"{"action":"","parameters":{}}"#.to_vec()), required()),
    ];
    for (body, (status, text)) in rows {
        let mut bench = armed();
        let effects = order_by(&mut bench, 1, member(1000), body.clone());
        assert_eq!(answered(&effects), [(1, status, text.clone())], "{body:?}");
        let stranger = Caller { door: Door::Socket, peer: None };
        let denied = order_by(&mut bench, 2, stranger, body.clone());
        assert_eq!(answered(&denied)[0].1, 403, "the gate is first: {body:?}");
        bench.settings.actions.builtins.clear();
        let effects = order_by(&mut bench, 3, member(1000), body.clone());
        assert_eq!(answered(&effects), [(3, 503, error("actions not available"))], "{body:?}");
    }
    let mut bench = armed();
    for body in [
        r#"{"action":"diagnostics.collect","parameters":null}"#,
        r#"{"action":"diagnostics.collect","parameters":{},"timeout":7}"#,
    ] {
        assert_eq!(acts(&order(&mut bench, 1, body)).len(), 1, "{body}");
        finish(&mut bench, 1, Cause::Exited(0), b"", b"");
    }
}

#[test]
fn who_may_not_order_is_told_so_and_the_operator_too() {
    let text = error(
        "forbidden: only root, the user of the agent and members of the group meshward may order this, by the local socket",
    );
    let stranger = |peer| Caller { door: Door::Socket, peer };
    let Some(peer) = member(1000).peer else { panic!() };
    let rows = [
        (stranger(Some(Peer { groups: vec![1000], ..peer })), "user 1000"),
        (stranger(None), "a program whose user the system does not tell"),
    ];
    for (caller, who) in rows {
        let effects = order_by(&mut armed(), 1, caller, Body::Whole(action(COLLECT).into()));
        assert_eq!(answered(&effects), [(1, 403, text.clone())]);
        let line = format!("{who} may not order the run of an action, and is refused");
        assert_eq!(told(&effects), [(Level::Warn, line)]);
    }
    let mut root = member(0);
    if let Some(peer) = &mut root.peer {
        peer.groups.clear();
    }
    let effects = order_by(&mut armed(), 1, root, Body::Whole(action(COLLECT).into()));
    assert_eq!(acts(&effects).len(), 1);
}

#[test]
fn a_name_that_is_no_built_in_action_is_an_error_of_the_run() {
    for name in ["none", "service.restart", "service.upgrade", "a-hook.sh", "DIAGNOSTICS.COLLECT"] {
        let effects = order(&mut armed(), 1, action(name));
        let result = format!(
            r#"{{"status":"error","exit_code":1,"stdout":"","stderr":"unknown builtin action: {name}"}}"#
        );
        assert_eq!(answered(&effects), [(1, 200, result)], "{name}");
        assert!(acts(&effects).is_empty());
        assert!(told(&effects)[0].1.ends_with("is not run: it is no built-in action"));
    }
}

#[test]
fn what_the_agent_knows_itself_is_answered_at_once() {
    let mut bench = armed();
    let effects = order(&mut bench, 1, action(HEALTH_CHECK));
    assert!(acts(&effects).is_empty());
    let [(1, 200, text)] = &answered(&effects)[..] else { panic!("{effects:?}") };
    assert!(text.contains(r#"\"status\": \"healthy\""#), "{text}");
    assert_eq!(bench.agent.status(bench.now).queues.local_runs, 0);
    let effects = order(&mut bench, 2, action(SYSTEM_INFO));
    let (_, run) = begun(&effects);
    let Program::Builtin { parameters, .. } = run.program else { panic!() };
    assert_eq!(parameters["mesh_ip"], "10.0.0.7");
    assert_eq!(parameters["version"], "1.2.3");
}

#[test]
fn a_reconnect_pulls_at_once_and_a_node_without_an_identity_has_nothing_to_pull() {
    let (mut bench, effects) = Bench::armed(StagedFile::Missing);
    bench.settings.actions.builtins = ALL.map(Into::into).into();
    let (pull, _) = sent_to(&effects, "/state");
    bench.answer(pull, responded(200, r#"{"peers":[]}"#));
    bench.pass(FLOOR);
    let effects = order(&mut bench, 1, action(RECONNECT));
    sent_to(&effects, "/state");
    assert!(answered(&effects)[0].2.contains(r#"\"status\": \"reconnected\""#));
    // One that is under way is followed by another.
    let (pull, _) = sent_to(&effects, "/state");
    bench.pass(seconds(1));
    order(&mut bench, 2, action(RECONNECT));
    bench.answer(pull, responded(200, r#"{"peers":[]}"#));
    bench.pass(FLOOR);
    sent_to(&bench.give(Input::Ticked), "/state");
    let mut unregistered = Bench::new(settings());
    unregistered.settings.actions.builtins = ALL.map(Into::into).into();
    let effects = order(&mut unregistered, 1, action(RECONNECT));
    let result = r#"{"status":"failed","exit_code":1,"stdout":"","stderr":"not ready: registration pending\n"}"#;
    assert_eq!(answered(&effects), [(1, 200, result.to_owned())]);
}

#[test]
fn an_execution_of_the_control_plane_is_answered_by_the_agent_in_the_same_way() {
    let (mut bench, effects) = Bench::armed(StagedFile::Missing);
    bench.settings.actions.builtins = ALL.map(Into::into).into();
    let (pull, _) = sent_to(&effects, "/state");
    let entry = r#"{"execution_id":"e1","action":"mesh.reconnect","type":"builtin","status":"ack","expires_at":"2027-01-15T08:05:00Z"}"#;
    let effects =
        bench.answer(pull, responded(200, &format!(r#"{{"peers":[],"executions":[{entry}]}}"#)));
    let (started, _) = sent_to(&effects, "/executions/e1");
    bench.pass(FLOOR);
    let effects = bench.answer(started, responded(200, r#"{"status":"started"}"#));
    assert!(acts(&effects).is_empty());
    sent_to(&effects, "/state");
    let (_, terminal) = sent_to(&effects, "/executions/e1");
    let Body::Whole(body) = terminal.body else { panic!() };
    let body = String::from_utf8(body).unwrap();
    assert!(
        body.contains(r#""status":"succeeded""#) && body.contains(r#""exit_code":0"#),
        "{body}"
    );
}

#[test]
fn a_run_whose_asker_leaves_is_cancelled_and_keeps_its_place_until_it_has_ended() {
    let mut bench = armed();
    for call in 1..=LOCAL_RUNS_MAX as u64 {
        assert_eq!(acts(&order(&mut bench, call, action(COLLECT))).len(), 1);
    }
    let refused = |bench: &mut Bench, call| answered(&order(bench, call, action(COLLECT)));
    assert_eq!(refused(&mut bench, 90), [(90, 503, error("too many local runs"))]);
    let effects = bench.give(Input::Left(CallId(3)));
    assert_eq!(acts(&effects), [Act::Cancel(RunId::Local(CallId(3)))]);
    let line = r#""diagnostics.collect" is cancelled: user 1000, who ordered it locally, does not wait for it"#;
    assert_eq!(told(&effects), [(Level::Info, line.to_owned())]);
    assert_eq!(refused(&mut bench, 91)[0].1, 503);
    let effects = finish(&mut bench, 3, Cause::Cancelled, b"", b"");
    assert!(answered(&effects).is_empty() && told(&effects).len() == 1);
    assert_eq!(acts(&order(&mut bench, 92, action(COLLECT))).len(), 1);
    assert!(bench.give(Input::Left(CallId(3))).is_empty(), "it has ended");
}

#[test]
fn local_runs_are_neither_held_back_by_the_setting_nor_counted_among_executions() {
    let mut bench = armed();
    bench.settings.actions.enabled = false;
    bench.settings.actions.max_output_bytes = 1 << 30;
    for call in 1..=5 {
        let effects = order(&mut bench, call, action(COLLECT));
        let (_, run) = begun(&effects);
        assert_eq!(run.max_output_bytes, LOCAL_OUTPUT_MAX);
    }
    let queues = bench.agent.status(bench.now).queues;
    assert_eq!((queues.local_runs, queues.executions_active), (5, 0));
}

#[test]
fn a_stop_cancels_local_runs_waits_for_their_end_and_takes_no_more() {
    // Without an identity there is nothing else to wait for.
    let mut bench = Bench::new(settings());
    order(&mut bench, 1, action(COLLECT));
    let effects = bench.give(Input::Draining);
    assert_eq!(acts(&effects), [Act::Cancel(RunId::Local(CallId(1)))]);
    assert!(!effects.contains(&Effect::Exit(Exit::Drained)));
    let late = answered(&order(&mut bench, 2, action(COLLECT)));
    assert_eq!(late, [(2, 503, error("local action execution not available"))]);
    let effects = finish(&mut bench, 1, Cause::Cancelled, b"", b"");
    let [(1, 200, text)] = &answered(&effects)[..] else { panic!("{effects:?}") };
    assert!(text.contains("the run was cancelled"), "{text}");
    assert_eq!(effects.last(), Some(&Effect::Exit(Exit::Drained)));
}

#[test]
fn a_run_that_does_not_end_does_not_hold_up_a_stop_for_ever_and_its_asker_is_told() {
    let mut bench = armed();
    order(&mut bench, 1, action(COLLECT));
    order(&mut bench, 2, action(COLLECT));
    bench.give(Input::Left(CallId(2)));
    bench.give(Input::Draining);
    bench.pass(DRAIN_MAX);
    let effects = bench.give(Input::Ticked);
    let result = r#"{"status":"error","exit_code":1,"stdout":"","stderr":"the agent stopped before the run had ended"}"#;
    assert_eq!(answered(&effects), [(1, 200, result.to_owned())]);
    assert_eq!(effects.last(), Some(&Effect::Exit(Exit::Drained)));
    let late = answered(&order(&mut bench, 3, action(COLLECT)));
    assert_eq!(late[0].1, 503);
}

#[test]
fn no_value_of_a_parameter_is_logged() {
    let mut bench = armed();
    let body = r#"{"action":"diagnostics.collect","parameters":{"token":"hunter2"}}"#;
    let effects = order(&mut bench, 1, body);
    assert!(!format!("{effects:?} {:?}", bench.agent).contains("hunter2"));
    assert!(told(&effects)[0].1.contains(r#"the parameters "token""#));
}

#[test]
fn only_an_order_to_run_may_take_longer_than_other_questions() {
    let head = |method, path: &str| {
        let (headers, body) = (Headers::new(), Body::EMPTY);
        Request { method, path: path.into(), query: None, headers, body }
    };
    assert!(takes_long(Door::Socket, &head(Method::Post, "/v1/actions/run")));
    assert!(!takes_long(Door::Health, &head(Method::Post, "/v1/actions/run")));
    for (method, path) in [
        (Method::Get, "/v1/actions/run"),
        (Method::Get, "/v1/actions"),
        (Method::Post, "/v1/hooks/reload"),
        (Method::Put, "/v1/state/report/a"),
        (Method::Get, "/none"),
    ] {
        assert!(!takes_long(Door::Socket, &head(method, path)), "{path}");
    }
    assert_eq!(RUN_BODY_MAX, 65_536);
    // What an answer holds at most, in the longest spelling of JSON.
    let longest = Response::json(200, vec![b' '; 12 * LOCAL_OUTPUT_MAX]);
    assert!(longest.body.len() < 32 << 20, "the client reads it");
}
