//! Who may ask the local listeners, and how many at once, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has failed")]

mod crowd;
mod doors;
mod heads;
mod peer;
mod places;
mod scene;
