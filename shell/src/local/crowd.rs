//! The connections of one listener: each has a place until it ends or is made to give it up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use meshward_core::agent::local::places::{Entry, PlaceId, Places};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    task::AbortHandle,
};

use crate::clock;

/// Who has a place.
#[derive(Debug)]
pub(super) struct Crowd {
    /// One permit a connection, given back when all of it is gone.
    room: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Debug)]
struct Taken {
    places: Places,
    /// How each connection is ended.
    cuts: BTreeMap<PlaceId, AbortHandle>,
}

impl Crowd {
    pub(super) fn new(max: usize) -> Arc<Self> {
        let taken = Taken { places: Places::new(max), cuts: BTreeMap::new() };
        Arc::new(Self { room: Arc::new(Semaphore::new(max)), taken: Mutex::new(taken) })
    }

    /// A place for one more connection, once the one that makes room for it has gone; `None` where all are at work.
    pub(super) async fn enter(self: &Arc<Self>) -> Option<Place> {
        let entry = self.taken().places.enter(clock::now().mono);
        let Entry::Given { place: id, instead_of } = entry else { return None };
        let cut = instead_of.and_then(|gone| self.taken().cuts.remove(&gone));
        if let Some(cut) = cut {
            cut.abort();
        }
        // What is cut off gives this back as soon as its task has ended.
        let room = Arc::clone(&self.room).acquire_owned().await.ok()?;
        Some(Place { id, crowd: Arc::clone(self), _room: room })
    }

    /// Tells how the connection in this place is ended, unless it has ended already.
    pub(super) fn note(&self, place: PlaceId, cut: AbortHandle) {
        let mut taken = self.taken();
        if taken.places.is_taken(place) {
            taken.cuts.insert(place, cut);
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    id: PlaceId,
    crowd: Arc<Crowd>,
    _room: OwnedSemaphorePermit,
}

impl Place {
    pub(super) const fn id(&self) -> PlaceId {
        self.id
    }

    /// Keeps the place until the work is dropped.
    pub(super) fn begin(&self) -> Work {
        self.crowd.taken().places.begin(self.id);
        Work { id: self.id, crowd: Arc::clone(&self.crowd) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.crowd.taken();
        taken.places.leave(self.id);
        taken.cuts.remove(&self.id);
    }
}

/// A request that is being answered, until the last byte of its answer is sent.
#[derive(Debug)]
pub(super) struct Work {
    id: PlaceId,
    crowd: Arc<Crowd>,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.crowd.taken().places.end(self.id, clock::now().mono);
    }
}
