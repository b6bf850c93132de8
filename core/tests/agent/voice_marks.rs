//! How far sources were read: kept once what they brought is done with, and handed back by the next process.

use meshward_core::{
    agent::{
        Change, Collected, Content, Feed, FoundContent, KEEP_RETRY, Pipe, Records, Source,
        verdict::ingest::Shipped,
        voice::{Effect, Input, KEEP_SPACING, Reason},
    },
    wire::{
        kept::PULLED_FILE_MAX,
        positions::{PLACE_MAX, POSITIONS_MAX, Position, Positions},
    },
};

use crate::{
    bench::seconds,
    voice::{Desk, cursor, failed, feed, lines, logs_only},
};

fn marked(numbers: std::ops::Range<usize>, marks: &[(&str, Option<Position>)]) -> Feed {
    let marks = marks.iter().map(|(place, mark)| ((*place).to_owned(), mark.clone())).collect();
    Feed { marks, ..feed(Source::Journald, Records::Lines(lines(numbers))) }
}

fn positions(places: &[(&str, Position)]) -> Positions {
    let place = |(place, position): &(&str, Position)| ((*place).to_owned(), position.clone());
    Positions { places: places.iter().map(place).collect() }
}

fn journald(text: &str) -> Vec<(&'static str, Option<Position>)> {
    vec![("journald", Some(cursor(text)))]
}

#[test]
fn a_mark_is_kept_once_what_stands_in_front_of_it_is_taken() {
    let mut desk = Desk::armed(logs_only());
    desk.collected(Pipe::Logs, 1, vec![marked(0..3, &journald("c1"))]);
    desk.pass(10);
    desk.collected(Pipe::Logs, 2, vec![marked(3..6, &journald("c2"))]);
    assert_eq!((desk.sent_lines().len(), desk.kept()), (4, None));
    desk.answered(Shipped::Taken);
    assert_eq!(desk.kept(), Some(positions(&[("journald", cursor("c1"))])), "line 4 is not gone");
    desk.give(Input::Kept(Ok(())));
    desk.pass(20);
    desk.answered(failed("away"));
    assert_eq!(desk.kept(), None);
    desk.pass(30);
    desk.answered(Shipped::Taken);
    assert_eq!(desk.kept(), Some(positions(&[("journald", cursor("c2"))])));
}

#[test]
fn what_is_dropped_or_filtered_settles_its_marks_too() {
    let mut desk = Desk::armed(logs_only());
    desk.settings.filter.include_units = vec!["other".into()];
    desk.collected(Pipe::Logs, 1, vec![marked(0..3, &journald("c1"))]);
    assert_eq!(desk.kept(), Some(positions(&[("journald", cursor("c1"))])));
    desk.give(Input::Kept(Ok(())));
    desk.settings.filter.include_units.clear();
    desk.pass(10);
    desk.collected(Pipe::Logs, 2, vec![marked(0..4, &journald("c2"))]);
    desk.answered(Shipped::Malformed("400".into()));
    assert_eq!(desk.kept(), Some(positions(&[("journald", cursor("c2"))])));
}

#[test]
fn the_feeds_of_a_round_settle_one_behind_another() {
    let mut desk = Desk::armed(logs_only());
    let files = Feed { source: Source::Files, ..marked(2..9, &[("file:/a", Some(cursor("a")))]) };
    desk.collected(Pipe::Logs, 1, vec![marked(0..2, &journald("c1")), files]);
    assert_eq!(desk.dropped(Reason::Full), 1);
    desk.answered(Shipped::Taken);
    assert_eq!(desk.kept(), Some(positions(&[("journald", cursor("c1"))])));
    desk.give(Input::Kept(Ok(())));
    desk.pass(1);
    desk.answered(Shipped::Taken);
    let both = positions(&[("file:/a", cursor("a")), ("journald", cursor("c1"))]);
    assert_eq!(desk.kept(), Some(both));
}

