//! Whatever happens to followed files, no line is lost or told twice.

use proptest::prelude::*;

use super::*;

/// What may happen to a log.
#[derive(Clone, Debug)]
enum Happens {
    Append(usize),
    /// A line in two pieces.
    Begin,
    /// As logrotate does it: each file has the next number, and a new one is made later or at once.
    Rotate {
        create: bool,
    },
    Round {
        room: usize,
    },
    Restart,
    Pass,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (1..40_usize).prop_map(Happens::Append),
        1 => Just(Happens::Begin),
        2 => any::<bool>().prop_map(|create| Happens::Rotate { create }),
        4 => prop_oneof![0..3_usize, 0..60_usize].prop_map(|room| Happens::Round { room }),
        1 => Just(Happens::Restart),
        1 => Just(Happens::Pass),
    ]
}

proptest! {
    #![proptest_config(seeds("files"))]

    #[test]
    fn every_line_is_read_once_whatever_happens_to_the_log(
        happened in proptest::collection::vec(happens(), 1..40),
    ) {
        let patterns = ["a.log*"];
        let mut scene = Scene::new(&patterns);
        let (mut written, mut read, mut number) = (0_usize, Vec::new(), 0);
        for what in happened {
            match what {
                Happens::Append(count) => {
                    let lines: String = (written..written + count).map(|at| format!("{at}\n")).collect();
                    scene.append("a.log", lines);
                    written += count;
                }
                Happens::Begin => {
                    let line = format!("{written}\n");
                    scene.append("a.log", &line[..1]);
                    read.extend(messages(&scene.feed(3)));
                    scene.append("a.log", &line[1..]);
                    written += 1;
                }
                Happens::Rotate { create } => {
                    if scene.path("a.log").exists() {
                        for at in (1..=number).rev() {
                            scene.rename(&format!("a.log.{at}"), &format!("a.log.{}", at + 1));
                        }
                        scene.rename("a.log", "a.log.1");
                        number += 1;
                    }
                    if create {
                        scene.append("a.log", "");
                    }
                }
                Happens::Round { room } => read.extend(messages(&scene.feed(room))),
                Happens::Restart => scene.restart(&patterns),
                Happens::Pass => scene.pass(PATIENCE),
            }
        }
        loop {
            let feed = scene.feed(ROOM);
            read.extend(messages(&feed));
            if !feed.more {
                break;
            }
        }
        read.extend(messages(&scene.feed(ROOM)));
        let mut read: Vec<usize> = read.iter().map(|line| line.parse().unwrap()).collect();
        read.sort_unstable();
        prop_assert_eq!(read, (0..written).collect::<Vec<_>>());
    }
}

/// Keeps the seeds of failures at the top, as the properties of the core do.
fn seeds(machine: &str) -> ProptestConfig {
    use proptest::test_runner::FileFailurePersistence::Direct;
    let path = format!("{}/../proptest-regressions/{machine}.txt", env!("CARGO_MANIFEST_DIR"));
    let persistence = Direct(Box::leak(path.into_boxed_str()));
    ProptestConfig { failure_persistence: Some(Box::new(persistence)), ..ProptestConfig::default() }
}
