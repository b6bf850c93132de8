//! What is told of the pipelines: to programs of the node, and what records take in memory.

use std::sync::Arc;

use meshward_core::{
    agent::{
        Pipe, PipeSettings, Records, Source, Spooled, VoiceSettings,
        verdict::ingest::Shipped,
        voice::{Answered, BUFFER_BYTES_MAX, Input, Reason},
    },
    wire::{
        record::{AuditEntry, AuditOrigin, LogEntry, MetricPoint, PointGroup, Reading},
        timestamp::Timestamp,
    },
};

use crate::{
    bench::start,
    voice::{Desk, HOST, event, failed, feed, line, lines, pipe, with_local},
};

/// All three, none of which sends anything by itself before its tick.
fn all() -> VoiceSettings {
    let large = |sources: &[Source]| Some(PipeSettings { batch_size: 100, ..pipe(sources) });
    VoiceSettings {
        metrics: large(&[Source::System]),
        logs: large(&[Source::Journald, Source::Files]),
        audit: large(&[Source::Auditd]),
        hostname: Arc::from(HOST),
        ..VoiceSettings::default()
    }
}

fn point(peer: Option<&str>, readings: usize) -> MetricPoint {
    MetricPoint {
        timestamp: Timestamp::from(start().wall),
        group: PointGroup::System,
        peer_id: peer.map(Into::into),
        data: Reading::ALL[..readings].iter().map(|reading| (*reading, 1.0)).collect(),
    }
}

#[test]
fn each_pipeline_is_told_of_by_itself_and_the_agent_is_a_source_of_its_audit() {
    let mut desk = Desk::armed(all());
    let told = |desk: &Desk, pipe| {
        let status = desk.voice.status(&desk.settings, pipe);
        assert!(status.enabled);
        (status.buffer_size, status.source_count, status.error_count)
    };
    assert_eq!(told(&desk, Pipe::Logs), (0, 2, 0));
    assert_eq!(told(&desk, Pipe::Audit), (0, 2, 0), "auditd, and the agent");
    assert_eq!(told(&desk, Pipe::Metrics), (0, 1, 0));
    desk.brought(1, lines(0..3));
    assert_eq!(told(&desk, Pipe::Logs), (3, 2, 0));
    assert_eq!((desk.voice.held(Pipe::Logs), desk.voice.held(Pipe::Audit)), (3, 0));
    for errors in 1..=2 {
        desk.pass(30);
        desk.answered(failed("no"));
        assert_eq!(told(&desk, Pipe::Logs), (3, 2, errors));
    }
    assert_eq!(told(&desk, Pipe::Metrics), (0, 1, 0));
    desk.settings.logs = None;
    assert!(!desk.voice.status(&desk.settings, Pipe::Logs).enabled);
}

/// What a record takes beyond the smallest one of its kind.
fn takes(pipe: Pipe, source: Source, [small, large]: [Records; 2]) -> u64 {
    let held = |records| {
        let mut desk = Desk::armed(all());
        desk.collected(pipe, 1, vec![feed(source, records)]);
        let figures = desk.figures(pipe);
        assert_eq!(figures.held_records, 1);
        assert!(figures.held_bytes > 0);
        figures.held_bytes
    };
    held(large) - held(small)
}

#[test]
fn what_a_record_takes_grows_by_each_of_its_texts_and_readings() {
    let logs = ["", "seven b"].map(|message| Records::Lines(vec![line(message)]));
    assert_eq!(takes(Pipe::Logs, Source::Journald, logs), 7);
    let points = [point(None, 1), point(None, 4)].map(|point| Records::Points(vec![point]));
    let reading = size_of::<(Reading, f64)>() as u64;
    assert_eq!(takes(Pipe::Metrics, Source::System, points), 3 * reading);
    let points = [point(Some(""), 2), point(Some("peer"), 2)];
    let points = points.map(|point| Records::Points(vec![point]));
    assert_eq!(takes(Pipe::Metrics, Source::System, points), 4);
    let changes: [fn(&mut AuditEntry); 5] = [
        |entry| entry.event_type.push('x'),
        |entry| entry.subject.push_str("xx"),
        |entry| entry.object.push_str("xxx"),
        |entry| entry.action.push_str("xxxx"),
        |entry| entry.raw.push_str("xxxxx"),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let small = event(AuditOrigin::Auditd, "open");
        let mut large = small.clone();
        change(&mut large);
        let pair = [small, large].map(|entry| Records::Events(vec![entry]));
        assert_eq!(takes(Pipe::Audit, Source::Auditd, pair), at as u64 + 1);
    }
}

