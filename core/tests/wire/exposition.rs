//! Figures as text: heads, escapes, numbers; and a reader that is strict enough to trust.

use core::time::Duration;

use meshward_core::wire::exposition::{Exposition, Kind, Number};
use proptest::prelude::*;

use crate::exposed::read;

fn written(write: impl FnOnce(&mut Exposition)) -> String {
    let mut out = Exposition::default();
    write(&mut out);
    out.into_text()
}

#[test]
fn a_family_has_its_head_once_and_its_samples_behind_it() {
    let text = written(|out| {
        out.counter("runs_total", "Runs.").each("outcome", [("ok", 3_u64), ("failed", 0)]);
        out.gauge("ready", "Whether it is.").only(Some(true));
        out.family(Kind::Gauge, "pair", "Two labels.")
            .sample(&[("a", "x"), ("b", "y")], 1_u64)
            .with(&[("a", "x"), ("b", "z")], 2_usize);
    });
    let expected = "# HELP runs_total Runs.\n# TYPE runs_total counter\nruns_total{outcome=\"ok\"} 3\n\
                    runs_total{outcome=\"failed\"} 0\n# HELP ready Whether it is.\n# TYPE ready gauge\nready 1\n\
                    # HELP pair Two labels.\n# TYPE pair gauge\npair{a=\"x\",b=\"y\"} 1\npair{a=\"x\",b=\"z\"} 2\n";
    assert_eq!(text, expected);
    assert_eq!(read(&text).expect("sound").of("pair{a=\"x\",b=\"z\"}"), 2.0);
}

#[test]
fn a_family_without_a_sample_is_left_out() {
    let text = written(|out| {
        out.gauge("age_seconds", "Never yet.").only(None::<Duration>);
        out.counter("runs_total", "None.").each("outcome", [] as [(&str, u64); 0]);
    });
    assert_eq!(text, "");
    assert!(!read(&text).expect("sound").has("age_seconds"));
}

#[test]
fn seconds_are_decimals_that_lose_nothing() {
    let rows = [
        (Number::Seconds(Duration::ZERO), "0"),
        (Number::Seconds(Duration::from_millis(1500)), "1.5"),
        (Number::Seconds(Duration::from_nanos(1)), "0.000000001"),
        (Number::Seconds(Duration::from_secs(100)), "100"),
        (Number::Minus(Duration::from_millis(250)), "-0.25"),
        (Number::Minus(Duration::ZERO), "0"),
        (Number::Whole(u64::MAX), "18446744073709551615"),
    ];
    for (number, expected) in rows {
        let text = written(|out| out.gauge("x", "X.").only(Some(number)));
        assert_eq!(text.lines().last(), Some(format!("x {expected}").as_str()));
    }
}

#[test]
fn a_value_can_neither_end_its_quotes_nor_its_line() {
    let text = written(|out| out.gauge("x", "One\nline.").with(&[("a", "\"}\\ 9\nx 1")], 1_u64));
    assert_eq!(text.lines().count(), 3);
    assert!(text.starts_with("# HELP x One\\nline.\n"));
    assert!(text.ends_with("x{a=\"\\\"}\\\\ 9\\nx 1\"} 1\n"));
    assert!(read(&text).is_ok());
}

#[test]
fn the_reader_of_the_tests_takes_no_broken_text() {
    let head = "# HELP x X.\n# TYPE x gauge\n";
    let broken = [
        format!("{head}x 1"),
        format!("{head}x one\n"),
        format!("{head}x 1e3\n"),
        format!("{head}x NaN\n"),
        format!("{head}x 1\nx 1\n"),
        format!("{head}x 1\n{head}x 2\n"),
        format!("{head}y 1\n"),
        head.to_owned(),
        "x 1\n".to_owned(),
        "# HELP x X.\nx 1\n".to_owned(),
        "# HELP x X.\n# TYPE x counter\nx 1\n".to_owned(),
        "# HELP x_total X.\n# TYPE x_total gauge\nx_total 1\n".to_owned(),
        "# HELP X X.\n# TYPE X gauge\nX 1\n".to_owned(),
        format!("{head}x{{a=\"b}} 1\n"),
        format!("{head}x{{a=\"b\",a=\"c\"}} 1\n"),
        format!("{head}x{{a=\"b\",}} 1\n"),
        format!("{head}x{{a=\"\\t\"}} 1\n"),
        format!("{head}x{{}} 1\n"),
    ];
    for text in broken {
        assert!(read(&text).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn whatever_a_label_holds_the_text_is_sound(value in any::<String>(), number in any::<u64>()) {
        let text = written(|out| out.gauge("x", "X.").with(&[("a", &value)], number));
        // A carriage return and its kin end no line of the format.
        let read = read(&text.replace('\r', "")).expect("sound");
        prop_assert_eq!(read.samples.len(), 1);
    }
}
