//! A thousand agents whose control plane goes away: when it is back, they do not come all at once.

use meshward_sim::{
    crowd::{Crowd, Tally},
    route::Route,
};

/// How many agents there are; more by the environment variable `MESHWARD_CROWD`.
const MEMBERS: usize = 1000;
/// How long the crowd is let be before the steady rate is taken, over which time that is, and how long it is watched
/// when the control plane is back, in seconds.
const SETTLING: usize = 120;
const STEADY: usize = 600;
const WATCHED: usize = 150;
/// What the promise speaks of, in seconds.
const WINDOW: usize = 10;
/// How long the control plane is away each time, in seconds.
const ABSENCES: [usize; 3] = [5, 60, 600];

fn members() -> usize {
    std::env::var("MESHWARD_CROWD").ok().and_then(|text| text.parse().ok()).unwrap_or(MEMBERS)
}

/// How the peak behind an absence compares with the steady rate over as long a time.
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn compare(tally: &Tally, steady: f64, (away, back): (usize, usize)) -> f64 {
    let until = back + WATCHED - WINDOW;
    let (peak, second) = (tally.peak(back, until, WINDOW), tally.peak(back, until, 1));
    let times = f64::from(peak) / steady;
    let most = |route| (back..until).map(|at| tally.of(route, at, at + WINDOW)).max();
    eprintln!(
        "away for {away} s: at most {peak} requests in {WINDOW} s, {times:.2} times as many as before, and {second} in \
         one; of these at most {:?} pulls, {:?} streams, {:?} heartbeats, {:?} reports in {WINDOW} s",
        most(Route::Pull).unwrap_or_default(),
        most(Route::Events).unwrap_or_default(),
        most(Route::Heartbeat).unwrap_or_default(),
        most(Route::Report).unwrap_or_default(),
    );
    times
}

/// A crowd that was let be, and how often it asks within a window.
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn settled() -> (Crowd, f64) {
    let members = members();
    let mut crowd = Crowd::new(members, 1);
    let at = SETTLING + STEADY;
    crowd.run_until(at as u64);
    assert_eq!(crowd.streaming(), members, "every agent follows a stream");
    let steady = f64::from(crowd.tally.between(SETTLING, at)) * WINDOW as f64 / STEADY as f64;
    eprintln!("{members} agents ask {steady:.0} times in {WINDOW} s");
    (crowd, steady)
}

/// Behind a stream that ended in order each agent waits for one second and up to a quarter of it, so all are back within
/// that quarter: what is spread over a minute elsewhere is not here. It is one stream and one pull for each, and no more.
fn an_orderly_end_of_a_second(crowd: &mut Crowd, at: usize, steady: f64) {
    crowd.goes_away(true);
    crowd.run_until(at as u64 + 1);
    crowd.comes_back();
    let until = at + 1 + WATCHED;
    crowd.run_until(until as u64);
    assert_eq!(crowd.streaming(), members(), "every agent follows a stream again");
    let times = compare(&crowd.tally, steady, (1, at + 1));
    let most = 1.25 + 2.0 * members() as f64 / steady;
    assert!(times <= most, "{times:.2} and not {most:.2}");
    let streams = crowd.tally.of(Route::Events, at, until) as usize;
    assert_eq!(streams, members(), "each asks for its stream once");
}

#[test]
fn behind_an_absence_of_any_length_a_thousand_agents_ask_at_most_twice_as_often_as_before() {
    let members = members();
    let (mut crowd, steady) = settled();
    let mut at = SETTLING + STEADY;
    let mut worst = Vec::new();
    for away in ABSENCES {
        crowd.goes_away(false);
        let back = at + away;
        crowd.run_until(back as u64);
        crowd.comes_back();
        at = back + WATCHED;
        crowd.run_until(at as u64);
        assert_eq!(crowd.streaming(), members, "every agent follows a stream again");
        worst.push(compare(&crowd.tally, steady, (away, back)));
    }
    assert!(worst.iter().all(|times| *times <= 2.0), "{worst:?}");
    an_orderly_end_of_a_second(&mut crowd, at, steady);
}
