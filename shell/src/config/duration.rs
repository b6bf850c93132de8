//! Durations as an operator writes them: `5s`, `1m30s`, `250ms`.

pub use meshward_core::wire::grammar::duration::{DURATION_MAX, parse, text};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_unit_and_combination_is_read() {
        let cases = [
            ("5s", 5_000),
            ("250ms", 250),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("1m30s", 90_000),
            ("1h2m3s4ms", 3_723_004),
            ("0s", 0),
            ("007s", 7_000),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn a_bare_number_a_sign_a_fraction_and_the_like_are_refused() {
        let refused = [
            "", "5", "s", "-5s", "+5s", "1.5s", "5 s", " 5s", "5s ", "5S", "5d", "5us", "1m30",
            "1e3s", "٥s", "5sec",
        ];
        for text in refused {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn too_long_a_duration_is_refused_without_overflow() {
        assert_eq!(parse("8784h"), Ok(DURATION_MAX));
        assert!(parse("8784h1ms").is_err());
        assert!(parse("18446744073709551615h").is_err());
        assert!(parse("18446744073709551615ms1ms").is_err());
        assert!(parse("99999999999999999999999s").is_err());
    }

    #[test]
    fn what_is_written_is_read_back() {
        for millis in [0, 1, 999, 1_000, 90_000, 3_723_004, 1_048_576_000] {
            let duration = Duration::from_millis(millis);
            assert_eq!(parse(&text(duration)), Ok(duration));
        }
        assert_eq!(text(Duration::from_secs(90)), "1m30s");
    }
}
