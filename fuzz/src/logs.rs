//! The sources of logs: no bytes stop the lines behind them, and no limit is passed.

use std::sync::Arc;

use meshward_core::wire::{
    record::{CUT, TEXT_MAX},
    sources::{
        journald::{Entry, UNIT_MAX, is_cursor},
        lines::{LINE_MAX, Line, Lines},
        pattern::Pattern,
    },
};

/// The first byte is the size of the pieces in which the others come.
pub fn log_lines(bytes: &[u8]) {
    let Some((size, stream)) = bytes.split_first() else { return };
    let whole = texts([stream]);
    assert_eq!(texts(stream.chunks(usize::from(*size) + 1)), whole, "in pieces");
    assert!(whole.0.iter().all(|text| !text.is_empty() && text.len() <= TEXT_MAX + CUT.len()));
    // A long line is one of the corpus, made longer here than a file of it should be.
    let long = [&b"x".repeat(LINE_MAX), stream].concat();
    assert_eq!(texts(long.chunks(usize::from(*size) + 1)), texts([long.as_slice()]));
}

fn texts<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> (Vec<String>, usize) {
    let mut lines = Lines::new(LINE_MAX);
    let mut texts = Vec::new();
    for mut piece in pieces {
        while let Some(line) = lines.next(&mut piece) {
            texts.extend(line.text());
        }
        assert!(piece.is_empty() && lines.held() <= LINE_MAX);
    }
    let waiting = lines.waiting();
    texts.extend(lines.last().and_then(Line::text));
    (texts, waiting)
}

/// The first line is a pattern, the second one a path.
pub fn log_pattern(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (pattern, path) = text.split_once('\n').unwrap_or((&text, "/a/b"));
    let Ok(pattern) = Pattern::parse(pattern) else { return };
    let Some((folders, name)) = path.strip_prefix('/').and_then(|path| path.rsplit_once('/'))
    else {
        let _ = pattern.matches(path);
        return;
    };
    let mut here = pattern.root();
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        let below = pattern.below(here, folder);
        if pattern.only(here).is_some_and(|only| only != folder) {
            assert!(below.is_nowhere(), "only one name counts");
        }
        here = below;
    }
    assert_eq!(pattern.means(here, name), pattern.matches(path));
    assert!(!here.is_nowhere() || !pattern.matches(path));
}

/// One line of `journalctl --output=json`.
pub fn journald_entry(bytes: &[u8]) {
    let Ok(entry) = Entry::decode(bytes, &Arc::from("node")) else { return };
    assert!(is_cursor(&entry.cursor));
    if let Some(log) = entry.log {
        assert!(!log.message.is_empty() && log.message.len() <= TEXT_MAX + CUT.len());
        assert!(log.unit.len() <= UNIT_MAX * 3 && !log.unit.contains('\0'));
    }
}
