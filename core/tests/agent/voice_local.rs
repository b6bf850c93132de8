//! The local endpoint of a pipeline: its token, its copies, and that it holds up nobody.

use meshward_core::{
    agent::{
        Level, Pipe, PipeSettings, Records, Source, VoiceSettings,
        verdict::ingest::Shipped,
        voice::{
            ASK_AGAIN, ASK_SOON, CHUNK_BYTES_MAX, Effect, Input, PARCELS_MAX, Reason, TOKEN_MAX_AGE,
        },
    },
    wire::{record::AuditOrigin, timestamp::Timestamp},
};

use crate::{
    bench::start,
    voice::{Desk, HOST, event, failed, feed, line, lines, logs_only, pipe, with_local},
};

fn settings() -> VoiceSettings {
    VoiceSettings { logs: Some(with_local(pipe(&[Source::Journald]))), ..logs_only() }
}

fn is_asked(desk: &Desk) -> bool {
    let fetch = Effect::Fetch { pipe: Pipe::Logs, key: "sink".into() };
    desk.ordered.contains(&fetch)
}

fn count(body: &str) -> usize {
    body.matches(r#""source":"#).count()
}

#[test]
fn both_ways_are_gone_at_once_and_the_local_one_with_the_whole_record() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, vec![line("one"), line("")]);
    desk.pass(30);
    assert_eq!(desk.sent_lines(), ["one"]);
    assert!(is_asked(&desk) && desk.delivered().is_empty());
    desk.fetched(Ok("token"));
    let at = Timestamp::from(start().wall);
    let record = |message| {
        format!(
            r#"{{"timestamp":"{at}","source":"journald","unit":"a.service","message":"{message}","severity":"info","hostname":"{HOST}"}}"#
        )
    };
    assert_eq!(desk.delivered(), [format!("[{},{}]", record("one"), record(""))]);
    desk.delivery(Ok(()));
    desk.answered(Shipped::Taken);
    let local = desk.logs().local.expect("it has one");
    assert_eq!((local.delivered, local.failed, desk.logs().sent), (2, 0, 1));
}

#[test]
fn a_record_goes_there_once_however_often_it_goes_to_the_control_plane() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..3));
    desk.pass(30);
    desk.fetched(Ok("token"));
    assert_eq!(desk.delivered().iter().map(|body| count(body)).sum::<usize>(), 3);
    desk.delivery(Ok(()));
    desk.answered(failed("away"));
    desk.brought(2, lines(3..4));
    desk.pass(30);
    assert_eq!(desk.sent_lines().len(), 4);
    assert_eq!(desk.delivered().iter().map(|body| count(body)).sum::<usize>(), 1);
}

#[test]
fn a_control_plane_that_is_away_keeps_nothing_from_the_local_endpoint() {
    let mut desk = Desk::armed(settings());
    let mut there = 0;
    for round in 1..=12 {
        desk.brought(round, lines(0..3));
        for _ in 0..3 {
            there += desk.delivered().iter().map(|body| count(body)).sum::<usize>();
            match is_asked(&desk) {
                true => desk.fetched(Ok("token")),
                false => desk.delivery(Ok(())),
            }
        }
        desk.pass(10);
        there += desk.delivered().iter().map(|body| count(body)).sum::<usize>();
        desk.answered(failed("away"));
    }
    assert_eq!(there, 36, "each of them");
    assert_eq!((desk.logs().local.expect("one").failed, desk.dropped(Reason::Full)), (0, 28));
}

#[test]
fn what_fails_there_is_told_on_change_and_never_tried_again() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..2));
    desk.pass(30);
    desk.fetched(Ok("token"));
    desk.delivery(Err("it answered 500"));
    assert_eq!(
        desk.warnings(),
        [
            "the local endpoint of the logs was not given 2 records, which go there no more: it answered 500"
        ]
    );
    desk.answered(Shipped::Taken);
    assert_eq!((desk.logs().sent, desk.logs().held_records), (2, 0), "it holds up nobody");
    desk.brought(2, lines(2..3));
    desk.pass(30);
    assert_eq!(desk.delivered().len(), 1);
    desk.delivery(Err("it answered 500"));
    assert_eq!(desk.warnings().len(), 1);
    let local = desk.logs().local.expect("it has one");
    assert_eq!((local.delivered, local.failed), (0, 3));
    desk.answered(Shipped::Taken);
    desk.brought(3, lines(3..4));
    desk.pass(30);
    desk.delivery(Ok(()));
    let (level, text) = desk.notices.last().expect("it is told");
    assert_eq!(*level, Level::Info);
    assert!(text.starts_with("the local endpoint of the logs takes records again"), "{text}");
}

