//! The pipelines: when sources are asked, when batches go, what is held, and what a filter keeps back.

use std::sync::Arc;

use meshward_core::{
    agent::{
        Change, Collected, Content, Feed, Filter, Level, LocalSettings, Pipe, PipeSettings,
        Records, Source, VoiceSettings,
        notice::streak::TELL_AGAIN,
        verdict::ingest::Shipped,
        voice::{
            Answered, Effect, Input, RECORD_BYTES_MAX, Reason, Voice,
            figures::{Outcome, PipeFigures},
        },
    },
    secret::Secret,
    step::Step,
    time::{Mono, Now},
    wire::{
        ingest::Severity,
        positions::{Position, Positions},
        record::{AuditEntry, AuditOrigin, LogEntry, LogSource, TEXT_MAX},
        timestamp::Timestamp,
    },
};

use crate::bench::{seconds, start};

pub(crate) const HOST: &str = "node-1";

/// Pipelines with their clock.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) voice: Voice,
    pub(crate) settings: VoiceSettings,
    pub(crate) now: Now,
    /// What was ordered last.
    pub(crate) ordered: Vec<Effect>,
    pub(crate) notices: Vec<(Level, String)>,
}

/// Logs that are collected each 10 s, sent each 30 s, 4 in a batch.
pub(crate) fn pipe(sources: &[Source]) -> PipeSettings {
    PipeSettings {
        collect_interval: seconds(10),
        report_interval: seconds(30),
        batch_size: 4,
        spool: false,
        local: None,
        sources: sources.to_vec(),
    }
}

pub(crate) fn logs_only() -> VoiceSettings {
    let hostname = Arc::from(HOST);
    let logs = Some(pipe(&[Source::Journald]));
    VoiceSettings { logs, hostname, ..VoiceSettings::default() }
}

pub(crate) fn with_local(settings: PipeSettings) -> PipeSettings {
    let local = LocalSettings {
        url: "https://sink.example/logs".into(),
        secret_key: "sink".into(),
        tls_insecure_skip_verify: false,
    };
    PipeSettings { local: Some(local), ..settings }
}

pub(crate) fn line(message: &str) -> LogEntry {
    LogEntry {
        timestamp: Timestamp::from(start().wall),
        source: LogSource::Journald,
        unit: Arc::from("a.service"),
        message: message.into(),
        severity: Severity::Info,
        hostname: Arc::from(HOST),
    }
}

pub(crate) fn lines(numbers: std::ops::Range<usize>) -> Vec<LogEntry> {
    numbers.map(|number| line(&format!("line {number}"))).collect()
}

pub(crate) fn event(source: AuditOrigin, action: &str) -> AuditEntry {
    AuditEntry {
        timestamp: Timestamp::from(start().wall),
        source,
        event_type: "t".into(),
        subject: "{}".into(),
        object: "{}".into(),
        action: action.into(),
        result: Some(meshward_core::wire::record::Outcome::Success),
        hostname: Arc::from(HOST),
        raw: String::new(),
    }
}

pub(crate) fn feed(source: Source, records: Records) -> Feed {
    Feed { source, records, marks: Vec::new(), more: false, lost: 0, troubles: Vec::new() }
}

pub(crate) fn cursor(text: &str) -> Position {
    Position::Cursor(text.into())
}

pub(crate) fn failed(reason: &str) -> Shipped {
    Shipped::Failed(reason.into())
}

impl Desk {
    pub(crate) fn new(settings: VoiceSettings) -> Self {
        let voice = Voice::default();
        Self { voice, settings, now: start(), ordered: Vec::new(), notices: Vec::new() }
    }

    /// Pipelines with an identity, and their first rounds under way.
    pub(crate) fn armed(settings: VoiceSettings) -> Self {
        let mut desk = Self::new(settings);
        desk.give(Input::Armed);
        desk
    }

    pub(crate) fn give(&mut self, input: Input) {
        let step = std::mem::take(&mut self.voice).step(&self.settings, self.now, input);
        let Step { state, effects } = step;
        self.voice = state;
        self.notices.extend(effects.iter().filter_map(|effect| {
            let Effect::Tell(notice) = effect else { return None };
            Some((notice.level, notice.text.clone()))
        }));
        self.ordered = effects;
    }

