//! The run, and the terminal report behind it: a long output is announced, brought and referred to; where that fails,
//! what fits goes inline.

use alloc::{format, string::String};

use super::{
    BAD_PARAMETERS, Effect, LAPSED, TERMINAL_WAITS, UPLOAD_TIMEOUT, environment, judge, parameters,
    phase::{Active, Stage},
    report::{self, Outcome, Report},
    turn::{Turn, id},
};
use crate::{
    agent::{
        facts::{Bytes, Ending, Program, Run},
        notice::Notice,
        verdict::Called,
    },
    ids::ExecutionId,
    secret::Secret,
    time::Mono,
    wire::{
        execution::{Callback, Execution, Status},
        upload_url::UploadUrl,
    },
};

impl Turn<'_> {
    /// Begins the run of a claimed entry, if it still may.
    pub(super) fn run(&mut self, entry: Execution) {
        let execution = id(&entry);
        let left = entry.expires_at.as_ref().map(|at| at.at.left(self.now.wall));
        let left = left.unwrap_or_default();
        if left.is_zero() {
            return self.report_at_once(execution, report::failed(LAPSED));
        }
        if self.dispatch.draining {
            return self.report_at_once(execution, Callback::of(Status::Cancelled));
        }
        let program = match self.program(entry) {
            Ok(program) => program,
            Err(error) => return self.report_at_once(execution, report::failed(&error)),
        };
        let own = match &program {
            Program::Hook { name, .. } => self.kit.hooks.timeout(name),
            Program::Builtin { .. } => None,
        };
        let most = self.kit.settings.max_action_timeout;
        let allowed = own.unwrap_or(most).min(most);
        let run = Run {
            program,
            deadline: left.min(allowed),
            max_output_bytes: self.kit.settings.max_output_bytes,
        };
        self.tell(Notice::info(format!(
            "execution {:?} runs {:?}",
            execution.0,
            run.program.name()
        )));
        self.dispatch
            .active
            .insert(execution.clone(), Active { stage: Stage::Running, until: None });
        self.effects.push(Effect::Run { execution, run });
    }

    fn program(&self, entry: Execution) -> Result<Program, String> {
        let parameters = parameters::of(entry.parameters.as_ref()).ok_or(BAD_PARAMETERS)?;
        let name = entry.action.0;
        if entry.kind != judge::HOOK {
            return Ok(Program::Builtin { name, parameters });
        }
        let digest =
            self.kit.hooks.pin(&name).ok_or_else(|| format!("hook not discovered: {name}"))?;
        let execution = entry.execution_id.as_str();
        let environment = environment(&parameters, self.kit.node, execution)
            .map_err(|fault| format!("{fault}"))?;
        Ok(Program::Hook { name, digest, environment })
    }

    pub(super) fn finished(&mut self, execution: ExecutionId, ending: Ending) {
        if !self.dispatch.active.get(&execution).is_some_and(Active::is_running) {
            return;
        }
        let Outcome { callback, whole } =
            report::terminal(ending, self.kit.settings.max_output_bytes);
        self.tell(report::told_end(&execution, &callback));
        let until = self.until();
        match whole {
            Some(whole) => self.declare(execution, callback, whole, until),
            None => self.report_terminal(execution, Report::of(callback), (0, until)),
        }
    }

    /// Announces an output that is too long to go inline.
    fn declare(
        &mut self,
        execution: ExecutionId,
        callback: Callback,
        whole: Bytes,
        until: Option<Mono>,
    ) {
        let length = i64::try_from(whole.0.len()).unwrap_or(i64::MAX);
        let declared =
            Callback { declared_output_bytes: Some(length), ..Callback::of(Status::Started) };
        let stage = Stage::Declaring { callback, whole };
        self.dispatch.active.insert(execution.clone(), Active { stage, until });
        let timeout = until.map(|until| until.since(self.now.mono));
        self.effects.push(Effect::Post { execution, callback: declared, timeout });
    }

    pub(super) fn answered_run(&mut self, execution: ExecutionId, status: Status, verdict: Called) {
        let Some(Active { stage, until }) = self.dispatch.active.remove(&execution) else { return };
        match stage {
            Stage::Declaring { callback, whole } if status == Status::Started => {
                self.answered_declaration(execution, (callback, whole), until, verdict);
            }
            Stage::Reporting { report, tries } if report.callback.status == status => {
                self.answered_terminal(execution, report, (tries, until), verdict);
            }
            other @ (Stage::Running
            | Stage::Declaring { .. }
            | Stage::Uploading { .. }
            | Stage::Reporting { .. }
            | Stage::Resting { .. }) => {
                self.dispatch.active.insert(execution, Active { stage: other, until });
            }
        }
    }

    fn answered_declaration(
        &mut self,
        execution: ExecutionId,
        (callback, whole): (Callback, Bytes),
        until: Option<Mono>,
        verdict: Called,
    ) {
        let reason = match verdict {
            Called::Refused(reason) => return self.delivered_badly(&execution, &reason),
            Called::Invited(url) => {
                match self.upload(&execution, (&callback, whole), until, &url) {
                    Ok(()) => return,
                    Err(reason) => reason,
                }
            }
            Called::Accepted => "the control plane hands out no upload URL".into(),
            Called::Unacceptable { reason, .. } | Called::Failed(reason) => reason,
        };
        self.report_inline(execution, callback, until, &reason);
    }

    /// Brings the whole output, unless its address may not be used.
    fn upload(
        &mut self,
        execution: &ExecutionId,
        (callback, bytes): (&Callback, Bytes),
        until: Option<Mono>,
        url: &Secret<String>,
    ) -> Result<(), String> {
        let url = UploadUrl::parse(url.expose(), &self.kit.settings.origin)
            .map_err(|fault| format!("the upload URL is not used: {fault}"))?;
        let left = until.map(|until| until.since(self.now.mono));
        let timeout = left.unwrap_or(UPLOAD_TIMEOUT).min(UPLOAD_TIMEOUT);
        let referred = report::referred(url.object_key(), &bytes);
        let stage = Stage::Uploading { callback: callback.clone(), referred };
        self.dispatch.active.insert(execution.clone(), Active { stage, until });
        let execution = execution.clone();
        self.effects.push(Effect::Upload { execution, url, bytes, timeout });
        Ok(())
    }

    pub(super) fn uploaded(&mut self, execution: ExecutionId, outcome: Result<(), String>) {
        let Some(Active { stage, until }) = self.dispatch.active.remove(&execution) else { return };
        match (stage, outcome) {
            (Stage::Uploading { callback, referred }, Ok(())) => {
                let spare = callback.output.clone();
                let callback = Callback { output: Some(referred), ..callback };
                self.report_terminal(execution, Report { callback, spare }, (0, until));
            }
            (Stage::Uploading { callback, .. }, Err(reason)) => {
                self.report_inline(execution, callback, until, &reason);
            }
            (stage, Ok(()) | Err(_)) => {
                self.dispatch.active.insert(execution, Active { stage, until });
            }
        }
    }

    fn report_inline(
        &mut self,
        execution: ExecutionId,
        callback: Callback,
        until: Option<Mono>,
        reason: &str,
    ) {
        self.tell(Notice::warn(format!(
            "the output of execution {:?} goes inline, cut to what fits there: {reason}",
            execution.0
        )));
        self.report_terminal(execution, Report::of(callback), (0, until));
    }

    fn report_at_once(&mut self, execution: ExecutionId, callback: Callback) {
        self.tell(report::told_end(&execution, &callback));
        let until = self.until();
        self.report_terminal(execution, Report::of(callback), (0, until));
    }

    pub(super) fn report_terminal(
        &mut self,
        execution: ExecutionId,
        report: Report,
        (tries, until): (usize, Option<Mono>),
    ) {
        let timeout = until.map(|until| until.since(self.now.mono));
        if timeout.is_some_and(|left| left.is_zero()) {
            return self.give_up(&execution);
        }
        let callback = report.callback.clone();
        let stage = Stage::Reporting { report, tries };
        self.dispatch.active.insert(execution.clone(), Active { stage, until });
        self.effects.push(Effect::Post { execution, callback, timeout });
    }

    fn answered_terminal(
        &mut self,
        execution: ExecutionId,
        report: Report,
        (tries, until): (usize, Option<Mono>),
        verdict: Called,
    ) {
        match verdict {
            Called::Accepted | Called::Invited(_) => self.settle(&execution),
            Called::Refused(reason) => self.delivered_badly(&execution, &reason),
            Called::Unacceptable { inline_too_large, reason } => {
                match report.lighter(inline_too_large) {
                    Some(lighter) => self.report_terminal(execution, lighter, (tries, until)),
                    None => self.delivered_badly(&execution, &reason),
                }
            }
            Called::Failed(reason) => self.rest(execution, report, (tries, until), &reason),
        }
    }

    pub(super) fn delivered_badly(&mut self, execution: &ExecutionId, reason: &str) {
        self.tell(Notice::warn(format!(
            "the report on execution {:?} was not taken: {reason}",
            execution.0
        )));
        self.settle(execution);
    }

    /// Waits for the next attempt, or keeps the outcome for later pulls.
    fn rest(
        &mut self,
        execution: ExecutionId,
        report: Report,
        (tries, until): (usize, Option<Mono>),
        reason: &str,
    ) {
        let Some(wait) = TERMINAL_WAITS.get(tries) else {
            if self.dispatch.draining {
                return self.give_up(&execution);
            }
            self.tell(Notice::warn(format!(
                "the report on execution {:?} failed three times and waits for the next pull: {reason}",
                execution.0
            )));
            return self.keep(execution, report);
        };
        let due = self.now.mono.after(*wait);
        let stage = Stage::Resting { report, tries: tries + 1, due };
        self.dispatch.active.insert(execution, Active { stage, until });
    }
}
