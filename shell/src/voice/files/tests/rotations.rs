//! Files that are renamed, emptied, removed and replaced while they are read, and while nobody reads.

use super::*;

/// The places of what is held and not taken are not kept: only that a file is read from its beginning.
#[test]
fn a_file_of_which_no_line_was_taken_is_found_again_behind_a_rotation() {
    for before in ["", "taken\n"] {
        let mut scene = Scene::new(&["a.log"]);
        if !before.is_empty() {
            scene.append("a.log", before);
            assert_eq!(scene.round().len(), 1);
            scene.rename("a.log", "a.log.1");
            assert_eq!(scene.round(), nothing());
        }
        scene.append("a.log", "held\n");
        let told = scene.once(ROOM);
        assert!(told.more && told.records.is_empty());
        let kept = scene.kept.clone();
        assert_eq!(scene.round(), ["held"]);
        scene.kept = kept;
        scene.rename("a.log", "a.log.1");
        scene.append("a.log", "new\n");
        scene.restart(&["a.log"]);
        assert_eq!(scene.round(), ["held", "new"]);
    }
}

#[test]
fn lines_written_before_a_rename_are_read_before_those_of_the_new_file() {
    let mut scene = Scene::new(&["a.log"]);
    scene.append("a.log", "one\n");
    assert_eq!(scene.round(), ["one"]);
    scene.append("a.log", "two\n");
    scene.rename("a.log", "a.log.1");
    scene.append("a.log", "four\n");
    scene.append("a.log.1", "three\n");
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed), ["two", "three", "four"]);
    assert_eq!(names(&feed), ["a.log"; 3]);
    assert_eq!(scene.offsets(), BTreeMap::from([("a.log".into(), 5)]));
    // The writer has not noticed yet.
    scene.append("a.log.1", "late\n");
    assert_eq!(scene.round(), ["late"]);
    scene.pass(PATIENCE);
    assert_eq!(scene.round(), nothing());
    scene.append("a.log.1", "nobody reads this\n");
    assert_eq!(scene.round(), nothing());
}

#[test]
fn a_file_that_was_renamed_while_the_agent_was_away_is_read_to_its_end_first() {
    for pattern in ["a.log", "a*"] {
        let mut scene = Scene::new(&[pattern]);
        scene.append("a.log", "one\n");
        assert_eq!(scene.round(), ["one"]);
        scene.append("a.log", "two\n");
        scene.rename("a.log", "a-1.log");
        scene.append("a.log", "three\n");
        scene.restart(&[pattern]);
        assert_eq!(scene.round(), ["two", "three"], "{pattern}");
        scene.restart(&[pattern]);
        assert_eq!(scene.round(), nothing(), "{pattern}");
    }
}

/// Found by an attacker: while there was no room, as in an outage, only the oldest file and the newest were found again.
#[test]
fn files_that_were_rotated_while_there_was_no_room_are_all_read_by_another_process() {
    let mut scene = Scene::new(&["log"]);
    scene.append("log", "0\n");
    scene.once(0);
    for nth in 1..=3 {
        for before in (1..nth).rev() {
            scene.rename(&format!("log.{before}"), &format!("log.{}", before + 1));
        }
        scene.rename("log", "log.1");
        scene.append("log", format!("{nth}\n"));
        scene.once(0);
    }
    assert_eq!(scene.kept.places.len(), 4);
    scene.restart(&["log"]);
    assert_eq!(scene.round(), ["0", "1", "2", "3"]);
    scene.append("log", "4\n");
    scene.restart(&["log"]);
    assert_eq!(scene.round(), ["4"], "nothing is read twice");
    scene.pass(Duration::from_secs(3600));
    scene.round();
    assert_eq!(scene.kept.places.len(), 1, "those that were read are kept no longer");
}

