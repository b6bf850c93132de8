//! The kernel's audit: heard from the kernel itself, else read from the log of auditd.
//!
//! | What this process may do | Then |
//! |---|---|
//! | hear the kernel (`CAP_AUDIT_READ`) | that, as it needs one capability and no auditd; what is kept of the log is forgotten |
//! | read the log only | the log, from where it was read last |
//! | neither, or there is neither, as in a container | nothing, which is told with both mends, and tried again at [`RETRY`] |
//!
//! What comes while the agent does not run is in the log only; the kernel keeps nothing for a listener that is away.
//!
//! Specification: "Internal record shapes (local endpoint delivery)"; `gaps-agent.md` 4.1 (auditd).

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use meshward_core::{
    agent::{Feed, Records, Source, voice::bytes_of},
    time::Mono,
    wire::{
        positions::Positions,
        record::AuditEntry,
        sources::auditd::{Events, Record},
    },
};

use super::{
    audit_log::{self, AuditLog},
    audit_socket::AuditSocket,
    source::{Collector, Wanted, feed},
};
use crate::clock;

/// How long nothing is tried where neither way is open.
const RETRY: Duration = Duration::from_secs(60);

const OVERFLOWED: &str = "the kernel's queue of audit records overflowed; it does not tell how many were lost, so that each \
    time counts as one: fewer audit rules, or a rate limit (auditctl -r), help";

/// The kernel's audit.
#[derive(Debug)]
pub(crate) struct Auditd {
    events: Events,
    way: Way,
    log: PathBuf,
    /// Where the log goes on, as long as that may be asked for.
    from: Option<Positions>,
    hear: fn() -> io::Result<AuditSocket>,
}

#[derive(Debug)]
enum Way {
    Untried,
    Kernel(AuditSocket),
    Log(AuditLog),
    Neither { since: Mono, trouble: String },
}

impl Auditd {
    /// Of this node, by this name.
    pub(crate) fn new(hostname: Arc<str>) -> Self {
        Self::by(hostname, audit_log::PATH.as_ref(), AuditSocket::open)
    }

    fn by(hostname: Arc<str>, log: &Path, hear: fn() -> io::Result<AuditSocket>) -> Self {
        Self {
            events: Events::new(hostname),
            way: Way::Untried,
            log: log.to_owned(),
            from: None,
            hear,
        }
    }

    /// Chooses the way, unless there is one, or none was found a short while ago.
    fn choose(&mut self, now: Mono) {
        match &self.way {
            Way::Kernel(_) | Way::Log(_) => return,
            Way::Neither { since, .. } if now.since(*since) < RETRY => return,
            Way::Untried | Way::Neither { .. } => {}
        }
        self.way = match ((self.hear)(), audit_log::look(&self.log)) {
            (Ok(socket), _) => Way::Kernel(socket),
            (Err(_), Ok(())) => Way::Log(AuditLog::new(&self.log)),
            (Err(hear), Err(read)) => {
                Way::Neither { since: now, trouble: neither(&self.log, &hear, &read) }
            }
        };
    }

    fn collect_at(&mut self, wanted: &Wanted, now: Mono) -> Feed {
        if let Some(from) = &wanted.from {
            self.from = Some(from.clone());
        }
        self.choose(now);
        let mut brought = feed(Source::Auditd, Records::Events(Vec::new()));
        match &mut self.way {
            Way::Untried => {}
            Way::Kernel(_) => self.hear_kernel(now, &mut brought),
            Way::Log(_) => self.read_log(wanted.room, now, &mut brought),
            Way::Neither { trouble, .. } => brought.troubles.push(trouble.clone()),
        }
        brought.lost += self.events.take_late();
        brought
    }

    /// What the kernel has told waits for nobody: all of it is brought.
    fn hear_kernel(&mut self, now: Mono, brought: &mut Feed) {
        let Way::Kernel(socket) = &self.way else { return };
        let heard = socket.take();
        for datagram in &heard.datagrams {
            match Record::of_datagram(datagram) {
                Some(record) => self.events.take(&record, 0, now),
                None => brought.lost += 1,
            }
        }
        self.events.ripen(now);
        brought.records = Records::Events(self.ended(usize::MAX));
        brought.lost += heard.lost;
        brought.troubles.extend(heard.is_at_least.then(|| OVERFLOWED.to_owned()));
        let kept = self.from.take().map(|from| audit_log::names(&from, &self.log));
        brought.marks.extend(kept.into_iter().flatten().map(|name| (name, None)));
        if let Some(error) = heard.failed {
            brought.troubles.push(format!("the kernel's audit is heard no more: {error}"));
            self.way = Way::Untried;
        }
    }

