//! The view of the last pull: versions and times move with values, and a null block clears all.

use meshward_core::{
    agent::view::View,
    wire::{
        grammar::Name,
        snapshot::{Entries, Entry},
        timestamp::Timestamp,
    },
};

use crate::bench::{at, seconds};

fn entries(pairs: &[(&str, &str)]) -> Vec<Entry> {
    pairs
        .iter()
        .map(|(key, value)| Entry {
            key: Name((*key).into()),
            value: (*value).into(),
            workload_tag: Name::default(),
        })
        .collect()
}

fn data(pairs: &[(&str, &str)]) -> Entries {
    Entries { data: entries(pairs), ..Entries::default() }
}

/// What there is of a data entry: payload, version, and the second it was updated at.
fn seen(view: &View, key: &str) -> Option<(String, u64, Timestamp)> {
    let entry = view.data.get(key)?;
    Some((entry.payload.text().into(), entry.version, entry.updated_at))
}

fn time(second: u64) -> Timestamp {
    Timestamp::from(at(seconds(second)).wall)
}

#[test]
fn a_value_is_a_json_string_of_plain_text_at_version_one() {
    let view = View::default().refreshed(at(seconds(0)), Some(data(&[("app/config", "a\"b")])));
    let entry = &view.data["app/config"];
    assert_eq!(entry.content_type, "text/plain; charset=utf-8");
    assert_eq!(seen(&view, "app/config"), Some((r#""a\"b""#.into(), 1, time(0))));
}

#[test]
fn version_and_time_move_exactly_when_the_value_does() {
    let mut view = View::default();
    let pulls = [("x", 1, 0), ("x", 1, 0), ("y", 2, 2), ("y", 2, 2), ("x", 3, 4)];
    for (second, (value, version, updated)) in pulls.into_iter().enumerate() {
        view = view.refreshed(at(seconds(second as u64)), Some(data(&[("k", value)])));
        let expected = (format!("\"{value}\""), version, time(updated));
        assert_eq!(seen(&view, "k"), Some(expected), "pull {second}");
    }
}

#[test]
fn an_entry_that_left_and_came_back_begins_at_one() {
    let view = View::default()
        .refreshed(at(seconds(0)), Some(data(&[("k", "x")])))
        .refreshed(at(seconds(1)), Some(data(&[("k", "y")])))
        .refreshed(at(seconds(2)), Some(data(&[])))
        .refreshed(at(seconds(3)), Some(data(&[("k", "x")])));
    assert_eq!(seen(&view, "k"), Some(("\"x\"".into(), 1, time(3))));
}

#[test]
fn a_null_block_clears_metadata_and_data() {
    let block = Entries {
        metadata: entries(&[("m", "1")]),
        data: entries(&[("k", "x")]),
        ..Entries::default()
    };
    let view = View::default().refreshed(at(seconds(0)), Some(block));
    assert_eq!(view.metadata["m"], "1");
    assert_eq!(view.summary().data_keys.len(), 1);
    assert_eq!(view.refreshed(at(seconds(1)), None), View::default());
}

#[test]
fn of_a_key_listed_twice_the_last_value_counts_and_stays_while_unchanged() {
    let twice = || data(&[("k", "x"), ("k", "y")]);
    let view = View::default()
        .refreshed(at(seconds(0)), Some(twice()))
        .refreshed(at(seconds(1)), Some(twice()));
    assert_eq!(seen(&view, "k"), Some(("\"y\"".into(), 1, time(0))));
}

#[test]
fn reports_and_workload_tags_of_the_block_are_not_shown() {
    let block = Entries { reports: entries(&[("r", "1")]), ..Entries::default() };
    assert_eq!(View::default().refreshed(at(seconds(0)), Some(block)), View::default());
}
