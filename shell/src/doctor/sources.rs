//! Where records come from and go to: files of logs, and endpoints of the operator.

use std::path::{Path, PathBuf};

use meshward_core::doctor::Finding;
use rustix::fs::{Access, access};

use crate::config::Config;

const FILES: &str = "log files";
const ENDPOINTS: &str = "local endpoints";
const WILD: [char; 3] = ['*', '?', '['];

pub(super) fn look(config: &Config) -> Vec<Finding> {
    let mut findings = Vec::new();
    let logs = &config.logs;
    if logs.pipeline.enabled {
        findings.extend(logs.file_patterns.iter().map(|pattern| files(pattern)));
    }
    let audit = config.audit.k8s_audit_file.as_deref().filter(|_| config.audit.pipeline.enabled);
    findings.extend(audit.map(|path| files(&path.to_string_lossy())));
    let pipelines = [
        ("metrics", &config.metrics.local_endpoint),
        ("logs", &config.logs.pipeline.local_endpoint),
        ("audit", &config.audit.pipeline.local_endpoint),
    ];
    for (section, endpoint) in pipelines {
        let Some(endpoint) = endpoint else { continue };
        findings.push(match endpoint.tls_insecure_skip_verify {
            false => Finding::good(ENDPOINTS, format!("that of {section} is asked by https")),
            true => Finding::warn(
                ENDPOINTS,
                format!("whoever answers at that of {section} is trusted with its records"),
                format!("take {section}.local_endpoint.tls_insecure_skip_verify out"),
            ),
        });
    }
    findings
}

/// Whether what a pattern begins with can be read, which is the file itself where it has no wildcard.
fn files(pattern: &str) -> Finding {
    let mut known = PathBuf::new();
    for part in Path::new(pattern).components() {
        if part.as_os_str().to_string_lossy().contains(WILD) {
            break;
        }
        known.push(part);
    }
    let wanted = if known.is_dir() { Access::READ_OK | Access::EXEC_OK } else { Access::READ_OK };
    match access(&known, wanted) {
        Ok(()) => Finding::good(FILES, format!("{pattern} can be read")),
        Err(error) => Finding::warn(
            FILES,
            format!(
                "{pattern}: {} cannot be read: {}",
                known.display(),
                std::io::Error::from(error)
            ),
            "let the agent read it, or correct the pattern",
        ),
    }
}
