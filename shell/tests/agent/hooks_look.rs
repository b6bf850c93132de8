//! What a look at a real hooks directory tells: which files are hooks, and which are trusted.

use std::{fs, os::unix::net::UnixListener, path::Path, process::Command};

use meshward_core::{
    agent::{
        Acted, Content, FoundProgram, FoundSidecar, Input, Sight,
        hooks::{ENTRIES_MAX, HOOK_MAX, trust::Distrust},
    },
    wire::hook::SIDECAR_MAX,
};
use tokio::time::timeout;

use crate::{
    hooks_place::{GOOD, Place, chmod, chown, raw, whole},
    node::PATIENCE,
};

#[test]
fn hooks_are_the_executable_files_and_nothing_else_is_told() {
    let Some(place) = Place::new() else { return };
    place.hook("b", GOOD);
    place.hook("a.sh", "x");
    place.put("owner-only", GOOD, 0o100);
    place.put("README", "text", 0o644);
    place.put("a.sh.json", "{}", 0o755);
    place.hook(".hidden", GOOD);
    fs::create_dir(place.file("folder")).unwrap();
    let _socket = UnixListener::bind(place.file("socket")).unwrap();
    let pipe = Command::new("mkfifo").args(["-m", "755"]).arg(place.file("pipe")).status();
    assert!(pipe.unwrap().success());
    place.link("to-folder", "folder");
    place.link("to-pipe", "pipe");
    place.link("to-nowhere", "nowhere");
    let found = place.files();
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a.sh", "b", "owner-only"]);
    assert_eq!(found[1], whole("b", GOOD));
}

