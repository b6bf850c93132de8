//! Every crash point of an identity that makes room for another, with and without a folder beside the directory.

use meshward_core::agent::Order;

use super::{
    crash::{
        Ledger, carry_out, enumerate_all, identity, make_key, open, registered, retire, second,
    },
    shadow::Shadow,
    vault::PRIVATE_KEY,
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
        assert_eq!(points, 56, "another number of points is to be looked at");
    }
}

#[test]
fn a_refused_identity_comes_back_whole_wherever_its_return_stops() {
    for alone in [false, true] {
        let (disk, ledger) = refused(alone);
        assert_eq!(enumerate_all(&disk, &ledger, &[retire(), Order::Restore]), 54);
        assert_eq!(enumerate_all(&disk, &ledger, &[retire(), make_key(), Order::Restore]), 65);
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