    /// Time passes, with a tick at its end.
    pub(crate) fn pass(&mut self, count: u64) {
        self.now = self.now.after(seconds(count));
        self.give(Input::Ticked);
    }

    /// The round that was begun last, with its room and from where it goes on.
    pub(crate) fn asked(&self) -> Option<(Pipe, u64, usize, Option<Positions>)> {
        self.ordered.iter().find_map(|effect| {
            let Effect::Collect { pipe, round, room, from, .. } = effect else { return None };
            Some((*pipe, *round, *room, from.clone()))
        })
    }

    /// The only sources that the round asks which was begun last.
    fn only(&self) -> Option<Vec<Source>> {
        self.ordered.iter().find_map(|effect| {
            let Effect::Collect { only, .. } = effect else { return None };
            only.as_ref().map(|only| only.iter().copied().collect())
        })
    }

    /// The batches that were sent to the control plane, as text.
    pub(crate) fn shipped(&self) -> Vec<String> {
        let bodies = self.ordered.iter().filter_map(|effect| {
            let Effect::Ship { body, .. } = effect else { return None };
            Some(String::from_utf8(body.0.clone()).expect("text"))
        });
        bodies.collect()
    }

    /// The messages of the one batch of lines that was sent.
    pub(crate) fn sent_lines(&self) -> Vec<String> {
        match self.shipped().as_slice() {
            [] => Vec::new(),
            [body] => body.lines().map(message).collect(),
            more => panic!("{} batches at once", more.len()),
        }
    }

    pub(crate) fn delivered(&self) -> Vec<String> {
        let bodies = self.ordered.iter().filter_map(|effect| {
            let Effect::Deliver { body, token, .. } = effect else { return None };
            assert_eq!(token.expose(), "token");
            Some(String::from_utf8(body.0.clone()).expect("text"))
        });
        bodies.collect()
    }

    /// The positions that were ordered to be written.
    pub(crate) fn kept(&self) -> Option<Positions> {
        self.ordered.iter().find_map(|effect| {
            let Effect::Keep(Change::Write(Content(bytes))) = effect else { return None };
            Some(Positions::decode(bytes).expect("they are sound"))
        })
    }

    pub(crate) fn collected(&mut self, pipe: Pipe, round: u64, feeds: Vec<Feed>) {
        self.give(Input::Collected(Box::new(Collected { pipe, round, feeds })));
    }

    /// The round that is under way brings these lines.
    pub(crate) fn brought(&mut self, round: u64, lines: Vec<LogEntry>) {
        self.collected(Pipe::Logs, round, vec![feed(Source::Journald, Records::Lines(lines))]);
    }

    pub(crate) fn answered(&mut self, shipped: Shipped) {
        self.give(Input::Answered(Pipe::Logs, Answered::Shipped(shipped)));
    }

    pub(crate) fn fetched(&mut self, outcome: Result<&str, &str>) {
        let outcome = outcome.map(|token| Secret::new(token.into())).map_err(Into::into);
        self.give(Input::Answered(Pipe::Logs, Answered::Fetched(outcome)));
    }

    pub(crate) fn delivery(&mut self, outcome: Result<(), &str>) {
        let outcome = outcome.map_err(Into::into);
        self.give(Input::Answered(Pipe::Logs, Answered::Delivered(outcome)));
    }

    pub(crate) fn figures(&self, pipe: Pipe) -> PipeFigures {
        let figures = self.voice.figures(&self.settings);
        let figures = figures.pipes.into_iter().find(|figures| figures.pipe == pipe);
        let figures = figures.expect("the pipeline is on");
        let dropped: u64 = figures.dropped.iter().map(|(_, count)| count).sum();
        let ended = figures.sent + figures.filtered + figures.local_only + dropped;
        assert_eq!(figures.collected, ended + figures.held_records, "{figures:?}");
        figures
    }

    pub(crate) fn logs(&self) -> PipeFigures {
        self.figures(Pipe::Logs)
    }

    pub(crate) fn dropped(&self, reason: Reason) -> u64 {
        let dropped = self.logs().dropped;
        dropped.iter().find(|(of, _)| *of == reason).expect("every reason is there").1
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        let warnings = self.notices.iter().filter(|(level, _)| *level == Level::Warn);
        warnings.map(|(_, text)| text.as_str()).collect()
    }
}

