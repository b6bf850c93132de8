//! Each machine alone under inputs nobody would give: it replays, and a tick at its wakeup moves the wakeup on.

use std::time::Duration;

use meshward_core::{
    agent::{
        Captured, Cause, Ending, StagedFile,
        device::Device,
        execution::{self, Dispatch, Kit},
        heartbeat::{self, Heartbeat},
        hooks::Hooks,
        pull::{self, Pull},
        register::{self, Registration},
        rotation::Rotation,
        verdict::{Fetched, Registered, Trouble},
    },
    backoff::Jitter,
    step::Step,
    time::{Mono, Now},
    wire::{
        execution::Status, heartbeat::HeartbeatResponse, identity::Unusable, json, pulled::Pulled,
        timestamp::Timestamp,
    },
};
use proptest::prelude::*;

use crate::{
    bench::{
        actions, entry, execution_id, gathered, nsk, public_key, registration_body, remembered,
        seconds, start, token_in_file,
    },
    device,
    floor::{NODE, invited},
    floor::{failed, refused, unacceptable},
    rotation, support,
};

/// Inputs, each a while after the one before.
fn timed<Input: core::fmt::Debug + Clone>(
    input: impl Strategy<Value = Input>,
) -> impl Strategy<Value = Vec<(Now, Input)>> {
    prop::collection::vec((0_u64..90_000, input), 0..50).prop_map(|pairs| {
        let mut now = start();
        let at = |(waited, input)| {
            now = now.after(Duration::from_millis(waited));
            (now, input)
        };
        pairs.into_iter().map(at).collect()
    })
}

/// Both properties of one machine.
fn owes<State, Input, Effect>(
    inputs: &[(Now, Input)],
    ticked: &Input,
    wakeup: impl Fn(&State) -> Option<Mono>,
    step: impl Fn(State, (Now, Input)) -> Step<State, Effect>,
) where
    State: Clone + Default + PartialEq + core::fmt::Debug,
    Input: Clone,
    Effect: PartialEq + core::fmt::Debug,
{
    support::replays(&State::default(), inputs, &step);
    let mut state = State::default();
    for input in inputs {
        let now = input.0;
        state = step(state, input.clone()).state;
        let Some(due) = wakeup(&state) else { continue };
        let then = now.after(due.since(now.mono));
        let woken = step(state.clone(), (then, ticked.clone())).state;
        let next = wakeup(&woken);
        assert!(next.is_none_or(|next| next > then.mono), "{state:?} was woken and wants {next:?}");
    }
}

fn heartbeats() -> impl Strategy<Value = heartbeat::Input> {
    let accepted_at = Timestamp::from(start().wall);
    let got = (any::<bool>(), any::<bool>()).prop_map(move |(reconcile, rotate_keys)| {
        Fetched::Got(HeartbeatResponse { accepted_at, reconcile, rotate_keys })
    });
    let answer = prop_oneof![
        got,
        Just(Fetched::Unauthorized("no".into())),
        Just(Fetched::ClockSkew("off".into())),
        Just(Fetched::Failed("down".into())),
    ];
    prop_oneof![
        3 => Just(heartbeat::Input::Armed),
        6 => answer.prop_map(|fetched| heartbeat::Input::Answered { fetched, date: None }),
        6 => Just(heartbeat::Input::Ticked),
        1 => Just(heartbeat::Input::Quieted),
    ]
}

fn pulls() -> impl Strategy<Value = pull::Input> {
    let answers: Vec<Fetched<Pulled>> = vec![
        Fetched::Got(Pulled::default()),
        Fetched::Unauthorized("no".into()),
        Fetched::Failed("down".into()),
    ];
    prop_oneof![
        3 => Just(pull::Input::Armed),
        3 => Just(pull::Input::Triggered),
        6 => (prop::sample::select(answers), prop::option::of(0_u64..400), any::<u16>()).prop_map(
            |(fetched, asked, chance)| {
                let retry_after = asked.map(seconds);
                let jitter = Jitter::drawn(chance);
                pull::Input::Answered(Box::new(pull::Answered { fetched, retry_after, jitter }))
            }
        ),
        6 => Just(pull::Input::Ticked),
        1 => Just(pull::Input::Quieted),
    ]
}

fn registered() -> Registered {
    let body = registration_body(nsk().expose());
    Registered::Accepted(json::decode_tolerant(body.as_bytes()).expect("a registration"))
}

