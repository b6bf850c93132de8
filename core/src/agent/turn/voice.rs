//! The pipelines move: what they collect is rounded off, and what they send gets its head here.

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};
use core::{mem, net::IpAddr};

use super::Turn;
use crate::{
    agent::{
        Agent, Settings,
        deeds::Deed,
        facts::{
            Act, Answer, Bytes, Collect, Collected, Effect, Ending, Feed, Folder, Pipe, Purpose,
            Records, Run, RunId, SessionFact, Source, StateFile, Voice,
        },
        life::Question,
        post,
        secrets::FETCH_MAX,
        standing,
        verdict::{self, secret},
        voice::{self, Answered, DELIVER_TIMEOUT, GZIP_ABOVE, figures::Figures, settings_of},
    },
    ids::{CallId, ExecutionId, SessionId},
    secret::Secret,
    wire::{
        call::{Call, Sink},
        grammar::SecretKey,
        http::Body,
        ingest::SENT_AT,
        kept,
        record::{MetricPoint, PointGroup, Reading},
        timestamp::Timestamp,
    },
};

impl Agent {
    /// What the pipelines have done, in numbers.
    pub fn voice_figures(&self, settings: &Settings) -> Figures {
        self.voice.figures(&settings.voice)
    }
}

impl Turn<'_> {
    pub(super) fn voice(&mut self, input: voice::Input) {
        let settings = &self.settings.voice;
        let step = mem::take(&mut self.agent.voice).step(settings, self.now, input);
        self.agent.voice = step.state;
        for effect in step.effects {
            match effect {
                voice::Effect::Collect { pipe, round, only, room, from } => {
                    let peers = self.measured_peers(pipe);
                    let collect = Collect { pipe, round, only, room, from, peers };
                    self.act(Act::Voice(Voice::Collect(collect)));
                }
                voice::Effect::Ship { pipe, body } => self.ship(pipe, body),
                voice::Effect::Deliver { pipe, body, token } => {
                    let call = self.ask(Question::Deliver(pipe));
                    let timeout = DELIVER_TIMEOUT;
                    self.act(Act::Voice(Voice::Deliver { call, pipe, body, token, timeout }));
                }
                voice::Effect::Fetch { pipe, key } => self.fetch_token(pipe, &key),
                voice::Effect::Spool { pipe, order } => {
                    self.act(Act::Voice(Voice::Spool { pipe, order }));
                }
                voice::Effect::Keep(change) => {
                    let file = StateFile { folder: Folder::Root, name: kept::POSITIONS.into() };
                    self.effects.push(Effect::Keep { file, change });
                }
                voice::Effect::Admitted => self.standing(standing::Input::Admitted),
                voice::Effect::Unauthorized => self.standing(standing::Input::Unauthorized),
                voice::Effect::Tell(notice) => self.effects.push(Effect::Tell(notice)),
            }
        }
    }

    /// The header that tells when it was sent is stamped here, at each try.
    fn ship(&mut self, pipe: Pipe, body: Bytes) {
        let (sink, content_type) = match pipe {
            Pipe::Metrics => (Sink::Metrics, "application/json"),
            Pipe::Logs => (Sink::Logs, "application/x-ndjson"),
            Pipe::Audit => (Sink::Audit, "application/x-ndjson"),
        };
        let call = Call::Ingest { node: self.node(), sink };
        let mut request = self.request(&call, Vec::new());
        let sent_at = format!("{}-{SENT_AT}", self.settings.header_prefix);
        request.headers.push("content-type", content_type);
        request.headers.push(&sent_at, &format!("{}", Timestamp::from(self.now.wall)));
        if body.0.len() > GZIP_ABOVE {
            request.headers.push("content-encoding", "gzip");
        }
        request.body = Body::Whole(body.0);
        let (timeout, answer_max) = (self.settings.request_timeout, post::answer_max(&call));
        let call = self.ask(Question::Ship(pipe));
        self.act(Act::Voice(Voice::Ship { call, request, timeout, answer_max }));
    }

    pub(super) fn shipped(&mut self, pipe: Pipe, answer: &Answer) {
        let shipped = verdict::ingest::read(answer);
        self.voice(voice::Input::Answered(pipe, Answered::Shipped(shipped)));
    }

    pub(super) fn delivered(&mut self, pipe: Pipe, answer: &Answer) {
        let outcome = verdict::ingest::delivered(answer);
        self.voice(voice::Input::Answered(pipe, Answered::Delivered(outcome)));
    }

    fn fetch_token(&mut self, pipe: Pipe, key: &str) {
        let Ok(key) = SecretKey::parse(key) else {
            let reason = "local_endpoint.secret_key is no name of a secret".into();
            return self.voice(voice::Input::Answered(pipe, Answered::Fetched(Err(reason))));
        };
        let call = Call::Secret { node: self.node(), key: key.as_str().into() };
        let request = self.request(&call, Vec::new());
        self.send_request(Question::Token(pipe), &call, request, Some(FETCH_MAX));
    }

    pub(super) fn token_answered(&mut self, pipe: Pipe, answer: Answer) {
        let fetched = secret::read(answer, &self.settings.header_prefix, self.now.wall);
        let outcome = self.token(fetched).map_err(|why| format!("{why}"));
        self.voice(voice::Input::Answered(pipe, Answered::Fetched(outcome)));
    }

    /// White space around a token is a slip of whoever wrote the secret: no header could hold it.
    fn token(&self, fetched: secret::Fetched) -> Result<Secret<String>, secret::Withheld> {
        let sealed = match fetched {
            secret::Fetched::Sealed(sealed) => sealed,
            secret::Fetched::Withheld(why) => return Err(why),
        };
        let identity = self.agent.identity.as_ref().ok_or(secret::Withheld::Unopened)?;
        let value = sealed.open(&identity.key)?;
        let text = core::str::from_utf8(value.expose()).map_err(|_| secret::Withheld::Unopened)?;
        match text.trim_ascii() {
            "" => Err(secret::Withheld::Unavailable("it is empty".into())),
            token => Ok(Secret::new(token.into())),
        }
    }

    fn measured_peers(&self, pipe: Pipe) -> Vec<(String, IpAddr)> {
        if pipe != Pipe::Metrics || !self.settings.voice.peers {
            return Vec::new();
        }
        let peers = self.agent.network.peers.iter();
        peers.filter_map(|peer| Some((peer.id.clone(), peer.mesh_ip.parse().ok()?))).collect()
    }

    pub(super) fn collected(&mut self, mut collected: Box<Collected>) {
        let voice = settings_of(&self.settings.voice, Pipe::Metrics);
        let tells_stats = voice.is_some_and(|metrics| metrics.sources.contains(&Source::Stats));
        if collected.pipe == Pipe::Metrics && tells_stats {
            self.round_off(&mut collected.feeds);
        }
        self.voice(voice::Input::Collected(collected));
    }

    /// Adds what the core alone knows of this process to the point of it.
    fn round_off(&self, feeds: &mut Vec<Feed>) {
        let uptime = self.now.mono.since(self.agent.started).as_secs_f64();
        let reconnects = self.agent.senses.events.reconnects();
        let own = [(Reading::UptimeSeconds, uptime), (Reading::ReconnectCount, reconnects as f64)];
        let points = feeds.iter_mut().filter(|feed| feed.source == Source::Stats);
        let mut points = points.filter_map(|feed| match &mut feed.records {
            Records::Points(points) => Some(points),
            Records::Lines(_) | Records::Events(_) => None,
        });
        let Some(points) = points.next() else {
            let records = Records::Points(vec![self.own_point(own.into())]);
            return feeds.push(Feed {
                source: Source::Stats,
                records,
                marks: Vec::new(),
                more: false,
                lost: 0,
                troubles: Vec::new(),
            });
        };
        match points.iter_mut().find(|point| point.group == PointGroup::Agent) {
            Some(point) => {
                point.data.retain(|(reading, _)| own.iter().all(|(name, _)| name != reading));
                point.data.extend(own);
            }
            None => points.push(self.own_point(own.into())),
        }
    }

    fn own_point(&self, data: Vec<(Reading, f64)>) -> MetricPoint {
        let timestamp = Timestamp::from(self.now.wall);
        MetricPoint { timestamp, group: PointGroup::Agent, peer_id: None, data }
    }

    /// Something was done that is audited.
    pub(super) fn did(&mut self, deed: Deed) {
        if self.settings.voice.audit.is_none() || self.settings.purpose == Purpose::Register {
            return;
        }
        let (version, node) = (&self.settings.binary_version, self.node());
        let hostname = &self.settings.voice.hostname;
        let entry = deed.entry(self.now.wall, hostname, (version, &node));
        self.voice(voice::Input::Did(Box::new(entry)));
    }

    pub(super) fn did_session(&mut self, session: &SessionId, fact: &SessionFact) {
        if let Some(deed) = Deed::of_session(session, fact) {
            self.did(deed);
        }
    }

    pub(super) fn did_begin(&mut self, execution: &ExecutionId, run: &Run) {
        let (execution, action) = (execution.clone(), run.program.name().into());
        self.did(Deed::ExecutionBegun { execution, action });
    }

    pub(super) fn did_begin_local(&mut self, asker: CallId) {
        if let Some((user, action)) = self.agent.local_runs.order(asker) {
            let action = action.into();
            self.did(Deed::LocalRunBegun { user, action });
        }
    }

    pub(super) fn did_end(&mut self, id: &RunId, ending: &Ending) {
        let cause = ending.cause.clone();
        match id {
            RunId::Execution(execution) => {
                let execution = execution.clone();
                self.did(Deed::ExecutionEnded { execution, cause });
            }
            RunId::Local(asker) => {
                if let Some((user, action)) = self.agent.local_runs.order(*asker) {
                    let action = action.into();
                    self.did(Deed::LocalRunEnded { user, action, cause });
                }
            }
        }
    }
}