fn message(line: &str) -> String {
    let (_, behind) = line.split_once(r#""message":""#).expect("a line has a message");
    behind.split('"').next().expect("a text ends").into()
}

pub(crate) fn requests(figures: &PipeFigures, outcome: Outcome) -> u64 {
    figures.requests.iter().find(|(of, _)| *of == outcome).expect("every outcome is there").1
}

fn after(count: u64) -> Mono {
    start().after(seconds(count)).mono
}

#[test]
fn sources_are_asked_at_once_when_armed_and_at_each_interval_from_then_on() {
    let mut desk = Desk::new(logs_only());
    desk.give(Input::Ticked);
    assert_eq!((desk.asked(), desk.voice.wakeup()), (None, None), "nobody may be told of it yet");
    desk.give(Input::Armed);
    assert_eq!(desk.asked(), Some((Pipe::Logs, 1, 8, Some(Positions::default()))));
    assert_eq!(desk.voice.wakeup(), Some(after(10)));
    desk.brought(1, lines(0..1));
    assert_eq!(desk.asked(), None);
    desk.pass(10);
    assert_eq!(desk.asked(), Some((Pipe::Logs, 2, 7, None)), "positions go with the first alone");
    desk.pass(10);
    assert_eq!(desk.asked(), None, "a tick is left out while a round is under way");
    desk.brought(2, Vec::new());
    assert_eq!(desk.asked(), None);
    desk.pass(10);
    assert_eq!(desk.asked().map(|(_, round, ..)| round), Some(3));
}

#[test]
fn a_round_that_nobody_waits_for_changes_nothing() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..1));
    let before = desk.voice.clone();
    desk.brought(1, lines(1..2));
    desk.brought(7, lines(1..2));
    desk.collected(Pipe::Audit, 1, Vec::new());
    assert_eq!(desk.voice, before);
}

#[test]
fn what_is_held_goes_at_the_report_tick_and_not_before() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..3));
    desk.pass(29);
    assert_eq!(desk.shipped(), Vec::<String>::new());
    desk.pass(1);
    let at = Timestamp::from(start().wall);
    let line = |number| {
        format!(
            r#"{{"severity":"info","unit":"a.service","hostname":"{HOST}","message":"line {number}","timestamp":"{at}"}}"#
        )
    };
    assert_eq!(desk.shipped(), [format!("{}\n{}\n{}\n", line(0), line(1), line(2))]);
    assert_eq!(desk.logs().held_records, 3, "what is under way is held");
    desk.answered(Shipped::Taken);
    let figures = desk.logs();
    assert_eq!((figures.sent, figures.held_records, figures.held_bytes), (3, 0, 0));
    assert_eq!(figures.last_success, Some(desk.now.mono));
    assert_eq!(requests(&figures, Outcome::Accepted), 1);
    assert!(desk.ordered.contains(&Effect::Admitted));
}

#[test]
fn a_full_batch_goes_at_once_and_one_request_is_under_way() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..7));
    assert_eq!(desk.sent_lines(), ["line 0", "line 1", "line 2", "line 3"]);
    desk.answered(Shipped::Taken);
    assert_eq!(desk.sent_lines(), Vec::<String>::new(), "three wait for the tick");
    desk.pass(30);
    assert_eq!(desk.sent_lines(), ["line 4", "line 5", "line 6"]);
}

#[test]
fn a_source_with_more_is_asked_as_soon_as_there_is_room() {
    let mut desk = Desk::armed(logs_only());
    let more = |numbers| {
        let records = Records::Lines(lines(numbers));
        vec![Feed { more: true, ..feed(Source::Journald, records) }]
    };
    desk.collected(Pipe::Logs, 1, more(0..8));
    assert_eq!(desk.asked(), None, "there is no room");
    assert_eq!(desk.sent_lines().len(), 4);
    desk.answered(Shipped::Taken);
    assert_eq!((desk.sent_lines().len(), desk.asked()), (4, Some((Pipe::Logs, 2, 4, None))));
    desk.collected(Pipe::Logs, 2, more(8..12));
    desk.answered(Shipped::Taken);
    assert_eq!((desk.sent_lines().len(), desk.asked()), (4, Some((Pipe::Logs, 3, 4, None))));
    desk.answered(failed("away"));
    desk.collected(Pipe::Logs, 3, more(12..16));
    assert_eq!((desk.sent_lines().len(), desk.asked()), (0, None), "nothing but the ticks is left");
    desk.pass(10);
    assert_eq!(desk.asked(), Some((Pipe::Logs, 4, 0, None)), "sources that can wait bring nothing");
    desk.collected(Pipe::Logs, 4, more(0..0));
    assert_eq!(desk.asked(), None);
    assert_eq!(desk.dropped(Reason::Full), 0);
}

