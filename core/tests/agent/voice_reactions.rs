//! What an answer to a batch means and leads to: each row of the table, unknown codes included.

use meshward_core::{
    agent::{
        Answer, Failure, Feed, Level, Lost, Pipe, Records, Source, VoiceSettings,
        verdict::ingest::{Shipped, delivered, read},
        voice::{Answered, Effect, Input, Reason, figures::Outcome},
    },
    wire::{
        http::Response,
        record::{AuditOrigin, MetricPoint, PointGroup, Reading},
        timestamp::Timestamp,
    },
};
use serde_json::Value;

use crate::{
    bench::{problem, responded, start},
    voice::{Desk, event, failed, feed, line, lines, logs_only, pipe, requests},
};

/// What is told of an error answer.
fn words(status: u16, code: &str) -> String {
    format!("{status}: {code}: told so (correlation id c0ffee)")
}

#[test]
fn an_answer_means_what_the_table_says() {
    for (status, body) in [(200, ""), (202, "{}"), (204, ""), (299, "no JSON")] {
        assert_eq!(read(&responded(status, body)), Shipped::Taken, "{status}");
    }
    let oversized = |status| Answer::Failed(Lost::from(Failure::Oversized { status }));
    assert_eq!(read(&oversized(202)), Shipped::Taken);
    let code = "ingest_batch_malformed";
    assert_eq!(read(&problem(400, code)), Shipped::Malformed(words(400, code)));
    for code in ["ingest_body_too_large", "ingest_batch_too_many_records", "unheard_of"] {
        assert_eq!(read(&problem(413, code)), Shipped::TooLarge(words(413, code)));
    }
    assert!(matches!(read(&responded(413, "a page")), Shipped::TooLarge(_)));
    assert!(matches!(read(&oversized(413)), Shipped::TooLarge(_)));
    let code = "observability_ingest_not_provisioned";
    assert_eq!(read(&problem(501, code)), Shipped::NotProvisioned);
    for code in ["unauthorized", "nsk_revoked", "unheard_of"] {
        assert_eq!(read(&problem(401, code)), Shipped::Unauthorized(words(401, code)));
    }
}

#[test]
fn any_other_answer_keeps_the_batch() {
    for (status, code) in [
        (400, "ingest_sent_at_invalid"),
        (400, "ingest_encoding_invalid"),
        (400, "unheard_of"),
        (403, "nsk_node_mismatch"),
        (404, "ingest_batch_malformed"),
        (415, "ingest_encoding_unsupported"),
        (429, "per_node_rate_limited"),
        (429, "capacity_exceeded"),
        (500, "observability_ingest_not_provisioned"),
        (501, "unheard_of"),
        (502, "unheard_of"),
        (503, "ingest_buffer_unavailable"),
    ] {
        assert_eq!(read(&problem(status, code)), Shipped::Failed(words(status, code)));
    }
    for status in [302, 400, 404, 501] {
        assert!(matches!(read(&responded(status, "a page")), Shipped::Failed(_)), "{status}");
    }
    for failure in [Failure::Unreachable, Failure::TimedOut, Failure::Oversized { status: 500 }] {
        let lost = Answer::Failed(Lost::from(failure));
        assert!(matches!(read(&lost), Shipped::Failed(_)), "{failure}");
    }
    // Those that ask to be left alone longer than until the next report tick are asked then, too.
    for status in [429, 503] {
        let answer = Answer::Responded(Response::empty(status).with("retry-after", "3600"));
        assert_eq!(read(&answer), Shipped::Failed(format!("{status}")));
    }
}

#[test]
fn of_a_local_endpoint_the_status_alone_matters() {
    for status in [200, 202, 204] {
        assert_eq!(delivered(&responded(status, "whatever")), Ok(()));
    }
    assert_eq!(delivered(&Answer::Failed(Failure::Oversized { status: 200 }.into())), Ok(()));
    assert_eq!(delivered(&responded(401, "")), Err("it answered 401".into()));
    assert_eq!(delivered(&responded(302, "")), Err("it answered 302".into()));
    let timed_out = Answer::Failed(Failure::TimedOut.into());
    assert_eq!(delivered(&timed_out), Err("it did not answer in time".into()));
}

/// Lines that go with the first report tick, the first batch of them under way.
fn sending(count: usize) -> Desk {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..count));
    if desk.shipped().is_empty() {
        desk.pass(30);
    }
    assert_eq!(desk.sent_lines().len(), count.min(4));
    desk
}

