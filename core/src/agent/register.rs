//! Registration: once in the life of a data directory, retried while the trouble is transient.
//!
//! | state | input | next | also |
//! |---|---|---|---|
//! | fresh | restarted with an identity | done | arm it; no network call |
//! | fresh | restarted without, or with a corrupt one | gathering | a corrupt one is set aside first |
//! | gathering | gathered, complete | making a key | the private key is on disk before any request |
//! | gathering | gathered, something lacking | over | exit, naming the setting |
//! | making a key | key made | posting | |
//! | posting | accepted | persisting | |
//! | posting | retry | waiting | until the window closes, then exit |
//! | posting | stop, unusable | over | exit |
//! | waiting | ticked | posting | same nonce, same key |
//! | persisting | persisted | done | forget the token file if the token came from it, arm |
//! | persisting | failed | persisting, later | the answer is held; the token is spent |
//!
//! One nonce serves all attempts and is never persisted. Specification: "Registration outcome handling", "Errors"
//! and "Limits" of the node agent.

use alloc::{boxed::Box, format, string::String};
use core::time::Duration;

use super::{
    facts::{Exit, Gathered, Memory, Order, StagedFile, TokenFile, TokenSources, Unprepared},
    notice::Notice,
    verdict::{Registered, Trouble},
};
use crate::{
    backoff::{Backoff, Jitter},
    secret::Secret,
    step::Step,
    time::{Mono, Now},
    wire::{
        grammar::{PublicKey, Uuid},
        identity::{Corrupt, Identity, Unusable},
        register::RegisterRequest,
    },
};

/// "Registration retry backoff: base 1 s, multiplier 2, maximum 60 s, jitter 25 percent either way".
pub const BACKOFF: Backoff = Backoff {
    base: Duration::from_secs(1),
    factor: 2,
    cap: Duration::from_secs(60),
    jitter_percent: 25,
};

/// The longest bootstrap token, in bytes.
pub const TOKEN_MAX: usize = 512;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Registration {
    #[default]
    Fresh,
    Gathering {
        /// Why the files that are there make no identity.
        corrupt: Option<Corrupt>,
    },
    MakingKey(Box<Draft>),
    Posting(Box<Attempt>),
    Waiting {
        attempt: Box<Attempt>,
        due: Mono,
    },
    Persisting {
        admission: Box<Admission>,
        failures: u32,
        due: Option<Mono>,
    },
    Done,
    Over,
}

/// A registration that lacks only its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub project_id: String,
    pub resource_handle: String,
    pub requested_resource_id: Option<String>,
    pub bootstrap_token: Secret<String>,
    /// The token came from its file, which goes once it is spent.
    pub token_in_file: bool,
    pub nonce: Uuid,
}

/// One logical registration, over all its tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub request: RegisterRequest,
    /// As in [`Draft`].
    pub token_in_file: bool,
    pub begun: Mono,
    pub failures: u32,
}

/// What an accepted registration leaves to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    pub identity: Identity,
    /// As in [`Draft`].
    pub token_in_file: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    Restarted(Box<Memory>),
    Gathered(Box<Gathered>),
    KeyMade(PublicKey),
    KeyFailed(String),
    Answered { verdict: Box<Registered>, jitter: Jitter },
    Persisted,
    PersistFailed { reason: String, jitter: Jitter },
    Ticked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Gather,
    Store(Order),
    Post(RegisterRequest),
    /// This node is registered: begin the work.
    Arm(Box<Identity>),
    Tell(Notice),
    Exit(Exit),
}

impl Registration {
    /// Moves on one input; `window` is `registration.max_retry_duration`.
    pub fn step(self, window: Duration, now: Now, input: Input) -> Step<Self, Effect> {
        match (self, input) {
            (Self::Fresh, Input::Restarted(memory)) => restart(&memory),
            (Self::Gathering { corrupt }, Input::Gathered(gathered)) => {
                gathered_all(*gathered, corrupt)
            }
            (Self::MakingKey(draft), Input::KeyMade(key)) => begin(*draft, key, now),
            (Self::Gathering { .. } | Self::MakingKey(_), Input::KeyFailed(reason)) => {
                over(Exit::Unprepared(Unprepared::Key(reason)))
            }
            (Self::Posting(attempt), Input::Answered { verdict, jitter }) => {
                answered(attempt, *verdict, Window { window, now, jitter })
            }
            (Self::Waiting { attempt, due }, Input::Ticked) if due <= now.mono => post(attempt),
            (Self::Persisting { admission, .. }, Input::Persisted) => persisted(*admission),
            (
                Self::Persisting { admission, failures, .. },
                Input::PersistFailed { reason, jitter },
            ) => unpersisted(
                admission,
                failures + 1,
                &reason,
                now.mono.after(BACKOFF.wait(failures + 1, jitter)),
            ),
            (Self::Persisting { admission, failures, due: Some(due) }, Input::Ticked)
                if due <= now.mono =>
            {
                persist(admission, failures)
            }
            (
                state,
                Input::Restarted(_)
                | Input::Gathered(_)
                | Input::KeyMade(_)
                | Input::KeyFailed(_)
                | Input::Answered { .. }
                | Input::Persisted
                | Input::PersistFailed { .. }
                | Input::Ticked,
            ) => Step::to(state),
        }
    }

