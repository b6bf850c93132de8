//! `GET /metrics`: which figures there are, what each counts, and at which doors they are answered.

use std::{collections::BTreeMap, time::Duration};

use meshward_core::{
    agent::{
        Act, Acted, Captured, Cause, Collected, Door, Effect, Ending, Feed, Input, Pipe, Records,
        RunId, Settings, Source, StagedFile, Stored,
        figures::{
            Process, Tally,
            labels::{Ended, Label as _},
        },
    },
    ids::CallId,
    time::Mono,
    wire::{
        exposition::CONTENT_TYPE,
        http::{Body, Headers, Method, Request, Response},
        timestamp::Timestamp,
    },
};

use crate::{
    bench::{Bench, problem, remembered, responded, sent_to, settings},
    exposed::{Exposed, read},
    voice::{feed, lines, logs_only},
};

const ASKER: CallId = CallId(77);

fn request(method: Method, path: &str) -> Request {
    Request { method, path: path.into(), query: None, headers: Headers::new(), body: Body::EMPTY }
}

fn reply(effects: &[Effect]) -> Option<&Response> {
    effects.iter().find_map(|effect| match effect {
        Effect::Reply { call: ASKER, response } => Some(response),
        _ => None,
    })
}

fn process() -> Process {
    Process {
        resident_memory: Some(8 << 20),
        cpu: Some(Duration::from_millis(1250)),
        open_files: Some(21),
        open_files_max: Some(1024),
        threads: Some(4),
        started: Some(Duration::from_secs(1_700_000_000)),
    }
}

impl Bench {
    fn figures_at(&mut self, door: Door, process: Process) -> Response {
        let request = request(Method::Get, "/metrics");
        let asked = self.give(Input::Asked { call: ASKER, caller: door.into(), request });
        assert_eq!(asked, [Effect::Act(Act::Weigh(ASKER))]);
        let told = self.give(Input::Acted(Acted::Weighed { asker: ASKER, process }));
        reply(&told).expect("an answer").clone()
    }

    fn figures(&mut self) -> Exposed {
        let response = self.figures_at(Door::Health, process());
        read(&String::from_utf8(response.body).expect("a text")).expect("a sound text")
    }
}

#[test]
fn the_figures_are_answered_at_each_door_in_the_text_format() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    for door in [Door::Health, Door::Socket] {
        let response = bench.figures_at(door, process());
        assert_eq!(response.status, 200);
        assert_eq!(response.headers.first("content-type"), Some(CONTENT_TYPE));
        assert!(read(&String::from_utf8(response.body).expect("a text")).is_ok());
    }
    for (door, kind, body) in [
        (Door::Health, "text/plain; charset=utf-8", "method not allowed\n"),
        (Door::Socket, "application/json", "{\"error\":\"method not allowed\"}\n"),
    ] {
        let request = request(Method::Post, "/metrics");
        let effects = bench.give(Input::Asked { call: ASKER, caller: door.into(), request });
        let response = reply(&effects).expect("an answer");
        assert_eq!((response.status, response.headers.first("allow")), (405, Some("GET, HEAD")));
        assert_eq!(response.headers.first("content-type"), Some(kind));
        assert_eq!(response.body, body.as_bytes());
    }
}

#[test]
fn a_node_that_has_done_nothing_tells_zeros_and_no_ages() {
    let mut bench = Bench::new(settings());
    let figures = bench.figures();
    assert_eq!(figures.of("meshward_build_info{version=\"1.2.3\"}"), 1.0);
    assert_eq!(figures.of("meshward_ready"), 0.0);
    assert_eq!(figures.of("meshward_readiness{state=\"registration_pending\"}"), 1.0);
    assert_eq!(figures.of("meshward_identity_present"), 0.0);
    for family in ["heartbeat_age", "pull_age", "event_age"] {
        assert!(!figures.has(&format!("meshward_last_{family}_seconds")), "{family}");
    }
    assert!(!figures.has("meshward_clock_offset_seconds"));
    assert!(!figures.has("meshward_identity_admitted"));
    for label in ["heartbeats_total{outcome=\"ok\"}", "executions_total{outcome=\"timed_out\"}"] {
        assert_eq!(figures.of(&format!("meshward_{label}")), 0.0);
    }
}

#[test]
fn what_the_kernel_does_not_tell_of_the_process_is_absent() {
    let mut bench = Bench::new(settings());
    let told = bench.figures();
    assert_eq!(told.of("process_cpu_seconds_total"), 1.25);
    assert_eq!(told.of("process_resident_memory_bytes"), 8_388_608.0);
    assert_eq!(told.of("process_start_time_seconds"), 1_700_000_000.0);
    let response = bench.figures_at(Door::Socket, Process::default());
    let text = String::from_utf8(response.body).expect("a text");
    assert!(!text.contains("process_") && read(&text).is_ok());
}