/// Found by an attacker: files that fit into memory were read at once, and the names of their places given to the next ones
/// while nothing of them was taken yet.
#[test]
fn no_place_has_the_name_of_one_that_is_not_done_with() {
    let mut scene = Scene::new(&["log"]);
    let mut names = std::collections::BTreeSet::new();
    for nth in 0..4 {
        scene.append("log", format!("{nth}\n"));
        let feed = scene.feed(ROOM);
        let begun = feed.marks.iter().filter(|(_, place)| place.is_some());
        names.extend(begun.map(|(name, _)| name.clone()));
        assert_eq!(messages(&feed), [nth.to_string()]);
        for before in (1..=nth).rev() {
            scene.rename(&format!("log.{before}"), &format!("log.{}", before + 1));
        }
        scene.rename("log", "log.1");
        scene.append("log", "");
        scene.round();
    }
    assert_eq!(names.len(), 4, "{names:?}");
}

#[test]
fn a_file_that_is_copied_and_emptied_goes_on_from_its_start() {
    let mut scene = Scene::new(&["a.log"]);
    scene.append("a.log", "one\ntwo\n");
    assert_eq!(scene.round(), ["one", "two"]);
    fs::copy(scene.path("a.log"), scene.path("a.log.1")).unwrap();
    File::create(scene.path("a.log")).unwrap();
    scene.append("a.log", "three\n");
    assert_eq!(scene.round(), ["three"]);
    // Longer than it was, but another start.
    fs::write(scene.path("a.log"), "a longer line than the one before\n").unwrap();
    assert_eq!(scene.round(), ["a longer line than the one before"]);
    fs::write(scene.path("a.log"), "").unwrap();
    assert_eq!(scene.round(), nothing());
    assert_eq!(scene.offsets()["a.log"], 0);
}

#[test]
fn an_inode_that_was_given_to_another_file_does_not_hide_it() {
    let mut scene = Scene::new(&["a"]);
    scene.append("a", "one\n");
    assert_eq!(scene.round(), ["one"]);
    for position in scene.kept.places.values_mut() {
        let Position::Offset { head, .. } = position else { panic!("{position:?}") };
        *head ^= 1;
    }
    scene.restart(&["a"]);
    assert_eq!(scene.round(), ["one"], "it is another file for all that is known");
}

/// Whether all of it was read, nobody can say any more.
#[test]
fn a_file_that_went_while_the_agent_was_away_is_told_once() {
    let mut scene = Scene::new(&["a*"]);
    scene.append("a", "one\n");
    scene.append("ab", "two\n");
    assert_eq!(scene.round(), ["one", "two"]);
    scene.append("b", "another file\n");
    scene.rename("b", "a");
    fs::remove_file(scene.path("ab")).unwrap();
    scene.restart(&["a*"]);
    let told = scene.once(ROOM).troubles;
    let expected = format!(
        "{}: it and 1 more were read before, and are found no more: what was written since, if anything, was not sent",
        scene.path("a").display()
    );
    assert_eq!(told, [expected]);
    assert_eq!(scene.round(), ["another file"]);
    scene.restart(&["a*"]);
    assert_eq!(scene.round(), nothing());
}

#[test]
fn what_is_written_to_a_removed_file_is_read_and_its_place_is_forgotten_in_the_end() {
    let mut scene = Scene::new(&["a"]);
    scene.append("a", "one\n");
    let mut writer = OpenOptions::new().append(true).open(scene.path("a")).unwrap();
    assert_eq!(scene.round(), ["one"]);
    fs::remove_file(scene.path("a")).unwrap();
    writer.write_all(b"two\nthe last").unwrap();
    assert_eq!(scene.round(), ["two"]);
    scene.pass(PATIENCE / 2);
    writer.write_all(b" line").unwrap();
    assert_eq!(scene.round(), nothing());
    scene.pass(PATIENCE / 2);
    assert_eq!(scene.round(), nothing(), "it grew meanwhile");
    scene.pass(PATIENCE / 2);
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed), ["the last line"]);
    assert_eq!(feed.marks, [(format!("file:{}", scene.path("a").display()), None)]);
    assert_eq!(scene.offsets(), BTreeMap::new());
}