#[test]
fn a_malformed_batch_is_dropped_and_the_next_one_goes() {
    let mut desk = sending(4);
    desk.pass(10);
    desk.brought(2, lines(4..6));
    desk.pass(20);
    desk.answered(Shipped::Malformed("400".into()));
    assert_eq!(desk.sent_lines(), ["line 4", "line 5"]);
    assert_eq!((desk.dropped(Reason::Malformed), desk.logs().sent), (4, 0));
    assert_eq!(requests(&desk.logs(), Outcome::Malformed), 1);
    desk.answered(Shipped::Taken);
    assert_eq!((desk.logs().sent, desk.logs().held_records), (2, 0));
}

/// "Dropped records are summarized in a warning at most once every five minutes."
#[test]
fn what_is_dropped_is_warned_of_once_in_five_minutes_and_why_is_told_for_information() {
    let mut desk = sending(4);
    for round in 2..8 {
        desk.answered(Shipped::Malformed("400: told so".into()));
        desk.pass(10);
        desk.brought(round, lines(0..4));
        desk.answered(Shipped::Taken);
        desk.pass(20);
        desk.brought(round + 1, lines(0..4));
        desk.pass(10);
    }
    assert!(desk.dropped(Reason::Malformed) >= 12);
    let summary =
        "records of the logs were dropped: 4 as the control plane called their batch malformed";
    assert_eq!(desk.warnings(), [summary]);
    let why = "the control plane did not take a batch of the logs: 400: told so; it is dropped";
    assert!(desk.notices.contains(&(Level::Info, why.into())), "{:?}", desk.notices);
    desk.give(Input::Closed);
    assert_eq!(desk.warnings().len(), 1, "nor is it at a stop");
    let (level, last) = desk.notices.last().expect("it is told");
    assert_eq!(*level, Level::Info);
    assert!(last.contains("as the control plane called their batch malformed"), "{last}");
}

/// Each event of an API server that has no answer yet is such a one.
#[test]
fn what_lacks_what_the_control_plane_demands_is_counted_and_not_warned_of() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, vec![line(""), line("one")]);
    desk.pass(30);
    desk.answered(Shipped::Taken);
    desk.pass(600);
    assert_eq!((desk.dropped(Reason::Unconvertible), desk.logs().sent), (1, 1));
    assert_eq!(desk.notices, []);
}

#[test]
fn a_batch_that_failed_goes_again_with_the_next_report_tick_and_not_before() {
    let mut desk = sending(4);
    desk.answered(failed("415"));
    assert_eq!(desk.logs().held_records, 4);
    for _ in 0..2 {
        desk.pass(10);
        assert_eq!(desk.sent_lines(), Vec::<String>::new());
    }
    desk.pass(10);
    assert_eq!(desk.sent_lines(), ["line 0", "line 1", "line 2", "line 3"]);
    desk.answered(Shipped::Taken);
    assert_eq!((desk.logs().sent, requests(&desk.logs(), Outcome::Failed)), (4, 1));
    assert_eq!(desk.notices.last().map(|(level, _)| *level), Some(Level::Info), "it is well again");
}

#[test]
fn what_fails_is_told_once_as_long_as_it_lasts() {
    let mut desk = sending(3);
    for _ in 0..5 {
        desk.answered(failed("away"));
        desk.pass(30);
    }
    assert_eq!(
        desk.warnings(),
        ["the control plane did not take a batch of the logs: away; it is kept"]
    );
}

#[test]
fn a_batch_that_is_too_large_is_halved_down_to_the_record_that_is_dropped() {
    let mut desk = sending(4);
    desk.answered(Shipped::TooLarge("413".into()));
    assert_eq!(desk.sent_lines(), ["line 0", "line 1"]);
    desk.answered(Shipped::TooLarge("413".into()));
    assert_eq!(desk.sent_lines(), ["line 0"]);
    desk.answered(Shipped::TooLarge("413".into()));
    assert_eq!((desk.sent_lines(), desk.dropped(Reason::TooLarge)), (vec!["line 1".into()], 1));
    desk.answered(Shipped::Taken);
    assert_eq!(desk.sent_lines(), ["line 2", "line 3"], "it was that record");
    desk.answered(Shipped::Taken);
    assert_eq!((desk.logs().sent, desk.logs().held_records), (3, 0));
    assert_eq!(requests(&desk.logs(), Outcome::TooLarge), 3);
}