#[test]
fn between_ticks_the_sources_with_more_are_asked_and_no_others() {
    let mut desk = Desk::new(logs_only());
    desk.settings.logs = Some(pipe(&[Source::Journald, Source::Files]));
    desk.give(Input::Armed);
    let first = desk.asked().map(|(_, round, room, _)| (round, room));
    assert_eq!((first, desk.only()), (Some((1, 4)), None), "each has its part of the room");
    let feeds = |files: std::ops::Range<usize>, more| {
        vec![Feed { more, ..feed(Source::Files, Records::Lines(lines(files))) }]
    };
    let idle = feed(Source::Journald, Records::Lines(Vec::new()));
    desk.collected(Pipe::Logs, 1, [feeds(0..4, true), vec![idle]].concat());
    let next = desk.asked().map(|(_, round, room, _)| (round, room));
    assert_eq!((next, desk.only()), (Some((2, 4)), Some(vec![Source::Files])));
    desk.answered(Shipped::Taken);
    desk.pass(10);
    assert_eq!(desk.asked(), None, "one round at a time");
    desk.collected(Pipe::Logs, 2, feeds(4..8, true));
    let whole = desk.asked().map(|(_, round, room, _)| (round, room));
    assert_eq!((whole, desk.only()), (Some((3, 2)), None), "a tick was left out meanwhile");
    desk.collected(Pipe::Logs, 3, feeds(8..10, true));
    desk.answered(Shipped::Taken);
    assert_eq!(
        (desk.asked().map(|(_, round, ..)| round), desk.only()),
        (Some(4), Some(vec![Source::Files]))
    );
    desk.collected(Pipe::Logs, 4, feeds(10..10, false));
    desk.answered(Shipped::Taken);
    assert_eq!(desk.asked(), None, "none has more");
    desk.pass(10);
    assert_eq!((desk.asked().map(|(_, round, ..)| round), desk.only()), (Some(5), None));
}

/// Else none of them would be heard again, and what failed once would never be tried.
#[test]
fn with_less_room_than_sources_each_of_them_may_bring_one() {
    let mut desk = Desk::new(logs_only());
    let three = [Source::Journald, Source::Files, Source::Auditd];
    desk.settings.logs = Some(PipeSettings { batch_size: 1, ..pipe(&three) });
    desk.give(Input::Armed);
    assert_eq!(desk.asked().map(|(_, round, room, _)| (round, room)), Some((1, 1)));
    let full = |source| Feed { more: true, ..feed(source, Records::Lines(lines(0..1))) };
    desk.collected(Pipe::Logs, 1, vec![full(Source::Journald), full(Source::Files)]);
    assert_eq!(desk.asked(), None, "the two have more, and there is room for neither");
    desk.answered(Shipped::Taken);
    assert_eq!(desk.asked().map(|(_, round, room, _)| (round, room)), Some((2, 1)));
    assert_eq!(desk.only().map(|only| only.len()), Some(1), "there is room for one of them");
}

/// Else each would bring no more than one between two ticks, whatever it has.
#[test]
fn sources_that_all_have_more_take_turns_where_there_is_not_room_for_all() {
    let mut desk = Desk::new(logs_only());
    let three = [Source::Journald, Source::Files, Source::Auditd];
    desk.settings.logs = Some(PipeSettings { batch_size: 1, ..pipe(&three) });
    desk.give(Input::Armed);
    let full = |source| Feed { more: true, ..feed(source, Records::Lines(lines(0..1))) };
    desk.collected(Pipe::Logs, 1, three.map(full).into());
    let mut heard = Vec::new();
    for _ in 0..100 {
        let Some((_, round, room, _)) = desk.asked() else {
            desk.answered(Shipped::Taken);
            continue;
        };
        let only = desk.only().expect("no tick has passed");
        assert!(room > 0 && only.len() < 3, "{room} for {only:?}");
        heard.extend(only.iter().copied());
        desk.collected(Pipe::Logs, round, only.into_iter().map(full).collect());
    }
    let count = |source| heard.iter().filter(|one| **one == source).count();
    let counts = three.map(count);
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
    assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
    assert_eq!(desk.dropped(Reason::Full), 1, "of the first round alone, in which all are asked");
}

