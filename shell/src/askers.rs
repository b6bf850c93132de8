//! The programs of this node that wait for an answer.

use std::collections::BTreeMap;

use meshward_core::{agent::Input, ids::CallId};
use tokio::sync::{mpsc, oneshot};

use crate::local::{Asked, Reply};

/// Who asked, each by the call that it was given.
#[derive(Debug)]
pub(crate) struct Askers {
    facts: mpsc::Sender<Input>,
    waiting: BTreeMap<CallId, oneshot::Sender<Reply>>,
    last: CallId,
}

impl Askers {
    pub(crate) const fn new(facts: mpsc::Sender<Input>) -> Self {
        Self { facts, waiting: BTreeMap::new(), last: CallId(0) }
    }

    /// Notes who asked, and makes it a fact.
    pub(crate) fn take_in(&mut self, asked: Asked) -> Input {
        let Asked { caller, request, reply } = asked;
        self.last = self.last.next();
        // An asker that has given up waits no more.
        self.waiting.retain(|_, asker| !asker.is_closed());
        self.waiting.insert(self.last, reply);
        Input::Asked { call: self.last, caller, request }
    }

    pub(crate) fn reply(&mut self, call: CallId, reply: Reply) {
        if let Some(asker) = self.waiting.remove(&call) {
            // An asker that has gone needs no answer.
            let _ = asker.send(reply);
        }
    }

    /// Makes it a fact when this asker goes before it is answered.
    pub(crate) fn watch(&mut self, call: CallId) {
        let Some(mut asker) = self.waiting.remove(&call) else { return };
        let (reply, replied) = oneshot::channel();
        self.waiting.insert(call, reply);
        let facts = self.facts.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                Ok(reply) = replied => drop(asker.send(reply)),
                // A closed inbox means that the agent has ended.
                () = asker.closed() => drop(facts.send(Input::Left(call)).await),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use meshward_core::{
        agent::Door,
        wire::http::{Body, Headers, Method, Request, Response},
    };

    use super::*;

    fn asked() -> (Asked, oneshot::Receiver<Reply>) {
        let (method, path) = (Method::Post, "/v1/actions/run".to_owned());
        let request =
            Request { method, path, query: None, headers: Headers::new(), body: Body::EMPTY };
        let (reply, answered) = oneshot::channel();
        (Asked { caller: Door::Socket.into(), request, reply }, answered)
    }

    fn status(reply: &Reply) -> Option<u16> {
        match reply {
            Reply::Whole(response) => Some(response.status),
            Reply::Stream(_) => None,
        }
    }

    #[tokio::test]
    async fn an_asker_that_is_watched_is_answered_or_its_going_is_told() {
        let (facts, mut told) = mpsc::channel(4);
        let mut askers = Askers::new(facts);
        let (one, answered) = asked();
        let (two, gone) = asked();
        for asked in [one, two] {
            let Input::Asked { call, .. } = askers.take_in(asked) else { panic!("a question") };
            askers.watch(call);
        }
        askers.reply(CallId(1), Response::empty(204).into());
        assert_eq!(status(&answered.await.unwrap()), Some(204));
        drop(gone);
        assert_eq!(told.recv().await, Some(Input::Left(CallId(2))));
        askers.reply(CallId(2), Response::empty(204).into());
        drop(askers);
        assert_eq!(told.recv().await, None, "nothing else is told");
    }

    #[tokio::test]
    async fn an_asker_that_is_gone_when_its_run_begins_is_told_at_once() {
        let (facts, mut told) = mpsc::channel(4);
        let mut askers = Askers::new(facts);
        let (one, gone) = asked();
        askers.take_in(one);
        drop(gone);
        askers.watch(CallId(1));
        assert_eq!(told.recv().await, Some(Input::Left(CallId(1))));
        askers.watch(CallId(7));
    }
}
