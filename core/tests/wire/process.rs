//! The kernel's line about a process.

use core::time::Duration;

use meshward_core::wire::process::{Stat, parse};
use proptest::prelude::*;

const BEHIND: &str = " S 1 7 7 0 -1 4194560 100 0 0 0 150 50 9 9 20 0 12 0 3000 99999999 2048 1844";

#[test]
fn the_fields_are_counted_from_the_end_of_the_name_whatever_it_holds() {
    let expected = Stat {
        cpu: Duration::from_secs(2),
        threads: 12,
        started: Duration::from_secs(30),
        resident: 2048,
    };
    for name in ["meshward", "a b", ") S 1 2", "((", ""] {
        assert_eq!(parse(&format!("7 ({name}){BEHIND}\n"), 100), Some(expected), "{name}");
    }
}

#[test]
fn a_line_that_is_cut_or_holds_no_numbers_tells_nothing() {
    let line = format!("7 (meshward){BEHIND}");
    let cut = line.rfind(" 2048").expect("the field");
    assert_eq!(parse(&line[..cut], 100), None);
    assert_eq!(parse(&line.replace(" 150 ", " x "), 100), None);
    assert_eq!(parse(&line, 0), None);
    assert_eq!(parse("", 100), None);
}

proptest! {
    #[test]
    fn no_line_is_too_odd_to_be_read(line in any::<String>(), ticks in any::<u64>()) {
        let _ = parse(&line, ticks);
        let _ = parse(&format!("){line}"), ticks);
    }
}
