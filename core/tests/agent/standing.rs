//! The standing of a node: the whole product of what it may know and hear, and the two thresholds.

use std::time::Duration;

use meshward_core::agent::standing::{Effect, Input, REFUSALS_MIN, REFUSED_FOR_MIN, Standing};

use crate::bench::{at, seconds};

/// Refusals so many milliseconds behind the first, and which of them led to a look for a token.
fn looks(times: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut standing = Standing::default();
    let mut looked = Vec::new();
    for time in times {
        let now = at(Duration::from_millis(time)).mono;
        let step = standing.step(now, Input::Unauthorized);
        standing = step.state;
        if step.effects == [Effect::LookForToken] {
            looked.push(time);
        }
        assert!(matches!(standing, Standing::Refused { .. }));
    }
    looked
}

#[test]
fn five_refusals_in_a_row_over_a_minute_lead_to_a_look_for_a_token() {
    assert_eq!((REFUSALS_MIN, REFUSED_FOR_MIN), (5, seconds(60)));
    assert_eq!(looks([0, 20_000, 40_000, 59_000, 60_000]), [60_000]);
    assert!(looks([0, 20_000, 40_000, 59_000, 59_999]).is_empty(), "not before a minute");
    assert!(looks([0, 20_000, 40_000, 90_000]).is_empty(), "four are too few");
    assert_eq!(looks([0, 20_000, 40_000, 90_000, 90_001]), [90_001]);
    assert!(looks((0..1000).map(|number| number * 10)).is_empty(), "many within ten seconds");
}

#[test]
fn after_a_look_the_count_begins_anew() {
    let every_ten_seconds = (0..20).map(|number| number * 10_000);
    assert_eq!(looks(every_ten_seconds), [60_000, 130_000]);
}

#[test]
fn any_accepted_answer_ends_the_count() {
    for before in 0..10 {
        let mut standing = Standing::default();
        for number in 0..before {
            standing = standing.step(at(seconds(20 * number)).mono, Input::Unauthorized).state;
        }
        let step = standing.step(at(seconds(300)).mono, Input::Admitted);
        assert_eq!((step.state, step.effects), (Standing::Admitted, vec![]));
        let first = step.state.step(at(seconds(900)).mono, Input::Unauthorized);
        assert!(first.effects.is_empty(), "one refusal is one, however long ago the last was");
    }
}

#[test]
fn a_count_never_passes_its_threshold() {
    let mut standing = Standing::default();
    for _ in 0..100 {
        standing = standing.step(at(seconds(0)).mono, Input::Unauthorized).state;
    }
    let since = at(seconds(0)).mono;
    assert_eq!(standing, Standing::Refused { since, in_a_row: REFUSALS_MIN });
}