fn registrations() -> impl Strategy<Value = register::Input> {
    let retry = prop::option::of(0_u64..400).prop_map(|asked| {
        Registered::Retry(Trouble { reason: "down".into(), retry_after: asked.map(seconds) })
    });
    let verdict = prop_oneof![6 => retry, 1 => Just(registered()), 1 => Just(Registered::Unusable(Unusable::Json))];
    let jitter = || any::<u16>().prop_map(Jitter::drawn);
    let fixed = prop::sample::select(vec![
        register::Input::Restarted(Box::default()),
        register::Input::Restarted(Box::default()),
        register::Input::Restarted(Box::new(remembered(StagedFile::Missing))),
        register::Input::Gathered(Box::new(gathered(token_in_file()))),
        register::Input::KeyMade(public_key(1)),
        register::Input::KeyFailed("full".into()),
        register::Input::Persisted,
    ]);
    prop_oneof![
        5 => fixed,
        5 => (verdict, jitter()).prop_map(|(verdict, jitter)| {
            register::Input::Answered { verdict: Box::new(verdict), jitter }
        }),
        2 => jitter().prop_map(|jitter| register::Input::PersistFailed { reason: "full".into(), jitter }),
        5 => Just(register::Input::Ticked),
    ]
}

fn dispatches() -> impl Strategy<Value = execution::Input> {
    let id = || prop::sample::select(vec!["", ".", "a", "b"]);
    let status = prop::sample::select(vec!["pending", "ack", "started", "odd"]);
    let entries =
        prop::collection::vec((id(), status).prop_map(|(id, status)| entry(id, status)), 0..4);
    let verdict = prop::sample::select(vec![
        meshward_core::agent::verdict::Called::Accepted,
        invited("one"),
        refused(),
        failed(),
        failed(),
        unacceptable(true),
        unacceptable(false),
    ]);
    let answer = (id(), prop::sample::select(Status::ALL.to_vec()), verdict);
    let cause = prop::sample::select(vec![Cause::Exited(0), Cause::TimedOut, Cause::Cancelled]);
    prop_oneof![
        4 => (entries, 0_u64..100).prop_map(|(entries, at)| execution::Input::Pulled {
            asked: Mono::from_origin(Duration::from_secs(at)),
            entries,
            unread: [execution_id("b")].into(),
        }),
        12 => answer.prop_map(|(id, status, verdict)| {
            execution::Input::Answered { execution: execution_id(id), status, verdict }
        }),
        2 => (id(), any::<bool>()).prop_map(|(id, taken)| execution::Input::Uploaded {
            execution: execution_id(id),
            outcome: if taken { Ok(()) } else { Err("down".into()) },
        }),
        3 => (id(), cause, any::<bool>()).prop_map(|(id, cause, long)| execution::Input::Finished {
            execution: execution_id(id),
            ending: Ending {
                cause,
                stdout: Captured { bytes: vec![b'x'; if long { 20_000 } else { 0 }], cut: false },
                stderr: Captured::default(),
            },
        }),
        3 => Just(execution::Input::Ticked),
        1 => Just(execution::Input::Draining),
    ]
}

proptest! {
    #![proptest_config(support::seeds_in("agent_alone"))]

    #[test]
    fn the_heartbeat_replays_and_goes_on(inputs in timed(heartbeats())) {
        owes(&inputs, &heartbeat::Input::Ticked, Heartbeat::wakeup, |state: Heartbeat, (now, input)| {
            state.step(seconds(30), now, input)
        });
    }

    #[test]
    fn the_pull_replays_and_goes_on(inputs in timed(pulls())) {
        owes(&inputs, &pull::Input::Ticked, Pull::wakeup, |state: Pull, (now, input)| {
            state.step(seconds(60), now, input)
        });
    }

    #[test]
    fn the_registration_replays_and_goes_on(inputs in timed(registrations())) {
        let ticked = register::Input::Ticked;
        owes(&inputs, &ticked, Registration::wakeup, |state: Registration, (now, input)| {
            state.step(seconds(300), now, input)
        });
    }

    #[test]
    fn the_rotation_replays_and_goes_on(inputs in timed(rotation::inputs())) {
        let ticked = meshward_core::agent::rotation::Input::Ticked;
        owes(&inputs, &ticked, Rotation::wakeup, |state: Rotation, (now, input)| {
            state.step(now, input)
        });
    }

    #[test]
    fn the_device_replays_and_goes_on(inputs in timed(device::inputs())) {
        let ticked = meshward_core::agent::device::Input::Ticked;
        owes(&inputs, &ticked, Device::wakeup, |state: Device, (now, input)| state.step(now, input));
    }

    #[test]
    fn the_dispatch_replays_and_goes_on(inputs in timed(dispatches())) {
        let (settings, hooks) = (actions(), Hooks::default());
        owes(&inputs, &execution::Input::Ticked, Dispatch::wakeup, |state: Dispatch, (now, input)| {
            let kit = Kit { settings: &settings, hooks: &hooks, node: NODE };
            state.step(kit, now, input)
        });
    }
}
