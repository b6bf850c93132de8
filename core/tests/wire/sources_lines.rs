//! Lines out of bytes that come in pieces: whole, without their ends, and never longer than they may be.

use meshward_core::wire::{
    record::{CUT, TEXT_MAX},
    sources::lines::{LINE_MAX, Line, Lines, text},
};
use proptest::prelude::*;

use crate::support;

/// The texts of the lines that end within these pieces, and how many bytes wait behind them.
fn read<'b>(mut lines: Lines, pieces: impl IntoIterator<Item = &'b [u8]>) -> (Vec<String>, usize) {
    let mut texts = Vec::new();
    for mut piece in pieces {
        while let Some(line) = lines.next(&mut piece) {
            texts.extend(line.text());
        }
        assert!(piece.is_empty(), "all of it is taken");
        assert!(lines.held() <= LINE_MAX, "{} bytes are held", lines.held());
    }
    let waiting = lines.waiting();
    (texts, waiting)
}

fn whole(bytes: impl AsRef<[u8]>) -> (Vec<String>, usize) {
    read(Lines::new(LINE_MAX), [bytes.as_ref()])
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_line_is_its_text_without_its_end_and_an_empty_one_is_none() {
    let rows: [(&[u8], &[&str], usize); 8] = [
        (b"", &[], 0),
        (b"a\nb\n", &["a", "b"], 0),
        (b"\n\r\n\na\n\n", &["a"], 0),
        (b"a\r\nb\r\r\n", &["a", "b\r"], 0),
        (b"a\rb\n", &["a\rb"], 0),
        (b" \n", &[" "], 0),
        (b"a\nb", &["a"], 1),
        (b"\xff\xfea\xc3\n\0\n", &["\u{fffd}\u{fffd}a\u{fffd}", "\0"], 0),
    ];
    for (bytes, lines, waiting) in rows {
        assert_eq!(whole(bytes), (texts(lines), waiting), "{bytes:?}");
    }
}

#[test]
fn a_line_longer_than_the_limit_is_cut() {
    for (length, is_cut) in
        [(TEXT_MAX, false), (TEXT_MAX + 1, true), (TEXT_MAX + 2, true), (99_999, true)]
    {
        for end in ["\n", "\r\n"] {
            let line = "x".repeat(length);
            let (lines, waiting) = whole(format!("{line}{end}behind\n"));
            let cut = format!("{}{CUT}", &line[..length.min(TEXT_MAX)]);
            let expected = if is_cut { cut } else { line };
            assert_eq!(lines.len(), 2, "{length}");
            assert!(lines[0] == expected && lines[1] == "behind", "{length} and {end:?}");
            assert_eq!(waiting, 0);
        }
    }
}

#[test]
fn a_long_line_is_given_before_it_has_ended_and_its_rest_is_passed_over() {
    let mut lines = Lines::new(LINE_MAX);
    let piece = [b'x'; 1000];
    let mut given = 0;
    for _ in 0..10_000 {
        let mut rest: &[u8] = &piece;
        while let Some(line) = lines.next(&mut rest) {
            assert!(matches!(line, Line::Start(_)));
            given += 1;
        }
        assert!(lines.held() <= LINE_MAX);
    }
    assert_eq!((given, lines.waiting()), (1, 0), "ten million bytes are one line");
    let (texts, _) = read(lines, [b"xx\nnext\n".as_slice()]);
    assert_eq!(texts, ["next"]);
}

#[test]
fn who_goes_on_within_a_line_that_was_cut_passes_over_its_rest() {
    let (lines, _) = read(Lines::within(LINE_MAX), [b"the rest".as_slice(), b" of it\nnext\n"]);
    assert_eq!(lines, ["next"]);
}

#[test]
fn the_line_that_nobody_ended_is_given_where_nothing_follows() {
    let mut lines = Lines::new(LINE_MAX);
    let mut bytes: &[u8] = b"a\nlast";
    while lines.next(&mut bytes).is_some() {}
    assert_eq!(lines.waiting(), 4);
    assert_eq!(lines.last().and_then(Line::text).as_deref(), Some("last"));
    assert_eq!(lines.waiting(), 0);
    assert_eq!(lines.last(), None);
    let mut more: &[u8] = b"new\n";
    assert_eq!(lines.next(&mut more), Some(Line::Whole(b"new")));
}

#[test]
fn no_character_is_cut_in_two_and_no_text_grows_beyond_the_limit() {
    for shift in 0..4 {
        let line = format!("{}{}", "x".repeat(shift), "\u{1f600}".repeat(TEXT_MAX));
        let cut = text(line.as_bytes());
        let kept = cut.strip_suffix(CUT).unwrap();
        assert!(line.starts_with(kept) && kept.len() > TEXT_MAX - 4 && kept.len() <= TEXT_MAX);
    }
    // Three bytes of a replacement character stand for one that is no text.
    let cut = text(&[0xff; TEXT_MAX]);
    assert_eq!(cut.strip_suffix(CUT).unwrap(), "\u{fffd}".repeat(TEXT_MAX / 3));
    // What no more bytes could mend is replaced at the cut as well.
    let cut = text(&[vec![b'x'; TEXT_MAX - 1], vec![0xff; 2]].concat());
    assert_eq!(cut, format!("{}{CUT}", "x".repeat(TEXT_MAX - 1)));
}

/// Lines of all the lengths that matter, with ends of all kinds.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![0..4_usize, 0..100_usize, LINE_MAX - 3..LINE_MAX + 3, 0..3 * LINE_MAX];
    let byte = prop_oneof![Just(b'x'), Just(b'\r'), Just(0xc3), Just(0xff), Just(0)];
    let line = (length, byte, prop_oneof![Just("\n"), Just("\r\n"), Just("")]);
    proptest::collection::vec(line, 0..6).prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|(length, byte, end)| [vec![byte; length], end.into()].concat())
            .collect()
    })
}

/// The same rules over the whole of it, said plainly.
fn twin(stream: &[u8]) -> Vec<String> {
    let mut lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').collect();
    let rest = lines.pop().filter(|rest| rest.len() > LINE_MAX);
    lines
        .into_iter()
        .chain(rest)
        .map(
            |line| {
                if line.len() > LINE_MAX { line } else { line.strip_suffix(b"\r").unwrap_or(line) }
            },
        )
        .filter(|line| !line.is_empty())
        .map(text)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..support::seeds_in("sources_lines") })]

    #[test]
    fn the_pieces_do_not_matter(stream in stream(), size in prop_oneof![1..9_usize, 1..70_000_usize]) {
        let all = whole(&stream);
        prop_assert!(read(Lines::new(LINE_MAX), stream.chunks(size)) == all);
        prop_assert!(all.0 == twin(&stream));
        prop_assert!(all.0.iter().all(|text| text.len() <= TEXT_MAX + CUT.len()));
    }
}