#[test]
fn a_size_that_is_too_large_is_remembered_until_the_next_report_tick() {
    let mut desk = sending(4);
    desk.answered(Shipped::TooLarge("413".into()));
    for expected in [["line 0", "line 1"], ["line 2", "line 3"]] {
        assert_eq!(desk.sent_lines(), expected);
        desk.answered(Shipped::Taken);
    }
    desk.pass(10);
    desk.brought(2, lines(4..8));
    assert_eq!(desk.sent_lines(), ["line 4", "line 5"]);
    desk.answered(Shipped::Taken);
    desk.pass(30);
    assert_eq!(desk.sent_lines(), ["line 6", "line 7"]);
    desk.answered(Shipped::Taken);
    desk.brought(3, lines(8..12));
    assert_eq!(desk.sent_lines().len(), 4);
}

#[test]
fn where_every_record_is_too_large_each_is_asked_for_once() {
    let mut desk = sending(4);
    let mut requests = 0;
    while desk.logs().held_records > 0 {
        desk.answered(Shipped::TooLarge("413".into()));
        requests += 1;
    }
    assert_eq!((requests, desk.dropped(Reason::TooLarge)), (6, 4));
}

#[test]
fn the_larger_half_comes_first_and_none_is_left_out() {
    let mut desk = sending(3);
    desk.answered(Shipped::TooLarge("413".into()));
    assert_eq!(desk.sent_lines(), ["line 0", "line 1"]);
    desk.answered(Shipped::Taken);
    assert_eq!(desk.sent_lines(), ["line 2"]);
}

/// To the control plane each sample is a record, and so it is where it demands less.
#[test]
fn a_point_that_is_too_large_goes_in_parts_down_to_the_sample_that_is_dropped() {
    let mut desk = Desk::armed(VoiceSettings {
        metrics: Some(pipe(&[Source::System])),
        ..VoiceSettings::default()
    });
    let data = Reading::ALL[..6].iter().map(|reading| (*reading, 1.5)).collect();
    let timestamp = Timestamp::from(start().wall);
    let point = MetricPoint { timestamp, group: PointGroup::System, peer_id: None, data };
    let points = Records::Points(vec![point.clone(), point]);
    desk.collected(Pipe::Metrics, 1, vec![feed(Source::System, points)]);
    desk.pass(30);
    let (mut all, mut taken) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let bodies = desk.shipped();
        let [body] = bodies.as_slice() else { break };
        let samples: Vec<Value> = serde_json::from_str(body).expect("an array of samples");
        let names: Vec<_> = samples.iter().map(|sample| sample["name"].to_string()).collect();
        if all.is_empty() {
            all.clone_from(&names);
        }
        let shipped = match names.as_slice() {
            [name] if !name.contains("disk_used") => Shipped::Taken,
            _ => Shipped::TooLarge("413".into()),
        };
        if shipped == Shipped::Taken {
            taken.extend(names);
        }
        desk.give(Input::Answered(Pipe::Metrics, Answered::Shipped(shipped)));
    }
    assert_eq!(all.len(), 12);
    all.retain(|name| !name.contains("disk_used"));
    assert_eq!(taken, all);
    let figures = desk.figures(Pipe::Metrics);
    assert_eq!((figures.collected, figures.sent, figures.held_bytes), (12, 10, 0));
    assert!(figures.dropped.contains(&(Reason::TooLarge, 2)), "{figures:?}");
}

/// Lines without a text are in no body, and halving them would bring the same one again.
#[test]
fn a_batch_is_halved_by_what_is_in_its_body() {
    let of = |texts: [&str; 4]| texts.map(line).to_vec();
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, of(["", "one", "", ""]));
    assert_eq!(desk.sent_lines(), ["one"]);
    desk.answered(Shipped::TooLarge("413".into()));
    assert_eq!(desk.sent_lines().len(), 0);
    assert_eq!((desk.dropped(Reason::TooLarge), desk.dropped(Reason::Unconvertible)), (1, 3));
    desk.pass(30);
    desk.brought(2, of(["", "two", "three", ""]));
    desk.pass(30);
    assert_eq!(desk.sent_lines(), ["two", "three"]);
    desk.answered(Shipped::TooLarge("413".into()));
    assert_eq!(desk.sent_lines(), ["two"]);
    desk.answered(Shipped::Taken);
    assert_eq!(desk.sent_lines(), ["three"]);
    desk.answered(Shipped::Taken);
    assert_eq!((desk.logs().sent, desk.logs().held_records), (2, 0));
    assert_eq!((desk.dropped(Reason::TooLarge), desk.dropped(Reason::Unconvertible)), (1, 5));
}

