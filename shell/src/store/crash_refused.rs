//! Every crash point of an identity that makes room for another, with and without a folder beside the directory.

use meshward_core::{
    agent::{Finding, Order},
    wire::identity::Identity,
};

use super::{
    crash::{
        Ledger, carry_out, enumerate_all, identity, make_key, open, registered, retire, second,
    },
    refused::NOTE,
    shadow::{Fate, Shadow},
    vault::{IDENTITY, PRIVATE_KEY, Vault},
};

/// A disk with an identity and a key that is staged for it, in a place where folders can be made beside it or not.
fn refused(alone: bool) -> (Shadow, Ledger) {
    let (disk, mut ledger) = registered(1);
    let mut vault = open(disk);
    assert!(carry_out(&mut vault, &Order::Stage, &mut ledger));
    let mut disk = vault.disk().restarted();
    disk.alone = alone;
    (disk, ledger)
}

#[test]
fn a_refused_identity_that_makes_room_is_there_whole_until_the_new_one_is() {
    for alone in [false, true] {
        let (disk, ledger) = refused(alone);
        let points = enumerate_all(&disk, &ledger, &[retire(), make_key(), second()]);
        assert_eq!(points, 69, "another number of points is to be looked at");
    }
}

#[test]
fn a_refused_identity_comes_back_whole_wherever_its_return_stops() {
    for alone in [false, true] {
        let (disk, ledger) = refused(alone);
        assert_eq!(enumerate_all(&disk, &ledger, &[retire(), Order::Restore]), 57);
        assert_eq!(enumerate_all(&disk, &ledger, &[retire(), make_key(), Order::Restore]), 81);
    }
}

#[test]
fn a_refused_identity_is_kept_beside_the_directory_or_in_it() {
    for (alone, expected) in [(false, "../data.refused-now"), (true, "refused-now")] {
        let mut vault = open(refused(alone).0);
        let before = vault.disk().content(PRIVATE_KEY).unwrap().to_vec();
        assert_eq!(vault.retire("now").ok().as_deref(), Some(expected));
        assert!(vault.make_key("now").is_ok() && vault.persist(&identity(2)).is_ok());
        let kept = format!("{expected}/{PRIVATE_KEY}");
        assert_eq!(vault.disk().content(&kept), Some(&before[..]), "never deleted");
        assert_ne!(vault.disk().content(PRIVATE_KEY), Some(&before[..]));
    }
}

/// What may have become of a note that no crash has damaged.
const DAMAGED: [&[u8]; 6] =
    [b"", b"\n", &[0; 19], b"refused-\xff", b"refused-gone", b"../../elsewhere.refused-now"];

/// A start on this disk with each damage of its note: it never takes the identity for gone. Tells how many starts were
/// refused.
fn check_damaged(image: &Shadow) -> usize {
    let Some(note) = image.content(NOTE).map(<[u8]>::to_vec) else { return 0 };
    let mut refused = 0;
    for damage in DAMAGED {
        let mut damaged = image.restarted();
        damaged.plant(NOTE, damage);
        let has_record = damaged.content(IDENTITY).is_some();
        match Vault::open(damaged.restarted()) {
            Ok(mut vault) => {
                assert!(has_record, "a start without an identity, and without a word");
                let memory = vault.remember().expect("a disk without a fate refuses nothing");
                assert!(matches!(Identity::load(&memory.files), Ok(Some(_))));
                assert!(matches!(memory.findings[..], [Finding::NeedlessNote { .. }]));
                assert_eq!(vault.disk().content(NOTE), None);
            }
            Err(fault) => {
                assert!(!has_record, "a start with an identity is refused: {fault}");
                let told = format!("{fault}: {}", fault.source);
                assert!(told.contains(NOTE) && told.contains("../data.refused-<time>"), "{told}");
                damaged.plant(NOTE, &[&note, &b"\n"[..]].concat());
                let memory = open(damaged).remember().expect("mended");
                let Ok(Some(found)) = Identity::load(&memory.files) else { panic!("not mended") };
                assert_eq!(found.node, identity(1).node);
                assert!(matches!(memory.findings[..], [Finding::PutBack { .. }]));
                refused += 1;
            }
        }
    }
    refused
}

#[test]
fn a_note_that_is_damaged_at_any_point_never_leads_to_a_start_without_its_identity() {
    for orders in [&[retire(), make_key(), second()][..], &[retire(), Order::Restore]] {
        let (disk, ledger) = refused(false);
        let (mut refused, mut point) = (0, open(disk.restarted()).disk().begun);
        loop {
            let (mut vault, mut ledger) = (open(disk.restarted()), ledger.clone());
            vault.disk().fate = Some((point, Fate::Stop));
            let done = orders.iter().all(|order| carry_out(&mut vault, order, &mut ledger));
            refused += vault.disk().images().iter().map(check_damaged).sum::<usize>();
            if done {
                break;
            }
            point += 1;
        }
        assert!(refused > 100, "only {refused} starts were refused");
    }
}