#[test]
fn a_place_that_is_gone_is_forgotten() {
    let mut desk = Desk::armed(logs_only());
    desk.collected(Pipe::Logs, 1, vec![marked(0..0, &[("file:/a", Some(cursor("a")))])]);
    desk.give(Input::Kept(Ok(())));
    desk.pass(10);
    desk.collected(Pipe::Logs, 2, vec![marked(0..0, &[("file:/a", None)])]);
    assert_eq!(desk.kept(), Some(Positions::default()));
}

#[test]
fn one_write_at_a_time_and_one_a_second_carry_what_came_meanwhile() {
    let mut desk = Desk::armed(logs_only());
    desk.collected(Pipe::Logs, 1, vec![marked(0..0, &journald("c1"))]);
    assert!(desk.kept().is_some());
    desk.pass(10);
    desk.collected(Pipe::Logs, 2, vec![marked(0..0, &journald("c2"))]);
    assert_eq!(desk.kept(), None, "one is under way");
    desk.give(Input::Kept(Ok(())));
    assert_eq!(desk.kept(), None, "the disk is given a rest");
    assert_eq!(desk.voice.wakeup(), Some(desk.now.mono.after(KEEP_SPACING)));
    desk.pass(1);
    assert_eq!(desk.kept(), Some(positions(&[("journald", cursor("c2"))])));
    desk.give(Input::Kept(Ok(())));
    desk.pass(9);
    desk.collected(Pipe::Logs, 3, vec![marked(0..0, &journald("c2"))]);
    assert_eq!(desk.kept(), None, "nothing has changed");
}

#[test]
fn what_the_disk_refuses_is_told_once_and_given_to_it_again() {
    let mut desk = Desk::armed(logs_only());
    desk.collected(Pipe::Logs, 1, vec![marked(0..0, &journald("c1"))]);
    for _ in 0..2 {
        desk.give(Input::Kept(Err("it is full".into())));
        desk.pass(KEEP_RETRY.as_secs());
        assert!(desk.kept().is_some());
    }
    assert_eq!(desk.warnings().len(), 1);
    assert!(desk.warnings()[0].ends_with("it is full"));
}

#[test]
fn the_next_process_hands_the_positions_to_its_sources() {
    let known = positions(&[("file:/a", cursor("a")), ("journald", cursor("c1"))]);
    let mut desk = Desk::new(logs_only());
    desk.give(Input::Loaded(FoundContent::Bytes(Content(known.encode()))));
    desk.give(Input::Armed);
    let (_, _, _, from) = desk.asked().expect("a round is begun");
    assert_eq!(from, Some(known));
    desk.brought(1, Vec::new());
    desk.pass(10);
    let (_, _, _, from) = desk.asked().expect("a round is begun");
    assert_eq!(from, None);
}

#[test]
fn a_file_that_tells_nothing_is_put_aside_before_it_is_written() {
    for content in [
        FoundContent::Bytes(Content(b"{\"places\":".to_vec())),
        FoundContent::Foreign("a folder".into()),
    ] {
        let mut desk = Desk::new(logs_only());
        desk.give(Input::Loaded(content));
        let [Effect::Tell(_), Effect::Keep(Change::Rename(aside))] = desk.ordered.as_slice() else {
            panic!("{:?}", desk.ordered)
        };
        assert!(aside.starts_with("positions.json.damaged-"));
        desk.give(Input::Armed);
        assert_eq!(desk.asked().and_then(|(.., from)| from), Some(Positions::default()));
        desk.collected(Pipe::Logs, 1, vec![marked(0..0, &journald("c1"))]);
        assert_eq!(desk.kept(), None, "it is still in the way");
        desk.give(Input::Kept(Ok(())));
        assert!(desk.kept().is_some());
    }
}

