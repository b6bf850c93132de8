//! The loop: wait for a fact or for the time, read both clocks once, step, perform each effect in order.

use std::{collections::VecDeque, future::Future, mem, pin::pin, time::Duration};

use meshward_core::{
    agent::{Agent, Exit, Input, Memory, Settings},
    time::{Mono, Now},
};
use tokio::sync::mpsc;
use tracing::debug;

use crate::{clock, local::Asked, perform::Performer, reload::Retimes, run};

/// How many facts may wait; who brings one more waits itself.
pub(crate) const INBOX_MAX: usize = 256;

/// The longest sleep: a suspended machine must look at its clock again soon after it wakes.
const SLEEP_MAX: Duration = Duration::from_secs(30);

/// Where facts come from.
#[derive(Debug)]
pub(crate) struct Inbox {
    /// Answers and endings of what the performer began.
    pub(crate) facts: mpsc::Receiver<Input>,
    /// Requests of co-located programs.
    pub(crate) asked: mpsc::Receiver<Asked>,
    /// Configurations that were read again.
    pub(crate) retimes: Retimes,
}

/// Drives an agent from its first fact to its exit; `stop` asks it to drain.
pub(crate) async fn drive(
    mut settings: Settings,
    memory: Memory,
    mut performer: Performer,
    mut inbox: Inbox,
    stop: impl Future<Output = ()>,
) -> Exit {
    let mut stop = pin!(stop);
    let mut stopping = false;
    let mut agent = Agent::default();
    let mut ready = VecDeque::from([Input::Restarted(Box::new(memory))]);
    loop {
        let input = match ready.pop_front() {
            Some(input) => input,
            None => tokio::select! {
                Some(input) = inbox.facts.recv() => input,
                Some(asked) = inbox.asked.recv() => performer.take_in(asked),
                config = inbox.retimes.next() => {
                    run::retime(&mut settings, &config);
                    Input::Retimed
                }
                () = &mut stop, if !stopping => {
                    stopping = true;
                    Input::Draining
                }
                () = sleep_towards(performer.wakeup(&agent)) => Input::Ticked,
            },
        };
        let now = clock::now();
        let exit = step(&mut agent, &settings, now, input, (&mut performer, &mut ready)).await;
        // Also of the last step, which may be the one that a stop began with.
        performer.passed(&agent, &settings, clock::now().mono);
        if let Some(exit) = exit {
            return exit;
        }
    }
}

/// One step with all its effects, and the flight recorder: with the time in it, the log is a test to replay.
async fn step(
    agent: &mut Agent,
    settings: &Settings,
    now: Now,
    input: Input,
    (performer, ready): (&mut Performer, &mut VecDeque<Input>),
) -> Option<Exit> {
    debug!(?now, ?input, "step");
    let step = mem::take(agent).step(settings, now, input);
    *agent = step.state;
    for effect in step.effects {
        debug!(?effect, "perform");
        match performer.perform(effect).await {
            Outcome::Begun => {}
            Outcome::Known(input) => ready.push_back(input),
            Outcome::Exited(exit) => return Some(exit),
        }
    }
    None
}

/// What performing an effect leads to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Done, or under way and answered through the inbox.
    Begun,
    /// Done, with this fact.
    Known(Input),
    Exited(Exit),
}

/// Sleeps until something is due, or a while towards it.
async fn sleep_towards(due: Option<Mono>) {
    let left = due.map_or(SLEEP_MAX, |due| due.since(clock::now().mono));
    tokio::time::sleep(left.min(SLEEP_MAX)).await;
}
