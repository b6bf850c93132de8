//! Ends every process of a run, whatever it does: it may fork, leave its session, ignore signals or stop itself.
//!
//! What a process leaves behind becomes a child of the nearest ancestor that asked for it, which each supervisor did.
//! So nothing escapes that is not a child in the end, and the kernel says when there is none.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
        pidfd_open, pidfd_send_signal, wait,
    },
};

use super::super::cgroup::Group;

/// How often new processes are looked for before those that were found are killed.
const FREEZE_ROUNDS: usize = 16;

/// How often a session is gone through.
const SESSION_ROUNDS: usize = 8;

/// How long the first look at what is left waits for the killed ones to end; the next ones double it.
const FIRST_PAUSE: Duration = Duration::from_millis(4);

/// What does not end hangs in the kernel, and is looked at this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest line of `/proc/<pid>/stat` that is read.
const STAT_MAX: u64 = 1024;

/// Takes all children that have ended, and tells each; says whether any is left.
pub(super) fn reap(mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            // There is no other error than that there is no child.
            Err(_) => return false,
        }
    }
}

/// Kills all processes below this one, and comes back when none is left.
///
/// `leader` leads a group of processes and has not been waited for, so that its number is nobody else's.
pub(super) fn end_all(
    children: &OwnedFd,
    group: Option<&Group>,
    leader: Option<Pid>,
    mut ended: impl FnMut(Pid, WaitStatus),
) {
    if let Some(leader) = leader {
        // One call ends all of a group, also while they fork.
        let _ = kill_process_group(leader, Signal::KILL);
    }
    let mut pause = FIRST_PAUSE;
    while reap(&mut ended) {
        if let Some(group) = group {
            group.kill();
        }
        let own = || below(vec![getpid().as_raw_nonzero().get()]);
        freeze(own);
        for (pid, parent) in own() {
            signal(pid, parent, Signal::KILL);
        }
        if !settle(children, pause, &mut ended) {
            return;
        }
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Stops processes until no new ones appear, since one that is only killed leaves its children to be found anew.
fn freeze(find: impl Fn() -> Vec<(Pid, Pid)>) {
    let mut stopped = BTreeSet::new();
    for _ in 0..FREEZE_ROUNDS {
        let mut new = find();
        new.retain(|(pid, _)| stopped.insert(pid.as_raw_nonzero()));
        if new.is_empty() {
            return;
        }
        for (pid, parent) in new {
            signal(pid, parent, Signal::STOP);
        }
    }
}

/// Takes the ended ones as they come, for a while; says whether any child is left.
fn settle(children: &OwnedFd, pause: Duration, ended: &mut impl FnMut(Pid, WaitStatus)) -> bool {
    let until = Instant::now() + pause;
    while reap(&mut *ended) {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return true;
        }
        wait_for(&mut [PollFd::new(children, PollFlags::IN)], rest);
        drain(children);
    }
    false
}

/// Waits until one of them has something to tell, at most for a while.
pub(super) fn wait_for(descriptors: &mut [PollFd<'_>], rest: Duration) {
    // Whoever waits looks at everything afterwards, also where it was woken for nothing.
    let _ = poll(descriptors, Timespec::try_from(rest).ok().as_ref());
}

/// Forgets that children have ended, to be told of the next.
pub(super) fn drain(children: &OwnedFd) {
    let mut told = [0; 512];
    while matches!(rustix::io::read(children, &mut told), Ok(length) if length > 0) {}
}

/// Signals one process, of which the number may be another's by now unless it is a child of this one: it must still have
/// the parent with which it was found, or have become a child.
fn signal(pid: Pid, parent: Pid, signal: Signal) {
    // It may have ended, or become another user's.
    let own = getpid();
    if parent == own {
        let _ = kill_process(pid, signal);
        return;
    }
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => {
            let expected = [parent, own].map(|pid| pid.as_raw_nonzero().get());
            if stat(pid).is_some_and(|stat| expected.contains(&stat.parent)) {
                let _ = pidfd_send_signal(process, signal);
            }
        }
        Err(Errno::SRCH) => {}
        // Linux before 5.3 has no such descriptors, and some filters of calls refuse them.
        Err(_) => drop(kill_process(pid, signal)),
    }
}

/// All processes below some, with their parents; none stands in front of its parent.
fn below(mut open: Vec<i32>) -> Vec<(Pid, Pid)> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, stat) in all() {
        children.entry(stat.parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    while let Some(parent) = open.pop() {
        for pid in children.remove(&parent).unwrap_or_default() {
            open.push(pid);
            found.extend(Pid::from_raw(pid).zip(Pid::from_raw(parent)));
        }
    }
    found
}

/// Kills a session of which the leader is a child of this process that has not been waited for, and what is below it.
///
/// All are stopped first, and the leader is killed last: what loses its parent falls to it as long as it is there. Where
/// it has ended already, what has left the session and lost its parent is not found.
pub(crate) fn end_session(leader: Pid) {
    let find = || {
        let mut members = all();
        members.retain(|(_, stat)| stat.session == leader.as_raw_nonzero().get());
        let known: BTreeSet<i32> = members.iter().map(|(pid, _)| *pid).collect();
        members.retain(|(_, stat)| !known.contains(&stat.parent));
        let below = below(members.iter().map(|(pid, _)| *pid).collect());
        let pair = |(pid, stat): (i32, Stat)| Pid::from_raw(pid).zip(Pid::from_raw(stat.parent));
        members.into_iter().filter_map(pair).chain(below).collect::<Vec<_>>()
    };
    for _ in 0..SESSION_ROUNDS {
        freeze(find);
        let mut found = find();
        found.retain(|(pid, _)| *pid != leader);
        if found.is_empty() {
            break;
        }
        // Children first: one that loses its parent is not taken for the one that was found.
        for (pid, parent) in found.into_iter().rev() {
            signal(pid, parent, Signal::KILL);
        }
    }
    // A child of this process, whether it has ended or not.
    let _ = kill_process(leader, Signal::KILL);
}

/// What is read of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    session: i32,
    /// It waits for its parent to take note of its end.
    ended: bool,
}