#[test]
fn what_the_control_plane_is_not_set_up_for_is_dropped_quietly() {
    let mut desk = sending(4);
    for round in 2..=3 {
        desk.answered(Shipped::NotProvisioned);
        assert_eq!(desk.notices.len(), 1, "it is told at once, and once");
        desk.pass(10);
        desk.brought(round, lines(4..8));
        assert_eq!(desk.sent_lines().len(), 0, "nothing but the ticks is left");
        desk.pass(20);
        assert_eq!(desk.sent_lines().len(), 4);
    }
    assert_eq!((desk.dropped(Reason::NotProvisioned), desk.logs().held_records), (8, 4));
    assert_eq!((desk.warnings().len(), desk.notices.len()), (0, 1), "{:?}", desk.notices);
    assert_eq!(desk.notices[0].0, Level::Info);
    desk.pass(300);
    assert_eq!(desk.notices.len(), 1);
}

#[test]
fn a_refused_credential_is_told_to_the_standing_and_the_batch_is_kept() {
    let mut desk = sending(4);
    desk.answered(Shipped::Unauthorized("401".into()));
    assert!(desk.ordered.contains(&Effect::Unauthorized));
    assert_eq!((desk.logs().held_records, requests(&desk.logs(), Outcome::Unauthorized)), (4, 1));
    desk.pass(30);
    assert_eq!(desk.sent_lines().len(), 4);
}

#[test]
fn an_answer_that_nobody_waits_for_changes_nothing() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..2));
    let before = desk.voice.clone();
    desk.answered(Shipped::Taken);
    desk.delivery(Err("away"));
    desk.fetched(Ok("token"));
    assert_eq!(desk.voice, before);
}

#[test]
fn a_record_that_cannot_be_converted_is_left_out_and_accounted_for() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, vec![line(""), line("one"), line("")]);
    desk.pass(30);
    assert_eq!(desk.sent_lines(), ["one"]);
    desk.answered(Shipped::Taken);
    assert_eq!((desk.logs().sent, desk.dropped(Reason::Unconvertible)), (1, 2));
    desk.pass(10);
    desk.brought(2, vec![line(""); 4]);
    assert_eq!(desk.shipped().len(), 0, "a batch without a survivor is not sent");
    assert_eq!((desk.logs().held_records, desk.dropped(Reason::Unconvertible)), (0, 6));
}

/// An audit pipeline that was brought these.
fn audited(events: Vec<meshward_core::wire::record::AuditEntry>) -> Desk {
    let audit = Some(pipe(&[Source::Auditd]));
    let mut desk = Desk::armed(VoiceSettings { audit, ..VoiceSettings::default() });
    let records = Records::Events(events);
    desk.collected(Pipe::Audit, 1, vec![Feed { ..feed(Source::Auditd, records) }]);
    desk.pass(30);
    desk
}

#[test]
fn of_audited_events_source_action_outcome_and_time_go() {
    let mut nameless = event(AuditOrigin::Auditd, "open");
    nameless.result = None;
    let events = vec![
        event(AuditOrigin::Auditd, "open"),
        event(AuditOrigin::Auditd, ""),
        nameless,
        event(AuditOrigin::K8sAudit, "create"),
    ];
    let mut desk = audited(events);
    let at = Timestamp::from(start().wall);
    let expected = format!(
        "{{\"source\":\"auditd\",\"action\":\"open\",\"outcome\":\"success\",\"timestamp\":\"{at}\"}}\n\
         {{\"source\":\"k8s\",\"action\":\"create\",\"outcome\":\"success\",\"timestamp\":\"{at}\"}}\n"
    );
    assert_eq!(desk.shipped(), Vec::<String>::new(), "it went before the tick, as a full batch");
    desk.give(Input::Quieted);
    desk.give(Input::Armed);
    assert_eq!(desk.shipped(), [expected]);
}

#[test]
fn what_this_agent_did_goes_nowhere_without_a_local_endpoint() {
    let mut desk = audited(Vec::new());
    desk.give(Input::Did(Box::new(event(AuditOrigin::Process, "start"))));
    let figures = desk.figures(Pipe::Audit);
    assert_eq!((figures.collected, figures.local_only, figures.held_records), (1, 1, 0));
    desk.pass(30);
    assert_eq!((desk.shipped().len(), desk.notices.len()), (0, 0));
}
