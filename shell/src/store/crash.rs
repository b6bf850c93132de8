//! Every crash point of every order: promises P1 (an identity is all or nothing) and P2 (no private key that the
//! control plane may hold as current is ever lost).

use meshward_core::{
    agent::{Memory, Order, StagedFile, Stored},
    wire::{
        grammar::{NodeSecretKey, PublicKey, Uuid, base64_text},
        identity::{Corrupt, Identity, IdentityFile, KeyFile, TokenDigest},
        rotation::Receipt,
        timestamp::Timestamp,
    },
};

use super::{
    keys::PrivateKey,
    perform,
    shadow::{Fate, Shadow},
    vault::{
        IDENTITY, NODE_SECRET_KEY, PRIVATE_KEY, SHELVED_KEY, SIGNING_PUBLIC_KEY, STAGED_KEY, Vault,
    },
};

pub(super) const NO_SPACE: i32 = 28;
pub(super) const IO_ERROR: i32 = 5;

/// The identity of one registration; every file of it names its number.
pub(super) fn identity(number: u8) -> Identity {
    let node = Uuid::drawn([number; 16]);
    Identity {
        node,
        key: NodeSecretKey::from_bytes([number; 32]),
        file: IdentityFile {
            node_id: node.to_string(),
            mesh_ip: format!("10.0.0.{number}"),
            signing_public_key: base64_text(&[number; 32]),
            signing_key_id: "key".into(),
            domain_mesh_cidr: "10.0.0.0/24".into(),
            last_rotation: None,
            spent_token: TokenDigest::default(),
        },
    }
}

pub(super) fn rotated(number: u8) -> IdentityFile {
    let receipt =
        Receipt { rotation_id: "rotation".into(), kid: "kid".into(), wrap_key_version: 1 };
    IdentityFile { last_rotation: Some(receipt), ..identity(number).file }
}

/// What has been promised or ordered up to a point of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    /// Registrations whose files may stand there.
    persisting: Vec<u8>,
    /// An answer said that this one stands.
    persisted: Option<u8>,
    /// Keys that the control plane may hold as current: each must be on the disk.
    posted: Vec<PublicKey>,
    /// The keys of a refused identity, which must be there as long as that identity is.
    kept: Vec<PublicKey>,
    /// A refused identity makes room.
    retired: Option<u8>,
    /// The identity that stood at first is corrupt and was not yet set aside.
    corrupt: bool,
    /// The key that is being put in place of the old one.
    committing: Option<PublicKey>,
    committed: bool,
}

pub(super) fn open(disk: Shadow) -> Vault<Shadow> {
    Vault::open(disk).expect("a disk without a fate refuses nothing")
}

pub(super) fn key_in(disk: &Shadow, name: &str) -> Option<PublicKey> {
    PrivateKey::parse(disk.content(name)?)?.public()
}

/// Starts on a disk as the next process would and checks both promises.
fn check(disk: &Shadow, ledger: &Ledger) -> Memory {
    let mut vault = open(disk.restarted());
    let memory = vault.remember().expect("a disk without a fate refuses nothing");
    let found = Identity::load(&memory.files);
    match &found {
        Ok(None) => assert_eq!(ledger.persisted, None, "the persisted identity is gone"),
        Ok(Some(found)) => {
            let number = found.key.expose()[0];
            if ledger.persisted.is_some_and(|persisted| Some(persisted) != ledger.retired) {
                assert_eq!(ledger.persisted, Some(number), "another identity than the newest");
            }
            assert!(ledger.persisting.contains(&number), "{number} in {ledger:?}");
            assert_eq!(found.node, identity(number).node, "a mix of registrations");
            assert_eq!(found.file.signing_public_key, identity(number).file.signing_public_key);
            if ledger.committed {
                assert!(found.file.last_rotation.is_some(), "the receipt is gone");
            }
        }
        Err(corrupt) => assert!(ledger.corrupt, "{corrupt}"),
    }
    let former = |found: &Identity| ledger.retired == Some(found.key.expose()[0]);
    let kept = matches!(&found, Ok(Some(found)) if former(found));
    let disk = vault.disk();
    for key in if kept { &ledger.kept } else { &ledger.posted } {
        let held = [PRIVATE_KEY, STAGED_KEY, SHELVED_KEY].map(|name| key_in(disk, name));
        assert!(held.contains(&Some(*key)), "a posted key is lost: {held:?} without {key}");
    }
    if let (Some(key), Ok(Some(found))) = (ledger.committing, &found) {
        let recorded = found.file.last_rotation.is_some();
        assert!(
            recorded || memory.staged == StagedFile::Key(key),
            "no receipt and nothing to ask with"
        );
    }
    if ledger.committed {
        assert_eq!(memory.staged, StagedFile::Missing);
    }
    memory
}