    fn read_log(&mut self, room: usize, now: Mono, brought: &mut Feed) {
        let Way::Log(log) = &mut self.way else { return };
        let round = log.read(&mut self.events, (room, self.from.as_ref(), now));
        brought.more = round.more;
        brought.lost += round.lost;
        brought.troubles.extend(round.trouble);
        self.events.ripen(now);
        brought.records = Records::Events(self.ended(room));
        brought.more |= room > 0 && self.events.ended() > 0;
        let Way::Log(log) = &mut self.way else { return };
        brought.marks.extend(log.marks(&self.events));
    }

    /// As many events as there is room for; of long ones fewer.
    fn ended(&mut self, room: usize) -> Vec<AuditEntry> {
        let left = self.events.ended_bytes().saturating_sub(bytes_of(room));
        let next =
            || if self.events.ended_bytes() > left { self.events.next_ended() } else { None };
        std::iter::from_fn(next).take(room).collect()
    }
}

impl Collector for Auditd {
    fn source(&self) -> Source {
        Source::Auditd
    }

    fn collect(&mut self, wanted: &Wanted) -> Feed {
        self.collect_at(wanted, clock::now().mono)
    }
}

fn neither(log: &Path, hear: &io::Error, read: &io::Error) -> String {
    format!(
        "the kernel's audit cannot be heard ({hear}), and its log {} cannot be read ({read}): give the agent the \
         capability CAP_AUDIT_READ (AmbientCapabilities= of its unit), or make its user a member of the group that may \
         read the log (log_group of auditd.conf, and the folder); or set audit.auditd = false",
        log.display()
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, sync::Arc, time::Duration};

    use meshward_core::{
        agent::{Feed, Records},
        time::Mono,
        wire::{positions::Positions, record::AuditEntry},
    };

    use super::{Auditd, RETRY, Way, bytes_of};
    use crate::voice::{audit_socket::AuditSocket, source::Wanted};

    fn refused() -> std::io::Result<AuditSocket> {
        Err(rustix::io::Errno::PERM.into())
    }

    fn by_log(log: &Path) -> Auditd {
        Auditd::by(Arc::from("node-1"), log, refused)
    }

    fn at(seconds: u64) -> Mono {
        Mono::from_origin(Duration::from_secs(seconds))
    }

    fn wanted(room: usize, from: Option<Positions>) -> Wanted {
        Wanted { room, from, peers: Vec::new() }
    }

    fn events(feed: &Feed) -> &[AuditEntry] {
        match &feed.records {
            Records::Events(events) => events,
            Records::Lines(_) | Records::Points(_) => panic!("{:?}", feed.records),
        }
    }

    fn actions(feed: &Feed) -> Vec<&str> {
        events(feed).iter().map(|event| event.action.as_str()).collect()
    }

    fn add(log: &Path, text: &str) {
        use std::io::Write as _;
        let mut file = fs::File::options().append(true).create(true).open(log).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn user(serial: u64) -> String {
        format!("type=USER_CMD msg=audit(1.000:{serial}): pid=1 uid=0 msg='res=success'\n")
    }

    /// What is kept of this feed, as the next process is told it.
    fn kept(feed: &Feed) -> Positions {
        let places = feed.marks.iter().map(|(name, at)| (name.clone(), at.clone().unwrap()));
        Positions { places: places.collect() }
    }

    #[test]
    fn the_log_is_read_from_its_end_and_events_go_on_where_a_restart_came_between() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("audit.log");
        add(&log, &user(1));
        let mut first = by_log(&log);
        let feed = first.collect_at(&wanted(10, None), at(0));
        assert_eq!((actions(&feed), feed.marks.len()), (vec![], 1));
        // The second event has not ended, so that the next process must see all of it.
        add(&log, &user(2));
        add(&log, "type=SYSCALL msg=audit(1.000:3): arch=c000003e syscall=59 success=yes pid=7\n");
        let feed = first.collect_at(&wanted(10, None), at(1));
        assert_eq!(actions(&feed), ["USER_CMD"]);
        let mut second = by_log(&log);
        add(&log, "type=PATH msg=audit(1.000:3): item=0 name=\"/bin/ls\"\n");
        add(&log, "type=PROCTITLE msg=audit(1.000:3): proctitle=6C73\n");
        let feed = second.collect_at(&wanted(10, Some(kept(&feed))), at(0));
        assert_eq!(actions(&feed), ["execve"]);
        assert_eq!(events(&feed)[0].object, r#"{"paths":["/bin/ls"]}"#);
        assert_eq!(actions(&second.collect_at(&wanted(10, None), at(60))), Vec::<&str>::new());
    }

    #[test]
    fn no_more_is_brought_than_there_is_room_for_and_the_place_is_behind_what_was_brought() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("audit.log");
        add(&log, "");
        let mut auditd = by_log(&log);
        auditd.collect_at(&wanted(10, None), at(0));
        let open = |serial: u64| format!("type=SYSCALL msg=audit(1.000:{serial}): pid={serial}\n");
        add(&log, &(1..=5).map(open).collect::<String>());
        assert_eq!(actions(&auditd.collect_at(&wanted(10, None), at(0))), Vec::<&str>::new());
        // All five end by their age, and there is room for two at a time.
        for (brought, more) in [(2, true), (2, true), (1, false)] {
            let feed = auditd.collect_at(&wanted(2, None), at(5));
            assert_eq!((events(&feed).len(), feed.more), (brought, more));
        }
        add(&log, &(6..=9).map(user).collect::<String>());
        let feed = auditd.collect_at(&wanted(0, None), at(6));
        assert_eq!((events(&feed).len(), feed.more), (0, false), "nothing is asked for");
        let feed = auditd.collect_at(&wanted(3, None), at(6));
        assert_eq!((events(&feed).len(), feed.more), (3, true));
        let mut next = by_log(&log);
        let feed = next.collect_at(&wanted(10, Some(kept(&feed))), at(0));
        assert_eq!(events(&feed)[0].raw, user(9).trim_end());
    }

    #[test]
    fn of_events_with_many_long_paths_fewer_are_brought_at_once_and_all_of_them_in_the_end() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("audit.log");
        add(&log, "");
        let mut auditd = by_log(&log);
        auditd.collect_at(&wanted(10, None), at(0));
        let name = "x".repeat(4_000);
        let long = |serial: u64| {
            let path = format!("type=PATH msg=audit(1.000:{serial}): name=\"/{name}\"\n");
            // Half of them end by their last record, the other half by their age.
            let end = format!("type=PROCTITLE msg=audit(1.000:{serial}): proctitle=6C73\n");
            path.repeat(16) + if serial.is_multiple_of(2) { &end } else { "" }
        };
        add(&log, &(1..=40).map(long).collect::<String>());
        let (mut brought, mut rounds) = (0, 0);
        loop {
            let feed = auditd.collect_at(&wanted(20, None), at(5 * rounds));
            let bytes: usize = events(&feed).iter().map(AuditEntry::text_bytes).sum();
            assert!(bytes < bytes_of(20) + 100_000, "{bytes} in round {rounds}");
            brought += events(&feed).len();
            rounds += 1;
            if brought == 40 || rounds == 30 {
                break;
            }
        }
        assert!((8..30).contains(&rounds) && brought == 40, "{brought} in {rounds} rounds");
    }

    #[test]
    fn lines_that_are_no_records_and_records_that_come_late_count_as_lost() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("audit.log");
        add(&log, "");
        let mut auditd = by_log(&log);
        auditd.collect_at(&wanted(10, None), at(0));
        add(&log, "what is this\n");
        add(&log, "type=PROCTITLE msg=audit(1.000:3): proctitle=6C73\n");
        add(&log, "type=PATH msg=audit(1.000:3): name=\"a\"\n");
        let feed = auditd.collect_at(&wanted(10, None), at(0));
        assert_eq!((events(&feed).len(), feed.lost), (1, 2));
        assert_eq!(auditd.collect_at(&wanted(10, None), at(0)).lost, 0);
    }

    #[test]
    fn where_neither_way_is_open_both_mends_are_told_and_nothing_is_tried_for_a_while() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("audit.log");
        let mut auditd = by_log(&log);
        for second in [0, 30] {
            let feed = auditd.collect_at(&wanted(10, None), at(second));
            let [trouble] = feed.troubles.as_slice() else { panic!("{:?}", feed.troubles) };
            assert!(
                trouble.contains("CAP_AUDIT_READ") && trouble.contains("log_group"),
                "{trouble}"
            );
            assert!(
                trouble.contains("not permitted") && trouble.contains("No such file"),
                "{trouble}"
            );
            add(&log, &user(1));
        }
        let feed = auditd.collect_at(&wanted(10, None), Mono::default().after(RETRY));
        assert!(feed.troubles.is_empty() && matches!(auditd.way, Way::Log(_)));
        add(&log, &user(2));
        let feed = auditd.collect_at(&wanted(10, None), Mono::default().after(RETRY));
        assert_eq!(actions(&feed), ["USER_CMD"]);
    }

    #[test]
    fn the_kernel_is_heard_where_it_may_be_and_the_place_in_the_log_is_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("audit.log");
        add(&log, &user(1));
        let from = kept(&by_log(&log).collect_at(&wanted(10, None), at(0)));
        let mut auditd = Auditd::by(Arc::from("node-1"), &log, AuditSocket::open);
        let feed = auditd.collect_at(&wanted(10, Some(from)), at(0));
        match AuditSocket::open() {
            Ok(_) => {
                assert_eq!(feed.marks, [(format!("auditd:{}", log.display()), None)]);
                assert!(matches!(auditd.way, Way::Kernel(_)));
            }
            // As in a container: the log goes on where it was.
            Err(_) => {
                assert!(feed.marks.iter().all(|(_, place)| place.is_some()), "{:?}", feed.marks);
                assert!(matches!(auditd.way, Way::Log(_)));
            }
        }
        assert!(feed.troubles.is_empty(), "{:?}", feed.troubles);
    }
}
