//! A hook is taken and run: what it is refused for, what it is given, and that it is never another.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use meshward_core::agent::{
    Captured, Cause, Ending, Program, Run, execution::environment::environment,
};
use meshward_shell::{
    actions::{self, Own, supervisor},
    hooks::HooksDir,
};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tokio::sync::oneshot;

use crate::hooks_place::{GOOD, Place, chmod, chown, digest};

const BAD: &str = "#!/bin/sh\necho bad\n";

async fn run(hooks: &HooksDir, name: &str, content: &str) -> Ending {
    supervisor::use_image(Path::new(env!("CARGO_BIN_EXE_meshward")));
    let parameters = BTreeMap::from([("a-b".to_owned(), "$(x) y\nz".to_owned())]);
    let environment = environment(&parameters, "node-1", "run-1").unwrap();
    let program = Program::Hook { name: name.to_owned(), digest: digest(content), environment };
    let order = Run { program, deadline: Duration::from_secs(60), max_output_bytes: 1 << 16 };
    // Nobody cancels it.
    let (_keep, cancelled) = oneshot::channel();
    actions::run(order, (&Own::default(), hooks.clone()), cancelled).await
}

fn printed(ending: &Ending) -> String {
    String::from_utf8(ending.stdout.bytes.clone()).unwrap()
}

#[test]
fn what_was_discovered_is_taken_whole() {
    let Some(place) = Place::new() else { return };
    place.hook("a", GOOD);
    place.link("b", "a");
    assert_eq!(place.take("a"), Ok(GOOD.into()));
    assert_eq!(place.take("b"), Ok(GOOD.into()));
}

#[test]
fn everything_else_is_refused_in_the_words_of_its_row() {
    let Some(place) = Place::new() else { return };
    place.hook("changed", BAD);
    place.hook("of-another", GOOD);
    chown(&place.file("of-another"), 1234);
    place.put("writable", GOOD, 0o775);
    place.put("text", GOOD, 0o644);
    place.link("outside", place.path("outside"));
    place.link("dangling", "gone");
    fs::create_dir(place.file("folder")).unwrap();
    let pipe = Command::new("mkfifo").args(["-m", "755"]).arg(place.file("pipe")).status();
    assert!(pipe.unwrap().success());
    let path = |name: &str| {
        format!("integrity verification error: {name}: {}: ", place.file(name).display())
    };
    let rows = [
        ("../hooks/a", "invalid hook name: ../hooks/a".to_owned()),
        ("a\\b", "invalid hook name: a\\b".to_owned()),
        ("", "invalid hook name: ".to_owned()),
        (".hidden", "invalid hook name: .hidden".to_owned()),
        ("gone", "hook not found: gone".to_owned()),
        ("dangling", "hook not found: dangling".to_owned()),
        ("changed", "integrity check failed for hook: changed".to_owned()),
        ("outside", path("outside") + "it is a link that leaves the hooks directory"),
        ("folder", path("folder") + "it is no regular file"),
        ("pipe", path("pipe") + "it is no regular file"),
        (
            "of-another",
            "integrity verification error: of-another: it belongs to user 1234".to_owned(),
        ),
        ("writable", "integrity verification error: writable: its group or everybody".to_owned()),
        ("text", "integrity verification error: text: it cannot be executed".to_owned()),
    ];
    for (name, words) in rows {
        let refused = place.take(name).expect_err(name);
        assert!(refused.starts_with(&words), "{refused} instead of {words}");
    }
    chmod(place.hooks.path(), 0o777);
    let refused = place.take("changed").unwrap_err();
    let words = format!(
        "integrity verification error: changed: {}: its group or everybody can change it",
        place.hooks.path().display()
    );
    assert!(refused.starts_with(&words), "{refused}");
    fs::remove_dir_all(place.hooks.path()).unwrap();
    assert_eq!(place.take("changed"), Err("hook not found: changed".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_hook_is_given_its_environment_its_directory_and_nothing_else() {
    let Some(place) = Place::new() else { return };
    // It prints its own environment, as it was given, and then itself.
    let bare = "#!/bin/cat /proc/self/environ\n";
    place.hook("bare", bare);
    let ending = run(&place.hooks, "bare", bare).await;
    let told = printed(&ending);
    let expected = "AGENT_EXECUTION_ID=run-1\0AGENT_NODE_ID=node-1\0AGENT_PARAM_A_B=$(x) y\nz\0HOME=/\0\
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\0";
    assert_eq!(told.strip_suffix(bare), Some(expected), "{ending:?}");
    let script = "#!/bin/sh\npwd\numask\nreadlink /proc/self/fd/0\nexit 7\n";
    place.hook("script", script);
    let ending = run(&place.hooks, "script", script).await;
    let directory = place.hooks.path().display();
    assert_eq!(printed(&ending), format!("{directory}\n0022\n/dev/null\n"));
    assert_eq!(ending.cause, Cause::Exited(7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_changed_hook_does_not_run_and_the_run_says_why() {
    let Some(place) = Place::new() else { return };
    place.hook("a", BAD);
    let ending = run(&place.hooks, "a", GOOD).await;
    let cause = Cause::Changed { hook: "a".to_owned(), observed: digest(BAD) };
    let nothing = Captured::default();
    assert_eq!(ending, Ending { cause, stdout: nothing.clone(), stderr: nothing });
    place.hook("a", GOOD);
    let ending = run(&place.hooks, "a", GOOD).await;
    assert_eq!((ending.cause.clone(), printed(&ending).as_str()), (Cause::Exited(0), "good\n"));
}

/// How often a hook is taken while it is swapped.
const TAKES: usize = 10_000;

/// How many runs are begun while it is swapped, unless the environment says more.
const RUNS: usize = 100;

/// How often one of these may be refused in a row, on the whole.
const TRIES: usize = 100;

/// Swaps what stands under the name of a hook, by every way that there is, as fast as it goes.
fn swap(place: &Place, over: &AtomicBool) {
    let (name, other, outside) = (place.file("a"), place.file(".other"), place.path("outside"));
    let exchange = || renameat_with(CWD, &other, CWD, &name, RenameFlags::EXCHANGE).unwrap();
    while !over.load(Ordering::Relaxed) {
        // One file and the other.
        drop(fs::remove_file(&other));
        place.put(".other", BAD, 0o755);
        exchange();
        exchange();
        // A link to one and to the other.
        for target in [Path::new(".bad"), Path::new(".good"), &outside] {
            drop(fs::remove_file(&other));
            std::os::unix::fs::symlink(target, &other).unwrap();
            exchange();
        }
        // The same file with one content and the other.
        drop(fs::remove_file(&other));
        place.put(".other", GOOD, 0o755);
        exchange();
        place.put("a", BAD, 0o755);
        place.put("a", GOOD, 0o755);
    }
}

/// Lets something be done again and again while the hook `a` is swapped.
fn during_swaps(work: impl FnOnce(&Place)) {
    let Some(place) = Place::new() else { return };
    place.hook("a", GOOD);
    place.hook(".good", GOOD);
    place.hook(".bad", BAD);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&place, &over));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&place)));
        over.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        done.unwrap();
    });
}