#[test]
fn what_stands_beside_a_hook_comes_along_and_is_trusted_like_it() {
    let Some(place) = Place::new() else { return };
    for name in ["a", "b", "c", "d", "e"] {
        place.hook(name, GOOD);
    }
    place.put("a.json", "{}", 0o644);
    place.put("b.json", "{}", 0o664);
    place.put("c.json", vec![b' '; SIDECAR_MAX], 0o644);
    place.put("d.json", vec![b' '; SIDECAR_MAX + 1], 0o644);
    fs::create_dir(place.file("e.json")).unwrap();
    let sidecars: Vec<_> = place
        .files()
        .into_iter()
        .map(|(_, found)| match found {
            FoundProgram::Whole { sidecar, .. } => sidecar,
            other @ (FoundProgram::Unsettled
            | FoundProgram::Misnamed
            | FoundProgram::Distrusted(_)
            | FoundProgram::TooLarge
            | FoundProgram::Unreadable(_)) => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        FoundSidecar::Bytes(Content(b"{}".to_vec())),
        FoundSidecar::Distrusted(Distrust::Writable),
        FoundSidecar::Bytes(Content(vec![b' '; SIDECAR_MAX])),
        FoundSidecar::TooLarge,
        FoundSidecar::Distrusted(Distrust::NotRegular),
    ];
    assert_eq!(sidecars, expected);
}

#[test]
fn a_name_that_no_hook_can_have_is_told_where_the_file_is_executable() {
    let Some(place) = Place::new() else { return };
    for name in [&b"a\xffb"[..], b"a\nb", b"a..b", b"a\\b"] {
        place.put(raw(name), GOOD, 0o755);
    }
    place.put(raw(b"text\xff"), GOOD, 0o644);
    let found = place.files();
    assert!(found.iter().all(|(_, found)| *found == FoundProgram::Misnamed), "{found:?}");
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a\nb", "a..b", "a\\b", "a\u{fffd}b"]);
}

#[test]
fn files_of_others_or_that_others_can_change_are_no_hooks() {
    let Some(place) = Place::new() else { return };
    place.put("group", GOOD, 0o775);
    place.put("everybody", GOOD, 0o757);
    place.hook("of-another", GOOD);
    chown(&place.file("of-another"), 1234);
    place.hook("sound", GOOD);
    let judged = place.judged();
    let expected = [
        ("everybody", Err(Distrust::Writable)),
        ("group", Err(Distrust::Writable)),
        ("of-another", Err(Distrust::Owner(1234))),
        ("sound", Ok(())),
    ];
    assert_eq!(judged, expected.map(|(name, judged)| (name.to_owned(), judged)));
}

#[test]
fn a_link_is_followed_within_the_directory_and_no_further() {
    let Some(place) = Place::new() else { return };
    place.hook("real", GOOD);
    fs::create_dir_all(place.file("versions/1")).unwrap();
    place.hook("versions/1/deploy", GOOD);
    place.link("to-real", "real");
    place.link("to-link", "./to-real");
    place.link("below", "versions/1/deploy");
    place.link("around", "versions/../versions/./1/deploy");
    place.link("versions/current", "1");
    place.link("by-link", "versions/current/deploy");
    place.link("loop", "loop");
    place.link("up-and-down", "../hooks/real");
    place.link("absolute", place.file("real"));
    place.link("outside", place.path("outside"));
    place.link("of-another", "real");
    chown(&place.file("of-another"), 1234);
    let loops = (
        "loop".to_owned(),
        FoundProgram::Unreadable("Too many levels of symbolic links (os error 40)".into()),
    );
    let found = place.files();
    assert!(found.contains(&loops), "{found:?}");
    fs::remove_file(place.file("loop")).unwrap();
    let expected = [
        ("absolute", Err(Distrust::Leaves)),
        ("around", Ok(())),
        ("below", Ok(())),
        ("by-link", Ok(())),
        ("of-another", Err(Distrust::Owner(1234))),
        ("outside", Err(Distrust::Leaves)),
        ("real", Ok(())),
        ("to-link", Ok(())),
        ("to-real", Ok(())),
        ("up-and-down", Err(Distrust::Leaves)),
    ];
    assert_eq!(place.judged(), expected.map(|(name, judged)| (name.to_owned(), judged)));
    chmod(&place.file("versions"), 0o777);
    let judged = place.judged();
    assert!(judged.contains(&("below".to_owned(), Err(Distrust::Writable))), "{judged:?}");
    assert!(judged.contains(&("to-real".to_owned(), Ok(()))), "{judged:?}");
}

#[test]
fn no_hook_is_seen_in_a_directory_that_others_can_change_or_reach_by_such_a_one() {
    let Some(place) = Place::new() else { return };
    place.hook("a", GOOD);
    let distrusted = |path: &Path, why| Sight::Distrusted { path: path.display().to_string(), why };
    let (home, hooks) = (place.path(""), place.hooks.path().to_owned());
    let home = home.components().as_path().to_owned();
    for (path, mode, why) in [
        (&hooks, 0o775, Some(Distrust::Writable)),
        (&hooks, 0o1777, Some(Distrust::Writable)),
        (&home, 0o770, Some(Distrust::Writable)),
        (&home, 0o1777, None),
        (&home, 0o711, None),
    ] {
        chmod(path, mode);
        match why {
            Some(why) => assert_eq!(place.settled(), distrusted(path, why), "{mode:o}"),
            None => assert_eq!(place.judged().len(), 1, "{mode:o}"),
        }
        chmod(path, 0o755);
    }
    for path in [&hooks, &home] {
        chown(path, 1234);
        assert_eq!(place.settled(), distrusted(path, Distrust::Owner(1234)));
        chown(path, 0);
    }
    assert_eq!(place.judged().len(), 1);
}

#[test]
fn the_directory_may_be_reached_by_a_link_of_root_and_by_no_others() {
    let Some(place) = Place::new() else { return };
    place.hook("a", GOOD);
    let real = place.path("real");
    fs::rename(place.hooks.path(), &real).unwrap();
    let link = place.hooks.path().to_owned();
    for target in [
        Path::new("real"),
        Path::new("../../../../../../..").join(real.strip_prefix("/").unwrap()).as_path(),
        &real,
    ] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        assert_eq!(place.judged().len(), 1, "{}", target.display());
        fs::remove_file(&link).unwrap();
    }
    std::os::unix::fs::symlink("real", &link).unwrap();
    chown(&link, 1234);
    let path = link.display().to_string();
    assert_eq!(place.settled(), Sight::Distrusted { path, why: Distrust::Owner(1234) });
}

#[test]
fn a_directory_that_is_none_or_not_there_has_no_hooks() {
    let Some(place) = Place::new() else { return };
    fs::remove_dir(place.hooks.path()).unwrap();
    assert_eq!(place.settled(), Sight::Absent);
    fs::write(place.hooks.path(), "").unwrap();
    let path = place.hooks.path().display().to_string();
    assert_eq!(place.settled(), Sight::Failed(format!("{path}: Not a directory (os error 20)")));
}

