//! The flood of one place of the program, and what it must not hide.

use std::time::Duration;

use meshward_core::{
    agent::{
        Level,
        notice::rate::{Held, LINES_MAX, PERIOD, Rate, SAMPLE_MAX, SITES_MAX, Site, Verdict},
    },
    time::Mono,
};
use proptest::prelude::*;

use crate::bench::seconds;

const START: Mono = Mono::from_origin(Duration::from_secs(500));

fn line(rate: &mut Rate, now: Mono, level: Level, text: &str) -> bool {
    rate.line(now, level, Site::new("file.rs", 7, text), text) == Verdict::Written
}

fn written(rate: &mut Rate, now: Mono, level: Level, text: impl Fn(u32) -> String) -> u32 {
    (0..500).filter(|number| line(rate, now, level, &text(*number))).count() as u32
}

#[test]
fn lines_of_one_kind_are_limited_and_the_rest_is_told_once_behind_the_period() {
    let mut rate = Rate::default();
    let text = |number| format!("connection {number} from \"peer {number}\" broke");
    assert_eq!(written(&mut rate, START, Level::Warn, text), LINES_MAX);
    assert_eq!(rate.wakeup(), Some(START.after(PERIOD)));
    assert_eq!(rate.over(START.after(PERIOD - seconds(1))), []);
    let held = Held { level: Level::Warn, count: 480, sample: text(LINES_MAX) };
    assert_eq!(rate.over(START.after(PERIOD)), [held]);
    assert_eq!((rate.over(START.after(PERIOD)), rate.wakeup()), (vec![], None));
    assert!(line(&mut rate, START.after(PERIOD), Level::Warn, &text(1)), "a new period");
}

#[test]
fn the_flood_of_one_place_hides_no_other() {
    let mut rate = Rate::default();
    written(&mut rate, START, Level::Warn, |_| "flood".into());
    assert!(!line(&mut rate, START, Level::Warn, "flood"));
    assert!(line(&mut rate, START, Level::Warn, "another kind"));
    assert!(line(&mut rate, START, Level::Error, "flood"), "each level counts for itself");
    let elsewhere = Site::new("file.rs", 8, "flood");
    assert_eq!(rate.line(START, Level::Warn, elsewhere, "flood"), Verdict::Written);
}

#[test]
fn the_first_error_of_a_kind_is_written_whatever_else_floods() {
    let mut rate = Rate::default();
    let odd =
        |number: u32| (0..number / 26 + 1).map(move |_| char::from(b'a' + (number % 26) as u8));
    written(&mut rate, START, Level::Warn, |number| odd(number).collect());
    written(&mut rate, START, Level::Info, |number| odd(number).collect());
    for text in ["the disk is full", "the key is gone"] {
        assert!(line(&mut rate, START, Level::Error, text));
    }
    assert_eq!(
        written(&mut rate, START, Level::Error, |_| "the disk is full".into()),
        LINES_MAX - 1
    );
}

#[test]
fn kinds_without_end_take_bounded_room_and_share_one_limit() {
    let mut rate = Rate::default();
    let odd = |number: u32| -> String {
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
    };
    let kinds = SITES_MAX as u32;
    assert_eq!(written(&mut rate, START, Level::Warn, odd), kinds + LINES_MAX);
    let [held] = rate.over(START.after(PERIOD)).try_into().expect("one");
    assert_eq!(held.count, u64::from(500 - kinds - LINES_MAX));
    assert!(line(&mut rate, START.after(PERIOD), Level::Warn, &odd(499)), "the room is free again");
}

#[test]
fn a_flood_that_goes_on_is_told_of_each_period_though_nobody_asks_in_between() {
    let mut rate = Rate::default();
    written(&mut rate, START, Level::Info, |_| "flood".into());
    let later = START.after(PERIOD * 3);
    assert_eq!(written(&mut rate, later, Level::Info, |_| "flood".into()), LINES_MAX);
    assert_eq!(rate.wakeup(), Some(Mono::default()), "the first period is to be told at once");
    let counts: Vec<_> = rate.rest().into_iter().map(|held| held.count).collect();
    assert_eq!(counts, [480, 480]);
    assert_eq!(rate, Rate::default());
}

#[test]
fn lines_for_debugging_are_all_written() {
    let mut rate = Rate::default();
    assert_eq!(written(&mut rate, START, Level::Debug, |_| "step".into()), 500);
    assert_eq!(rate, Rate::default());
}

#[test]
fn a_sample_of_a_long_line_is_cut() {
    let mut rate = Rate::default();
    written(&mut rate, START, Level::Warn, |_| "é".repeat(5000));
    assert_eq!(rate.rest()[0].sample.chars().count(), SAMPLE_MAX);
}

proptest! {
    /// Every line is written, or counted among those that are told to be held back.
    #[test]
    fn no_line_is_lost_without_being_counted(
        lines in prop::collection::vec((0_u64..30_000, 0_u32..400, 0_usize..3), 0..800),
    ) {
        let (mut rate, mut now) = (Rate::default(), START);
        let (mut written, mut told) = (0_u64, 0_u64);
        for (waited, kind, level) in &lines {
            now = now.after(Duration::from_millis(*waited / 100));
            let text: String = (0..*kind % 200).map(|_| 'x').collect();
            let level = [Level::Error, Level::Warn, Level::Info][*level];
            let site = Site::new("file.rs", *kind, &text);
            if rate.line(now, level, site, &text) == Verdict::Written {
                written += 1;
            }
            if waited % 7 == 0 {
                told += rate.over(now).iter().map(|held| held.count).sum::<u64>();
            }
        }
        told += rate.rest().iter().map(|held| held.count).sum::<u64>();
        prop_assert_eq!(written + told, lines.len() as u64);
    }
}