    /// When the next [`Input::Ticked`] is wanted, if at all.
    pub const fn wakeup(&self) -> Option<Mono> {
        match self {
            Self::Waiting { due, .. } => Some(*due),
            Self::Persisting { due, .. } => *due,
            Self::Fresh
            | Self::Gathering { .. }
            | Self::MakingKey(_)
            | Self::Posting(_)
            | Self::Done
            | Self::Over => None,
        }
    }

    /// The bootstrap token that is being spent.
    pub fn token(&self) -> Option<&Secret<String>> {
        match self {
            Self::Posting(attempt) | Self::Waiting { attempt, .. } => {
                Some(&attempt.request.bootstrap_token)
            }
            Self::Fresh
            | Self::Gathering { .. }
            | Self::MakingKey(_)
            | Self::Persisting { .. }
            | Self::Done
            | Self::Over => None,
        }
    }

    /// Whether an answer or a write is awaited whose loss would waste the token.
    pub const fn is_undecided(&self) -> bool {
        matches!(self, Self::Posting(_) | Self::Persisting { .. })
    }
}

fn restart(memory: &Memory) -> Step<Registration, Effect> {
    let loaded = Identity::load(&memory.files);
    let gathering = Step::to(Registration::Gathering { corrupt: None });
    match loaded {
        Ok(Some(identity)) => Step::to(Registration::Done).emit(Effect::Arm(Box::new(identity))),
        Ok(None) if memory.staged == StagedFile::Missing => gathering.emit(Effect::Gather),
        Ok(None) => gathering.emit(Effect::Store(Order::Discard)).emit(Effect::Gather),
        // What a person may still mend is moved aside only once a fresh registration is possible.
        Err(corrupt) => {
            Step::to(Registration::Gathering { corrupt: Some(corrupt) }).emit(Effect::Gather)
        }
    }
}

fn gathered_all(gathered: Gathered, corrupt: Option<Corrupt>) -> Step<Registration, Effect> {
    match (draft(gathered), corrupt) {
        (Ok(draft), None) => make_key(draft, []),
        (Ok(draft), Some(corrupt)) => {
            let told = Notice::warn(format!(
                "the identity on disk is corrupt ({corrupt}); its files are moved into a folder corrupt-<time> beside \
                 them, and this node registers afresh"
            ));
            make_key(draft, [Effect::Tell(told), Effect::Store(Order::SetAside)])
        }
        (Err(lacking), None) => over(Exit::Unprepared(lacking)),
        (Err(lacking), Some(corrupt)) => {
            let told = Notice::error(format!(
                "the identity on disk is corrupt ({corrupt}) and left as it is: mend it, or bring what a fresh \
                 registration needs"
            ));
            Step::to(Registration::Over)
                .emit(Effect::Tell(told))
                .emit(Effect::Exit(Exit::Unprepared(lacking)))
        }
    }
}

fn make_key(draft: Draft, before: impl IntoIterator<Item = Effect>) -> Step<Registration, Effect> {
    Step::to(Registration::MakingKey(Box::new(draft)))
        .emit_all(before)
        .emit(Effect::Store(Order::MakeKey))
}

fn draft(gathered: Gathered) -> Result<Draft, Unprepared> {
    let (bootstrap_token, token_in_file) = choose(gathered.token)?;
    if gathered.project_id.is_empty() {
        return Err(Unprepared::ProjectId);
    }
    if gathered.resource_handle.is_empty() {
        return Err(Unprepared::ResourceHandle);
    }
    Ok(Draft {
        project_id: gathered.project_id,
        resource_handle: gathered.resource_handle,
        requested_resource_id: Some(gathered.requested_resource_id).filter(|id| !id.is_empty()),
        bootstrap_token,
        token_in_file,
        nonce: gathered.nonce,
    })
}

