//! The audit log of a Kubernetes API server, a file that the configuration names.
//!
//! Specification: "Internal record shapes (local endpoint delivery)"; `decisions.md` section 8 (k8s audit).

use std::{path::Path, sync::Arc};

use meshward_core::{
    agent::{Feed, Records, Source, voice::bytes_of},
    wire::sources::k8s::{LINE_MAX, entry},
};

use super::{
    follow_end::{FollowEnd, Go},
    source::{Collector, Wanted, feed},
};

const KIND: &str = "k8s-audit";

/// The log, followed from its end.
#[derive(Debug)]
pub(crate) struct K8sAudit {
    follow: FollowEnd,
    hostname: Arc<str>,
}

impl K8sAudit {
    /// Of this node, by this name.
    pub(crate) fn new(path: &Path, hostname: Arc<str>) -> Self {
        Self { follow: FollowEnd::new(KIND, path, LINE_MAX), hostname }
    }
}

impl Collector for K8sAudit {
    fn source(&self) -> Source {
        Source::K8sAudit
    }

    fn collect(&mut self, wanted: &Wanted) -> Feed {
        let (mut entries, mut bytes, mut unread) = (Vec::new(), 0, 0);
        // What is asked for counts records of the usual length at the most.
        let most = bytes_of(wanted.room);
        let go =
            |brought, bytes| if brought < wanted.room && bytes < most { Go::On } else { Go::Stop };
        let round = self.follow.read((wanted.from.as_ref(), go(0, 0)), |line, _| {
            match entry(line, &self.hostname) {
                Some(entry) => {
                    bytes += entry.bytes();
                    entries.push(entry);
                }
                None => unread += 1,
            }
            go(entries.len(), bytes)
        });
        let troubles = round.trouble.map(|trouble| {
            format!(
                "audit.k8s_audit_file: {trouble}: name the file of the server's --audit-log-path, let the agent read it, \
                 or leave the setting out"
            )
        });
        Feed {
            marks: self.follow.marks(None),
            more: round.more,
            lost: round.lost + unread,
            troubles: troubles.into_iter().collect(),
            ..feed(Source::K8sAudit, Records::Events(entries))
        }
    }
}

/// What is wrong with the file, in the words of the log; no line of it is taken.
pub(crate) fn glance_at_audit(path: &Path) -> Option<String> {
    let mut source = K8sAudit::new(path, Arc::default());
    source.collect(&Wanted::default()).troubles.pop()
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _, sync::Arc};

    use meshward_core::{
        agent::{Collected, Pipe, Records},
        wire::sources::k8s::LINE_MAX,
    };

    use super::K8sAudit;
    use crate::voice::source::{Collector as _, Wanted};

    fn line(verb: &str, padding: usize) -> String {
        format!(
            "{{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"stage\":\"ResponseComplete\",\"verb\":\"{verb}\",\
             \"userAgent\":\"{}\",\"stageTimestamp\":\"2026-03-01T10:00:00Z\"}}\n",
            "x".repeat(padding)
        )
    }

    #[test]
    fn what_is_added_becomes_entries_and_what_is_no_event_or_too_long_is_counted() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("audit.log");
        fs::write(&path, line("old", 0)).unwrap();
        let mut audit = K8sAudit::new(&path, Arc::from("node-1"));
        let wanted = Wanted { room: 2, ..Wanted::default() };
        let feed = audit.collect(&wanted);
        assert!(feed.records.is_empty() && feed.troubles.is_empty());
        assert!(feed.marks[0].0 == format!("k8s-audit:{}", path.display()));
        let mut file = fs::File::options().append(true).open(&path).unwrap();
        let added = [
            &line("get", 0),
            "no event\n",
            &line("list", LINE_MAX),
            &line("watch", LINE_MAX / 2),
            &line("delete", 0),
        ];
        file.write_all(added.concat().as_bytes()).unwrap();
        let mut actions = Vec::new();
        for (lost, more) in [(2, true), (0, false)] {
            let feed = audit.collect(&wanted);
            assert_eq!((feed.lost, feed.more), (lost, more));
            let Records::Events(events) = &feed.records else { panic!("{:?}", feed.records) };
            actions.extend(events.iter().map(|event| event.action.clone()));
            let shown =
                format!("{:?}", Collected { pipe: Pipe::Audit, round: 1, feeds: vec![feed] });
            assert!(!shown.contains("ResponseComplete"), "records are not shown: {shown}");
        }
        assert_eq!(actions, ["get", "watch", "delete"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_told_with_its_setting_and_the_mend() {
        let home = tempfile::tempdir().unwrap();
        let mut audit = K8sAudit::new(&home.path().join("audit.log"), Arc::from("node-1"));
        let feed = audit.collect(&Wanted::default());
        let [trouble] = feed.troubles.as_slice() else { panic!("{:?}", feed.troubles) };
        for part in ["audit.k8s_audit_file: ", "audit.log: No such file", "--audit-log-path"] {
            assert!(trouble.contains(part), "{trouble}");
        }
        assert!(feed.marks.is_empty());
    }
}