#[test]
fn two_sources_that_both_have_more_than_fits_make_nothing_give_way() {
    let mut desk = Desk::new(logs_only());
    desk.settings.logs = Some(pipe(&[Source::Journald, Source::Files]));
    desk.give(Input::Armed);
    for round in 1..50 {
        let Some((_, asked, room, _)) = desk.asked() else {
            desk.answered(Shipped::Taken);
            continue;
        };
        let both = [Source::Journald, Source::Files];
        let full = |source| Feed { more: true, ..feed(source, Records::Lines(lines(0..room))) };
        desk.collected(Pipe::Logs, asked, both.map(full).into());
        assert_eq!(desk.dropped(Reason::Full), 0, "in turn {round}");
    }
    assert!(desk.logs().sent > 20);
}

#[test]
fn a_smaller_batch_size_makes_nothing_give_way_that_is_held() {
    let mut desk = Desk::armed(logs_only());
    desk.give(Input::Quieted);
    desk.brought(1, lines(0..8));
    desk.settings.logs = Some(PipeSettings { batch_size: 1, ..pipe(&[Source::Journald]) });
    desk.give(Input::Retimed);
    desk.pass(10);
    assert_eq!(desk.asked().expect("a round").2, 0, "there is room for no more");
    desk.brought(2, lines(8..9));
    assert_eq!((desk.logs().held_records, desk.dropped(Reason::Full)), (8, 1));
    desk.pass(10);
    desk.brought(3, Vec::new());
    assert_eq!((desk.logs().held_records, desk.dropped(Reason::Full)), (8, 1));
}

/// Its lines may be held for long, and the file moved and the process ended meanwhile.
#[test]
fn the_beginning_of_a_file_of_which_nothing_is_known_is_kept_at_once() {
    let mut desk = Desk::armed(logs_only());
    desk.give(Input::Quieted);
    desk.brought(1, lines(0..1));
    let place = |name: &str, offset| {
        let place = Position::Offset { device: 1, inode: 2, offset, head_len: 0, head: 0 };
        (name.to_owned(), Some(place))
    };
    let of = |marks| Feed { marks, ..feed(Source::Journald, Records::Lines(Vec::new())) };
    desk.pass(10);
    desk.collected(Pipe::Logs, 2, vec![of(vec![place("file:/new", 0), place("file:/read", 7)])]);
    let kept = desk.kept().expect("the new one");
    assert_eq!(kept.places.keys().collect::<Vec<_>>(), ["file:/new"]);
    desk.give(Input::Kept(Ok(())));
    desk.pass(10);
    desk.collected(Pipe::Logs, 3, vec![of(vec![place("file:/new", 0)])]);
    assert_eq!(
        desk.kept(),
        None,
        "one that is known stands behind what is held of the file before"
    );
    desk.pass(10);
    desk.collected(Pipe::Logs, 4, vec![of(vec![place("file:/read", 0)])]);
    assert_eq!(desk.kept(), None, "and one of which another place waits");
    desk.pass(10);
    desk.collected(Pipe::Logs, 5, vec![of(vec![place("file:/other", 0)])]);
    let kept = desk.kept().expect("the third one, though places of others wait");
    assert_eq!(kept.places.keys().collect::<Vec<_>>(), ["file:/new", "file:/other"]);
}

