//! "Dispatch of pulled executions": every status under every condition, against the two tables written out as data.

use meshward_core::{
    agent::{
        execution::{Effect, Input, LOST},
        verdict::Called,
    },
    wire::execution::{Callback, Execution, Status},
};

use crate::{
    bench::{entry, expires, seconds},
    floor::{Floor, posted, refused},
};
use Condition::*;
use Outcome::*;

const STATUSES: [&str; 4] = ["pending", "ack", "started", "paused"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    EmptyId,
    Settled,
    Active,
    BudgetGone,
    NoExpiry,
    LapsesNow,
    Lapsed,
    Disabled,
    UnknownAction,
    UnknownHook,
    UnsupportedType,
    Draining,
    Full,
    Free,
}

const CONDITIONS: [Condition; 14] = [
    EmptyId,
    Settled,
    Active,
    BudgetGone,
    NoExpiry,
    LapsesNow,
    Lapsed,
    Disabled,
    UnknownAction,
    UnknownHook,
    UnsupportedType,
    Draining,
    Full,
    Free,
];

/// What the tables make of an entry: the callbacks while all are accepted, and how it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing is said; the next pull may bring it again.
    Left,
    /// Nothing is said, ever.
    SettledSilently,
    /// These callbacks, then it runs.
    Runs(&'static [Status]),
    /// These callbacks, the last with this error, then it is settled.
    Fails(&'static [Status], &'static str),
}

const ACK_ON: &[Status] = &[Status::Ack, Status::Started];
const STARTED_ON: &[Status] = &[Status::Started];
const WALK_ACK_ON: &[Status] = &[Status::Ack, Status::Started, Status::Failed];
const WALK_STARTED_ON: &[Status] = &[Status::Started, Status::Failed];
const REPORT: &[Status] = &[Status::Failed];

/// The decision table of the specification first, then the table of statuses.
fn expected(status: &str, condition: Condition) -> Outcome {
    let walk = |error| match status {
        "pending" => Fails(WALK_ACK_ON, error),
        "ack" => Fails(WALK_STARTED_ON, error),
        "started" => Fails(REPORT, LOST),
        _ => SettledSilently,
    };
    match condition {
        EmptyId | Settled | Active | BudgetGone | LapsesNow | Lapsed => Left,
        NoExpiry => SettledSilently,
        Disabled => walk("actions_disabled"),
        UnknownAction | UnknownHook => walk("unknown_action"),
        UnsupportedType => walk("unsupported_action_type"),
        Draining | Full if matches!(status, "pending" | "ack") => Left,
        Draining | Full | Free => match status {
            "pending" => Runs(ACK_ON),
            "ack" => Runs(STARTED_ON),
            "started" => Fails(REPORT, LOST),
            _ => SettledSilently,
        },
    }
}

impl Floor {
    /// Brings the condition about and gives the entry that meets it.
    fn arrange(&mut self, condition: Condition, mut one: Execution) -> Vec<Execution> {
        match condition {
            EmptyId => one.execution_id.0.clear(),
            Settled => self.settle("one"),
            Active => drop(self.run("one")),
            BudgetGone => return vec![entry("slow", "ack"), one],
            NoExpiry => one.expires_at = None,
            LapsesNow => one.expires_at = Some(expires(self.now.wall)),
            Lapsed => self.now = self.now.after(seconds(61)),
            Disabled => self.settings.enabled = false,
            UnknownAction => one.action.0 = "diagnostics.guess".into(),
            UnknownHook => one.kind = "hook".into(),
            UnsupportedType => one.kind = "script".into(),
            Draining => drop(self.give(Input::Draining)),
            Full => ["x", "y"].into_iter().for_each(|id| drop(self.run(id))),
            Free => {}
        }
        vec![one]
    }

    /// Gives the pull; under `BudgetGone` the entry before ours has eaten more than five seconds.
    fn pull(&mut self, condition: Condition, entries: Vec<Execution>) -> Vec<Effect> {
        let effects = self.pulled(&entries);
        if condition != BudgetGone {
            return effects;
        }
        self.now = self.now.after(seconds(5) + std::time::Duration::from_nanos(1));
        self.answer("slow", Status::Started, refused())
    }

    /// Accepts every callback and tells what the entry came to.
    fn follow(&mut self, mut effects: Vec<Effect>) -> (Vec<Callback>, bool) {
        let mut said = Vec::new();
        loop {
            let ran = effects.iter().any(|effect| matches!(effect, Effect::Run { .. }));
            let Some((_, callback, _)) = posted(&effects).pop() else { return (said, ran) };
            effects = self.answer("one", callback.status, Called::Accepted);
            said.push(callback);
        }
    }
}

fn check(status: &str, condition: Condition) {
    let mut case = Floor::new();
    let entries = case.arrange(condition, entry("one", status));
    let effects = case.pull(condition, entries);
    let (said, ran) = case.follow(effects);
    let statuses: Vec<_> = said.iter().map(|callback| callback.status).collect();
    let error = said.last().and_then(|callback| callback.error.as_deref());
    let row = format!("{status} under {condition:?}");
    let wanted = expected(status, condition);
    match wanted {
        Left | SettledSilently => assert_eq!((statuses.as_slice(), ran), (&[][..], false), "{row}"),
        Runs(legs) => assert_eq!((statuses.as_slice(), error, ran), (legs, None, true), "{row}"),
        Fails(legs, text) => {
            assert_eq!((statuses.as_slice(), error, ran), (legs, Some(text), false), "{row}");
        }
    }
    let again = Floor { dispatch: case.dispatch, ..Floor::new() };
    check_again(again, wanted, condition, &row);
}

/// An entry that was only left runs when a later pull brings it in order; one that was settled stays silent.
fn check_again(mut case: Floor, wanted: Outcome, condition: Condition, row: &str) {
    let stays = matches!(condition, Settled | Active | Draining | Full | EmptyId);
    if stays {
        return;
    }
    let effects = case.pulled(&[entry("one", "pending")]);
    let (said, _) = case.follow(effects);
    assert_eq!(said.is_empty(), wanted != Left, "{row}, pulled again in order");
}

#[test]
fn every_status_under_every_condition_moves_as_the_tables_say() {
    for status in STATUSES {
        for condition in CONDITIONS {
            check(status, condition);
        }
    }
}

#[test]
fn a_settlement_with_exactly_fifteen_seconds_of_budget_left_starts() {
    let mut case = Floor::new();
    case.pulled(&[entry("slow", "ack"), entry("one", "pending")]);
    case.now = case.now.after(seconds(5));
    let effects = case.answer("slow", Status::Started, refused());
    assert_eq!(posted(&effects)[0].0, "one");
}

#[test]
fn ids_that_cannot_stand_in_a_path_are_settled_without_a_callback() {
    for id in [".", ".."] {
        let mut case = Floor::new();
        let effects = case.pulled(&[entry(id, "pending")]);
        assert!(matches!(effects.as_slice(), [Effect::Tell(_)]), "{effects:?}");
        assert_eq!(case.pulled(&[entry(id, "pending")]), []);
    }
}

#[test]
fn entries_are_taken_up_in_block_order() {
    let mut case = Floor::new();
    let ids = ["c", "a", "b"];
    let mut effects = case.pulled(&ids.map(|id| entry(id, "started")));
    for id in ids {
        assert_eq!(posted(&effects)[0].0, id);
        effects = case.answer(id, Status::Failed, Called::Accepted);
    }
    assert_eq!(effects, []);
}
