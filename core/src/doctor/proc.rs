//! Two files below `/proc` that tell of others: who holds a lock, and what a process may do.
//!
//! Neither is changed by being read, while to try a lock could be in the way of an agent that starts.

/// The process that holds a lock of `flock` on the file with this inode, by `/proc/locks`.
pub fn holder(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().filter(|field| *field != "->");
        let kind = fields.nth(1)?;
        let mode = fields.nth(1)?;
        let pid = fields.next()?;
        let file = fields.next()?;
        let is_it = file.rsplit(':').next()?.parse::<u64>() == Ok(inode);
        (kind == "FLOCK" && mode == "WRITE" && is_it).then(|| pid.parse().ok()).flatten()
    })
}

/// The capabilities that are in effect, one bit each, by `/proc/<pid>/status`.
pub fn capabilities(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}