#[test]
fn beyond_twice_the_batch_size_the_oldest_give_way_and_one_warning_sums_them_up() {
    let mut desk = Desk::armed(logs_only());
    desk.give(Input::Quieted);
    desk.brought(1, lines(0..10));
    assert_eq!((desk.logs().held_records, desk.dropped(Reason::Full)), (8, 2));
    assert!(desk.warnings()[0].starts_with("records of the logs were dropped: 2 for want of room"));
    for round in 2..=30 {
        desk.pass(10);
        desk.brought(round, lines(0..1));
    }
    assert_eq!((desk.dropped(Reason::Full), desk.warnings().len()), (31, 1), "290 s have passed");
    desk.pass(10);
    assert_eq!(desk.warnings().len(), 2);
    assert!(desk.warnings()[1].contains("dropped: 29 for want of room"));
}

#[test]
fn what_is_under_way_is_not_dropped_for_what_comes() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..4));
    desk.pass(10);
    desk.brought(2, lines(4..12));
    assert_eq!((desk.logs().held_records, desk.dropped(Reason::Full)), (8, 4));
    desk.answered(failed("away"));
    desk.pass(20);
    assert_eq!(desk.sent_lines(), ["line 0", "line 1", "line 2", "line 3"]);
    desk.answered(Shipped::Taken);
    assert_eq!(desk.sent_lines(), ["line 8", "line 9", "line 10", "line 11"]);
}

#[test]
fn no_more_is_held_than_eight_mebibytes_and_no_more_is_asked_for_than_fits() {
    let mut desk = Desk::new(logs_only());
    desk.settings.logs = Some(PipeSettings { batch_size: 5_000, ..pipe(&[Source::Journald]) });
    desk.give(Input::Armed);
    let room = (6 << 20) / RECORD_BYTES_MAX;
    assert_eq!(desk.asked().map(|(_, _, room, _)| room), Some(room));
    let long = line(&"x".repeat(TEXT_MAX + 11));
    desk.brought(1, vec![long.clone(); room]);
    assert_eq!(desk.dropped(Reason::Full), 0, "what was asked for fits, however long it is");
    desk.pass(10);
    let (_, _, room, _) = desk.asked().expect("a round is begun");
    desk.brought(2, vec![long; room + 200]);
    assert!(desk.logs().held_bytes <= 8 << 20);
    assert!(desk.dropped(Reason::Full) > 0);
}

#[test]
fn a_batch_has_no_more_than_four_mebibytes() {
    let mut desk = Desk::new(logs_only());
    desk.settings.logs = Some(PipeSettings { batch_size: 300, ..pipe(&[Source::Journald]) });
    desk.give(Input::Armed);
    // Each takes six times its length in JSON.
    desk.brought(1, vec![line(&"\u{1}".repeat(TEXT_MAX)); 300]);
    let bodies = desk.shipped();
    assert_eq!(bodies.len(), 1);
    assert!(bodies[0].len() <= 4 << 20 && bodies[0].len() > 1 << 20, "{}", bodies[0].len());
}

#[test]
fn lines_are_kept_back_by_severity_then_by_the_units_included_then_by_those_excluded() {
    let unit = |unit: &str, severity| LogEntry { unit: Arc::from(unit), severity, ..line("x") };
    let all = vec![
        unit("a", Severity::Warning),
        unit("a", Severity::Err),
        unit("a", Severity::Notice),
        unit("b", Severity::Emerg),
        unit("c", Severity::Emerg),
        unit("", Severity::Emerg),
    ];
    let passing = |filter: Filter| {
        let mut desk = Desk::armed(VoiceSettings { filter, ..logs_only() });
        desk.give(Input::Quieted);
        desk.brought(1, all.clone());
        let figures = desk.logs();
        assert_eq!(figures.filtered + figures.held_records, 6);
        figures.held_records
    };
    assert_eq!(passing(Filter::default()), 6);
    let grave = Filter { min_severity: Some(Severity::Warning), ..Filter::default() };
    assert_eq!(passing(grave.clone()), 5);
    let included = Filter { include_units: vec!["a".into(), "b".into()], ..grave };
    assert_eq!(passing(included.clone()), 3);
    let excluded = Filter { exclude_units: vec!["b".into()], ..included };
    assert_eq!(passing(excluded), 2);
    let excluded = Filter { exclude_units: vec!["b".into()], ..Filter::default() };
    assert_eq!(passing(excluded), 5);
}

