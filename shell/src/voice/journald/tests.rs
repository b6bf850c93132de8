#[cfg(feature = "tool-tests")]
mod real;

use std::{fs, path::PathBuf, time::Instant};

use tempfile::TempDir;

use meshward_core::wire::{
    positions::{Position, Positions},
    sources::journald::reading::AGAIN,
};

use super::*;

/// A journal in a file, one entry a line, and a script that reads it as the tool does.
struct Scene {
    folder: TempDir,
    journald: Journald,
    now: Now,
}

/// From the entry that is asked from on, or all of it; and what it was told.
const TOOL: &str = r#"
for argument; do
    case "$argument" in
    --cursor=*) from="${argument#--cursor=}" ;;
    esac
done
echo "$*" >> told
if [ -n "$from" ]; then sed -n "/\"__CURSOR\":\"$from\"/,\$p" journal; else cat journal; fi
"#;

impl Scene {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool");
        fs::write(&path, format!("cd '{}'\n{script}", folder.path().display())).unwrap();
        let mut journald = Journald::new("node".into());
        journald.program = "/bin/sh".into();
        journald.arguments = vec![path.into()];
        Self { folder, journald, now: Now::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes the journal anew, with these entries.
    fn journal(&self, entries: std::ops::Range<u32>) {
        let lines: String = entries.map(|at| entry(at, 1)).collect();
        fs::write(self.path("journal"), lines).unwrap();
    }

    fn feed(&mut self, room: usize) -> Feed {
        self.journald.round(&Wanted { room, ..Wanted::default() }, self.now)
    }

    fn feed_from(&mut self, position: Position) -> Feed {
        let places = [(PLACE.to_owned(), position)].into();
        let wanted = Wanted { room: 10, from: Some(Positions { places }), ..Wanted::default() };
        self.journald.round(&wanted, self.now)
    }
}

fn entry(at: u32, pid: u32) -> String {
    format!(
        "{{\"__CURSOR\":\"c={at};\",\"__REALTIME_TIMESTAMP\":\"{at}\",\"MESSAGE\":\"{at}\",\"_PID\":\"{pid}\"}}\n"
    )
}

fn messages(feed: &Feed) -> Vec<String> {
    let Records::Lines(lines) = &feed.records else { panic!("{feed:?}") };
    lines.iter().map(|line| line.message.clone()).collect()
}

fn cursor(at: u32) -> Position {
    Position::Cursor(format!("c={at};"))
}

fn mark(at: u32) -> Vec<(String, Option<Position>)> {
    vec![("journald".to_owned(), Some(cursor(at)))]
}

#[test]
fn the_last_minute_is_read_first_and_then_what_stands_behind_the_last_entry() {
    let mut scene = Scene::new(TOOL);
    scene.journal(1..3);
    let feed = scene.feed(10);
    assert_eq!((messages(&feed), feed.marks), (vec!["1".into(), "2".into()], mark(2)));
    let feed = scene.feed(10);
    assert_eq!((messages(&feed), feed.marks), (vec![], vec![]));
    scene.journal(1..5);
    let feed = scene.feed(10);
    assert_eq!(messages(&feed), ["3", "4"]);
    assert_eq!((feed.marks, feed.troubles, feed.lost, feed.more), (mark(4), vec![], 0, false));
    let always = format!("--output=json --no-pager --all --output-fields={FIELDS}");
    let told = format!("{always} --since=-60s\n{always} --cursor=c=2;\n{always} --cursor=c=2;\n");
    assert_eq!(scene.text("told"), told);
}

#[test]
fn a_backlog_is_read_in_order_in_as_many_rounds_as_it_takes() {
    let mut scene = Scene::new(TOOL);
    scene.journal(1..11);
    let mut read = Vec::new();
    loop {
        let feed = scene.feed(3);
        read.push(messages(&feed).join(" "));
        if !feed.more {
            break;
        }
    }
    assert_eq!(read, ["1 2 3", "4 5 6", "7 8 9", "10"]);
}

#[test]
fn who_restarts_goes_on_behind_the_entry_that_was_sent_last() {
    let mut scene = Scene::new(TOOL);
    scene.journal(1..5);
    let feed = scene.feed_from(cursor(2));
    assert_eq!(
        (messages(&feed), feed.troubles, feed.marks),
        (vec!["3".into(), "4".into()], vec![], mark(4))
    );
}

#[test]
fn entries_that_were_removed_before_they_were_read_are_told_and_the_later_ones_read() {
    // As the tool does it: the next entry that there is stands for the one that is gone.
    let mut scene = Scene::new("cat journal");
    scene.journal(7..9);
    let feed = scene.feed_from(cursor(2));
    assert_eq!((messages(&feed), feed.marks), (vec!["7".into(), "8".into()], mark(8)));
    assert_eq!(feed.troubles, [GAP]);
}

#[test]
fn a_place_that_leads_nowhere_is_told_and_the_last_minute_read() {
    let garbage = format!(
        "case \"$*\" in *--cursor=*) echo 'Failed to seek to\tcursor' >&2; exit 1; esac\n{TOOL}"
    );
    for (script, words) in [(TOOL, ""), (&garbage, " (Failed to seek to\u{fffd}cursor)")] {
        let mut scene = Scene::new(script);
        scene.journal(7..9);
        let feed = scene.feed_from(cursor(2));
        assert_eq!((messages(&feed), feed.marks), (vec!["7".into(), "8".into()], mark(8)));
        assert_eq!(feed.troubles, [lost("").replace(" last:", &format!(" last{words}:"))]);
        // Nothing was written in the last minute either.
        assert!(scene.journald.reading.go_on(Some(&cursor(2))));
        scene.journal(0..0);
        let feed = scene.feed(10);
        assert_eq!((messages(&feed), feed.marks), (vec![], vec![("journald".into(), None)]));
        assert_eq!(feed.troubles.len(), 1);
        let feed = scene.feed(10);
        assert_eq!((feed.marks, feed.troubles), (vec![], vec![]));
    }
}

#[test]
fn a_kept_place_that_is_none_of_a_journal_is_told_and_forgotten() {
    let offset = Position::Offset { device: 1, inode: 1, offset: 1, head_len: 0, head: 0 };
    for kept in [offset, Position::Cursor("a b".into()), Position::Cursor("a\0".into())] {
        let mut scene = Scene::new(TOOL);
        scene.journal(0..0);
        let feed = scene.feed_from(kept);
        assert_eq!((feed.marks, feed.troubles), (vec![("journald".into(), None)], vec![lost("")]));
    }
}

#[test]
fn a_tool_that_fails_is_told_with_its_words_and_the_place_is_kept() {
    let mut scene = Scene::new("echo 'Failed to open files: Out of memory' >&2; exit 1");
    let feed = scene.feed_from(cursor(2));
    assert_eq!((messages(&feed), feed.marks), (vec![], vec![]));
    let told = "journalctl failed (exit status: 1): Failed to open files: Out of memory";
    assert_eq!(feed.troubles, [told]);
    fs::write(scene.path("tool"), format!("cd '{}'\n{TOOL}", scene.folder.path().display()))
        .unwrap();
    scene.journal(1..4);
    assert_eq!(messages(&scene.feed(10)), ["3"]);
}

#[test]
fn only_who_may_not_read_all_is_told_of_the_group_that_may() {
    let none = "No journal files were opened due to insufficient permissions.";
    let hint = "Hint: You are currently not seeing messages from other users and the system.";
    let other = "Journal file /var/log/journal/a.journal is truncated, ignoring file.";
    for (words, status, expected) in [
        (none, 1, format!("journalctl failed (exit status: 1): {none}; {MAY_NOT}")),
        (hint, 0, format!("journalctl: {hint}; {MAY_NOT}")),
        (other, 0, format!("journalctl: {other}")),
        ("", 3, "journalctl failed (exit status: 3)".to_owned()),
    ] {
        let mut scene = Scene::new(&format!("printf '%s' '{words}' >&2; exit {status}"));
        assert_eq!(scene.feed(10).troubles, [expected]);
    }
    let mut killed = Scene::new("kill -9 $$");
    assert_eq!(killed.feed(10).troubles, ["journalctl failed (signal: 9 (SIGKILL))"]);
}

#[test]
fn what_this_process_has_written_is_passed_over_and_so_are_bad_lines() {
    let mut scene = Scene::new(TOOL);
    let own = std::process::id();
    let long = format!("{{\"__CURSOR\":\"{}\"}}\n", "x".repeat(3 * ENTRY_MAX));
    let lines = [
        "-- No entries --\n\n",
        &entry(1, own + 1),
        "garbage\n",
        &entry(2, own),
        &long,
        &entry(3, 1),
        &entry(4, own),
    ];
    fs::write(scene.path("journal"), lines.concat()).unwrap();
    let feed = scene.feed(10);
    assert_eq!(
        (messages(&feed), feed.marks, feed.lost),
        (vec!["1".into(), "3".into()], mark(4), 2)
    );
    assert!(
        feed.troubles[0].starts_with("2 lines of journalctl are no entries"),
        "{:?}",
        feed.troubles
    );
    assert_eq!(messages(&scene.feed(10)), Vec::<String>::new());
}

#[test]
fn a_line_that_is_passed_over_behind_the_last_entry_is_lost_once_however_often_it_is_met() {
    let mut scene = Scene::new(TOOL);
    let long = format!("{{\"MESSAGE\":\"{}\"}}\n", "x".repeat(ENTRY_MAX));
    let write = |scene: &Scene, lines: &[&str]| {
        fs::write(scene.path("journal"), lines.concat()).unwrap();
    };
    let (one, two, three) = (entry(1, 1), entry(2, 1), entry(3, 1));
    write(&scene, &[&one, &long]);
    assert_eq!(scene.feed(10).lost, 1);
    for _ in 0..3 {
        let feed = scene.feed(10);
        assert_eq!((feed.lost, feed.troubles.len()), (0, 0));
    }
    write(&scene, &[&one, &long, "bad\n"]);
    assert_eq!(scene.feed(10).lost, 1, "the new one");
    write(&scene, &[&one, &long, "bad\n", &two, &long, &three]);
    let feed = scene.feed(10);
    assert_eq!((messages(&feed), feed.lost), (vec!["2".into(), "3".into()], 1));
    write(&scene, &[&one, &two, &three, &long]);
    assert_eq!([scene.feed(10).lost, scene.feed(10).lost], [1, 0]);
}

#[test]
fn a_round_that_fails_between_counts_nothing_again() {
    let mut scene = Scene::new(&format!("if [ -e broken ]; then exit 1; fi\n{TOOL}"));
    fs::write(scene.path("journal"), format!("{}bad\n", entry(1, 1))).unwrap();
    assert_eq!(scene.feed(10).lost, 1);
    fs::write(scene.path("broken"), "").unwrap();
    assert_eq!(scene.feed(10).lost, 0);
    fs::remove_file(scene.path("broken")).unwrap();
    assert_eq!(scene.feed(10).lost, 0);
}

#[test]
fn lines_that_are_no_entries_are_lost_once_before_there_is_an_entry() {
    let mut scene = Scene::new(TOOL);
    fs::write(scene.path("journal"), "bad\n").unwrap();
    assert_eq!([scene.feed(10).lost, scene.feed(10).lost], [1, 0]);
    fs::write(scene.path("journal"), format!("bad\nbad\n{}", entry(1, 1))).unwrap();
    assert_eq!([scene.feed(10).lost, scene.feed(10).lost], [1, 0]);
}

#[test]
fn a_tool_that_says_nothing_but_what_is_no_entry_is_not_asked_again_at_once() {
    let mut scene = Scene::new("while echo nonsense; do :; done");
    scene.journald.limit = Duration::from_millis(300);
    let feed = scene.feed_from(cursor(1));
    assert!(feed.lost > 0 && !feed.more, "{} lost, more {}", feed.lost, feed.more);
}

#[test]
fn a_tool_that_never_stops_is_ended_once_there_is_enough() {
    let mut scene = Scene::new("while :; do cat journal; done");
    scene.journal(1..4);
    let feed = scene.feed(5);
    assert_eq!((messages(&feed).len(), feed.more), (5, true));
    let feed = scene.feed(usize::MAX);
    assert_eq!((messages(&feed).len(), feed.more), (ENTRIES_MAX, true));
}

#[test]
fn a_tool_that_hangs_is_ended_with_all_that_it_began() {
    let mut scene = Scene::new("sleep 600 & echo $! > child; cat journal; wait");
    scene.journal(1..3);
    scene.journald.limit = Duration::from_secs(2);
    let begun = Instant::now();
    let feed = scene.feed(10);
    assert!(begun.elapsed() < Duration::from_secs(300));
    assert_eq!((messages(&feed), feed.marks), (vec!["1".into(), "2".into()], mark(2)));
    assert_eq!(feed.troubles, [LATE]);
    let stat = format!("/proc/{}/stat", scene.text("child").trim());
    // Whoever inherits it may not have asked for its end yet.
    let is_over = || {
        fs::read_to_string(&stat).is_err()
            || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z"))
    };
    while !is_over() {
        assert!(begun.elapsed() < Duration::from_secs(300), "it lives on");
        std::thread::yield_now();
    }
}

#[test]
fn a_message_that_takes_the_tool_too_long_or_too_much_is_left_out_and_the_later_ones_are_read() {
    for ending in ["sleep 1000", "exit 1", "kill -9 $$"] {
        let mut scene = Scene::new(&format!(
            "case \"$*\" in *--all*--cursor=c=2*) grep c=2 journal; {ending};; esac\n{TOOL}"
        ));
        scene.journald.limit = Duration::from_secs(1);
        scene.journal(1..3);
        assert_eq!(messages(&scene.feed(10)), ["1", "2"], "{ending}");
        let long = entry(3, 1).replace("\"MESSAGE\":\"3\"", "\"MESSAGE\":null");
        let lines = [entry(2, 1), long, entry(4, 1)].concat();
        fs::write(scene.path("journal"), lines).unwrap();
        let feed = scene.feed(10);
        assert_eq!((messages(&feed), feed.lost, feed.troubles.len()), (vec![], 0, 1), "{ending}");
        let feed = scene.feed(10);
        assert_eq!((messages(&feed), feed.lost), (vec!["4".to_owned()], 1), "{ending}");
        assert!(feed.troubles[0].starts_with("1 messages of the journal were left out"));
        assert_eq!((scene.feed(10).troubles.len(), scene.text("told").lines().count()), (0, 3));
        assert!(scene.text("told").lines().last().unwrap().contains("--all"), "{ending}");
    }
}

#[test]
fn a_tool_is_held_to_its_memory() {
    // It is held to it once it has begun.
    let mut scene = Scene::new("until [ \"$(ulimit -d)\" = 262144 ]; do :; done");
    assert_eq!(scene.feed(10).troubles, Vec::<String>::new());
}

#[test]
fn a_tool_that_closes_its_streams_and_hangs_is_ended_too() {
    let mut scene = Scene::new("cat journal; exec >&- 2>&-; exec sleep 600");
    scene.journal(1..2);
    scene.journald.limit = Duration::from_secs(2);
    let feed = scene.feed(10);
    assert_eq!((messages(&feed), feed.troubles), (vec!["1".into()], vec![LATE.to_owned()]));
}

#[test]
fn a_tool_that_complains_without_end_is_heard_for_a_while() {
    let mut scene = Scene::new("head -c 1000000 /dev/zero | tr '\\0' x >&2; cat journal");
    scene.journal(1..2);
    let feed = scene.feed(10);
    assert_eq!(messages(&feed), ["1"]);
    assert!(feed.troubles[0].len() < 5000 && feed.troubles[0].contains("xxx"));
}

#[test]
fn a_missing_tool_is_missing_until_it_is_found_and_looked_for_again_after_five_minutes() {
    let mut scene = Scene::new(TOOL);
    scene.journal(1..2);
    let there = std::mem::replace(&mut scene.journald.program, "/nowhere/journalctl".into());
    assert_eq!(scene.feed(10).troubles, [MISSING]);
    assert_eq!(scene.feed(10).troubles, [MISSING]);
    assert_eq!(scene.feed(0).troubles, [MISSING]);
    scene.now = scene.now.after(AGAIN);
    assert_eq!(scene.feed(10).troubles, [MISSING]);
    scene.journald.program = there;
    assert_eq!(messages(&scene.feed(10)), Vec::<String>::new());
    assert_eq!(scene.feed(10).troubles, [MISSING]);
    scene.now = scene.now.after(AGAIN);
    assert_eq!(messages(&scene.feed(10)), ["1"]);
    assert_eq!(scene.feed(0), feed(Source::Journald, Records::Lines(Vec::new())));
}

#[test]
fn the_tool_has_a_group_of_its_own_and_an_environment_that_is_empty_but_for_the_way() {
    let mut scene = Scene::new(
        "env > environment; cut -d ' ' -f 5 /proc/$$/stat > group; echo $$ > own; cat > input",
    );
    scene.feed(10);
    let environment = scene.text("environment");
    let known = ["PATH=", "LANG=C", "PWD=", "OLDPWD=", "SHLVL=", "_="];
    assert!(
        environment.lines().all(|line| known.iter().any(|known| line.starts_with(known))),
        "{environment}"
    );
    assert_eq!(scene.text("group"), scene.text("own"));
    assert_eq!(scene.text("input"), "");
}
