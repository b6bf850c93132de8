//! `diagnostics.collect`: what this host is and what runs on it, as indented JSON; it never fails.
//!
//! Specification: "Built-in actions".

use std::{collections::BTreeMap, path::Path, thread, time::Duration};

use serde::Serialize;

use super::{bounded::bounded, host, tool};

/// How long each source may take.
const SOURCE_LIMIT: Duration = Duration::from_secs(5);

/// Missing facts are zero or empty.
#[derive(Debug, Default, Serialize)]
struct Report {
    hostname: String,
    os: &'static str,
    arch: &'static str,
    cpu_count: usize,
    memory_total: u64,
    disk_total: u64,
    load_avg: String,
    kernel_version: String,
    network_interfaces: String,
    processes: String,
}

/// Gathers all facts, the slow ones side by side.
pub(super) async fn collect(parameters: BTreeMap<String, String>) -> Vec<u8> {
    let (disk_total, network_interfaces, processes) = tokio::join!(
        bounded("disk size", SOURCE_LIMIT, || host::disk_total("/")),
        interfaces(is_wanted(&parameters, "include_network")),
        processes(is_wanted(&parameters, "include_processes")),
    );
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let report = Report {
        hostname: system.nodename().to_string_lossy().into_owned(),
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        cpu_count: thread::available_parallelism().map_or(0, usize::from),
        memory_total: host::memory_total(&host::file("/proc/meminfo")),
        disk_total: disk_total.unwrap_or_default(),
        load_avg: host::file("/proc/loadavg"),
        kernel_version: match release.is_empty() {
            true => format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
            false => release.into_owned(),
        },
        network_interfaces,
        processes,
    };
    serde_json::to_vec_pretty(&report).expect("a struct of texts and integers has a JSON form")
}

/// Anything but `false` is true.
fn is_wanted(parameters: &BTreeMap<String, String>, name: &str) -> bool {
    parameters.get(name).is_none_or(|value| value != "false")
}

async fn interfaces(wanted: bool) -> String {
    if !wanted {
        return String::new();
    }
    match tool::text(&["ip", "addr", "show"], SOURCE_LIMIT).await {
        Some(text) => text,
        None => bounded("interfaces", SOURCE_LIMIT, || host::interfaces(Path::new("/")))
            .await
            .unwrap_or_default(),
    }
}

async fn processes(wanted: bool) -> String {
    if !wanted {
        return String::new();
    }
    match tool::text(&["ps", "aux"], SOURCE_LIMIT).await {
        Some(text) => text.split_once('\n').map_or_else(String::new, |(_, rows)| rows.to_owned()),
        None => bounded("processes", SOURCE_LIMIT, || host::processes(Path::new("/")))
            .await
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    async fn collected(parameters: &[(&str, &str)]) -> (String, Value) {
        let pairs = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let text = String::from_utf8(super::collect(pairs.collect()).await).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    #[tokio::test]
    async fn a_report_tells_the_facts_of_this_host() {
        let (text, report) = collected(&[]).await;
        assert!(text.starts_with("{\n  \"hostname\": "), "{text}");
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(report["hostname"], hostname.trim());
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        assert_eq!(report["kernel_version"], kernel.trim());
        assert_eq!(report["os"], "linux");
        assert_eq!(report["arch"], std::env::consts::ARCH);
        for number in ["cpu_count", "memory_total", "disk_total"] {
            assert!(report[number].as_u64().unwrap() > 0, "{number}");
        }
        assert_eq!(report["load_avg"].as_str().unwrap().split(' ').count(), 5);
        assert!(report["network_interfaces"].as_str().unwrap().contains(" lo: "));
        let processes = report["processes"].as_str().unwrap();
        assert!(processes.lines().count() > 1 && !processes.contains("COMMAND\n"), "{processes}");
        assert_eq!(report.as_object().unwrap().len(), 10);
    }

    #[tokio::test]
    async fn what_is_not_wanted_is_there_and_empty() {
        let (_, report) =
            collected(&[("include_network", "false"), ("include_processes", "no")]).await;
        assert_eq!(report["network_interfaces"], "");
        assert_ne!(report["processes"], "");
        let (_, report) = collected(&[("include_processes", "false")]).await;
        assert_ne!(report["network_interfaces"], "");
        assert_eq!(report["processes"], "");
        assert!(!super::is_wanted(&BTreeMap::from([("x".into(), "false".into())]), "x"));
    }
}
