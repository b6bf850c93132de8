//! Which names a hook can have, and which files and folders are trusted: every row.

use std::time::Duration;

use meshward_core::{
    agent::{
        FileKind, Held,
        hooks::{
            NAME_MAX, Named, SETTLE, is_legal, is_settled, named,
            trust::{Distrust, folder, is_executable, link, on_the_way, program, sidecar},
        },
    },
    time::Wall,
};
use proptest::prelude::*;

use crate::{bench::start, support::seeds_in};

const fn held(kind: FileKind, owner: u32, mode: u32) -> Held {
    Held { kind, owner, mode, changed: Wall::from_origin(Duration::ZERO) }
}

#[test]
fn only_roots_files_that_nobody_else_can_change_are_hooks() {
    let rows = [
        (0, 0o755, Ok(())),
        (0, 0o700, Ok(())),
        (0, 0o111, Ok(())),
        (0, 0o4755, Ok(())),
        (0, 0o1755, Ok(())),
        (0, 0o644, Err(Distrust::NotExecutable)),
        (0, 0o775, Err(Distrust::Writable)),
        (0, 0o757, Err(Distrust::Writable)),
        (0, 0o1777, Err(Distrust::Writable)),
        (1000, 0o755, Err(Distrust::Owner(1000))),
        (1000, 0o777, Err(Distrust::Owner(1000))),
        (65_534, 0o755, Err(Distrust::Owner(65_534))),
    ];
    for (owner, mode, expected) in rows {
        assert_eq!(program(&held(FileKind::Regular, owner, mode)), expected, "{owner} {mode:o}");
    }
    for kind in [FileKind::Folder, FileKind::Link, FileKind::Other] {
        assert_eq!(program(&held(kind, 0, 0o755)), Err(Distrust::NotRegular));
        assert!(!is_executable(&held(kind, 0, 0o755)));
    }
}

#[test]
fn a_sidecar_needs_no_exec_bit_and_is_trusted_like_its_hook() {
    assert_eq!(sidecar(&held(FileKind::Regular, 0, 0o644)), Ok(()));
    assert_eq!(sidecar(&held(FileKind::Regular, 0, 0o664)), Err(Distrust::Writable));
    assert_eq!(sidecar(&held(FileKind::Regular, 7, 0o644)), Err(Distrust::Owner(7)));
    assert_eq!(sidecar(&held(FileKind::Other, 0, 0o644)), Err(Distrust::NotRegular));
}

#[test]
fn a_sticky_folder_of_root_is_passed_and_is_no_hooks_directory() {
    let rows = [
        (FileKind::Folder, 0, 0o755, Ok(()), Ok(())),
        (FileKind::Folder, 0, 0o1777, Ok(()), Err(Distrust::Writable)),
        (FileKind::Folder, 0, 0o1775, Ok(()), Err(Distrust::Writable)),
        (FileKind::Folder, 0, 0o777, Err(Distrust::Writable), Err(Distrust::Writable)),
        (FileKind::Folder, 0, 0o770, Err(Distrust::Writable), Err(Distrust::Writable)),
        (FileKind::Folder, 5, 0o755, Err(Distrust::Owner(5)), Err(Distrust::Owner(5))),
        (FileKind::Folder, 5, 0o1777, Err(Distrust::Owner(5)), Err(Distrust::Owner(5))),
        (FileKind::Regular, 0, 0o755, Err(Distrust::NotAFolder), Err(Distrust::NotAFolder)),
        (FileKind::Link, 0, 0o777, Err(Distrust::NotAFolder), Err(Distrust::NotAFolder)),
        (FileKind::Other, 0, 0o755, Err(Distrust::NotAFolder), Err(Distrust::NotAFolder)),
    ];
    for (kind, owner, mode, passes, holds) in rows {
        let held = held(kind, owner, mode);
        assert_eq!((on_the_way(&held), folder(&held)), (passes, holds), "{held:?}");
    }
    assert_eq!(link(&held(FileKind::Link, 0, 0o777)), Ok(()));
    assert_eq!(link(&held(FileKind::Link, 5, 0o777)), Err(Distrust::Owner(5)));
}

#[test]
fn a_file_is_settled_once_it_was_left_alone_for_a_while_or_comes_from_the_future() {
    let now = start().wall;
    let changed = |ago: Duration| {
        let before = Wall::from_origin(now.since_origin() - ago);
        Held { changed: before, ..held(FileKind::Regular, 0, 0o755) }
    };
    let instant = Duration::from_nanos(1);
    assert!(!is_settled(&changed(Duration::ZERO), now));
    assert!(!is_settled(&changed(SETTLE - instant), now));
    assert!(is_settled(&changed(SETTLE), now));
    let ahead = Held { changed: now.after(instant), ..changed(SETTLE) };
    assert!(is_settled(&ahead, now));
}

#[test]
fn a_name_is_a_hooks_or_nobodys_or_wrong() {
    let longest = "x".repeat(NAME_MAX);
    let hooks = ["deploy", "deploy.sh", "-n", "a b", "ünlaut", "a=b", "$(x)", "json", &longest];
    for name in hooks {
        assert_eq!(named(name.as_bytes()), Named::Hook(name));
        assert!(is_legal(name), "{name}");
    }
    for name in [".hidden", ".", "..", "deploy.sh.json", ".json", "..json"] {
        assert_eq!(named(name.as_bytes()), Named::Other, "{name}");
        assert!(!is_legal(name), "{name}");
    }
    let long = "x".repeat(NAME_MAX + 1);
    let wrong =
        ["", "a/b", "a\\b", "a..b", "a\nb", "a\0b", "a\u{1b}b", "a\u{202e}b", "a\u{85}b", &long];
    for name in wrong {
        assert_eq!(named(name.as_bytes()), Named::Misnamed, "{name:?}");
        assert!(!is_legal(name), "{name:?}");
    }
    assert_eq!(named(b"a\xffb"), Named::Misnamed);
}

proptest! {
    #![proptest_config(seeds_in("hooks"))]

    #[test]
    fn a_legal_name_stays_in_its_folder_and_its_sidecar_fits_the_disk(
        name in "[a-z./\\\\\u{0}-\u{1f}ü]{0,12}"
    ) {
        prop_assert_eq!(is_legal(&name), named(name.as_bytes()) == Named::Hook(&name));
        if is_legal(&name) {
            let path = std::path::Path::new("/hooks").join(&name);
            prop_assert_eq!(path.parent(), Some(std::path::Path::new("/hooks")));
            prop_assert!(name.len() + ".json".len() <= 255);
        }
    }
}