#[test]
fn heartbeats_and_pulls_are_counted_by_their_outcome_and_their_ages_go_on() {
    let (mut bench, effects) = Bench::armed(StagedFile::Missing);
    let (beat, _) = sent_to(&effects, "/heartbeat");
    let (pull, _) = sent_to(&effects, "/state");
    let at = Timestamp::from(bench.now.after(Duration::from_secs(7)).wall);
    let body = format!(r#"{{"accepted_at":"{at}","reconcile":false,"rotate_keys":false}}"#);
    bench.answer(beat, responded(200, &body));
    bench.answer(pull, problem(503, "unavailable"));
    bench.pass(Duration::from_millis(2500));
    let figures = bench.figures();
    assert_eq!(figures.of("meshward_heartbeats_total{outcome=\"ok\"}"), 1.0);
    assert_eq!(figures.of("meshward_pulls_total{outcome=\"ok\"}"), 0.0);
    assert_eq!(figures.of("meshward_pulls_total{outcome=\"failed\"}"), 1.0);
    assert_eq!(figures.of("meshward_last_heartbeat_age_seconds"), 2.5);
    assert_eq!(figures.of("meshward_clock_offset_seconds"), -7.0);
    assert!(!figures.has("meshward_last_pull_age_seconds"));
    assert!(figures.of("meshward_notices_total{level=\"warn\"}") >= 1.0);
    assert_eq!(figures.of("meshward_uptime_seconds"), 2.5);
    assert_eq!(figures.of("meshward_identity_admitted"), 1.0);
}

#[test]
fn a_run_is_counted_by_its_end_and_by_who_ordered_it() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    let ending = |cause| Ending { cause, stdout: Captured::default(), stderr: Captured::default() };
    for cause in [Cause::Exited(0), Cause::Exited(3), Cause::Signalled(9), Cause::TimedOut] {
        let id = RunId::Local(CallId(5));
        bench.give(Input::Acted(Acted::Finished { id, ending: ending(cause) }));
    }
    bench.give(Input::Stored(Stored::Committed));
    let figures = bench.figures();
    for (outcome, count) in [("succeeded", 1.0), ("failed", 2.0), ("timed_out", 1.0)] {
        assert_eq!(
            figures.of(&format!("meshward_local_runs_total{{outcome=\"{outcome}\"}}")),
            count
        );
        assert_eq!(figures.of(&format!("meshward_executions_total{{outcome=\"{outcome}\"}}")), 0.0);
    }
    assert_eq!(figures.of("meshward_key_rotations_total"), 1.0);
}

#[test]
fn one_hot_figures_have_one_state_each() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    let figures = bench.figures();
    for (family, states) in [("meshward_readiness", 6), ("meshward_delivery_mode", 3)] {
        let of: Vec<_> = figures
            .samples
            .iter()
            .filter(|(sample, _)| sample.starts_with(&format!("{family}{{")))
            .collect();
        assert_eq!(of.len(), states, "{family}");
        assert_eq!(of.iter().map(|(_, number)| **number).sum::<f64>(), 1.0, "{family}");
    }
    assert_eq!(figures.of("meshward_draining"), 0.0);
}

#[test]
fn every_value_of_a_label_is_told_and_counts_for_itself() {
    let mut tally = Tally::default();
    tally.add(Ended::Broken);
    tally.add(Ended::Broken);
    tally.add(Ended::Changed);
    let told: BTreeMap<_, _> = tally.all().into_iter().collect();
    assert_eq!(told.len(), Ended::ALL.len());
    assert_eq!((told["broken"], told["changed"], told["succeeded"]), (2, 1, 0));
}

#[test]
fn pipelines_tell_what_came_in_what_went_out_and_what_was_lost() {
    let mut bench = Bench::new(Settings { voice: logs_only(), ..settings() });
    bench.give(Input::Restarted(Box::new(remembered(StagedFile::Missing))));
    let troubles = vec!["it is slow".into()];
    let feed = Feed { lost: 3, troubles, ..feed(Source::Journald, Records::Lines(lines(0..2))) };
    let collected = Collected { pipe: Pipe::Logs, round: 1, feeds: vec![feed] };
    bench.give(Input::Acted(Acted::Collected(Box::new(collected))));
    let told = bench.figures();
    let of = |sample: &str| told.of(&format!("meshward_{sample}"));
    assert_eq!(of("ingest_records_collected_total{pipeline=\"logs\"}"), 5.0);
    assert_eq!(of("ingest_records_held{pipeline=\"logs\"}"), 2.0);
    let lost = "ingest_records_dropped_total{pipeline=\"logs\",reason=\"lost_at_source\"}";
    assert_eq!(of(lost), 3.0);
    assert_eq!(of("ingest_records_sent_total{pipeline=\"logs\"}"), 0.0);
    assert_eq!(of("ingest_requests_total{pipeline=\"logs\",outcome=\"accepted\"}"), 0.0);
    assert_eq!(of("source_lost_total{source=\"journald\"}"), 3.0);
    assert_eq!(of("source_troubles{source=\"journald\"}"), 1.0);
    assert!(told.samples.keys().all(|key| !key.contains("last_success_age")));
    assert!(told.samples.keys().all(|key| !key.contains("pipeline=\"metrics\"")));
}

#[test]
fn an_age_is_by_the_clock_that_nobody_sets() {
    let (mut bench, _) = Bench::armed(StagedFile::Missing);
    bench.now.mono = Mono::from_origin(bench.now.mono.since_origin() + Duration::from_secs(60));
    assert_eq!(bench.figures().of("meshward_uptime_seconds"), 60.0);
}
