//! Patterns of paths: what they mean, what is none, and that no name makes them slow.

use meshward_core::wire::sources::pattern::{NotAPattern, PATTERN_MAX, Pattern, SEGMENTS_MAX};
use proptest::prelude::*;

use crate::support;

fn matches(pattern: &str, path: &str) -> bool {
    Pattern::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).matches(path)
}

#[test]
fn these_paths_are_meant_and_those_are_not() {
    let rows: [(&str, &[&str], &[&str]); 14] = [
        ("/a", &["/a"], &["/b", "/a/a", "a", "", "/", "/aa"]),
        (
            "/var/log/*.log",
            &["/var/log/a.log", "/var/log/.log", "/var/log/.a.log"],
            &["/var/log/a/b.log", "/var/log/a.log.1"],
        ),
        ("/var//log/a", &["/var/log/a", "/var//log/a"], &["/var/a"]),
        ("/l/a?c", &["/l/abc", "/l/aéc"], &["/l/ac", "/l/abbc"]),
        ("/l/[a-c0].x", &["/l/a.x", "/l/c.x", "/l/0.x"], &["/l/d.x", "/l/-.x", "/l/.x"]),
        ("/l/[!a-c]", &["/l/d", "/l/é"], &["/l/a", "/l/dd", "/l/"]),
        ("/l/[^a]", &["/l/b"], &["/l/a", "/l/^^"]),
        ("/l/[]a-]", &["/l/]", "/l/a", "/l/-"], &["/l/b"]),
        ("/l/\\*[\\]\\-]", &["/l/*]", "/l/*-"], &["/l/a]", "/l/*\\"]),
        ("/**/x", &["/x", "/a/x", "/a/b/x"], &["/a/b", "/ax"]),
        ("/a/**", &["/a/b", "/a/b/c"], &["/a", "/b/a"]),
        ("/a/**/**/b/*/c", &["/a/b/x/c", "/a/b/b/b/c", "/a/x/b/y/c"], &["/a/b/c", "/a/x/b/c"]),
        ("/a/x**y", &["/a/xy", "/a/x1y"], &["/a/x/y"]),
        ("/a*b*c", &["/abc", "/aXbXbXc", "/abcc"], &["/acb", "/abcd"]),
    ];
    for (pattern, meant, others) in rows {
        for path in meant {
            assert!(matches(pattern, path), "{pattern} means {path}");
        }
        for path in others {
            assert!(!matches(pattern, path), "{pattern} does not mean {path}");
        }
    }
}

#[test]
fn what_is_no_pattern_is_told_with_what_to_write_instead() {
    let deep = "/a".repeat(SEGMENTS_MAX + 1);
    let long = format!("/{}", "a".repeat(PATTERN_MAX));
    let rows = [
        ("", NotAPattern::NotAbsolute),
        ("a/*.log", NotAPattern::NotAbsolute),
        ("/", NotAPattern::NotAbsolute),
        ("/a/", NotAPattern::NotAbsolute),
        ("/a/../b", NotAPattern::NotAbsolute),
        ("/./b", NotAPattern::NotAbsolute),
        ("/a[", NotAPattern::Open),
        ("/a[]", NotAPattern::Open),
        ("/a[b-", NotAPattern::Open),
        ("/a[z-a]", NotAPattern::Backwards),
        ("/a\\", NotAPattern::Unfinished),
        ("/a[\\", NotAPattern::Unfinished),
        ("/a\0", NotAPattern::Long),
        (&deep, NotAPattern::Long),
        (&long, NotAPattern::Long),
    ];
    for (text, error) in rows {
        assert_eq!(Pattern::parse(text), Err(error), "{text}");
    }
    assert!(Pattern::parse(&deep[2..]).is_ok());
    assert!(NotAPattern::Long.to_string().contains(&PATTERN_MAX.to_string()));
    assert!(NotAPattern::Long.to_string().contains(&SEGMENTS_MAX.to_string()));
}

#[test]
fn a_folder_whose_names_are_all_given_need_not_be_listed() {
    let pattern = Pattern::parse("/var/*/x\\*/**/y").unwrap();
    let root = pattern.root();
    assert_eq!(pattern.only(root), Some("var"));
    let var = pattern.below(root, "var");
    assert_eq!(pattern.only(var), None);
    let any = pattern.below(var, "any");
    assert_eq!(pattern.only(any), Some("x*"));
    let folders = pattern.below(any, "x*");
    assert_eq!(pattern.only(folders), None);
    assert!(pattern.means(folders, "y") && !pattern.means(any, "y"));
    assert!(pattern.below(root, "usr").is_nowhere() && !folders.is_nowhere());
}

#[test]
fn a_pattern_of_many_stars_is_done_with_any_name() {
    let pattern = Pattern::parse(&format!("/{}b", "a*".repeat(1000))).unwrap();
    let path = format!("/{}", "a".repeat(4000));
    assert!(!pattern.matches(&path) && pattern.matches(&format!("{path}b")));
    let folders = Pattern::parse(&format!("{}/b", "/**/a".repeat(30))).unwrap();
    let path = "/a".repeat(2000);
    assert!(!folders.matches(&path) && folders.matches(&format!("{path}/b")));
}

/// The same meaning, tried out one choice after the other.
fn twin(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**"], path) => !path.is_empty(),
        (["**", rest @ ..], path) => (0..=path.len()).any(|skipped| twin(rest, &path[skipped..])),
        ([segment, rest @ ..], [name, names @ ..]) => {
            let (segment, name): (Vec<char>, Vec<char>) =
                (segment.chars().collect(), name.chars().collect());
            twin_name(&segment, &name) && twin(rest, names)
        }
        ([], _) | (_, []) => false,
    }
}

fn twin_name(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], name) => {
            (0..=name.len()).any(|skipped| twin_name(rest, &name[skipped..]))
        }
        (['?', rest @ ..], [_, names @ ..]) => twin_name(rest, names),
        (['[', 'a', '-', 'b', ']', rest @ ..], [one, names @ ..]) => {
            ('a'..='b').contains(one) && twin_name(rest, names)
        }
        ([this, rest @ ..], [one, names @ ..]) => this == one && twin_name(rest, names),
        ([], _) | (_, []) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..support::seeds_in("sources_pattern") })]

    #[test]
    fn a_pattern_means_what_its_twin_means(
        pattern in proptest::collection::vec("\\*\\*|(a|b|c|\\*|\\?|\\[a-b\\]){1,5}", 1..5),
        path in proptest::collection::vec("[abc]{1,5}", 1..6),
    ) {
        let (text, joined) = (format!("/{}", pattern.join("/")), format!("/{}", path.join("/")));
        let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        prop_assert_eq!(matches(&text, &joined), twin(&pattern, &path), "{} and {}", text, joined);
    }
}
