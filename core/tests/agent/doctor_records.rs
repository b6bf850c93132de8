//! What the doctor makes of where records come from and go to.

use meshward_core::doctor::{Endpoint, Fares, Shake, State, TlsFault, Way, journal};

#[test]
fn whatever_is_not_good_of_records_says_how_to_mend_it_and_what_is_good_does_not() {
    let mut findings = Vec::new();
    for words in ["", "No journal files were found.", "Hint: others"] {
        for foreign in [false, true] {
            findings.extend([true, false].map(|good| journal((good, words), foreign)));
        }
    }
    for way in ways() {
        for fares in [counted(0, 0), counted(0, 9), counted(9, 1), Fares::Closed] {
            findings.push(endpoint(way.clone(), fares).finding());
        }
    }
    for finding in findings {
        assert_eq!(finding.state == State::Good, finding.mend.is_empty(), "{finding:?}");
    }
}

#[test]
fn a_journal_without_a_file_is_told_with_its_mend() {
    let none = journal((true, "No journal files were found.\n"), false);
    assert_eq!(none.state, State::Warn);
    assert!(none.mend.contains("logs.journald") && none.mend.contains("Storage="), "{none:?}");
    assert_eq!(journal((true, "\n"), false).state, State::Good);
    assert_eq!(journal((false, ""), false).state, State::Warn);
    for said in [(true, ""), (false, "denied")] {
        let untold = journal(said, true);
        assert!(untold.state == State::Bad && untold.words.contains("as this user"), "{untold:?}");
    }
    let hint = journal((true, "Hint: You are currently not seeing messages"), false);
    assert!(hint.state == State::Warn && hint.mend.contains("systemd-journal"), "{hint:?}");
}

fn ways() -> Vec<Option<Way>> {
    let cause = || "no".to_owned();
    let shakes = [
        Shake::Plain { in_clear: true },
        Shake::Unverified,
        Shake::Sound,
        Shake::Failed(TlsFault::Chain),
    ];
    let connected = |shake| Way::Connected { address: "192.0.2.1:443".into(), shake };
    let others = [
        Way::Unresolved { host: "sink.example".into(), cause: cause() },
        Way::Unconnected { tried: "192.0.2.1:443".into(), cause: cause() },
        Way::Unprepared { cause: cause() },
    ];
    let all = others.into_iter().chain(shakes.map(connected));
    all.map(Some).chain([None]).collect()
}

const fn counted(delivered: u64, failed: u64) -> Fares {
    Fares::Counted { delivered, failed }
}

fn endpoint(way: Option<Way>, fares: Fares) -> Endpoint {
    Endpoint { section: "logs", way, key: "sink-token".into(), fares }
}

#[test]
fn an_endpoint_is_good_only_where_it_answers_with_a_good_certificate_and_takes_records() {
    for way in ways() {
        let is_sound = is_whole(&way);
        for fares in [counted(0, 0), counted(5, 0), counted(5, 9)] {
            let finding = endpoint(way.clone(), fares).finding();
            assert_eq!(finding.state == State::Good, is_sound, "{finding:?}");
        }
        let refused = endpoint(way.clone(), counted(0, 9)).finding();
        assert_ne!(refused.state, State::Good);
        assert!(refused.words.contains("it took none of 9 records"), "{refused:?}");
        let closed = endpoint(way.clone(), Fares::Closed).finding();
        assert!(closed.state == State::Bad && closed.words.contains("as this user"), "{closed:?}");
        let unasked = endpoint(way, Fares::Unasked("no agent".into())).finding();
        assert_eq!(unasked.state == State::Good, is_sound);
        assert!(unasked.words.contains("is not known: no agent"), "{unasked:?}");
    }
    let refused = endpoint(ways().into_iter().find(is_whole).unwrap(), counted(0, 9)).finding();
    assert!(refused.mend.contains("the secret sink-token"), "{refused:?}");
}

fn is_whole(way: &Option<Way>) -> bool {
    matches!(way, Some(Way::Connected { shake: Shake::Sound, .. }))
}