/// Checks a disk as it is seen, and as each power failure may leave it; also when the process ended first, its
/// successor has told what it found, and then the power fails.
pub(super) fn check_all(disk: &Shadow, ledger: &Ledger) {
    check(disk, ledger);
    for image in disk.images() {
        check(&image, ledger);
    }
    let mut successor = open(disk.restarted());
    let told = successor.remember().expect("a disk without a fate refuses nothing");
    for image in successor.disk().images() {
        // What one start met, the next need not meet.
        let found = Memory { findings: told.findings.clone(), ..check(&image, ledger) };
        assert_eq!(found, told, "what was told at the start did not last");
    }
}

/// One order, and what its start and its success mean.
pub(super) fn carry_out(vault: &mut Vault<Shadow>, order: &Order, ledger: &mut Ledger) -> bool {
    match order {
        Order::Persist(identity) => ledger.persisting.push(identity.key.expose()[0]),
        Order::Commit(_) => {
            ledger.committing = key_in_staged(vault);
            ledger.posted.retain(|key| Some(*key) == ledger.committing);
        }
        Order::Discard => ledger.posted.retain(|key| Some(*key) != key_in_staged(vault)),
        Order::SetAside { .. } => {
            ledger.posted.clear();
            ledger.persisted = None;
        }
        Order::Retire { .. } if ledger.retired.is_none() => {
            ledger.retired = ledger.persisted;
            ledger.kept.clone_from(&ledger.posted);
        }
        Order::Retire { .. }
        | Order::Restore
        | Order::MakeKey { .. }
        | Order::ForgetToken(_)
        | Order::Shelve
        | Order::Stage => {}
    }
    let Ok(stored) = perform(vault, order) else { return false };
    match (order, stored) {
        (Order::MakeKey { .. }, Stored::KeyMade(key)) => ledger.posted = vec![key],
        (Order::Stage, Stored::Staged(key)) if !ledger.posted.contains(&key) => {
            ledger.posted.push(key);
        }
        (Order::Persist(identity), Stored::Persisted) => {
            ledger.persisted = Some(identity.key.expose()[0]);
        }
        (Order::SetAside { .. }, Stored::Done) => ledger.corrupt = false,
        (Order::Restore, Stored::Restored(_)) => {
            ledger.retired = None;
            ledger.posted = std::mem::take(&mut ledger.kept);
        }
        (Order::Commit(_), Stored::Committed) => ledger.committed = true,
        _ => {}
    }
    true
}

/// The staged key, or the private key it has become.
fn key_in_staged(vault: &mut Vault<Shadow>) -> Option<PublicKey> {
    let disk = vault.disk();
    key_in(disk, STAGED_KEY).or_else(|| key_in(disk, PRIVATE_KEY))
}

/// Runs the orders with the fate at each operation in turn, each order again until it succeeds, and checks the disk
/// after each order and at the end. Returns how many points there were.
fn enumerate(start: &Shadow, known: &Ledger, orders: &[Order], fate: Fate) -> usize {
    let whole = {
        let (mut vault, mut ledger) = (open(start.restarted()), known.clone());
        let all = orders.iter().all(|order| carry_out(&mut vault, order, &mut ledger));
        assert!(all, "without a fate every order succeeds");
        check_all(vault.disk(), &ledger);
        vault.disk().begun
    };
    let opened = open(start.restarted()).disk().begun;
    for point in opened..whole {
        let (mut vault, mut ledger) = (open(start.restarted()), known.clone());
        vault.disk().fate = Some((point, fate));
        for order in orders {
            let done = carry_out(&mut vault, order, &mut ledger);
            check_all(vault.disk(), &ledger);
            if !done && fate == Fate::Stop {
                break;
            }
            if !done {
                assert!(
                    carry_out(&mut vault, order, &mut ledger),
                    "{order:?} again, after {point}"
                );
                check_all(vault.disk(), &ledger);
            }
        }
        if fate == Fate::Stop {
            resume(vault.disk(), &ledger, orders);
        }
    }
    whole - opened
}

/// After a crash, each disk that may be left takes all the orders again from the one that its memory asks for.
fn resume(disk: &Shadow, ledger: &Ledger, orders: &[Order]) {
    for image in disk.images() {
        let mut ledger = ledger.clone();
        let memory = check(&image, &ledger);
        let mut vault = open(image);
        for order in remaining(&memory, orders) {
            assert!(carry_out(&mut vault, order, &mut ledger), "{order:?} after a restart");
            check_all(vault.disk(), &ledger);
        }
    }
}

fn remaining<'o>(memory: &Memory, orders: &'o [Order]) -> Vec<&'o Order> {
    let loaded = Identity::load(&memory.files);
    orders
        .iter()
        .filter(|order| match order {
            Order::SetAside { .. } => loaded.is_err(),
            Order::Retire { .. } => is(&loaded, 1) && orders.contains(&second()),
            Order::Restore => true,
            Order::MakeKey { .. } | Order::Persist(_) if orders.contains(&retire()) => {
                orders.contains(&second()) && is(&loaded, 1)
            }
            Order::MakeKey { .. } | Order::Persist(_) => !matches!(loaded, Ok(Some(_))),
            Order::Stage | Order::Commit(_) => !matches!(
                &loaded,
                Ok(Some(identity)) if identity.file.last_rotation.is_some()
                    && memory.staged == StagedFile::Missing
            ),
            Order::Shelve => memory.staged != StagedFile::Missing && !orders.contains(&commit()),
            Order::Discard => memory.staged != StagedFile::Missing,
            Order::ForgetToken(_) => true,
        })
        .collect()
}