/// The first non-empty source: direct value, file, environment, metadata; and whether it is the file.
fn choose(sources: TokenSources) -> Result<(Secret<String>, bool), Unprepared> {
    let present = |token: &Secret<String>| !token.expose().is_empty();
    let value = sources.value.filter(present);
    let file = match sources.file {
        TokenFile::Missing => None,
        TokenFile::Text(text) => Some(Secret::new(text.expose().trim().into())).filter(present),
        TokenFile::Unreadable(reason) if value.is_none() => {
            return Err(Unprepared::TokenFile(reason));
        }
        TokenFile::Unreadable(_) => None,
    };
    let in_file = value.is_none() && file.is_some();
    let elsewhere =
        || sources.environment.filter(present).or_else(|| sources.metadata.filter(present));
    let Some(token) = value.or(file).or_else(elsewhere) else {
        return Err(Unprepared::NoToken(sources.tried.join(", ")));
    };
    let legal = token.expose().len() <= TOKEN_MAX
        && token.expose().bytes().all(|byte| (0x20..=0x7e).contains(&byte));
    if legal { Ok((token, in_file)) } else { Err(Unprepared::TokenRule) }
}

fn begin(draft: Draft, public_key: PublicKey, now: Now) -> Step<Registration, Effect> {
    let request = RegisterRequest {
        project_id: draft.project_id,
        resource_handle: draft.resource_handle,
        bootstrap_token: draft.bootstrap_token,
        nonce: draft.nonce,
        public_key,
        requested_resource_id: draft.requested_resource_id,
    };
    let token_in_file = draft.token_in_file;
    post(Box::new(Attempt { request, token_in_file, begun: now.mono, failures: 0 }))
}

fn post(attempt: Box<Attempt>) -> Step<Registration, Effect> {
    let request = attempt.request.clone();
    Step::to(Registration::Posting(attempt)).emit(Effect::Post(request))
}

/// What decides whether another attempt fits.
struct Window {
    window: Duration,
    now: Now,
    jitter: Jitter,
}

fn answered(
    attempt: Box<Attempt>,
    verdict: Registered,
    window: Window,
) -> Step<Registration, Effect> {
    match verdict {
        Registered::Accepted(answer) => match Identity::registered(answer) {
            Ok(identity) => {
                let token_in_file = attempt.token_in_file;
                persist(Box::new(Admission { identity, token_in_file }), 0)
            }
            Err(reason) => over(Exit::Unusable { reason }),
        },
        Registered::Retry(trouble) => wait(attempt, trouble, window),
        Registered::Stop { status, code, reason } => over(Exit::Refused { status, code, reason }),
        Registered::Unusable => over(Exit::Unusable { reason: Unusable::Json }),
    }
}

fn wait(mut attempt: Box<Attempt>, trouble: Trouble, window: Window) -> Step<Registration, Effect> {
    attempt.failures += 1;
    let elapsed = window.now.mono.since(attempt.begun);
    let left = window.window.saturating_sub(elapsed);
    let asked =
        trouble.retry_after.map(|asked| asked.max(BACKOFF.base)).filter(|asked| *asked < left);
    let wait = asked.unwrap_or_else(|| BACKOFF.wait(attempt.failures, window.jitter));
    if wait >= left {
        return over(Exit::GaveUp { after: elapsed, reason: trouble.reason });
    }
    let told = Notice::warn(format!(
        "registration attempt {} failed: {}; next attempt in {} ms",
        attempt.failures,
        trouble.reason,
        wait.as_millis()
    ));
    Step::to(Registration::Waiting { attempt, due: window.now.mono.after(wait) })
        .emit(Effect::Tell(told))
}

fn persist(admission: Box<Admission>, failures: u32) -> Step<Registration, Effect> {
    let order = Order::Persist(Box::new(admission.identity.clone()));
    Step::to(Registration::Persisting { admission, failures, due: None }).emit(Effect::Store(order))
}

fn persisted(Admission { identity, token_in_file }: Admission) -> Step<Registration, Effect> {
    let told = Notice::info(format!(
        "registered as {} with mesh address {}",
        identity.node, identity.file.mesh_ip
    ));
    Step::to(Registration::Done)
        .emit_all(token_in_file.then_some(Effect::Store(Order::ForgetToken)))
        .emit(Effect::Tell(told))
        .emit(Effect::Arm(Box::new(identity)))
}

fn unpersisted(
    admission: Box<Admission>,
    failures: u32,
    reason: &str,
    due: Mono,
) -> Step<Registration, Effect> {
    let told = Notice::error(format!(
        "registered, but the identity cannot be written: {reason}. The bootstrap token is spent and the identity is \
         only in memory: make room or mend the directory and leave this process running; it tries again"
    ));
    Step::to(Registration::Persisting { admission, failures, due: Some(due) })
        .emit(Effect::Tell(told))
}

fn over(exit: Exit) -> Step<Registration, Effect> {
    Step::to(Registration::Over).emit(Effect::Exit(exit))
}
