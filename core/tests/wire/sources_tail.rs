//! Whether a file is the one that was read before.

use meshward_core::wire::{
    positions::Position,
    sources::tail::{Found, HEAD_MAX, Head, Next, Place},
};
use proptest::prelude::*;

use crate::support;

const LONG: [u8; 100] = [b'x'; 100];

const fn found(start: &[u8], size: u64) -> Found<'_> {
    Found { device: 1, inode: 2, size, start }
}

fn place(start: &[u8], offset: u64) -> Place {
    Place { offset, ..Place::at_start(&found(start, offset)) }.renewed(&found(start, offset))
}

#[test]
fn a_file_goes_on_where_its_inode_and_its_start_are_the_same() {
    for (place, found, next) in [
        (place(b"abc", 3), found(b"abc", 3), Next::On),
        (place(b"abc", 3), found(b"abcdef", 9), Next::On),
        (place(b"", 0), found(b"anything", 8), Next::On),
        (place(b"abc", 3), found(b"ab", 2), Next::Rewritten),
        (place(b"abc", 3), found(b"", 0), Next::Rewritten),
        (place(b"abc", 3), found(b"abd", 9), Next::Rewritten),
        (place(&LONG, 500), found(&LONG, 499), Next::Rewritten),
        (place(&LONG, 500), found(&LONG, 500), Next::On),
        (place(b"abc", 3), Found { inode: 3, ..found(b"abc", 3) }, Next::Other),
        (place(&LONG, 500), Found { inode: 3, ..found(&LONG, 500) }, Next::Other),
    ] {
        assert_eq!(place.next(&found), next, "{place:?} and {found:?}");
    }
}

#[test]
fn a_device_that_has_another_number_counts_only_where_the_start_is_short() {
    let elsewhere = |start| Found { device: 7, ..found(start, 500) };
    assert_eq!(place(b"abc", 3).next(&elsewhere(b"abc")), Next::Other);
    assert_eq!(place(&LONG, 100).next(&elsewhere(&LONG)), Next::On);
    assert_eq!(place(&LONG, 501).next(&elsewhere(&LONG)), Next::Other);
    assert_eq!(place(&LONG, 100).next(&elsewhere(&[b'y'; 100])), Next::Other);
}

#[test]
fn what_has_not_ended_and_was_not_read_is_no_part_of_the_start() {
    let head = |start: &[u8], offset| place(start, offset).head;
    assert_eq!(head(b"one\ntwo", 0), Head::of(b"one\n"));
    assert_eq!(head(b"one\ntwo", 4), Head::of(b"one\n"));
    assert_eq!(head(b"one\ntwo", 6), Head::of(b"one\ntw"), "of one that is too long");
    assert_eq!(head(b"one", 0), Head::of(b"one"), "there is nothing else to know it by");
}

#[test]
fn the_start_that_is_known_grows_with_the_file() {
    let known = place(b"abc", 3).renewed(&found(b"abcdef", 6));
    assert_eq!((known.offset, known.head), (3, Head::of(b"abcdef")));
    assert_eq!(Head::of(&[b'x'; HEAD_MAX + 1]), Head::of(&[b'x'; HEAD_MAX]));
    assert_ne!(Head::of(b"\0"), Head::of(b"\0\0"));
}

#[test]
fn a_place_is_kept_as_it_is_and_a_cursor_is_none() {
    let place = place(&LONG, u64::MAX);
    assert_eq!(Place::read(&place.position()), Some(place));
    assert_eq!(Place::read(&Position::Cursor("s=1".into())), None);
}

proptest! {
    #![proptest_config(support::seeds_in("sources_tail"))]

    #[test]
    fn a_file_that_only_grew_goes_on_and_a_changed_start_is_noticed(
        mut bytes in proptest::collection::vec(any::<u8>(), 1..600),
        cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        changed in any::<prop::sample::Index>(),
    ) {
        let size = |bytes: &[u8]| bytes.len() as u64;
        let then = cuts.0.index(bytes.len()) + 1;
        let start = |bytes: &[u8]| bytes[..bytes.len().min(HEAD_MAX)].to_vec();
        let known = place(&start(&bytes[..then]), (cuts.1.index(then) + 1) as u64);
        prop_assert_eq!(known.next(&found(&start(&bytes), size(&bytes))), Next::On);
        prop_assert!(known.head.length >= known.offset.min(HEAD_MAX as u64), "all that was read counts");
        bytes[changed.index(known.head.length as usize)] ^= 1;
        prop_assert_eq!(known.next(&found(&start(&bytes), size(&bytes))), Next::Rewritten);
    }

    #[test]
    fn any_kept_place_is_judged(device: u64, inode: u64, offset: u64, head_len: u64, head: u64) {
        let kept = Position::Offset { device, inode, offset, head_len, head };
        let place = Place::read(&kept).unwrap();
        prop_assert_eq!(place.position(), kept);
        let found = Found { device, inode, size: 3, start: b"abc" };
        prop_assert_eq!(place.next(&found) == Next::On, place.head == Head::of(&b"abc"[..head_len.min(3) as usize]) && offset <= 3);
    }
}
