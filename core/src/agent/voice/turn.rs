//! One step of the pipelines, while it is being taken.

use alloc::vec::Vec;

use super::{
    DRAIN_FLUSH_MAX, Phase, Voice,
    effect::{Desk, Effect, Input},
    pipeline::Pipeline,
    settings_of,
};
use crate::{
    agent::facts::{Pipe, Spooled, VoiceSettings},
    step::Step,
    time::Now,
};

pub(super) struct Turn<'s> {
    voice: Voice,
    settings: &'s VoiceSettings,
    now: Now,
    effects: Vec<Effect>,
}

impl<'s> Turn<'s> {
    pub(super) const fn new(voice: Voice, settings: &'s VoiceSettings, now: Now) -> Self {
        Self { voice, settings, now, effects: Vec::new() }
    }

    pub(super) fn take(&mut self, input: Input) {
        match input {
            Input::Loaded(content) => {
                self.voice.keeping.load(self.now, content, &mut self.effects);
            }
            Input::Armed => self.armed(),
            Input::Collected(collected) => {
                self.with(collected.pipe, |pipeline, desk| pipeline.collected(desk, *collected));
            }
            Input::Did(entry) => self.with(Pipe::Audit, |audit, desk| audit.did(desk, *entry)),
            Input::Answered(pipe, answered) => {
                self.with(pipe, |pipeline, desk| pipeline.answered(desk, answered));
            }
            Input::Spooled(pipe, spooled) => self.spooled(pipe, *spooled),
            Input::Kept(outcome) => {
                self.voice.keeping.kept(self.now.mono, outcome, &mut self.effects);
            }
            Input::Quieted => self.quieted(),
            Input::Retimed => self.retimed(),
            Input::Draining => self.drain(),
            Input::Closed => self.close_all(),
            Input::Ticked => self.ticked(),
        }
    }

    fn spooled(&mut self, pipe: Pipe, spooled: Spooled) {
        let pipeline = self.voice.pipes.get_mut(pipe as usize);
        if !pipeline.is_some_and(|pipeline| pipeline.spool.ends()) {
            self.with(pipe, |pipeline, desk| pipeline.spooled(desk, spooled));
        }
    }

    /// Whatever came, time has passed, and there may be room.
    pub(super) fn done(mut self) -> Step<Voice, Effect> {
        if self.voice.phase != Phase::Closed {
            self.advance();
        }
        Step { state: self.voice, effects: self.effects }
    }

    fn advance(&mut self) {
        for pipe in Pipe::ALL {
            self.with(pipe, Pipeline::advance);
            if let Some(pipeline) = self.voice.pipes.get_mut(pipe as usize) {
                self.voice.keeping.settle(pipeline.settled());
            }
        }
        let is_draining = matches!(self.voice.phase, Phase::Draining { .. } | Phase::Cut);
        self.voice.keeping.advance(self.now.mono, is_draining, &mut self.effects);
    }

    /// Lets a pipeline that is on do something.
    fn with(&mut self, pipe: Pipe, act: impl FnOnce(&mut Pipeline, &mut Desk<'_>)) {
        let Some(settings) = settings_of(self.settings, pipe) else { return };
        if self.voice.pipes.is_empty() {
            self.voice.pipes.resize_with(Pipe::ALL.len(), Pipeline::default);
        }
        let mut desk = Desk {
            pipe,
            settings,
            filter: &self.settings.filter,
            positions: self.voice.keeping.known(),
            now: self.now,
            effects: &mut self.effects,
        };
        act(&mut self.voice.pipes[pipe as usize], &mut desk);
    }

    fn armed(&mut self) {
        match self.voice.phase {
            Phase::Dormant | Phase::Armed | Phase::Quiet => self.voice.phase = Phase::Armed,
            Phase::Draining { .. } | Phase::Cut | Phase::Closed => return,
        }
        for pipe in Pipe::ALL {
            self.with(pipe, |pipeline, desk| {
                pipeline.begin(desk);
                pipeline.open();
            });
        }
    }

    fn quieted(&mut self) {
        if self.voice.phase == Phase::Armed {
            self.voice.phase = Phase::Quiet;
            self.voice.pipes.iter_mut().for_each(Pipeline::quiet);
        }
    }

    /// A pipeline that was turned on begins, one that was turned off ends.
    fn retimed(&mut self) {
        let phase = self.voice.phase;
        for pipe in Pipe::ALL {
            if settings_of(self.settings, pipe).is_none() {
                self.close(pipe);
            }
            self.with(pipe, |pipeline, desk| match phase {
                Phase::Armed => {
                    pipeline.retimed(desk);
                    pipeline.open();
                }
                Phase::Quiet => pipeline.retimed(desk),
                Phase::Dormant | Phase::Draining { .. } | Phase::Cut | Phase::Closed => {}
            });
        }
    }

    fn drain(&mut self) {
        match self.voice.phase {
            Phase::Dormant | Phase::Armed | Phase::Quiet => {
                let until = self.now.mono.after(DRAIN_FLUSH_MAX);
                self.voice.phase = Phase::Draining { until };
                for pipe in Pipe::ALL {
                    self.with(pipe, |pipeline, _| pipeline.drain());
                }
            }
            Phase::Draining { .. } | Phase::Cut | Phase::Closed => {}
        }
    }

    fn close_all(&mut self) {
        if self.voice.phase != Phase::Closed {
            self.voice.phase = Phase::Closed;
            Pipe::ALL.into_iter().for_each(|pipe| self.close(pipe));
        }
    }

    fn close(&mut self, pipe: Pipe) {
        let pipeline = self.voice.pipes.get_mut(pipe as usize);
        self.effects.extend(pipeline.and_then(|pipeline| pipeline.close(self.now.mono, pipe)));
    }

    fn ticked(&mut self) {
        match self.voice.phase {
            Phase::Draining { until } if until <= self.now.mono => {
                self.voice.phase = Phase::Cut;
                self.voice.pipes.iter_mut().for_each(Pipeline::cut);
            }
            Phase::Dormant
            | Phase::Armed
            | Phase::Quiet
            | Phase::Draining { .. }
            | Phase::Cut
            | Phase::Closed => {}
        }
    }
}