#[test]
fn no_other_content_is_ever_taken_while_files_links_and_contents_are_swapped() {
    during_swaps(|place| {
        let mut refused: BTreeMap<String, usize> = BTreeMap::new();
        let mut taken = 0;
        for _ in 0..TAKES {
            match place.take("a") {
                Ok(bytes) => {
                    assert_eq!(bytes, GOOD.as_bytes());
                    taken += 1;
                }
                Err(why) => *refused.entry(why).or_default() += 1,
            }
        }
        assert!(taken > 0, "the hook was never there: {refused:?}");
        let changed = "integrity check failed for hook: a";
        assert!(refused.contains_key(changed), "the other was never there: {refused:?}");
    });
}

#[test]
fn no_other_program_ever_runs_while_files_links_and_contents_are_swapped() {
    let runs = std::env::var("MESHWARD_RACES").ok().and_then(|count| count.parse().ok());
    during_swaps(|place| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (mut ran, mut tries) = (0, 0);
        let runs = runs.unwrap_or(RUNS);
        while ran < runs {
            tries += 1;
            assert!(tries < runs * TRIES, "the hook is there too seldom: {ran} of {tries}");
            let ending = runtime.block_on(run(&place.hooks, "a", GOOD));
            match ending.cause {
                Cause::Exited(0) => {
                    assert_eq!(printed(&ending), "good\n");
                    ran += 1;
                }
                Cause::Broken(why) => {
                    assert!(why.contains("hook") || why.contains("integrity"), "{why}")
                }
                Cause::Changed { hook, .. } => assert_eq!(hook, "a"),
                cause @ (Cause::Exited(_)
                | Cause::Signalled(_)
                | Cause::TimedOut
                | Cause::Cancelled) => {
                    panic!("{cause:?}")
                }
            }
        }
    });
}