/// All processes that have not ended.
fn all() -> Vec<(i32, Stat)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let pids = numbers.filter_map(Pid::from_raw);
    let known = pids.filter_map(|pid| Some((pid.as_raw_nonzero().get(), stat(pid)?)));
    known.filter(|(_, stat)| !stat.ended).collect()
}

fn stat(pid: Pid) -> Option<Stat> {
    let mut text = Vec::new();
    let file = File::open(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    file.take(STAT_MAX).read_to_end(&mut text).ok()?;
    parse(&text)
}

/// The name of a process stands in parentheses and may hold anything.
fn parse(text: &[u8]) -> Option<Stat> {
    let at = text.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&text[at + 1..]).ok()?.split_ascii_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Stat { parent, session, ended })
}

#[cfg(test)]
mod tests {
    use rustix::process::getpid;

    use super::{Stat, parse, stat};

    #[test]
    fn a_process_is_read_whatever_its_name_holds() {
        let plain = Stat { parent: 1, session: 3, ended: false };
        assert_eq!(parse(b"7 (sh) S 1 2 3 0 -1"), Some(plain));
        assert_eq!(parse(b"7 (a) Z 9 9 9 (\xff\n) R 1 2 3 0"), Some(plain));
        assert_eq!(parse(b"7 (sh) Z 1 2 3"), Some(Stat { ended: true, ..plain }));
        for broken in [&b""[..], b"7 sh S 1 2 3", b"7 (sh) S", b"7 (sh) S x 2 3", b"7 (sh) S 1 2"] {
            assert_eq!(parse(broken), None);
        }
    }

    #[test]
    fn this_process_has_the_parent_and_the_session_that_the_kernel_tells() {
        let own = stat(getpid()).unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        // In the innermost namespace: zero where the other one is outside of it.
        let told = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
            line.split_ascii_whitespace().next_back().unwrap().parse::<i32>().unwrap()
        };
        assert_eq!((own.parent, own.session), (told("PPid:"), told("NSsid:")));
        assert!(!own.ended);
    }
}
