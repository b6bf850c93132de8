//! `hooks list`, `hooks reload`.

use meshward_core::{
    legible,
    wire::local::{HookInfo, Reloaded},
};

use super::{
    Code, Outcome,
    answer::{ask, decoded, print, table},
    args::{Global, HooksPart, Output},
    complain, say,
    socket::Question,
};

/// How much of a digest is shown to a person.
const CHECKSUM_SHOWN: usize = 12;

pub(super) fn hooks(global: &Global, part: &HooksPart) -> Outcome {
    match part {
        HooksPart::List => {
            let answer = ask(global, &Question::get("/v1/hooks".to_owned()))?;
            print(global, &answer, |hooks: &Vec<HookInfo>| listed(hooks))
        }
        HooksPart::Reload => reload(global),
    }
}

/// What is wrong is told beside what is there; a script reads it in the answer.
fn reload(global: &Global) -> Outcome {
    let answer = ask(global, &Question::post("/v1/hooks/reload".to_owned(), Vec::new()))?;
    match global.output {
        Output::Json => say(&String::from_utf8_lossy(&answer.body)),
        Output::Text => {
            let reloaded: Reloaded = decoded(&answer)?;
            for warning in &reloaded.warnings {
                complain(Output::Text, warning);
            }
            let count = reloaded.hooks.len();
            say(&format!("{}: {count} {}\n", legible::line(&reloaded.status), noun(count)))?;
            if count > 0 { say(&listed(&reloaded.hooks)) } else { Ok(Code::Done) }
        }
    }
}

const fn noun(count: usize) -> &'static str {
    if count == 1 { "hook" } else { "hooks" }
}

fn listed(hooks: &[HookInfo]) -> String {
    if hooks.is_empty() {
        return "No hooks.\n".to_owned();
    }
    let row = |hook: &HookInfo| {
        [
            hook.name.clone(),
            hook.source.clone(),
            hook.checksum.chars().take(CHECKSUM_SHOWN).collect(),
            hook.fault
                .clone()
                .map_or_else(|| "ok".to_owned(), |fault| format!("does not run: {fault}")),
            hook.description.clone(),
        ]
    };
    let headings = ["NAME", "SOURCE", "CHECKSUM", "STATE", "DESCRIPTION"];
    table(headings, hooks.iter().map(row).collect())
}
