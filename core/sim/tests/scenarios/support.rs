//! Playing a script to its end, and what the scenarios ask of the world then.

use meshward_core::wire::{identity::IdentityFile, rotation::Receipt};
use meshward_sim::{Script, World, journal::Entry, route::Route};

/// Plays a script and its aftermath; every check holds all the time.
pub(crate) fn play(script: Script) -> World {
    let mut world = World::new(script);
    world.finish_script().unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(
        world.summary.missed, 0,
        "something of the script did not happen:\n{:?}",
        world.journal
    );
    world
}

/// Plays a script up to a second.
pub(crate) fn play_until(script: Script, second: u64) -> World {
    let mut world = World::new(script);
    world.run_until(second).unwrap_or_else(|violation| panic!("{violation}"));
    world
}

/// How far an execution has come on the control plane; empty where it knows none of that name.
pub(crate) fn status(world: &mut World, name: &str) -> String {
    world.statuses().remove(name).unwrap_or_default()
}

/// How the first run of a world ended.
pub(crate) fn outcome(world: &World) -> &'static str {
    let mut ends = Vec::new();
    for entry in world.journal.entries() {
        if let Entry::Ended { status, .. } = entry {
            ends.push(*status);
        }
    }
    ends.first().expect("a run ended")
}

/// The receipt that a node keeps.
pub(crate) fn kept_receipt(world: &World) -> Option<Receipt> {
    let bytes = world.nodes[0].disk.identity.as_ref()?;
    IdentityFile::decode(bytes).expect("the identity is whole").last_rotation
}

/// How often a file was written.
pub(crate) fn writes(world: &World, of: &str) -> usize {
    world.journal.count(|entry| matches!(entry, Entry::Wrote { file, .. } if *file == of))
}

/// Whether a process ended with these words.
pub(crate) fn exited_with(world: &World, words: &str) -> bool {
    world
        .journal
        .count(|entry| matches!(entry, Entry::Exited { reason, .. } if reason.contains(words)))
        > 0
}

/// How often a route was asked from one second to another.
pub(crate) fn sent(world: &World, of: Route, from: u64, to: u64) -> usize {
    let is_sent = |entry: &&Entry| matches!(entry, Entry::Sent { route, .. } if *route == of);
    world.journal.within(from, to).filter(is_sent).count()
}
