//! Hooks that do what none should, dispatched by the control plane: each is reported within its limit and a second, no
//! process of it is left, and the agent's heartbeats go on meanwhile.

use std::{
    fs,
    time::{Duration, Instant},
};

use meshward_fixture::Running;
use serde_json::{Value, json};

use crate::{
    hooks::{folder, put, scene},
    node::{PATIENCE, counter, get, later, post, until},
};

/// How long a run may go on.
const LIMIT: Duration = Duration::from_secs(3);

/// What a busy machine and the way to the control plane take beyond the second that is promised.
const SLACK: Duration = Duration::from_secs(10);

/// How often a heartbeat comes in these tests, and how long a busy machine may let one wait.
const BEAT: Duration = Duration::from_secs(1);
const BEAT_MAX: Duration = Duration::from_secs(8);

/// Each with its script and what is told of its end; `@` is its mark.
const ANIMALS: [(&str, &str, &str); 7] = [
    ("floods", "yes @", "action timed out"),
    ("deaf", "trap '' TERM HUP INT; while :; do tail -f /dev/null @; done", "action timed out"),
    ("stopped", "kill -STOP $$; echo @", "action timed out"),
    (
        "daemon",
        "setsid sh -c 'tail -f /dev/null @' & setsid sh -c 'setsid tail -f /dev/null @ &' & wait",
        "action timed out",
    ),
    ("holds", "tail -f /dev/null @ & exit 0", ""),
    ("silent", "exec >&- 2>&-; tail -f /dev/null @ >/dev/null", "action timed out"),
    ("swarm", "for i in $(seq 60); do tail -f /dev/null @ & done; wait", "action timed out"),
];

/// The processes with this mark in their command line.
fn alive(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(mark.len()).any(|at| at == mark.as_bytes())).count()
}

fn ended(plane: &Running, id: &str) -> bool {
    let status = get(plane, "/test/executions")[id].as_str().unwrap_or_default().to_owned();
    ["succeeded", "failed"].contains(&status.as_str())
}

fn dispatch(plane: &Running, animal: &str, limit: Duration) {
    let executions = json!({"executions": [{
        "execution_id": animal, "action": animal, "type": "hook", "status": "pending", "parameters": {},
        "requested_at": later(Duration::ZERO), "expires_at": later(limit),
    }]});
    post(plane, "/test/configure-state", &executions);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_hook_outlives_its_limit_or_keeps_a_heartbeat() {
    let Some((plane, node)) = scene().await else { return };
    let pid = std::process::id();
    let mark = |animal: &str| format!("meshward-{animal}-{pid}");
    folder(&node);
    for (animal, script, _) in ANIMALS {
        put(&node, animal, &format!("#!/bin/sh\n{}\n", script.replace('@', &mark(animal))));
    }
    let _agent = node.start();
    until("the agent beats", || counter(&plane, "heartbeat_count") > 1).await;
    for (animal, _, error) in ANIMALS {
        let begun = Instant::now();
        dispatch(&plane, animal, LIMIT);
        let (mut beats, mut last) = (counter(&plane, "heartbeat_count"), Instant::now());
        let mut glance = tokio::time::interval(Duration::from_millis(20));
        while !ended(&plane, animal) {
            glance.tick().await;
            let now = counter(&plane, "heartbeat_count");
            if now > beats {
                (beats, last) = (now, Instant::now());
            }
            assert!(last.elapsed() < BEAT + BEAT_MAX, "{animal} keeps the heartbeat");
            assert!(begun.elapsed() < PATIENCE, "{animal} does not end");
        }
        let taken = begun.elapsed();
        assert!(taken < LIMIT + BEAT + Duration::from_secs(1) + SLACK, "{animal} took {taken:?}");
        let callback: Value = get(&plane, "/test/last-request/execution_callback");
        assert_eq!(callback["error"].as_str().unwrap_or_default(), error, "{animal}: {callback}");
        assert_eq!(alive(&mark(animal)), 0, "{animal} lives on");
    }
}