#[test]
fn no_more_places_are_kept_than_there_is_room_for_and_none_is_pushed_out() {
    let named = |number: usize| format!("file:/{number:04}");
    let known = Positions {
        places: (0..POSITIONS_MAX).map(|number| (named(number), cursor("a"))).collect(),
    };
    let mut desk = Desk::new(logs_only());
    desk.give(Input::Loaded(FoundContent::Bytes(Content(known.encode()))));
    desk.give(Input::Armed);
    let marks = vec![
        (named(0), Some(cursor("b"))),
        (named(9_999), Some(cursor("b"))),
        // Six times as long in the file.
        ("\u{1}".repeat(PLACE_MAX / 6 + 1), Some(cursor("b"))),
        ("x".repeat(PLACE_MAX + 1), Some(cursor("b"))),
        ("y".into(), Some(cursor(&"b".repeat(PLACE_MAX + 1)))),
    ];
    let feed = Feed { marks, ..feed(Source::Files, Records::Lines(Vec::new())) };
    desk.give(Input::Collected(Box::new(Collected {
        pipe: Pipe::Logs,
        round: 1,
        feeds: vec![feed],
    })));
    let kept = desk.kept().expect("it has changed").places;
    assert_eq!(kept.len(), POSITIONS_MAX);
    assert_eq!(kept.get(&named(0)), Some(&cursor("b")));
    assert!((1..POSITIONS_MAX).all(|number| kept.contains_key(&named(number))));
}

#[test]
fn a_place_is_kept_if_its_name_and_its_cursor_fit_into_the_file_as_they_stand_there() {
    let long = |length: usize| "x".repeat(length);
    // Six times as long in the file.
    let quoted = |length: usize| "\u{1}".repeat(length / 6);
    let short = || "c".to_owned();
    for (name, position, is_kept) in [
        (long(PLACE_MAX), short(), true),
        (long(PLACE_MAX + 1), short(), false),
        (quoted(PLACE_MAX), short(), true),
        (quoted(PLACE_MAX + 6), short(), false),
        (short(), long(PLACE_MAX), true),
        (short(), long(PLACE_MAX + 1), false),
    ] {
        let mut desk = Desk::armed(logs_only());
        let marks = vec![(name.clone(), Some(cursor(&position)))];
        let feed = Feed { marks, ..feed(Source::Files, Records::Lines(Vec::new())) };
        desk.collected(Pipe::Logs, 1, vec![feed]);
        let kept = desk.kept().is_some_and(|kept| kept.places.contains_key(&name));
        assert_eq!(kept, is_kept, "{} and {} bytes", name.len(), position.len());
    }
}

/// Found by an attacker: names of control characters made the file longer than is read of it.
#[test]
fn the_file_of_all_places_is_never_longer_than_is_read_of_it() {
    let longest = |number: usize| format!("{number:04}{}", "\u{1}".repeat((PLACE_MAX - 4) / 6));
    let offset = Position::Offset {
        device: u64::MAX,
        inode: u64::MAX,
        offset: u64::MAX,
        head_len: u64::MAX,
        head: u64::MAX,
    };
    let mut desk = Desk::armed(logs_only());
    let marks = (0..POSITIONS_MAX).map(|number| (longest(number), Some(offset.clone())));
    let feed = Feed { marks: marks.collect(), ..feed(Source::Files, Records::Lines(Vec::new())) };
    desk.give(Input::Collected(Box::new(Collected {
        pipe: Pipe::Logs,
        round: 1,
        feeds: vec![feed],
    })));
    let kept = desk.kept().expect("there are places");
    assert_eq!(kept.places.len(), POSITIONS_MAX);
    assert!(kept.encode().len() <= PULLED_FILE_MAX);
}

#[test]
fn the_places_of_a_path_are_found_by_their_order_and_those_of_others_are_not() {
    let names = ["file:/a", "file+10:/a", "file+9:/a", "file+1:/a+1:/b", "files:/a", "file+x:/a"];
    let places = names.map(|name| (name.to_owned(), cursor(name))).into();
    let positions = Positions { places };
    let files = positions.files("file");
    let numbers = |path| files[path].iter().map(|(nth, _)| *nth);
    assert!(numbers("/a").eq([0, 9, 10]));
    assert!(numbers("/a+1:/b").eq([1]));
    assert_eq!(files.len(), 2);
}

