//! What an answer to the report of an endpoint means: every row of its table.

use std::time::Duration;

use meshward_core::{
    agent::{
        Answer, Failure,
        heartbeat::skew::Skew,
        verdict::{
            Trouble,
            endpoint::{Lease, Reported, read},
        },
    },
    wire::{http::Response, timestamp::Timestamp},
};

use crate::bench::{at, problem, responded, seconds, start};

/// Of a refusal with this reason.
type Meaning = fn(String) -> Reported;

fn time(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).ok()
}

fn judged(answer: Answer) -> Reported {
    read(&answer, start().wall)
}

#[test]
fn an_object_is_an_acceptance_and_a_time_that_is_none_counts_as_absent() {
    let (accepted, stale) = (time("2027-01-15T08:00:00Z"), time("2027-01-15T08:05:00Z"));
    let rows = [
        (
            r#"{"accepted_at":"2027-01-15T08:00:00Z","stale_after":"2027-01-15T08:05:00Z"}"#,
            accepted,
            stale,
        ),
        (r#"{"stale_after":"2027-01-15T09:05:00+01:00","more":[1]}"#, None, stale),
        (r#"{"accepted_at":"2027-01-15T08:00:00Z"}"#, accepted, None),
        (r#"{"accepted_at":7,"stale_after":{}}"#, None, None),
        (r#"{"accepted_at":null,"stale_after":null}"#, None, None),
        (r#"{"stale_after":"soon"}"#, None, None),
        (r#"{"stale_after":"0001-01-01T00:00:00Z"}"#, None, None),
        (r#"{"stale_after":"0000-12-31T23:00:00-01:00"}"#, None, None),
        ("{}", None, None),
    ];
    for (body, accepted_at, stale_after) in rows {
        for status in [200, 201, 204] {
            let lease = Lease { accepted_at, stale_after };
            assert_eq!(judged(responded(status, body)), Reported::Accepted(lease), "{body}");
        }
    }
}

#[test]
fn a_success_without_an_object_is_a_failure() {
    for body in ["", "null", "[]", "7", "{", r#"{"a":1,"a":1}"#] {
        let reported = judged(responded(200, body));
        assert!(matches!(reported, Reported::Failed(_)), "{body}: {reported:?}");
    }
}

#[test]
fn each_refusal_has_its_meaning() {
    let told =
        |status: u16, code: &str| format!("{status}: {code}: told so (correlation id c0ffee)");
    let rows: [(u16, &str, Meaning); 17] = [
        (400, "endpoint_clock_skew", |reason| Reported::ClockSkew { reason, skew: Skew::None }),
        (400, "malformed_endpoint_request", Reported::Unacceptable),
        (400, "endpoint_unparseable", Reported::Unacceptable),
        (400, "clock_skew", Reported::Unacceptable),
        (400, "never_heard_of", Reported::Unacceptable),
        (413, "endpoint_body_too_large", Reported::Unacceptable),
        (401, "unauthorized", Reported::Unauthorized),
        (401, "endpoint_peer_gone", Reported::Unauthorized),
        (404, "endpoint_peer_not_found", Reported::Stranger),
        (410, "endpoint_peer_gone", Reported::Stranger),
        (404, "endpoint_peer_gone", Reported::Failed),
        (404, "resource_not_found", Reported::Failed),
        (403, "permission_denied", Reported::Failed),
        (307, "never_heard_of", Reported::Failed),
        (500, "endpoint_clock_skew", Reported::Failed),
        (501, "never_heard_of", Reported::Failed),
        (503, "allocator_contention", Reported::Failed),
    ];
    for (status, code, expected) in rows {
        assert_eq!(judged(problem(status, code)), expected(told(status, code)), "{status} {code}");
    }
    assert_eq!(judged(Response::empty(404).into_answer()), Reported::Failed("404".into()));
    assert_eq!(judged(Response::empty(401).into_answer()), Reported::Unauthorized("401".into()));
    let lost = Answer::Failed(Failure::TimedOut.into());
    assert_eq!(judged(lost), Reported::Failed("no answer within the timeout".into()));
}

#[test]
fn a_429_tells_how_long_to_wait_where_it_does() {
    let rows =
        [("7", Some(seconds(7))), ("999999", Some(seconds(3600))), ("soon", None), ("-1", None)];
    for (value, retry_after) in rows {
        let answer = Answer::Responded(Response::empty(429).with("retry-after", value));
        let trouble = Trouble { reason: "429".into(), retry_after };
        assert_eq!(judged(answer), Reported::Limited(trouble), "{value}");
    }
    let trouble = Trouble { reason: "429".into(), retry_after: None };
    assert_eq!(judged(Response::empty(429).into_answer()), Reported::Limited(trouble));
}

#[test]
fn how_far_the_clocks_are_apart_is_told_where_the_answer_has_a_date() {
    // The start of the tests is Fri, 15 Jan 2027 08:00:00 GMT.
    let rows = [
        ("Fri, 15 Jan 2027 08:01:15 GMT", Skew::Behind(seconds(75))),
        // A date is exact to the second before.
        ("Fri, 15 Jan 2027 07:50:00 GMT", Skew::Ahead(seconds(599))),
        ("Thu, 15 Jan 2027 07:50:00 GMT", Skew::None),
        ("yesterday", Skew::None),
    ];
    for (date, expected) in rows {
        let Answer::Responded(response) = problem(400, "endpoint_clock_skew") else {
            panic!("it responds")
        };
        let reported = judged(Answer::Responded(response.with("date", date)));
        let Reported::ClockSkew { skew, .. } = reported else { panic!("{reported:?}") };
        assert_eq!(skew, expected, "{date}");
    }
}

#[test]
fn a_lease_lasts_by_the_clock_of_the_control_plane_alone() {
    let moment = |since: u64| Some(Timestamp::from(at(seconds(since)).wall));
    let rows = [
        (moment(10), moment(70), Some(seconds(60))),
        (moment(70), moment(10), Some(Duration::ZERO)),
        (None, moment(70), None),
        (moment(10), None, None),
    ];
    for (accepted_at, stale_after, lasts) in rows {
        assert_eq!(Lease { accepted_at, stale_after }.lasts(), lasts);
    }
}

/// A response as an answer.
trait IntoAnswer {
    fn into_answer(self) -> Answer;
}

impl IntoAnswer for Response {
    fn into_answer(self) -> Answer {
        Answer::Responded(self)
    }
}
