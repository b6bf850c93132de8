//! A pull is taken: executions first, then sessions, then what is compared with what is known. Each block stands for
//! itself: one that cannot be read leaves what is known of it, and keeps no other from being taken.

use alloc::{format, string::String};
use core::mem;

use super::Turn;
use crate::{
    agent::{
        archive, execution,
        facts::Effect,
        network::{Network, file},
        notice::Notice,
        pull::diff::{self, Diff},
        sessions,
    },
    ids::{ExecutionId, SessionId},
    time::Mono,
    wire::pulled::{Block, Pulled},
};

impl Turn<'_> {
    pub(super) fn pulled(&mut self, asked: Mono, mut pulled: Pulled) {
        let before = self.served();
        self.tell_spoilt(&pulled.spoilt);
        self.executions_pulled(asked, &mut pulled);
        self.sessions_pulled(&mut pulled);
        self.reached(&pulled);
        let mut diff = self.agent.last_pull.seen.taken(&pulled);
        self.network_pulled(&mut pulled, &mut diff);
        self.state_pulled(&mut pulled);
        self.tell_diff(diff);
        self.tell_changes(before);
        self.archive(archive::Input::Pulled);
        self.network_file(file::Input::Pulled);
    }

    fn executions_pulled(&mut self, asked: Mono, pulled: &mut Pulled) {
        if pulled.lacks(Block::Executions) {
            return;
        }
        let ids = pulled.unread(&[Block::Executions]).ids;
        let unread = ids.into_iter().map(ExecutionId).collect();
        let entries = mem::take(&mut pulled.snapshot.executions);
        self.dispatch(execution::Input::Pulled { asked, entries, unread });
    }

    /// A block that is none is as one that is not populated, which was told otherwise.
    fn sessions_pulled(&mut self, pulled: &mut Pulled) {
        if pulled.lacks(Block::Sessions) {
            return;
        }
        let ids = pulled.unread(&[Block::Sessions]).ids;
        let unread = ids.into_iter().map(SessionId).collect();
        let entries = pulled.snapshot.sessions.take();
        self.sessions(sessions::Input::Pulled { entries, unread });
    }

    fn network_pulled(&mut self, pulled: &mut Pulled, diff: &mut Diff) {
        let was = mem::take(&mut self.agent.network);
        let is_policy_read = !pulled.lacks(Block::Policy);
        let policy = if is_policy_read { pulled.policy.take() } else { was.policy.clone() };
        let peers = mem::take(&mut pulled.snapshot.peers);
        let unread = pulled.unread(&[Block::Peers]);
        self.agent.network = was.clone().pulled(peers, &unread, policy);
        let Network { peers, policy } = &self.agent.network;
        diff.peers = diff::peers(&was.peers, peers);
        let compared = diff::policy(was.policy.as_ref(), policy.as_ref());
        diff.policy = is_policy_read && compared != diff::Policy::Same;
        self.tell_unmarked(compared == diff::Policy::Unmarked);
    }

    fn state_pulled(&mut self, pulled: &mut Pulled) {
        let metadata = pulled.unread(&[Block::State, Block::Metadata]);
        let data = pulled.unread(&[Block::State, Block::Data]);
        let (view, state) = (mem::take(&mut self.agent.view), pulled.snapshot.state.take());
        self.agent.view = view.refreshed_but(self.now, state, [&metadata, &data]);
    }

    fn tell_diff(&mut self, diff: Diff) {
        let text = format!("the pull changed: {diff}");
        let notice = if diff.is_none() { Notice::debug(text) } else { Notice::info(text) };
        self.effects.push(Effect::Tell(notice));
    }

    /// Nothing depends on how the control plane sees this node.
    fn reached(&mut self, pulled: &Pulled) {
        if pulled.lacks(Block::Reachability) {
            return;
        }
        let reached = self.agent.last_pull.seen.reached(pulled.snapshot.reachability.as_ref());
        let Some(diff::Reached { was, is }) = reached else { return };
        let called = |state: Option<String>| state.unwrap_or_else(|| "unknown".into());
        let text = match was {
            Some(was) => format!(
                "the control plane sees this node as {:?}, and saw it as {was:?}",
                called(is)
            ),
            None => format!("the control plane sees this node as {:?}", called(is)),
        };
        self.effects.push(Effect::Tell(Notice::info(text)));
    }
}
