//! `diagnostics.collect`: the facts of this host, where they can be had; a fact that cannot is 0 or empty.

use std::collections::BTreeMap;

use serde::Serialize;

use super::host;

#[derive(Serialize)]
struct Facts {
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

/// Collects all facts as indented JSON.
pub(super) async fn collect(parameters: &BTreeMap<String, String>) -> Vec<u8> {
    let wanted = |name: &str| parameters.get(name).is_none_or(|value| value != "false");
    let network = async {
        if wanted("include_network") { host::network_interfaces().await } else { String::new() }
    };
    let processes =
        async { if wanted("include_processes") { host::processes().await } else { String::new() } };
    let (network_interfaces, processes, disk_total) =
        tokio::join!(network, processes, host::disk_total());
    let facts = Facts {
        hostname: host::hostname(),
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        cpu_count: std::thread::available_parallelism().map_or(0, usize::from),
        memory_total: host::memory_total(),
        disk_total,
        load_avg: host::load_avg(),
        kernel_version: host::kernel_version(),
        network_interfaces,
        processes,
    };
    serde_json::to_vec_pretty(&facts).unwrap_or_default()
}