#[test]
fn a_token_lasts_five_minutes_and_a_stale_one_is_used_where_none_can_be_had() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..4));
    assert!(is_asked(&desk));
    desk.answered(Shipped::Taken);
    desk.fetched(Ok("token"));
    desk.delivery(Ok(()));
    desk.pass(TOKEN_MAX_AGE.as_secs() - 1);
    desk.brought(2, lines(0..4));
    assert_eq!((is_asked(&desk), desk.delivered().len()), (false, 1));
    desk.answered(Shipped::Taken);
    desk.delivery(Ok(()));
    desk.pass(10);
    desk.brought(3, lines(0..4));
    assert_eq!((is_asked(&desk), desk.delivered().len()), (true, 0));
    desk.answered(Shipped::Taken);
    desk.fetched(Err("503"));
    assert_eq!(desk.delivered().len(), 1, "the old one is used");
    desk.delivery(Ok(()));
    desk.pass(ASK_AGAIN.as_secs());
    desk.brought(4, lines(0..4));
    assert!(is_asked(&desk), "it is asked for again after a while");
}

#[test]
fn a_token_of_just_five_minutes_is_asked_for() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..4));
    desk.answered(Shipped::Taken);
    desk.fetched(Ok("token"));
    desk.delivery(Ok(()));
    desk.pass(TOKEN_MAX_AGE.as_secs());
    desk.brought(2, lines(0..4));
    assert_eq!((is_asked(&desk), desk.delivered().len()), (true, 0));
}

#[test]
fn without_a_token_nothing_is_sent_there() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..4));
    desk.fetched(Err("404 secret_not_found"));
    assert_eq!(desk.delivered(), Vec::<String>::new());
    assert_eq!(desk.logs().local.expect("it has one").failed, 4);
    let told =
        "its token, the secret \"sink\" of the control plane, cannot be had: 404 secret_not_found";
    assert!(desk.warnings()[0].ends_with(told), "{:?}", desk.warnings());
    desk.answered(Shipped::Taken);
    assert_eq!(desk.logs().sent, 4);
    desk.pass(ASK_AGAIN.as_secs());
    desk.brought(2, lines(0..4));
    desk.fetched(Ok("token"));
    desk.delivery(Err("it answered 500"));
    assert_eq!(desk.warnings().len(), 2, "another kind of failure is told for itself");
    assert!(desk.warnings()[1].ends_with("it answered 500"), "{:?}", desk.warnings());
}

#[test]
fn a_token_that_could_not_be_had_is_asked_for_again_for_a_batch_a_second_later() {
    let every = PipeSettings { collect_interval: ASK_SOON / 2, ..pipe(&[Source::Journald]) };
    let mut desk = Desk::armed(VoiceSettings { logs: Some(with_local(every)), ..logs_only() });
    desk.brought(1, lines(0..4));
    assert!(is_asked(&desk));
    desk.fetched(Err("404 secret_not_found"));
    desk.answered(Shipped::Taken);
    for (round, asked) in [(2, false), (3, true)] {
        desk.now = desk.now.after(ASK_SOON / 2);
        desk.give(Input::Ticked);
        desk.brought(round, lines(0..4));
        assert_eq!(is_asked(&desk), asked, "in round {round}");
        desk.answered(Shipped::Taken);
    }
    desk.fetched(Ok("token"));
    assert_eq!(desk.delivered().len(), 1);
}

#[test]
fn a_token_is_never_shown() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..4));
    desk.fetched(Ok("token-of-the-sink"));
    let printed = format!("{:?} {:?} {:?}", desk.voice, desk.ordered, desk.notices);
    assert!(!printed.contains("token-of-the-sink"), "{printed}");
}

#[test]
fn a_slow_endpoint_that_is_well_is_waited_for_and_one_that_is_not_is_passed_over() {
    let mut desk = Desk::new(settings());
    let pipe = with_local(pipe(&[Source::Journald]));
    desk.settings.logs = Some(PipeSettings { batch_size: 1, ..pipe });
    desk.give(Input::Armed);
    let mut taken = 0;
    for round in 1..20 {
        desk.brought(round, lines(0..1));
        while !desk.shipped().is_empty() {
            taken += 1;
            desk.answered(Shipped::Taken);
        }
        desk.pass(10);
        while !desk.shipped().is_empty() {
            taken += 1;
            desk.answered(Shipped::Taken);
        }
    }
    assert_eq!(taken, PARCELS_MAX, "the token is still being fetched");
    let held = desk.logs().held_records;
    assert!(held > 1, "{held}");
    desk.fetched(Ok("token"));
    desk.delivery(Err("it did not answer in time"));
    for _ in 0..held {
        desk.answered(Shipped::Taken);
    }
    assert_eq!(desk.logs().held_records, 0, "an endpoint that fails is not waited for");
    let failed = |desk: &Desk| desk.logs().local.expect("it has one").failed;
    let all = desk.logs().collected;
    let on_their_way = 1 + PARCELS_MAX as u64;
    assert_eq!(failed(&desk), all - on_their_way, "what has passed it has failed");
    desk.give(Input::Closed);
    assert_eq!(failed(&desk), all, "and so has what did not go before the end");
}

