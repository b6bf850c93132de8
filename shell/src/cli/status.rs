//! `status`.

use std::{
    fmt::Write as _,
    thread,
    time::{Duration, Instant},
};

use meshward_core::{
    legible,
    wire::local::{Queues, Status},
};

use super::{
    Code, Outcome,
    answer::{ask_within, decoded},
    args::{Global, Output},
    config, say,
    socket::{ANSWER_TIMEOUT, Question},
};

/// How often a waiting status asks again.
const GLANCE: Duration = Duration::from_millis(200);

/// The least time that the agent is given, so that a wait that is all but over still ends with what it says.
const ASK_MIN: Duration = Duration::from_millis(500);

pub(super) fn status(global: &Global, wait: Option<Duration>) -> Outcome {
    // A configuration that cannot be read does not become readable by waiting.
    config::socket(global)?;
    let until = Instant::now() + wait.unwrap_or_default();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let limit = wait.map_or(ANSWER_TIMEOUT, |_| left.clamp(ASK_MIN, ANSWER_TIMEOUT));
        let asked = ask_within(global, &Question::get("/v1/status".to_owned()), limit);
        let asked = asked.and_then(|answer| {
            let status: Status = decoded(&answer)?;
            Ok((answer, status))
        });
        let ready = asked.as_ref().is_ok_and(|(_, status)| status.ready);
        let left = until.saturating_duration_since(Instant::now());
        if !ready && !left.is_zero() {
            thread::sleep(GLANCE.min(left));
            continue;
        }
        let (answer, status) = asked?;
        say(&match global.output {
            Output::Json => String::from_utf8_lossy(&answer.body).into_owned(),
            Output::Text => text(&status),
        })?;
        return Ok(if status.ready { Code::Done } else { Code::Failed });
    }
}

fn text(status: &Status) -> String {
    let age =
        |age: Option<u64>| age.map_or_else(|| "never".to_owned(), |age| format!("{age} s ago"));
    let mut out = String::new();
    let readiness = if status.ready { "ready" } else { &status.reason };
    let node = status.node_id.as_deref().unwrap_or("not registered");
    let address = status.mesh_ip.as_deref().unwrap_or("none");
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}", legible::line(readiness));
    let _ = writeln!(out, "node:           {}", legible::line(node));
    let _ = writeln!(out, "mesh address:   {}", legible::line(address));
    let _ = writeln!(out, "delivery mode:  {}", legible::line(&status.delivery_mode));
    if status.queues.events_of_unknown_key > 0 {
        let _ = writeln!(
            out,
            "events refused: {} in a row name a signing key that this node does not hold, as where a rotation was missed",
            status.queues.events_of_unknown_key
        );
    }
    let _ = writeln!(out, "last heartbeat: {}", age(status.last_heartbeat_age_seconds));
    let _ = writeln!(out, "last pull:      {}", age(status.last_pull_age_seconds));
    let _ = writeln!(
        out,
        "executions:     {} active, {} waiting",
        status.queues.executions_active, status.queues.executions_waiting
    );
    let _ = writeln!(out, "local runs:     {} active", status.queues.local_runs);
    let _ = writeln!(
        out,
        "reports:        {} to deliver, {} to write",
        status.queues.reports_unsynced, status.queues.reports_writing
    );
    let _ = writeln!(
        out,
        "sessions:       {} open, {} of an unsupported kind",
        status.queues.sessions_open, status.queues.sessions_unsupported
    );
    let _ = writeln!(
        out,
        "violations:     {} to deliver, {} dropped",
        status.queues.violations_waiting, status.queues.violations_dropped
    );
    let Queues { metrics, logs, audit, .. } = status.queues;
    for (name, waiting) in [("metrics", metrics), ("logs", logs), ("audit", audit)] {
        let _ = writeln!(out, "{:<15} {waiting} to deliver", format!("{name}:"));
    }
    out
}
