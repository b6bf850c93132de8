//! The places of a listener, beside a model that keeps them in a list.

use meshward_core::{
    agent::local::places::{Entry, PlaceId, Places},
    time::Mono,
};
use proptest::prelude::*;

use crate::bench::{seconds, start};

const MAX: usize = 4;

fn at(second: u64) -> Mono {
    start().mono.after(seconds(second))
}

fn given(entry: Entry) -> (PlaceId, Option<PlaceId>) {
    match entry {
        Entry::Given { place, instead_of } => (place, instead_of),
        Entry::Full => panic!("it is full"),
    }
}

fn taken(places: &mut Places, second: u64) -> PlaceId {
    let (place, instead_of) = given(places.enter(at(second)));
    assert_eq!(instead_of, None);
    place
}

#[test]
fn the_connection_that_is_idle_for_the_longest_makes_room() {
    let mut places = Places::new(3);
    let [first, second, third] = [0, 1, 2].map(|second| taken(&mut places, second));
    places.begin(first);
    places.end(first, at(3));
    places.begin(third);
    assert_eq!(given(places.enter(at(4))).1, Some(second), "the first has asked since");
    assert_eq!(given(places.enter(at(5))).1, Some(first));
    let last = given(places.enter(at(6)));
    assert_ne!(last.1, Some(third), "what is at work stays");
    assert!(places.is_taken(third) && places.is_taken(last.0));
}

#[test]
fn nobody_makes_room_who_is_at_work_until_the_last_of_it_has_ended() {
    let mut places = Places::new(1);
    let place = taken(&mut places, 0);
    places.begin(place);
    places.begin(place);
    assert_eq!(places.enter(at(1)), Entry::Full);
    places.end(place, at(2));
    assert_eq!(places.enter(at(3)), Entry::Full, "an answer before it is still being sent");
    places.end(place, at(4));
    assert_eq!(given(places.enter(at(5))).1, Some(place));
}

#[test]
fn who_leaves_gives_a_place_back_once() {
    let mut places = Places::new(1);
    let place = taken(&mut places, 0);
    places.leave(place);
    places.leave(place);
    let other = taken(&mut places, 1);
    places.leave(place);
    places.end(place, at(2));
    places.begin(place);
    assert!(places.is_taken(other) && !places.is_taken(place));
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Enter,
    Begin(usize),
    End(usize),
    Leave(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        3 => Just(Deed::Enter),
        2 => (0..MAX).prop_map(Deed::Begin),
        2 => (0..MAX).prop_map(Deed::End),
        1 => (0..MAX).prop_map(Deed::Leave),
    ]
}

proptest! {
    #[test]
    fn whatever_comes_no_more_than_the_places_are_taken_and_work_is_never_cut(
        deeds in prop::collection::vec(deed(), 0..60),
    ) {
        let mut places = Places::new(MAX);
        // Each with its work and when it became idle, in the order in which they came.
        let mut model: Vec<(PlaceId, u32, u64)> = Vec::new();
        for (second, deed) in (0..).zip(deeds) {
            match deed {
                Deed::Enter => {
                    let idle = model.iter().filter(|(_, work, _)| *work == 0);
                    let idlest = idle.min_by_key(|(_, _, since)| *since).map(|(id, ..)| *id);
                    match places.enter(at(second)) {
                        Entry::Full => prop_assert!(model.len() == MAX && idlest.is_none()),
                        Entry::Given { place, instead_of } => {
                            let expected = idlest.filter(|_| model.len() == MAX);
                            prop_assert_eq!(instead_of, expected);
                            model.retain(|(id, ..)| Some(*id) != instead_of);
                            model.push((place, 0, second));
                        }
                    }
                }
                Deed::Begin(which) => {
                    if let Some((id, work, _)) = model.get_mut(which) {
                        *work += 1;
                        places.begin(*id);
                    }
                }
                Deed::End(which) => {
                    if let Some((id, work, since)) = model.get_mut(which).filter(|one| one.1 > 0) {
                        (*work, *since) = (*work - 1, second);
                        places.end(*id, at(second));
                    }
                }
                Deed::Leave(which) if which < model.len() => {
                    places.leave(model.remove(which).0);
                }
                Deed::Leave(_) => {}
            }
            prop_assert!(model.len() <= MAX);
            prop_assert!(model.iter().all(|(id, ..)| places.is_taken(*id)));
        }
    }
}
