//! Every crash point of a rotation, whichever way it ends.

use meshward_core::agent::Order;

use super::{
    crash::{carry_out, check_all, commit, enumerate_all, open, registered, rotated},
    perform,
    vault::{IDENTITY, PRIVATE_KEY, SHELVED_KEY, STAGED_KEY},
};

#[test]
fn a_rotation_that_stops_anywhere_keeps_the_old_key_and_the_posted_one() {
    let (disk, ledger) = registered(1);
    let orders = [Order::Stage, Order::Commit(Box::new(rotated(1)))];
    enumerate_all(&disk, &ledger, &orders);
}

#[test]
fn a_key_that_was_put_aside_is_never_lost_and_comes_into_force() {
    let (disk, ledger) = registered(1);
    enumerate_all(&disk, &ledger, &[Order::Stage, Order::Shelve]);
    enumerate_all(&disk, &ledger, &[Order::Stage, Order::Shelve, Order::Stage, commit()]);
    let mut vault = open(disk);
    let Ok(first) = vault.stage() else { panic!("staged") };
    assert!(vault.shelve().is_ok() && vault.shelve().is_ok());
    assert_eq!(vault.stage().ok(), Some(first), "the same key again");
    vault.disk().plant(SHELVED_KEY, b"no key");
    assert!(vault.commit(&rotated(1)).is_ok());
    assert_eq!(vault.disk().content(SHELVED_KEY), None, "it goes with the next commit");
}

#[test]
fn a_refused_rotation_that_stops_anywhere_keeps_the_old_key() {
    let (disk, ledger) = registered(1);
    enumerate_all(&disk, &ledger, &[Order::Stage, Order::Discard]);
}

#[test]
fn a_commit_is_the_same_when_it_is_done_again_after_it_ended() {
    let (disk, mut ledger) = registered(1);
    let mut vault = open(disk);
    let commit = Order::Commit(Box::new(rotated(1)));
    assert!(carry_out(&mut vault, &Order::Stage, &mut ledger));
    assert!(carry_out(&mut vault, &commit, &mut ledger));
    let before = vault.disk().content(PRIVATE_KEY).unwrap().to_vec();
    assert!(perform(&mut vault, &commit).is_ok());
    assert_eq!(vault.disk().content(PRIVATE_KEY).unwrap(), before);
    check_all(vault.disk(), &ledger);
}

#[test]
fn a_sound_staged_key_is_never_replaced_and_a_broken_one_is() {
    let mut vault = open(registered(1).0);
    let Ok(first) = vault.stage() else { panic!("staged") };
    assert_eq!(vault.stage().ok(), Some(first));
    vault.disk().plant(STAGED_KEY, b"");
    assert_ne!(vault.stage().ok(), Some(first));
}

#[test]
fn a_commit_without_any_key_to_promote_is_refused_and_writes_nothing() {
    for staged in [Some(&b"broken"[..]), None] {
        let mut vault = open(registered(1).0);
        match staged {
            Some(content) => vault.disk().plant(STAGED_KEY, content),
            None => vault.disk().plant(PRIVATE_KEY, b"broken"),
        }
        let before = vault.disk().content(IDENTITY).unwrap().to_vec();
        assert!(vault.commit(&rotated(1)).is_err());
        assert_eq!(vault.disk().content(IDENTITY).unwrap(), before);
    }
}
