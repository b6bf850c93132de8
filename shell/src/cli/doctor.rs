//! `doctor`: a line a check, with the mend of what is not good.

use meshward_core::doctor::{self, Finding};
use serde_json::json;

use super::{
    Code, Failed, Outcome,
    args::{Global, Output},
    config, say,
};
use crate::{config::Config, doctor::examine};

pub(super) fn doctor(global: &Global) -> Outcome {
    let sources = config::sources(global);
    let findings = match Config::load(&sources) {
        Ok(loaded) => {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(
                    |error| Failed::new(Code::Failed, format!("nothing can be asked: {error}")),
                )?;
            let sound = Finding::good(CONFIG, "it is sound");
            let examined = runtime.block_on(examine(&loaded.config));
            [vec![sound], examined].concat()
        }
        Err(faults) => {
            let bad = |fault| Finding::bad(CONFIG, format!("{fault}"), MEND);
            faults.iter().map(bad).collect()
        }
    };
    say(&match global.output {
        Output::Text => findings.iter().map(|finding| finding.line() + "\n").collect(),
        Output::Json => format!("{}\n", in_json(&findings)),
    })?;
    Ok(if doctor::is_all_good(&findings) { Code::Done } else { Code::Failed })
}

const CONFIG: &str = "configuration";
const MEND: &str = "correct it, or ask as the user of the agent where it cannot be read; the rest is looked at then";

fn in_json(findings: &[Finding]) -> serde_json::Value {
    let row = |finding: &Finding| {
        json!({
            "name": finding.name,
            "state": finding.state.name(),
            "words": finding.words,
            "mend": finding.mend,
        })
    };
    let rows: Vec<_> = findings.iter().map(row).collect();
    json!({ "good": doctor::is_all_good(findings), "findings": rows })
}
