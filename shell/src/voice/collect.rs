//! The sources asked side by side, each on a thread of its own; one that hangs is not waited for.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{self, Arc, PoisonError},
    thread,
    time::Duration,
};

use meshward_core::agent::{self, Acted, Collected, Feed, Input, Pipe, Records, Source};
use tokio::{
    sync::{Mutex, mpsc, oneshot},
    time::Instant,
};

use super::source::{Collector, Wanted, feed};

/// How long a round waits for its sources; what comes later is taken along by the next one.
const COLLECT_MAX: Duration = Duration::from_secs(3);

/// The collectors of each pipeline.
pub(crate) type Collectors = BTreeMap<Pipe, Vec<Box<dyn Collector>>>;

/// What a thread gives back.
type Back = (Box<dyn Collector>, Feed);

/// A source for which no thread began, and why; it is gone where even that took it along.
type Unsent = (Option<Box<dyn Collector>>, io::Error);

/// Every source that is asked.
#[derive(Debug)]
pub(crate) struct Collection {
    facts: mpsc::Sender<Input>,
    /// A round of one pipeline waits for the one before.
    pipes: BTreeMap<Pipe, Arc<Mutex<Vec<Seat>>>>,
}

/// One source, which is here or away.
#[derive(Debug)]
struct Seat {
    source: Source,
    at: At,
}

#[derive(Debug)]
enum At {
    Here(Box<dyn Collector>),
    Away(oneshot::Receiver<Back>),
    /// Its thread has ended without it, which needs a fault of the runtime.
    Gone,
}

impl Collection {
    pub(crate) fn new(facts: mpsc::Sender<Input>, collectors: Collectors) -> Self {
        let seat = |collector: Box<dyn Collector>| Seat {
            source: collector.source(),
            at: At::Here(collector),
        };
        let seated = |(pipe, of): (Pipe, Vec<Box<dyn Collector>>)| {
            (pipe, Arc::new(Mutex::new(of.into_iter().map(seat).collect())))
        };
        Self { facts, pipes: collectors.into_iter().map(seated).collect() }
    }

    pub(crate) fn begin(&self, order: agent::Collect) {
        let agent::Collect { pipe, round, only, room, from, peers } = order;
        let (facts, seats) = (self.facts.clone(), self.pipes.get(&pipe).cloned());
        let wanted = Arc::new(Wanted { room, from, peers });
        tokio::spawn(async move {
            let feeds = match seats {
                Some(seats) => ask(&mut seats.lock().await, only.as_ref(), &wanted).await,
                None => Vec::new(),
            };
            let collected = Box::new(Collected { pipe, round, feeds });
            // A closed inbox means that the agent has ended.
            let _ = facts.send(Input::Acted(Acted::Collected(collected))).await;
        });
    }
}

/// One round: all are begun, or only these, then all of them are waited for until the same moment.
async fn ask(
    seats: &mut [Seat],
    only: Option<&BTreeSet<Source>>,
    wanted: &Arc<Wanted>,
) -> Vec<Feed> {
    let until = Instant::now() + COLLECT_MAX;
    let mut feeds = Vec::new();
    let is_asked = |seat: &&mut Seat| only.is_none_or(|only| only.contains(&seat.source));
    let mut asked: Vec<&mut Seat> = seats.iter_mut().filter(is_asked).collect();
    for seat in &mut asked {
        if let Some(failed) = seat.send_off(wanted) {
            feeds.push(failed);
        }
    }
    for seat in asked {
        feeds.extend(seat.back(until).await);
    }
    feeds
}

impl Seat {
    /// Lets the source collect, unless it is away still.
    fn send_off(&mut self, wanted: &Arc<Wanted>) -> Option<Feed> {
        self.at = match std::mem::replace(&mut self.at, At::Gone) {
            At::Here(collector) => match spawn(collector, Arc::clone(wanted)) {
                Ok(away) => At::Away(away),
                Err((collector, error)) => {
                    self.at = collector.map_or(At::Gone, At::Here);
                    let text = format!("no thread can be started to collect: {error}");
                    return Some(trouble(self.source, text));
                }
            },
            away @ (At::Away(_) | At::Gone) => away,
        };
        None
    }

