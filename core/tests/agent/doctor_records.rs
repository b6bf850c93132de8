//! What the doctor makes of where records come from and go to.

use meshward_core::doctor::{Endpoint, Secret, Shake, State, TlsFault, Way, journal};

#[test]
fn whatever_is_not_good_of_records_says_how_to_mend_it_and_what_is_good_does_not() {
    let mut findings = Vec::new();
    for words in ["", "No journal files were found.", "Hint: others"] {
        for foreign in [false, true] {
            findings.extend([true, false].map(|good| journal((good, words), foreign)));
        }
    }
    for way in ways() {
        for secret in [Secret::Listed, Secret::Unlisted, Secret::Closed] {
            findings.push(endpoint(way.clone(), secret).finding());
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

fn endpoint(way: Option<Way>, secret: Secret) -> Endpoint {
    Endpoint { section: "logs", way, key: "sink-token".into(), secret }
}

#[test]
fn an_endpoint_is_good_only_where_it_answers_with_a_good_certificate_and_its_secret_is_not_missing()
{
    for way in ways() {
        let is_sound = matches!(way, Some(Way::Connected { shake: Shake::Sound, .. }));
        let listed = endpoint(way.clone(), Secret::Listed).finding();
        assert_eq!(listed.state == State::Good, is_sound, "{listed:?}");
        assert_ne!(endpoint(way.clone(), Secret::Unlisted).finding().state, State::Good);
        let closed = endpoint(way.clone(), Secret::Closed).finding();
        assert!(closed.state == State::Bad && closed.words.contains("as this user"), "{closed:?}");
        let unasked = endpoint(way, Secret::Unasked("no agent".into())).finding();
        assert_eq!(unasked.state, listed.state);
        assert!(unasked.words.contains("sink-token was not looked for: no agent"), "{unasked:?}");
    }
}
