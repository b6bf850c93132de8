//! Whether there is a journal to read, by the words of `journalctl`.

use alloc::format;

use super::Finding;

const JOURNAL: &str = "journal";

/// What `journalctl` says of a journal that is not there, in any version.
const NONE_FOUND: &str = "No journal files were found";

/// What it means that `journalctl` ended so, with these words on standard error, when it was asked for no line at all.
pub fn journal((succeeded, words): (bool, &str), foreign: bool) -> Finding {
    let words = words.trim();
    if words.contains(NONE_FOUND) {
        return Finding::warn(
            JOURNAL,
            "there is none to read: journalctl finds no file of it",
            "let journald keep one (Storage=persistent or volatile in journald.conf), or set logs.journald to false",
        );
    }
    match (succeeded && words.is_empty(), foreign) {
        (true, false) => Finding::good(JOURNAL, "it can be read"),
        (_, true) => Finding::untold(JOURNAL, "whether the agent can read all of it"),
        (false, false) => Finding::warn(
            JOURNAL,
            format!("journalctl says: {words}"),
            "let the user of the agent be in the group systemd-journal",
        ),
    }
}
