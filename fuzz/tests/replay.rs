//! The committed corpus runs through its targets on stable, without a fuzzer.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use meshward_fuzz::TARGETS;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_corpus_file_passes_its_target() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let corpus = folder("corpus").join(target.name);
        let files = names(&corpus);
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        for file in files {
            let bytes = fs::read(corpus.join(&file)).unwrap();
            let run = std::panic::catch_unwind(|| (target.run)(&bytes));
            if run.is_err() {
                broken.push(format!("corpus/{}/{file}", target.name));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_target_has_a_binary_and_a_corpus_and_none_is_left_over() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let binaries: BTreeSet<String> = targets.iter().map(|target| format!("{target}.rs")).collect();
    assert_eq!(names(&folder("corpus")), targets);
    assert_eq!(names(&folder("fuzz_targets")), binaries);
    let manifest = fs::read_to_string(folder("Cargo.toml")).unwrap();
    for target in &targets {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} in Cargo.toml");
    }
}

#[test]
fn every_target_takes_the_empty_input_and_each_single_byte() {
    for target in TARGETS {
        (target.run)(&[]);
        for byte in 0..=u8::MAX {
            (target.run)(&[byte]);
        }
    }
}
