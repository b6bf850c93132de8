//! How the journal is read on: beside a journal whose entries have numbers and whose oldest ones go.

use meshward_core::{
    time::{Mono, Now},
    wire::{
        positions::Position,
        sources::journald::reading::{AGAIN, Ask, End, Move, Ran, Reading},
    },
};

const ENDS: [End; 4] = [End::Good, End::Failed, End::Enough, End::Late];

/// How much of what it has a tool brings.
const PARTS: [usize; 3] = [0, 1, usize::MAX];

fn cursor(number: u32) -> Position {
    Position::Cursor(number.to_string())
}

fn number(text: &str) -> u32 {
    text.parse().expect("a number")
}

/// The numbers of the entries that are there.
type Journal = core::ops::Range<u32>;

/// As the tool does: from the entry, or from the next one where it is gone; all of it without one.
fn run(journal: &Journal, asked: &Ask, part: usize, end: End) -> (Vec<u32>, Ran) {
    let from = asked.from.as_deref().map(number);
    let there = journal.clone().filter(|at| from.is_none_or(|from| *at >= from));
    let brought: Vec<u32> = there.take(part).collect();
    let is_found = from.is_some_and(|from| brought.first() == Some(&from));
    let last = brought.last().map(ToString::to_string);
    let new = brought.into_iter().filter(|at| Some(*at) != from).collect();
    (new, Ran { last, is_found, end, first_bad: 0, last_bad: 0 })
}

/// A round, whose runs end as told. The entries that are handed on, and what is told of those that are not.
fn round(
    reading: &mut Reading,
    journal: &Journal,
    runs: [(usize, End); 2],
) -> (Vec<u32>, Option<Move>) {
    let mut asked = reading.begin(Mono::default()).expect("the tool is there");
    for (part, end) in runs {
        let (new, ran) = run(journal, &asked, part, end);
        match reading.ran(ran).0 {
            Move::Again(next) => asked = next,
            Move::Follow => return (new, None),
            Move::Unreadable => return (Vec::new(), Some(Move::Unreadable)),
            lossy @ (Move::Gap | Move::Anew) => return (new, Some(lossy)),
        }
    }
    panic!("a third run");
}

fn every_run() -> impl Iterator<Item = (usize, End)> {
    PARTS.into_iter().flat_map(|part| ENDS.into_iter().map(move |end| (part, end)))
}

#[test]
fn no_entry_is_read_twice_and_none_is_passed_over_without_a_word() {
    let mut seen = 0;
    let journals = (0..5).flat_map(|begin| (begin..6).map(move |end| begin..end));
    for journal in journals {
        for known in [None, Some(0), Some(2), Some(4)] {
            for (first, second) in every_run().flat_map(|a| every_run().map(move |b| (a, b))) {
                let mut reading = Reading::default();
                assert!(reading.go_on(known.map(cursor).as_ref()));
                let (new, told) = round(&mut reading, &journal, [first, second]);
                seen += 1;
                let what = format!("{journal:?} {known:?} {first:?} {second:?}: {new:?} {told:?}");
                match &told {
                    None => {
                        let next = known.map_or(journal.start, |known| known + 1);
                        assert!(new.first().is_none_or(|at| *at == next), "{what}");
                    }
                    Some(Move::Unreadable) => {
                        assert_eq!(reading.position(), known.map(cursor), "{what}");
                    }
                    Some(_) => {}
                }
                let is_anew = told == Some(Move::Anew);
                let stood = if is_anew { None } else { known };
                let last = new.last().copied().or(stood);
                assert_eq!(reading.position(), last.map(cursor), "{what}");
                assert!(is_anew || new.iter().all(|at| Some(*at) > known), "{what}");
            }
        }
    }
    assert_eq!(seen, 20 * 4 * 144);
}

#[test]
fn long_messages_are_left_out_in_every_other_round_at_most() {
    // Three rounds, each of which ends in every way.
    for runs in
        every_run().flat_map(|a| every_run().flat_map(move |b| every_run().map(move |c| [a, b, c])))
    {
        let mut reading = Reading::default();
        assert!(reading.go_on(Some(&cursor(1))));
        let mut was_brief = false;
        for of_round in runs {
            let is_brief = reading.begin(Mono::default()).unwrap().is_brief;
            assert!(!(is_brief && was_brief), "{runs:?}");
            was_brief = is_brief;
            let before = reading.position();
            round(&mut reading, &(0..5), [of_round, of_round]);
            let next = reading.begin(Mono::default()).unwrap();
            let came_to_nothing = reading.position() == before && of_round.1 != End::Good;
            assert_eq!(next.is_brief, came_to_nothing && !is_brief, "{runs:?}");
        }
    }
}

#[test]
fn what_can_be_no_place_of_a_journal_is_refused_and_what_was_read_before_stands() {
    let offset = Position::Offset { device: 1, inode: 1, offset: 1, head_len: 0, head: 0 };
    for kept in [offset, Position::Cursor(String::new()), Position::Cursor("a b".into())] {
        let mut reading = Reading::default();
        assert!(!reading.go_on(Some(&kept)));
        assert_eq!(reading.position(), None);
        assert!(reading.go_on(Some(&cursor(7))) && reading.go_on(Some(&kept)));
        assert_eq!(reading.position(), Some(cursor(7)));
    }
}

#[test]
fn a_missing_tool_is_looked_for_again_after_five_minutes() {
    let mut reading = Reading::default();
    let now = Now::default();
    assert!(reading.go_on(Some(&cursor(7))) && reading.begin(now.mono).is_some());
    reading.missing(now.mono);
    let almost = now.after(AGAIN - core::time::Duration::from_nanos(1));
    assert_eq!((reading.begin(now.mono), reading.begin(almost.mono)), (None, None));
    let again = reading.begin(now.after(AGAIN).mono);
    assert_eq!(again, Some(Ask { from: Some("7".into()), is_brief: false }));
}

/// A line behind the last entry is met by each round until an entry comes behind it, and counts in the first of them.
#[test]
fn a_line_that_is_no_entry_counts_in_one_round() {
    let mut reading = Reading::default();
    let mut counts = |last: Option<u32>, is_found, end, (first_bad, last_bad): (u64, u64)| {
        let last = last.map(|at| at.to_string());
        let (_, met) = reading.ran(Ran { last, is_found, end, first_bad, last_bad });
        first_bad.max(last_bad) - met
    };
    // Before there is an entry, and with the first one.
    assert_eq!(counts(None, false, End::Good, (2, 2)), 2);
    assert_eq!(counts(Some(1), false, End::Good, (2, 0)), 0);
    // Behind it: once, a new one once more, and nothing again behind rounds that came to nothing.
    assert_eq!(counts(Some(1), true, End::Good, (1, 1)), 1);
    assert_eq!(counts(Some(1), true, End::Good, (1, 1)), 0);
    assert_eq!(counts(None, false, End::Late, (0, 0)), 0);
    assert_eq!(counts(Some(1), true, End::Good, (2, 2)), 1);
    // Behind the next entry others count, and those of a gap are others.
    assert_eq!(counts(Some(2), true, End::Good, (2, 2)), 0);
    assert_eq!(counts(Some(2), true, End::Good, (2, 2)), 0);
    assert_eq!(counts(Some(9), false, End::Good, (0, 1)), 1);
}