#[test]
fn a_hook_is_as_long_as_allowed_and_no_longer() {
    let Some(place) = Place::new() else { return };
    for (name, more) in [("longest", 0), ("too-long", 1)] {
        place.hook(name, "");
        let file = fs::File::options().write(true).open(place.file(name)).unwrap();
        file.set_len(u64::try_from(HOOK_MAX).unwrap() + more).unwrap();
    }
    let found = place.files();
    assert!(matches!(found[0].1, FoundProgram::Whole { .. }), "{found:?}");
    assert_eq!(found[1].1, FoundProgram::TooLarge);
    let refused = place.take("too-long").unwrap_err();
    assert_eq!(refused, "integrity verification error: too-long: it is longer than 33554432 bytes");
}

#[test]
fn a_directory_with_more_files_than_are_looked_at_is_told() {
    let Some(place) = Place::new() else { return };
    for at in 0..=ENTRIES_MAX {
        fs::write(place.file(format!("{at}")), "").unwrap();
    }
    assert_eq!(place.settled(), Sight::Found { files: Vec::new(), crowded: true });
}

#[test]
fn a_file_that_was_written_a_moment_ago_is_not_counted_yet() {
    let Some(place) = Place::new() else { return };
    place.hook("a", GOOD);
    place.files();
    // A slow machine may look too late once, but not each time.
    let seen = |_| {
        place.hook("a", GOOD);
        let Sight::Found { files, .. } = place.look().0.sight else {
            panic!("it can be looked at")
        };
        files[0].found == FoundProgram::Unsettled
    };
    assert!((0..100).any(seen));
}

/// What can happen in the hooks directory and around it.
const CHANGES: [(&str, fn(&Place)); 12] = [
    ("a hook comes", |place| place.hook("new", GOOD)),
    ("its content changes", |place| place.put("a", "x", 0o755)),
    ("its mode changes", |place| chmod(&place.file("a"), 0o700)),
    ("it goes", |place| fs::remove_file(place.file("a")).unwrap()),
    ("it is renamed", |place| fs::rename(place.file("a"), place.file("b")).unwrap()),
    ("it is replaced", |place| {
        fs::write(place.path("other"), "x").unwrap();
        fs::rename(place.path("other"), place.file("a")).unwrap();
    }),
    ("what a link leads to changes", |place| place.put("sub/c", "x", 0o755)),
    ("the mode of the directory changes", |place| chmod(place.hooks.path(), 0o777)),
    ("the mode of its parent changes", |place| chmod(&place.path(""), 0o777)),
    ("the directory goes", |place| fs::remove_dir_all(place.hooks.path()).unwrap()),
    ("the directory is renamed", |place| {
        fs::rename(place.hooks.path(), place.path("away")).unwrap();
    }),
    ("the directory is replaced", |place| {
        fs::create_dir(place.path("next")).unwrap();
        let (next, hooks) = (place.path("next"), place.hooks.path());
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        let cwd = rustix::fs::CWD;
        rustix::fs::renameat_with(cwd, &next, cwd, hooks, flags).unwrap();
    }),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn every_change_in_the_directory_and_on_the_way_to_it_is_told() {
    for (what, change) in CHANGES {
        let Some(place) = Place::new() else { return };
        place.hook("a", GOOD);
        fs::create_dir(place.file("sub")).unwrap();
        place.hook("sub/c", GOOD);
        place.link("c", "sub/c");
        place.files();
        let (scan, _watch, mut told) = place.look();
        assert_eq!(scan.watched, Ok(()));
        change(&place);
        let fact = timeout(PATIENCE, told.recv()).await.expect(what);
        assert_eq!(fact, Some(Input::Acted(Acted::Stirred)), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_directory_that_is_made_later_is_told_and_what_happens_beside_it_is_not() {
    let Some(place) = Place::new() else { return };
    fs::remove_dir(place.hooks.path()).unwrap();
    let (scan, watch, mut told) = place.look();
    assert_eq!((scan.sight, scan.watched), (Sight::Absent, Ok(())));
    fs::write(place.path("beside"), "x").unwrap();
    fs::create_dir(place.path("hooks-of-another")).unwrap();
    drop(watch);
    assert_eq!(timeout(PATIENCE, told.recv()).await.expect("the watch ends"), None);
    let (_, _watch, mut told) = place.look();
    fs::create_dir(place.hooks.path()).unwrap();
    let fact = timeout(PATIENCE, told.recv()).await.expect("it is told");
    assert_eq!(fact, Some(Input::Acted(Acted::Stirred)));
}
