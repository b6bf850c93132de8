//! The room for an identity, taken whole or not at all before a registration and enough for it, whatever fails.

use meshward_core::{agent::Order, wire::identity::Identity};

use super::{
    crash::{IO_ERROR, NO_SPACE, identity, key_in, make_key, open, registered, retire},
    perform,
    shadow::{Fate, Shadow},
    vault::PRIVATE_KEY,
};

/// Each operation of the write fails once, and it is done again.
#[test]
fn what_was_accepted_needs_no_room_but_what_was_taken_before() {
    let persist = Order::Persist(Box::new(identity(1)));
    let full = || {
        let mut vault = open(Shadow::default());
        assert!(perform(&mut vault, &make_key()).is_ok());
        vault.disk().full = true;
        vault
    };
    let mut vault = full();
    let begun = vault.disk().begun;
    assert!(perform(&mut vault, &persist).is_ok());
    let end = vault.disk().begun;
    assert_eq!(end - begun, 18, "another number of points is to be looked at");
    for point in begun..end {
        let mut vault = full();
        vault.disk().fate = Some((point, Fate::Fail(IO_ERROR)));
        let done = perform(&mut vault, &persist).is_ok() || perform(&mut vault, &persist).is_ok();
        assert!(done, "at {point}");
        let loaded = Identity::load(&vault.remember().expect("it is read").files);
        assert_eq!(loaded, Ok(Some(identity(1))));
        assert_eq!(vault.disk().unfinished(), 0, "nothing is left over");
    }
}

#[test]
fn without_room_for_all_files_none_is_written_and_none_is_left() {
    let mut whole = open(Shadow::default());
    let begun = whole.disk().begun;
    assert!(perform(&mut whole, &make_key()).is_ok());
    for point in begun..whole.disk().begun {
        let mut vault = open(Shadow::default());
        vault.disk().fate = Some((point, Fate::Fail(NO_SPACE)));
        if perform(&mut vault, &make_key()).is_err() {
            assert_eq!(vault.disk().unfinished(), 0, "at {point}");
            assert!(perform(&mut vault, &make_key()).is_ok(), "once there is room, at {point}");
        }
        let key = key_in(vault.disk(), PRIVATE_KEY);
        assert!(key.is_some(), "at {point}");
    }
}

#[test]
fn room_that_is_not_used_is_given_up_with_the_return_of_the_former_identity_and_at_a_start() {
    let mut vault = open(registered(1).0);
    for order in [retire(), make_key(), Order::Restore] {
        assert!(perform(&mut vault, &order).is_ok(), "{order:?}");
    }
    assert_eq!(vault.disk().unfinished(), 0);
    let mut vault = open(Shadow::default());
    assert!(perform(&mut vault, &make_key()).is_ok());
    assert_eq!(vault.disk().unfinished(), 3);
    assert_eq!(open(vault.disk().restarted()).disk().unfinished(), 0);
}
