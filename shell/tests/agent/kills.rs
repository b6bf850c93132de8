//! Agents that are killed at any moment, and a hook that tells of each run: none is told twice, and each comes to its end.

use std::{collections::BTreeMap, fs, time::Duration};

use serde_json::json;
use tokio::time::{Instant, interval};

use crate::{
    hooks::{folder, put, scene},
    node::{Node, get, later, post, until},
};

/// How often the agent is killed here; `MESHWARD_KILLS` makes it more.
const KILLS: u32 = 12;

/// The longest life, in milliseconds: long enough to pull, claim, run and report.
const LIFE_MAX: u64 = 700;

/// Appends the id of its execution in one write, which no other can part.
const TELLS: &str = "#!/bin/sh\necho \"$AGENT_EXECUTION_ID\" >> ../told\n";

fn kills() -> u32 {
    std::env::var("MESHWARD_KILLS").map_or(KILLS, |count| count.parse().unwrap())
}

fn told(node: &Node) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in fs::read_to_string(node.path("told")).unwrap_or_default().lines() {
        *lines.entry(line.to_owned()).or_default() += 1;
    }
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_execution_runs_twice_however_often_the_agent_is_killed() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "tell", TELLS);
    let mut executions = Vec::new();
    for kill in 0..kills() {
        executions.push(json!({
            "execution_id": format!("run-{kill:04}"), "action": "tell", "type": "hook", "status": "pending",
            "parameters": {}, "requested_at": later(Duration::ZERO),
            "expires_at": later(Duration::from_secs(3600)),
        }));
        // What ended long ago is of no interest, and a snapshot has its limits.
        let recent = executions.len().saturating_sub(40);
        post(&plane, "/test/configure-state", &json!({"executions": executions[recent..]}));
        let agent = node.start();
        // A walk through all lengths of life that no two runs of this test share with another walk.
        let life = Duration::from_millis(u64::from(kill).wrapping_mul(389) % LIFE_MAX);
        let end = Instant::now() + life;
        let mut glance = interval(Duration::from_millis(5));
        while Instant::now() < end {
            glance.tick().await;
        }
        agent.kill();
    }
    let _agent = node.start();
    let ends = ["succeeded", "failed"];
    let recent = executions.len().saturating_sub(40);
    for execution in &executions[recent..] {
        let id = execution["execution_id"].as_str().unwrap();
        until("every execution has an end", || {
            get(&plane, "/test/executions")[id]
                .as_str()
                .is_some_and(|status| ends.contains(&status))
        })
        .await;
    }
    let statuses = get(&plane, "/test/executions");
    let lines = told(&node);
    assert!(lines.values().all(|count| *count == 1), "{lines:?}");
    for (id, status) in statuses.as_object().unwrap() {
        assert!(status != "succeeded" || lines.contains_key(id), "{id} is told as run and was not");
    }
    assert!(!lines.is_empty(), "nothing ran at all");
}
