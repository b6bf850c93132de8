//! Where property tests keep the seeds of their failures.

use proptest::test_runner::{Config, FileFailurePersistence};

/// Keeps the seeds of failures in the folder at the top, one file a machine.
pub(crate) fn seeds_in(machine: &str) -> Config {
    let root = env!("CARGO_MANIFEST_DIR");
    let path = format!("{root}/../proptest-regressions/{machine}.txt");
    let persistence = FileFailurePersistence::Direct(Box::leak(path.into_boxed_str()));
    Config { failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}
