//! An automaton of its own over the journal of a control plane: every callback that was taken followed from the one before.
//!
//! | taken before | may be taken next |
//! |---|---|
//! | nothing that is known | anything |
//! | `ack` | `started` |
//! | `started` | `started` that announces output, and every end |
//! | an end | nothing, and nothing is even sent |
//!
//! It knows the table of the specification ("Execution status") and no code of either program. Each test that starts a
//! control plane by [`crate::node::fixture`] is walked when it ends.

use std::collections::BTreeMap;

use serde_json::Value;

const ENDS: [&str; 3] = ["succeeded", "failed", "cancelled"];

/// What is wrong with the callbacks of a journal, in words.
pub(crate) fn faults(journal: &Value) -> Vec<String> {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut faults = Vec::new();
    for entry in journal["requests"].as_array().into_iter().flatten() {
        let path = entry["path"].as_str().unwrap_or_default();
        let Some((_, execution)) = path.rsplit_once("/executions/") else { continue };
        let Some(callback) = callback(&entry["body"]) else { continue };
        let status = callback["status"].as_str().unwrap_or_default().to_owned();
        let before = taken.get(execution).map(String::as_str);
        if before.is_some_and(|before| ENDS.contains(&before)) {
            faults.push(format!("{execution} is reported {status} behind its end"));
        }
        if entry["status"] == 200 {
            let declares =
                callback["declared_output_bytes"].as_i64().is_some_and(|bytes| bytes > 0);
            if !follows(before, &status, declares) {
                faults.push(format!("{execution} went from {before:?} to {status}"));
            }
            taken.insert(execution.to_owned(), status);
        }
    }
    faults
}

/// The journal keeps a body as its text.
fn callback(body: &Value) -> Option<Value> {
    serde_json::from_str(body.as_str()?).ok()
}

fn follows(before: Option<&str>, status: &str, declares: bool) -> bool {
    match (before, status) {
        (None, _) => true,
        (Some("ack"), "started") => true,
        (Some("started"), "started") => declares,
        (Some("started"), end) => ENDS.contains(&end),
        (Some(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn walked(rows: &[(&str, &str, i64, u16)]) -> Vec<String> {
        let rows: Vec<_> = rows
            .iter()
            .map(|(id, status, declared, answered)| {
                let body = json!({"status": status, "declared_output_bytes": declared}).to_string();
                json!({"path": format!("/v1/nodes/n/executions/{id}"), "status": answered, "body": body})
            })
            .collect();
        faults(&json!({"requests": rows}))
    }

    #[test]
    fn legal_walks_pass_and_each_other_step_is_found() {
        let whole = [("a", "ack", 0, 200), ("b", "started", 0, 200), ("a", "started", 0, 200)];
        assert!(walked(&whole).is_empty());
        let declared =
            [("a", "started", 0, 200), ("a", "started", 9, 200), ("a", "failed", 0, 200)];
        assert!(walked(&declared).is_empty());
        let lost = [("a", "ack", 0, 503), ("a", "ack", 0, 200), ("a", "started", 0, 409)];
        assert!(walked(&lost).is_empty());
        for wrong in [
            [("a", "ack", 0, 200), ("a", "ack", 0, 200)],
            [("a", "ack", 0, 200), ("a", "failed", 0, 200)],
            [("a", "started", 0, 200), ("a", "ack", 0, 200)],
            [("a", "started", 0, 200), ("a", "started", 0, 200)],
            [("a", "failed", 0, 200), ("a", "failed", 0, 409)],
            [("a", "failed", 0, 200), ("a", "started", 9, 503)],
        ] {
            assert_eq!(walked(&wrong).len(), 1, "{wrong:?}: {:?}", walked(&wrong));
        }
    }
}