#[test]
fn a_pipeline_holds_just_so_many_bytes_and_its_oldest_give_way_to_one_more() {
    let record = |length: usize| line(&"x".repeat(length));
    let held = |records: Vec<LogEntry>| {
        let mut settings = all();
        settings.logs = settings.logs.map(|logs| PipeSettings { batch_size: 10_000, ..logs });
        let mut desk = Desk::armed(settings);
        desk.brought(1, records);
        let figures = desk.logs();
        (figures.held_records, figures.held_bytes)
    };
    let (_, least) = held(vec![record(0)]);
    let least = usize::try_from(least).expect("it is small");
    let count = BUFFER_BYTES_MAX / (least + 10_000);
    let mut records = vec![record(10_000); count];
    records.push(record(BUFFER_BYTES_MAX - count * (least + 10_000) - least));
    assert_eq!(held(records.clone()), (count as u64 + 1, BUFFER_BYTES_MAX as u64));
    records.push(record(0));
    let (left, bytes) = held(records);
    assert_eq!(left, count as u64 + 1, "the first one");
    assert_eq!(bytes, (BUFFER_BYTES_MAX - 10_000) as u64);
}

/// A pipeline beside a disk from which these were read and are under way.
fn loaded(pipe: Pipe, settings: PipeSettings, records: Records) -> Desk {
    let on = Some(PipeSettings { spool: true, ..settings });
    let settings = match pipe {
        Pipe::Metrics => VoiceSettings { metrics: on, ..VoiceSettings::default() },
        Pipe::Logs => VoiceSettings { logs: on, ..VoiceSettings::default() },
        Pipe::Audit => VoiceSettings { audit: on, ..VoiceSettings::default() },
    };
    let mut desk = Desk::armed(settings);
    let waiting = records.len() as u64;
    let opened = Spooled::Opened { waiting, is_full: false, damaged: 0 };
    desk.give(Input::Spooled(pipe, Box::new(opened)));
    desk.pass(30);
    desk.give(Input::Spooled(pipe, Box::new(Spooled::Read { records, damaged: 0 })));
    assert_eq!(desk.shipped().len(), 1);
    desk
}

fn answered(desk: &mut Desk, pipe: Pipe, shipped: Shipped) {
    desk.give(Input::Answered(pipe, Answered::Shipped(shipped)));
}

/// The parts are not on the disk, and the point is there as long as one of them is not taken.
#[test]
fn at_a_stop_the_disk_keeps_a_point_that_was_sent_in_parts() {
    for taken in [0, 1] {
        let points = Records::Points(vec![point(None, 6)]);
        let mut desk = loaded(Pipe::Metrics, pipe(&[Source::System]), points);
        for _ in 0..2 {
            answered(&mut desk, Pipe::Metrics, Shipped::TooLarge("413".into()));
        }
        for _ in 0..taken {
            answered(&mut desk, Pipe::Metrics, Shipped::Taken);
        }
        desk.give(Input::Closed);
        let figures = desk.figures(Pipe::Metrics);
        assert_eq!((figures.sent, figures.held_records), (taken, 1));
        assert!(figures.dropped.iter().all(|(_, count)| *count == 0), "{figures:?}");
        assert_eq!(desk.notices, []);
    }
}

#[test]
fn at_a_stop_what_no_control_plane_takes_stays_on_the_disk_with_the_rest() {
    let events = [event(AuditOrigin::Process, "start"), event(AuditOrigin::Auditd, "open")];
    let settings = with_local(pipe(&[Source::Auditd]));
    let mut desk = loaded(Pipe::Audit, settings, Records::Events(events.into()));
    answered(&mut desk, Pipe::Audit, Shipped::Failed("away".into()));
    desk.give(Input::Did(Box::new(event(AuditOrigin::Process, "stop"))));
    desk.give(Input::Closed);
    let figures = desk.figures(Pipe::Audit);
    assert_eq!((figures.collected, figures.held_records, figures.local_only), (3, 2, 0));
    assert!(figures.dropped.contains(&(Reason::Stopped, 1)), "{figures:?}");
}