#[test]
fn a_drain_sends_what_is_held_keeps_its_marks_and_is_over() {
    let mut desk = Desk::armed(logs_only());
    desk.collected(Pipe::Logs, 1, vec![marked(0..7, &journald("c1"))]);
    assert_eq!(desk.sent_lines().len(), 4);
    desk.give(Input::Draining);
    assert!(!desk.voice.is_idle());
    desk.answered(Shipped::Taken);
    assert_eq!(desk.sent_lines().len(), 3);
    desk.answered(Shipped::Taken);
    assert_eq!(desk.kept(), Some(positions(&[("journald", cursor("c1"))])));
    assert!(!desk.voice.is_idle(), "the disk is waited for");
    desk.give(Input::Kept(Ok(())));
    assert!(desk.voice.is_idle());
    desk.give(Input::Closed);
    assert_eq!((desk.logs().sent, desk.logs().held_records, desk.warnings().len()), (7, 0, 0));
    assert_eq!(desk.voice.wakeup(), None);
}

#[test]
fn a_drain_waits_for_a_dead_control_plane_no_longer_than_five_seconds() {
    let mut desk = Desk::armed(logs_only());
    desk.collected(Pipe::Logs, 1, vec![marked(0..7, &journald("c1"))]);
    desk.give(Input::Draining);
    assert_eq!(desk.voice.wakeup(), Some(desk.now.mono.after(seconds(5))));
    desk.pass(4);
    assert!(!desk.voice.is_idle());
    desk.pass(1);
    assert!(desk.voice.is_idle());
    assert_eq!(desk.kept(), None, "what was not sent is read again");
    desk.answered(Shipped::Taken);
    desk.give(Input::Closed);
    assert_eq!((desk.dropped(Reason::Stopped), desk.kept()), (7, None));
    assert!(desk.warnings()[0].starts_with("records of the logs were dropped: 7 at a stop"));
}

#[test]
fn a_drain_ends_at_the_first_failure_and_sends_nothing_under_no_identity() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..7));
    desk.give(Input::Draining);
    desk.answered(failed("away"));
    assert!(desk.voice.is_idle() && desk.shipped().is_empty());
    let mut desk = Desk::armed(logs_only());
    desk.give(Input::Quieted);
    desk.brought(1, lines(0..7));
    desk.give(Input::Draining);
    assert!(desk.voice.is_idle() && desk.shipped().is_empty());
    desk.pass(60);
    assert_eq!(desk.asked(), None, "nothing is collected any more");
}

#[test]
fn positions_are_read_as_they_are_written_and_nothing_else_is() {
    let text = r#"{"places":{"file:/a":{"offset":{"device":1,"inode":2,"offset":3,"head_len":4,"head":5}},"journald":{"cursor":"c"}}}"#;
    let offset = Position::Offset { device: 1, inode: 2, offset: 3, head_len: 4, head: 5 };
    let expected = positions(&[("file:/a", offset), ("journald", cursor("c"))]);
    assert_eq!(Positions::decode(text.as_bytes()), Ok(expected.clone()));
    assert_eq!(String::from_utf8(expected.encode()), Ok(text.into()));
    for broken in [
        r#"{"places":{"a":{}}}"#,
        r#"{"places":{"a":{"cursor":"c","offset":{"device":1,"inode":2,"offset":3,"head_len":4,"head":5}}}}"#,
        r#"{"places":{"a":{"offset":{"device":1}}}}"#,
        r#"{"places":{"a":"c"}}"#,
        r#"{"places":{},"more":1}"#,
        "",
    ] {
        assert!(Positions::decode(broken.as_bytes()).is_err(), "{broken}");
    }
}