#[test]
fn a_token_that_was_asked_for_under_an_identity_that_rests_is_asked_for_again() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..4));
    assert!(is_asked(&desk));
    desk.give(Input::Quieted);
    assert!(!is_asked(&desk));
    desk.give(Input::Armed);
    assert!(is_asked(&desk));
}

#[test]
fn a_drain_waits_for_the_local_endpoint_too() {
    let mut desk = Desk::armed(settings());
    desk.brought(1, lines(0..3));
    desk.give(Input::Draining);
    desk.answered(Shipped::Taken);
    desk.fetched(Ok("token"));
    assert_eq!(desk.delivered().len(), 1);
    desk.give(Input::Kept(Ok(())));
    assert!(!desk.voice.is_idle());
    desk.delivery(Ok(()));
    assert!(desk.voice.is_idle());
}

/// Short ones take more in a body than is said of them before it is written.
#[test]
fn no_body_of_many_short_records_is_longer_than_may_be_on_either_way() {
    const COUNT: usize = 26_000;
    let logs = PipeSettings { batch_size: COUNT, ..with_local(pipe(&[Source::Journald])) };
    let mut desk = Desk::armed(VoiceSettings { logs: Some(logs), ..logs_only() });
    desk.brought(1, vec![line(&"x".repeat(60)); COUNT]);
    let (mut here, mut there) = (desk.sent_lines().len(), 0);
    assert!(0 < here && here < COUNT, "all of them are too much for one body");
    desk.fetched(Ok("token"));
    for _ in 0..4 {
        for body in desk.delivered() {
            assert!(body.len() <= CHUNK_BYTES_MAX);
            there += count(&body);
        }
        desk.delivery(Ok(()));
    }
    desk.pass(30);
    for _ in 0..4 {
        desk.answered(Shipped::Taken);
        assert!(desk.shipped().iter().all(|body| body.len() <= CHUNK_BYTES_MAX));
        here += desk.sent_lines().len();
        there += desk.delivered().iter().map(|body| count(body)).sum::<usize>();
        desk.delivery(Ok(()));
    }
    assert_eq!((here, there), (COUNT, COUNT));
}

/// An audit that holds two entries of the agent itself, and sends nothing.
fn quiet_with_two_of_its_own() -> Desk {
    let audit = Some(with_local(pipe(&[Source::Auditd])));
    let mut desk = Desk::armed(VoiceSettings { audit, ..VoiceSettings::default() });
    desk.give(Input::Quieted);
    for action in ["start", "enrol"] {
        desk.give(Input::Did(Box::new(event(AuditOrigin::Process, action))));
    }
    desk
}

#[test]
fn at_a_stop_what_this_agent_did_is_not_counted_with_what_was_to_be_sent() {
    let mut desk = quiet_with_two_of_its_own();
    let events = Records::Events(vec![event(AuditOrigin::Auditd, "open")]);
    desk.collected(Pipe::Audit, 1, vec![feed(Source::Auditd, events)]);
    desk.give(Input::Closed);
    let figures = desk.figures(Pipe::Audit);
    assert_eq!((figures.collected, figures.local_only, figures.held_records), (3, 2, 0));
    assert!(figures.dropped.contains(&(Reason::Stopped, 1)), "{figures:?}");
}

#[test]
fn what_this_agent_did_that_gives_way_is_not_counted_as_dropped() {
    let mut desk = quiet_with_two_of_its_own();
    let events = Records::Events(vec![event(AuditOrigin::Auditd, "open"); 9]);
    desk.collected(Pipe::Audit, 1, vec![feed(Source::Auditd, events)]);
    let figures = desk.figures(Pipe::Audit);
    assert_eq!((figures.collected, figures.local_only, figures.held_records), (11, 2, 8));
    assert!(figures.dropped.contains(&(Reason::Full, 1)), "{figures:?}");
}

#[test]
fn what_this_agent_did_reaches_the_local_endpoint_alone() {
    let audit = Some(with_local(pipe(&[Source::Auditd])));
    let mut desk = Desk::new(VoiceSettings { audit, ..VoiceSettings::default() });
    desk.give(Input::Did(Box::new(event(AuditOrigin::Process, "start"))));
    assert_eq!(desk.figures(Pipe::Audit).held_records, 1, "it waits for an identity");
    desk.give(Input::Armed);
    desk.pass(30);
    assert_eq!(desk.shipped(), Vec::<String>::new());
    assert!(desk.ordered.contains(&Effect::Fetch { pipe: Pipe::Audit, key: "sink".into() }));
    let figures = desk.figures(Pipe::Audit);
    assert_eq!((figures.local_only, figures.held_records), (1, 0));
    desk.give(Input::Answered(
        Pipe::Audit,
        meshward_core::agent::voice::Answered::Fetched(Ok(crate::bench::secret("token"))),
    ));
    let at = Timestamp::from(start().wall);
    let expected = format!(
        r#"[{{"timestamp":"{at}","source":"process","event_type":"t","subject":{{}},"object":{{}},"action":"start","result":"success","hostname":"{HOST}","raw":""}}]"#
    );
    assert_eq!(desk.delivered(), [expected]);
}