#[test]
fn changed_settings_are_followed_at_once() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..3));
    let pipe = pipe(&[Source::Journald]);
    let quick = PipeSettings { collect_interval: seconds(1), report_interval: seconds(2), ..pipe };
    desk.settings.logs = Some(PipeSettings { batch_size: 2, ..quick });
    desk.give(Input::Retimed);
    assert_eq!(desk.sent_lines(), ["line 0", "line 1"], "a batch is full by now");
    assert_eq!(desk.voice.wakeup(), Some(after(1)));
    desk.answered(Shipped::Taken);
    desk.pass(1);
    assert!(desk.asked().is_some());
    desk.pass(1);
    assert_eq!(desk.sent_lines(), ["line 2"]);
}

#[test]
fn a_pipeline_that_is_turned_off_ends_and_one_that_is_turned_on_begins() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..3));
    let logs = desk.settings.logs.take();
    desk.settings.audit = Some(pipe(&[Source::Auditd]));
    desk.give(Input::Retimed);
    assert_eq!(desk.asked().map(|(pipe, ..)| pipe), Some(Pipe::Audit));
    let stopped = "3 at a stop (those of files and of the journal are read again after a start)";
    assert!(desk.warnings()[0].contains(stopped), "{:?}", desk.warnings());
    assert_eq!(desk.voice.held(Pipe::Logs), 0);
    desk.settings.logs = logs;
    desk.give(Input::Retimed);
    assert_eq!(desk.asked().map(|(pipe, round, ..)| (pipe, round)), Some((Pipe::Logs, 2)));
    assert_eq!(desk.dropped(Reason::Stopped), 3);
}

#[test]
fn a_refused_identity_holds_back_what_is_collected_and_the_next_one_sends_it() {
    let mut desk = Desk::armed(logs_only());
    desk.brought(1, lines(0..4));
    assert_eq!(desk.sent_lines().len(), 4);
    desk.give(Input::Quieted);
    desk.pass(10);
    assert!(desk.asked().is_some(), "collecting goes on");
    desk.brought(2, lines(4..6));
    desk.answered(Shipped::Taken);
    desk.pass(20);
    assert_eq!((desk.shipped().len(), desk.logs().sent, desk.logs().held_records), (0, 0, 6));
    desk.give(Input::Armed);
    assert_eq!(desk.sent_lines(), ["line 0", "line 1", "line 2", "line 3"]);
}

#[test]
fn troubles_are_told_at_once_then_when_they_change_or_hourly_and_their_end_once() {
    let mut desk = Desk::armed(logs_only());
    let mut round = 0;
    let mut hear = |desk: &mut Desk, troubles: &[&str]| {
        round += 1;
        let troubles = troubles.iter().map(|text| (*text).to_owned()).collect();
        let records = Records::Lines(Vec::new());
        desk.notices.clear();
        desk.collected(
            Pipe::Logs,
            round,
            vec![Feed { troubles, ..feed(Source::Journald, records) }],
        );
        desk.pass(10);
        desk.notices.clone()
    };
    let warned = |text: &str| vec![(Level::Warn, format!("collecting from journald: {text}"))];
    assert_eq!(hear(&mut desk, &["no room for 3 files"]), warned("no room for 3 files"));
    assert_eq!(hear(&mut desk, &["no room for 17 files"]), []);
    assert_eq!(desk.logs().sources[0].troubles, 1);
    assert_eq!(hear(&mut desk, &["no room for 1 files", "gone"]), warned("gone"));
    desk.pass(TELL_AGAIN.as_secs() - 10);
    assert_eq!(hear(&mut desk, &["gone"]), warned("gone"));
    assert_eq!(
        hear(&mut desk, &[]),
        [(Level::Info, "nothing is amiss any more with collecting from journald".into())]
    );
    assert_eq!(hear(&mut desk, &[]), []);
}

#[test]
fn what_a_source_loses_itself_is_accounted_for() {
    let mut desk = Desk::armed(logs_only());
    let records = Records::Lines(lines(0..1));
    desk.collected(Pipe::Logs, 1, vec![Feed { lost: 9, ..feed(Source::Journald, records) }]);
    assert_eq!((desk.logs().collected, desk.dropped(Reason::LostAtSource)), (10, 9));
    assert_eq!(desk.logs().sources[0].lost, 9);
    assert!(desk.warnings()[0].contains("9 by their source"));
}
