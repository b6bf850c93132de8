//! What other users of the node may do to what is followed.

use super::*;

/// Only root can give a file to another user.
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        let told = b"passed over: only root can give a file away\n";
        std::io::stderr().write_all(told).unwrap();
    }
    root
}

const NOBODY: Option<u32> = Some(65_534);

#[test]
fn a_folder_that_another_user_has_swapped_for_a_link_leads_to_no_keys() {
    if !is_root() {
        return;
    }
    let mut scene = Scene::new(&["app/logs/*"]);
    for folder in ["app/logs", "keys"] {
        fs::create_dir_all(scene.path(folder)).unwrap();
    }
    scene.append("app/logs/a.log", "one\n");
    scene.append("keys/private_key", "canary\n");
    scene.append("keys/a.log", "canary\n");
    assert_eq!(scene.round(), ["one"]);
    scene.append("app/logs/a.log", "two\n");
    scene.rename("app/logs", "app/aside");
    symlink(scene.path("keys"), scene.path("app/logs")).unwrap();
    lchown(scene.path("app/logs"), NOBODY, NOBODY).unwrap();
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed), ["two"], "of the file that is held open still");
    assert!(feed.troubles[0].contains("a symbolic link of another user is on the way"));
    scene.restart(&["app/logs/*", "app/logs/a.log"]);
    scene.pass(PATIENCE);
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed), nothing());
    assert!(feed.troubles.iter().all(|text| text.contains("chown -h root")), "{feed:?}");
    lchown(scene.path("app/logs"), Some(0), Some(0)).unwrap();
    assert!(!messages(&scene.feed(ROOM)).is_empty(), "root may lead where it likes");
}

#[test]
fn the_keys_of_the_agent_and_what_the_kernel_shows_of_itself_are_never_read() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("data");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("private_key"), "canary\n").unwrap();
    symlink(&own, folder.path().join("way")).unwrap();
    let root = folder.path().to_str().unwrap();
    let files = |patterns: &[String]| {
        let files = Files::new(Patterns::new(patterns), "node".into()).keeping_out_of(&own);
        let now = Now { mono: Mono::default(), wall: Wall::from_origin(Duration::from_secs(1)) };
        { files }.round(&Wanted { room: ROOM, from: None, peers: Vec::new() }, now)
    };
    for (pattern, is_told) in [
        (format!("{root}/data/*"), true),
        (format!("{root}/way/private_key"), true),
        (format!("{root}/**"), false),
        ("/proc/self/environ".to_owned(), true),
        ("/proc/version".to_owned(), true),
        ("/sys/kernel/*".to_owned(), true),
    ] {
        let feed = files(std::slice::from_ref(&pattern));
        assert_eq!(messages(&feed), nothing(), "{pattern}");
        assert_eq!(feed.marks, [], "{pattern}");
        let told = feed.troubles.iter().any(|text| text.contains("it is the agent's own"));
        assert_eq!(told, is_told, "{pattern}: {:?}", feed.troubles);
    }
}

#[test]
fn files_without_end_of_one_user_hide_no_rotation_of_another_ones() {
    if !is_root() {
        return;
    }
    let mut scene = Scene::new(&["app/*", "auth/*"]);
    fs::create_dir(scene.path("app")).unwrap();
    fs::create_dir(scene.path("auth")).unwrap();
    scene.append("auth/log", "before\n");
    assert_eq!(scene.round(), ["before"]);
    for at in 0..=glob::FILES_MAX {
        let name = format!("app/{at:04}");
        scene.append(&name, "");
        chown(scene.path(&name), NOBODY, NOBODY).unwrap();
    }
    scene.feed(ROOM);
    scene.rename("auth/log", "auth/log.1");
    scene.append("auth/log", "behind\n");
    let feed = scene.feed(ROOM);
    assert_eq!(messages(&feed), ["behind"]);
    assert_eq!(feed.troubles.len(), 1, "{:?}", feed.troubles);
}

#[test]
fn a_file_that_is_rotated_while_there_is_no_room_for_its_name_is_left_in_time() {
    let mut scene = Scene::new(&["*"]);
    for at in 1..=glob::FILES_MAX {
        scene.append(&format!("{at:04}"), "x\n");
    }
    scene.feed(ROOM);
    // Its name is the first one, so that the last is left out of the walk.
    scene.append("0000", "");
    let last = format!("{:04}", glob::FILES_MAX);
    fs::remove_file(scene.path(&last)).unwrap();
    scene.append(&last, "y\n");
    // At once where it was given the number of the one before.
    let mut found = messages(&scene.feed(ROOM));
    scene.pass(PATIENCE);
    found.extend(messages(&scene.feed(ROOM)));
    fs::remove_file(scene.path("0000")).unwrap();
    found.extend(messages(&scene.feed(ROOM)));
    assert_eq!(found, ["y"]);
}