fn is(loaded: &Result<Option<Identity>, Corrupt>, number: u8) -> bool {
    matches!(loaded, Ok(Some(identity)) if identity.key.expose()[0] == number)
}

fn at() -> Timestamp {
    Timestamp::parse("2027-01-15T08:00:00Z").expect("a time")
}

pub(super) fn make_key() -> Order {
    Order::MakeKey { at: at() }
}

pub(super) fn retire() -> Order {
    Order::Retire { at: at() }
}

pub(super) fn commit() -> Order {
    Order::Commit(Box::new(rotated(1)))
}

/// The registration that comes behind a refused identity.
pub(super) fn second() -> Order {
    Order::Persist(Box::new(identity(2)))
}

pub(super) fn enumerate_all(start: &Shadow, known: &Ledger, orders: &[Order]) -> usize {
    let points = enumerate(start, known, orders, Fate::Stop);
    assert!(points >= orders.len(), "only {points} points");
    assert_eq!(enumerate(start, known, orders, Fate::Fail(NO_SPACE)), points);
    assert_eq!(enumerate(start, known, orders, Fate::Fail(IO_ERROR)), points);
    points
}

/// A disk with a complete identity, and what is known of it.
pub(super) fn registered(number: u8) -> (Shadow, Ledger) {
    let (mut vault, mut ledger) = (open(Shadow::default()), Ledger::default());
    let persist = Order::Persist(Box::new(identity(number)));
    assert!(carry_out(&mut vault, &make_key(), &mut ledger));
    assert!(carry_out(&mut vault, &persist, &mut ledger));
    let mut disk = vault.disk().restarted();
    disk.begun = 0;
    (disk, ledger)
}

#[test]
fn a_registration_that_stops_anywhere_leaves_no_identity_or_a_whole_one() {
    let orders = [make_key(), Order::Persist(Box::new(identity(1)))];
    enumerate_all(&Shadow::default(), &Ledger::default(), &orders);
}

#[test]
fn a_registration_after_a_corrupt_identity_never_mixes_the_two() {
    let orders = [Order::SetAside { at: at() }, make_key(), Order::Persist(Box::new(identity(2)))];
    let whole = identity(1).file.encode();
    for broken in [&b""[..], &whole[..whole.len() / 2], &[0; 64][..]] {
        let (mut disk, mut ledger) = registered(1);
        disk.plant(IDENTITY, broken);
        disk.plant(STAGED_KEY, PrivateKey::generate().unwrap().text().as_bytes());
        (ledger.corrupt, ledger.persisted) = (true, None);
        enumerate_all(&disk, &ledger, &orders);
    }
    for lost in [PRIVATE_KEY, NODE_SECRET_KEY, SIGNING_PUBLIC_KEY] {
        let (mut disk, mut ledger) = registered(1);
        disk.plant(lost, &[0; 44]);
        (ledger.corrupt, ledger.persisted) = (true, None);
        ledger.posted.clear();
        enumerate_all(&disk, &ledger, &orders);
    }
}

#[test]
fn a_sound_identity_that_is_set_aside_is_whole_or_gone_at_any_time() {
    let (disk, ledger) = registered(1);
    enumerate_all(&disk, &ledger, &[Order::SetAside { at: at() }]);
}

#[test]
fn a_new_private_key_is_refused_beside_an_identity() {
    let mut vault = open(registered(1).0);
    let before = vault.disk().content(PRIVATE_KEY).unwrap().to_vec();
    assert!(vault.make_key("now").is_err());
    assert_eq!(vault.disk().content(PRIVATE_KEY).unwrap(), before);
}

#[test]
fn what_an_interrupted_set_aside_left_is_moved_before_a_new_key_is_made() {
    let (mut disk, _) = registered(1);
    disk.plant(STAGED_KEY, b"left");
    let mut vault = open(disk);
    vault.disk().fate = None;
    let Ok(()) = vault.set_aside("now") else { panic!("set aside") };
    vault.disk().plant(STAGED_KEY, b"left");
    assert!(vault.make_key("now").is_ok());
    assert_eq!(vault.disk().content("corrupt-now-2/rotation_pending_key"), Some(&b"left"[..]));
    assert_eq!(vault.remember().ok().unwrap().files.private_key, KeyFile::Sound);
}

#[test]
fn half_written_files_are_gone_after_a_start() {
    let mut disk = Shadow::default();
    disk.plant(".tmp-private_key", b"half");
    assert_eq!(open(disk).disk().content(".tmp-private_key"), None);
}
