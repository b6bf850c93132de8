//! The known name that is nearest to a mistyped one.

/// A name this many edits away is no longer taken for a slip.
const EDITS_MAX: usize = 3;

/// Of this many letters, one may be a slip; a short name would be near to too many others.
const LETTERS_A_SLIP: usize = 3;

/// The nearest of the known names, if one is near.
pub(super) fn nearest(name: &str, known: impl Iterator<Item = String>) -> Option<String> {
    let edits_max = EDITS_MAX.min(name.len() / LETTERS_A_SLIP);
    known
        .map(|known| (edits(name.as_bytes(), known.as_bytes()), known))
        .filter(|(edits, _)| *edits <= edits_max)
        .min()
        .map(|(_, known)| known)
}

/// How many insertions, deletions and replacements lie between two texts.
fn edits(left: &[u8], right: &[u8]) -> usize {
    if left.len().abs_diff(right.len()) > EDITS_MAX {
        return EDITS_MAX + 1;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, byte) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(byte != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_key_and_nonsense_finds_none() {
        let known = || ["heartbeat.interval", "reconcile.interval"].map(str::to_owned).into_iter();
        assert_eq!(nearest("heartbeat.intervall", known()).as_deref(), Some("heartbeat.interval"));
        assert_eq!(nearest("hartbeat.interval", known()).as_deref(), Some("heartbeat.interval"));
        assert_eq!(nearest("something.else", known()), None);
        let sections = || ["log", "nat", "metrics"].map(str::to_owned).into_iter();
        assert_eq!(nearest("net", sections()).as_deref(), Some("nat"));
        assert_eq!(nearest("metric", sections()).as_deref(), Some("metrics"));
        assert_eq!(nearest("foo", sections()), None);
    }
}
