//! `actions list`, `actions run`.

use std::collections::BTreeMap;

use meshward_core::{
    duration::DURATION_MAX,
    legible,
    wire::{
        action::{RunRequest, RunResult},
        json,
        local::Actions,
    },
};

use super::{
    Code, Failed, Outcome,
    answer::{ask, ask_within, decoded, print, table},
    args::{ActionsPart, Global, Output, RunAction},
    say,
    socket::Question,
};

pub(super) fn actions(global: &Global, part: &ActionsPart) -> Outcome {
    match part {
        ActionsPart::List => list(global),
        ActionsPart::Run(order) => run(global, order),
    }
}

fn list(global: &Global) -> Outcome {
    let answer = ask(global, &Question::get("/v1/actions".to_owned()))?;
    print(global, &answer, listed)
}

fn listed(actions: &Actions) -> String {
    let row = |kind: &str, name: &str, words: &str| [kind, name, words].map(str::to_owned);
    let builtins = actions.builtin_actions.iter();
    let builtins = builtins.map(|action| row("builtin", &action.name, &action.description));
    let hooks = actions.hooks.iter();
    let hooks = hooks.map(|hook| row("hook", &hook.name, &hook.description));
    table(["TYPE", "NAME", "DESCRIPTION"], builtins.chain(hooks).collect())
}

/// The agent ends the run itself, so that its end is waited for.
fn run(global: &Global, order: &RunAction) -> Outcome {
    let request = RunRequest { action: Some(order.name.clone()), parameters: parameters(order)? };
    let question = Question::post("/v1/actions/run".to_owned(), json::encode(&request));
    let answer = ask_within(global, &question, DURATION_MAX)?;
    let result: RunResult = decoded(&answer)?;
    say(&match global.output {
        Output::Json => String::from_utf8_lossy(&answer.body).into_owned(),
        Output::Text => shown(&result),
    })?;
    Ok(if result.status == "success" { Code::Done } else { Code::Failed })
}

fn parameters(order: &RunAction) -> Result<Option<BTreeMap<String, String>>, Failed> {
    let mut parameters = BTreeMap::new();
    for (name, value) in &order.parameters {
        if parameters.insert(name.clone(), value.clone()).is_some() {
            let name = legible::line(name);
            return Err(Failed::new(Code::BadUsage, format!("--param {name} is given twice")));
        }
    }
    Ok((!parameters.is_empty()).then_some(parameters))
}

/// A stream that is empty has no part of its own.
fn shown(result: &RunResult) -> String {
    let mut out =
        format!("Status:    {}\nExit code: {}\n", legible::line(&result.status), result.exit_code);
    for (heading, text) in [("Stdout", &result.stdout), ("Stderr", &result.stderr)] {
        if !text.is_empty() {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            out += &format!("\n{heading}:\n{}{end}", legible::lines(text));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use meshward_core::wire::local::{ActionInfo, HookInfo};

    use super::*;

    #[test]
    fn built_in_actions_and_hooks_are_listed_one_a_line_whatever_they_are_called() {
        let actions = Actions {
            builtin_actions: vec![ActionInfo {
                name: "a.b".into(),
                description: "Does it.".into(),
                parameters: Vec::new(),
            }],
            hooks: vec![HookInfo {
                name: "h.sh\u{1b}[2J".into(),
                description: "One\nline.".into(),
                source: "local".into(),
                checksum: "x".into(),
                parameters: Vec::new(),
                timeout: String::new(),
                sandbox: String::new(),
                fault: None,
            }],
        };
        let text = listed(&actions);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "TYPE     NAME      DESCRIPTION");
        assert_eq!(lines[1], "builtin  a.b       Does it.");
        assert_eq!(lines[2], "hook     h.sh\u{fffd}[2J  One\u{fffd}line.");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn a_result_is_shown_with_its_streams_which_steer_no_terminal() {
        let result = |stdout: &str, stderr: &str| RunResult {
            status: "failed".to_owned(),
            exit_code: 3,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        let head = "Status:    failed\nExit code: 3\n";
        assert_eq!(shown(&result("", "")), head);
        assert_eq!(shown(&result("a\tb\nc", "")), format!("{head}\nStdout:\na\tb\nc\n"));
        let both = shown(&result("a\n", "\u{1b}[2J\u{202e}"));
        assert_eq!(both, format!("{head}\nStdout:\na\n\nStderr:\n\u{fffd}[2J\u{fffd}\n"));
    }
}
