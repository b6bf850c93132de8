//! Facts of this host, read from `/proc` and `/sys`; what cannot be read is zero or empty.

use std::{
    fmt::Write,
    fs::{self, File},
    io::Read,
    path::Path,
};

/// The longest file of `/proc` or `/sys` that is read, in bytes.
const FILE_MAX: u64 = 64 * 1024;

/// The most processes, interfaces or addresses that are listed.
const ROWS_MAX: usize = 4096;

/// The start of a file, trimmed; empty where it cannot be read.
pub(super) fn file(path: impl AsRef<Path>) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut bytes));
    if read.is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// All memory in bytes, out of the text of `/proc/meminfo`.
pub(super) fn memory_total(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let number = line.and_then(|rest| rest.split_ascii_whitespace().next());
    let kibibytes: u64 = number.and_then(|number| number.parse().ok()).unwrap_or_default();
    kibibytes.saturating_mul(1024)
}

/// The size in bytes of the filesystem that holds a path; it may hang on a dead mount.
pub(super) fn disk_total(path: &str) -> u64 {
    rustix::fs::statvfs(path).map_or(0, |stat| stat.f_blocks.saturating_mul(stat.f_frsize))
}

/// The interfaces with their addresses, in the manner of `ip addr show`.
pub(super) fn interfaces(root: &Path) -> String {
    let inet6 = file(root.join("proc/net/if_inet6"));
    let mut text = String::new();
    for name in entries(&root.join("sys/class/net")) {
        let place = root.join("sys/class/net").join(&name);
        let of = |attribute: &str| file(place.join(attribute));
        let (index, mtu, state) = (of("ifindex"), of("mtu"), of("operstate").to_uppercase());
        let address = of("address");
        // Writing to a String does not fail.
        let _ = writeln!(text, "{index}: {name}: mtu {mtu} state {state}\n    link {address}");
        for line in inet6.lines().filter(|line| line.ends_with(&format!(" {name}"))) {
            let _ = writeln!(text, "    inet6 {}", ipv6(line));
        }
    }
    for address in local_ipv4(&file(root.join("proc/net/fib_trie"))) {
        let _ = writeln!(text, "inet {address}");
    }
    text
}

/// The names in a folder, in order.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.take(ROWS_MAX).collect();
    names.sort_unstable();
    names
}

/// The address of a line of `/proc/net/if_inet6`, with its prefix.
fn ipv6(line: &str) -> String {
    let mut fields = line.split_ascii_whitespace();
    let number = fields.next().and_then(|digits| u128::from_str_radix(digits, 16).ok());
    let prefix = fields.nth(1).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    match (number, prefix) {
        (Some(number), Some(prefix)) => format!("{}/{prefix}", std::net::Ipv6Addr::from(number)),
        (_, _) => String::new(),
    }
}

/// The addresses of this host out of the text of `/proc/net/fib_trie`.
fn local_ipv4(trie: &str) -> Vec<std::net::Ipv4Addr> {
    let mut found = Vec::new();
    let mut leaf: Option<std::net::Ipv4Addr> = None;
    for line in trie.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL") {
            found.extend(leaf);
        }
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(ROWS_MAX);
    found
}

/// One line a process: user id, process id, resident memory, state and command. It may hang on a hung process.
pub(super) fn processes(root: &Path) -> String {
    let mut text = String::new();
    let mut pids: Vec<u32> =
        entries(&root.join("proc")).iter().filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    for pid in pids {
        let place = root.join("proc").join(pid.to_string());
        let status = file(place.join("status"));
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_ascii_whitespace().next()).unwrap_or("-").to_owned()
        };
        let mut command = file(place.join("cmdline")).replace('\0', " ");
        if command.trim().is_empty() {
            command = format!("[{}]", of("Name:"));
        }
        if !status.is_empty() {
            let (user, memory, state) = (of("Uid:"), of("VmRSS:"), of("State:"));
            // Writing to a String does not fail.
            let _ = writeln!(text, "{user} {pid} {memory} {state} {}", command.trim());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{disk_total, file, interfaces, local_ipv4, memory_total, processes};

    #[test]
    fn memory_is_told_in_bytes() {
        assert_eq!(memory_total("MemTotal:       16 kB\nMemFree: 1 kB"), 16_384);
        for broken in ["", "MemTotal:", "MemTotal: x kB", "MemTotal: 99999999999999999999 kB"] {
            assert_eq!(memory_total(broken), 0);
        }
        assert_eq!(memory_total(&format!("MemTotal: {} kB", u64::MAX)), u64::MAX);
        assert!(memory_total(&file("/proc/meminfo")) > 1 << 20);
    }

    #[test]
    fn a_disk_that_is_not_there_has_no_size() {
        assert!(disk_total("/") > 0);
        assert_eq!(disk_total("/nonexistent"), 0);
    }

    #[test]
    fn local_addresses_are_read_out_of_the_routing_tree() {
        let trie = "Main:\n  |-- 10.0.0.0\n     /24 link UNICAST\n  |-- 10.0.0.7\n     /32 host LOCAL\n\
                    Local:\n  |-- 10.0.0.7\n     /32 host LOCAL\n  |-- 10.0.0.255\n     /32 link BROADCAST\n";
        assert_eq!(local_ipv4(trie), ["10.0.0.7".parse::<std::net::Ipv4Addr>().unwrap()]);
    }

    #[test]
    fn interfaces_and_processes_are_read_from_a_made_up_host() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/class/net/eth0/ifindex", "2\n");
        write("sys/class/net/eth0/mtu", "1500\n");
        write("sys/class/net/eth0/operstate", "up\n");
        write("sys/class/net/eth0/address", "02:00:00:00:00:01\n");
        write("proc/net/if_inet6", "fe800000000000000000000000000001 02 40 20 80     eth0\n");
        write("proc/7/status", "Name:\tagent\nState:\tS (sleeping)\nUid:\t0\t0\nVmRSS:\t 12 kB\n");
        write("proc/7/cmdline", "agent\0run\0");
        write("proc/8/status", "Name:\tkworker\nState:\tI\nUid:\t0\t0\n");
        write("proc/8/cmdline", "");
        let expected =
            "2: eth0: mtu 1500 state UP\n    link 02:00:00:00:00:01\n    inet6 fe80::1/64\n";
        assert_eq!(interfaces(root.path()), expected);
        assert_eq!(processes(root.path()), "0 7 12 S agent run\n0 8 - I [kworker]\n");
    }

    #[test]
    fn this_host_lists_the_loopback_and_this_process() {
        assert!(interfaces(Path::new("/")).contains(" lo: "));
        let own = format!(" {} ", std::process::id());
        assert!(processes(Path::new("/")).contains(&own));
        assert_eq!(interfaces(Path::new("/nonexistent")), "");
        assert_eq!(processes(Path::new("/nonexistent")), "");
    }
}
