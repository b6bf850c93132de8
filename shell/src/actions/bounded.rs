//! Work that may hang in the kernel, as `statfs` on a dead mount: it gets a thread of its own and a time.
//!
//! The blocking threads of the runtime are no place for it, since the runtime waits for them when it ends.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

/// The names of the work under way; a hung one is not begun again beside itself.
static UNDER_WAY: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Says on drop that the work is over, also when it panicked.
struct Place(&'static str);

impl Place {
    fn take(name: &'static str) -> Option<Self> {
        let mut names = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        // Made only when it is taken: dropping one gives the place back.
        names.insert(name).then(|| Self(name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).remove(self.0);
    }
}

/// Does the work; `None` where it takes longer, an earlier one under the same name still hangs, or it panicked.
pub(crate) async fn bounded<T: Send + 'static>(
    name: &'static str,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::time::timeout(limit, async {
        let place = vacant(name).await;
        let (done, result) = oneshot::channel();
        let begun = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let result = work();
            drop(place);
            // The receiver has gone if the limit is over.
            drop(done.send(result));
        });
        begun.ok()?;
        result.await.ok()
    })
    .await
    .ok()
    .flatten()
}

/// How often a taken place is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

async fn vacant(name: &'static str) -> Place {
    loop {
        match Place::take(name) {
            Some(place) => return place,
            None => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::bounded;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn work_gives_its_result() {
        assert_eq!(bounded("result", LONG, || 7).await, Some(7));
        assert_eq!(bounded("result", LONG, || 8).await, Some(8));
    }

    #[tokio::test]
    async fn hung_work_is_given_up_and_not_begun_again_until_it_ends() {
        let (release, held) = mpsc::channel::<()>();
        let hung = bounded("hung", SHORT, move || held.recv().is_ok()).await;
        assert_eq!(hung, None);
        assert_eq!(bounded("hung", SHORT, || true).await, None);
        assert_eq!(bounded("other", LONG, || true).await, Some(true));
        release.send(()).unwrap();
        assert_eq!(bounded("hung", LONG, || true).await, Some(true));
    }

    #[tokio::test]
    async fn a_panic_gives_nothing_and_leaves_the_place_free() {
        let nothing: Option<()> = bounded("panic", LONG, || panic!("on purpose")).await;
        assert_eq!(nothing, None);
        assert_eq!(bounded("panic", LONG, || 1).await, Some(1));
    }
}