    /// What it brought, if it comes in time.
    async fn back(&mut self, until: Instant) -> Option<Feed> {
        let At::Away(away) = &mut self.at else { return None };
        match tokio::time::timeout_at(until, away).await {
            Ok(Ok((collector, feed))) => {
                self.at = At::Here(collector);
                Some(feed)
            }
            Ok(Err(_)) => {
                self.at = At::Gone;
                Some(trouble(self.source, BROKE.to_owned()))
            }
            Err(_) => Some(trouble(self.source, HANGS.to_owned())),
        }
    }
}

const BROKE: &str = "it broke and is not asked again until a restart";
const HANGS: &str =
    "it does not answer, as from a disk or a program that hangs; the others go on without it";
const PANICKED: &str = "it broke in the midst of a round, whose records are lost";

/// Collects on a thread of its own, since what may hang has no place among those that the runtime waits for at its end.
fn spawn(
    collector: Box<dyn Collector>,
    wanted: Arc<Wanted>,
) -> Result<oneshot::Receiver<Back>, Unsent> {
    let (give, back) = oneshot::channel();
    let name = format!("collect-{:?}", collector.source());
    // Still here where no thread begins, which would take it along otherwise.
    let place = Arc::new(sync::Mutex::new(Some(collector)));
    let held = Arc::clone(&place);
    let begun = thread::Builder::new().name(name).spawn(move || {
        let taken = held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut collector) = taken {
            let feed = catch_unwind(AssertUnwindSafe(|| collector.collect(&wanted)))
                .unwrap_or_else(|_| trouble(collector.source(), PANICKED.to_owned()));
            // Nobody takes it where the agent has ended.
            let _ = give.send((collector, feed));
        }
    });
    match begun {
        Ok(_) => Ok(back),
        Err(error) => {
            let kept = place.lock().unwrap_or_else(PoisonError::into_inner).take();
            Err((kept, error))
        }
    }
}

/// A feed that says why it is empty.
fn trouble(source: Source, text: String) -> Feed {
    let records = match source {
        Source::System | Source::Stats | Source::Peers => Records::Points(Vec::new()),
        Source::Journald | Source::Files => Records::Lines(Vec::new()),
        Source::Auditd | Source::K8sAudit => Records::Events(Vec::new()),
    };
    Feed { troubles: vec![text], ..feed(source, records) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[derive(Debug)]
    struct Counted(Source, Arc<AtomicUsize>);

    impl Collector for Counted {
        fn source(&self) -> Source {
            self.0
        }

        fn collect(&mut self, _wanted: &Wanted) -> Feed {
            self.1.fetch_add(1, Relaxed);
            feed(self.0, Records::Lines(Vec::new()))
        }
    }

    #[tokio::test]
    async fn a_round_asks_every_source_or_those_alone_that_it_names() {
        let (facts, mut heard) = mpsc::channel(1);
        let asked = [Arc::<AtomicUsize>::default(), Arc::default()];
        let sources = [Source::Journald, Source::Files];
        let counted = |(source, asked): (Source, &Arc<AtomicUsize>)| -> Box<dyn Collector> {
            Box::new(Counted(source, Arc::clone(asked)))
        };
        let collectors = sources.into_iter().zip(&asked).map(counted).collect();
        let collection = Collection::new(facts, [(Pipe::Logs, collectors)].into());
        let only = Some(BTreeSet::from([Source::Files]));
        for (round, only, brought) in [(1, None, sources.to_vec()), (2, only, vec![Source::Files])]
        {
            let (pipe, peers) = (Pipe::Logs, Vec::new());
            collection.begin(agent::Collect { pipe, round, only, room: 1, from: None, peers });
            let Some(Input::Acted(Acted::Collected(collected))) = heard.recv().await else {
                panic!("a round is answered");
            };
            let fed: Vec<Source> = collected.feeds.iter().map(|feed| feed.source).collect();
            assert_eq!((collected.round, fed), (round, brought));
        }
        assert_eq!(asked.map(|count| count.load(Relaxed)), [1, 2]);
    }
}
