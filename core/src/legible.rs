//! Texts of others, made fit for a terminal or a log: what would steer the one or forge the other is shown instead.

use alloc::{borrow::Cow, string::String};
use core::fmt::Write as _;

/// Whether a character steers the one who shows it instead of being shown: control characters (C0, DEL, C1), breaks of
/// lines and paragraphs, and what turns, joins, hides or tags its neighbours.
///
/// These are the categories Cc, Zl, Zp and Cf of Unicode, without the signs of Cf that have a shape of their own.
pub const fn steers(one: char) -> bool {
    matches!(one,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
}

/// A text for one line: a replacement character stands for each one that steers.
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, steers)
}

/// A text of several lines, which keeps its line feeds and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |one| !matches!(one, '\n' | '\t') && steers(one))
}

fn replaced(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|one| if bad(one) { char::REPLACEMENT_CHARACTER } else { one }).collect()
}

/// JSON that means the same: in its texts each character that steers is escaped, and between them there are only
/// spaces and line feeds.
pub fn json(text: &str) -> Cow<'_, str> {
    let bad = |one: char| one != '\n' && steers(one);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            // They stand between the values only.
            '\t' | '\r' => out.push(' '),
            one if bad(one) => {
                let mut units = [0; 2];
                for unit in one.encode_utf16(&mut units) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            one => out.push(one),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString as _, vec::Vec};

    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_instead_and_what_is_read_stays() {
        let steering = "\0\u{1}\u{7}\u{8}\t\n\r\u{1b}\u{1f}\u{7f}\u{80}\u{85}\u{9b}\u{9f}\u{ad}\u{61c}\u{180e}\
            \u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\u{2066}\u{2069}\u{206f}\u{feff}\
            \u{fff9}\u{fffb}\u{1d173}\u{e0001}\u{e007f}";
        for one in steering.chars() {
            assert!(steers(one), "{one:?}");
            assert_eq!(line(&one.to_string()), "\u{fffd}");
        }
        let read = " ~\u{a0}é\u{ae}ع\u{600}日\u{2010}\u{2027}\u{202f}\u{205f}\u{2070}\u{fffd}\u{1f600}\u{e0100}";
        for one in read.chars() {
            assert!(!steers(one), "{one:?}");
        }
        assert!(matches!(line(read), Cow::Borrowed(text) if text == read));
    }

    #[test]
    fn every_control_character_that_is_known_steers() {
        let controls: Vec<_> = ('\0'..=char::MAX).filter(|one| one.is_control()).collect();
        assert_eq!(controls.len(), 65);
        assert!(controls.into_iter().all(steers));
    }

    #[test]
    fn several_lines_keep_their_breaks_and_tabs_alone() {
        assert_eq!(lines("a\tb\r\n\u{1b}[31m\u{202e}c\n"), "a\tb\u{fffd}\n\u{fffd}[31m\u{fffd}c\n");
        assert!(matches!(lines("a\n\tb"), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_json_means_the_same_and_steers_nothing() {
        let given = "{\t\"\u{7f}k\u{9b}\":\r\n \"\u{202e}\u{e0001}x\u{1f600}\"}";
        let escaped = json(given);
        assert_eq!(escaped, "{ \"\\u007fk\\u009b\": \n \"\\u202e\\udb40\\udc01x\u{1f600}\"}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(read(&escaped), read(given));
        assert!(matches!(json("[1]\n"), Cow::Borrowed(_)));
    }
}
