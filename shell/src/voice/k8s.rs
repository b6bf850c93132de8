//! The audit log of a Kubernetes API server, a file that the configuration names.
//!
//! Specification: "Internal record shapes (local endpoint delivery)"; `decisions.md` section 8 (k8s audit).

use std::{path::Path, sync::Arc};

use meshward_core::{
    agent::{Feed, Records, Source},
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
        let (mut entries, mut unread) = (Vec::new(), 0);
        let go = |brought: usize| if brought < wanted.room { Go::On } else { Go::Stop };
        let round = self.follow.read((wanted.from.as_ref(), go(0)), |line, _| {
            match entry(line, &self.hostname) {
                Some(entry) => entries.push(entry),
                None => unread += 1,
            }
            go(entries.len())
        });
        let troubles = round.trouble.map(|trouble| {
            format!(
                "audit.k8s_audit_file: {trouble}: name the file of the server's --audit-log-path, let the agent read it, \
                 or leave the setting out"
            )
        });
        Feed {
            marks: self.follow.mark(None).into_iter().collect(),
            more: round.more,
            lost: round.lost + unread,
            troubles: troubles.into_iter().collect(),
            ..feed(Source::K8sAudit, Records::Events(entries))
        }
    }
}
