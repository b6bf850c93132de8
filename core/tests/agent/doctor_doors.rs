//! What the doctor makes of the ports, the token that guards one, and those whom the system trusts.

use meshward_core::doctor::{
    Finding, Holder, Local, Port, Roots, Socket, State, TcpToken, TokenSeen,
};

/// What is told of the health listener and of the one by TCP.
fn doors(agent: Holder, place: Option<(&str, Option<Port>)>) -> [Finding; 2] {
    let place = place.map(|(at, port)| (at.to_owned(), port));
    let local = Local {
        agent,
        socket_path: "/run/meshward/api.sock".into(),
        socket: Some(Socket::Absent),
        health: place.clone(),
        tcp: place,
    };
    let mut findings = local.findings();
    assert_eq!(findings.len(), 3);
    [findings.remove(1), findings.remove(1)]
}

#[test]
fn a_listener_is_named_with_its_own_settings_and_one_that_is_not_wanted_with_its_switch() {
    let taken = doors(Holder::Nobody, Some(("127.0.0.1:9100", Some(Port::Other))));
    let mends = taken.each_ref().map(|finding| (finding.name, finding.mend.as_str()));
    assert_eq!(
        mends,
        [
            ("health listener", "stop that program, or set health.listen"),
            ("tcp listener", "stop that program, or set local_api.http_listen"),
        ]
    );
    let unwanted = doors(Holder::Process(7), None);
    let words = unwanted.each_ref().map(|finding| (finding.state, finding.words.as_str()));
    assert_eq!(
        words,
        [
            (State::Good, "not wanted (health.enabled is false)"),
            (State::Good, "not wanted (local_api.http_enabled is false)"),
        ]
    );
    let unseen = doors(Holder::Nobody, Some(("127.0.0.1:9100", None)));
    assert!(unseen.iter().all(|finding| finding.state == State::Bad), "{unseen:?}");
}

#[test]
fn the_token_of_the_listener_is_good_only_where_the_agent_can_use_it_and_it_guards_well() {
    let token = |seen| TcpToken { path: "/t".into(), seen };
    let refused = || TokenSeen::Refused { words: "is empty".into(), mend: "write one" };
    let weaknesses = vec![("can be guessed", "write more"), ("can be read", "close it")];
    let weak = token(Some(TokenSeen::Usable { weaknesses }));
    let lines =
        |token: &TcpToken| token.findings(false).iter().map(Finding::line).collect::<Vec<_>>();
    assert_eq!(
        lines(&weak),
        [
            "warn  tcp token: /t can be guessed; write more",
            "warn  tcp token: /t can be read; close it"
        ]
    );
    assert_eq!(
        lines(&token(Some(refused()))),
        ["bad   tcp token: /t is empty, so that the agent does not start; write one"]
    );
    let sound = token(Some(TokenSeen::Usable { weaknesses: Vec::new() }));
    assert_eq!(lines(&sound), ["good  tcp token: /t holds one"]);
    assert!(lines(&token(None))[0].starts_with("bad   tcp token: "));
    for of_another in [sound, weak, token(Some(refused())), token(None)] {
        let findings = of_another.findings(true);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].words.contains("cannot be told as this user"), "{findings:?}");
    }
}

#[test]
fn whom_the_system_trusts_is_bad_where_nobody_is_left_and_a_warning_where_some_cannot_be_read() {
    let told = |count, complaint: Option<&str>, spare| {
        let named = Some("SSL_CERT_FILE=/c".to_owned());
        let finding = Roots { count, complaint: complaint.map(Into::into), named, spare }.finding();
        assert_eq!(finding.state == State::Good, finding.mend.is_empty(), "{finding:?}");
        assert!(finding.words.contains("SSL_CERT_FILE=/c"), "{finding:?}");
        finding.state
    };
    let rows = [
        (3, None, false, State::Good),
        (3, Some("/c: denied"), false, State::Warn),
        (3, Some("/c: denied"), true, State::Warn),
        (0, None, true, State::Good),
        (0, Some("/c: denied"), true, State::Warn),
        (0, None, false, State::Bad),
        (0, Some("/c: denied"), false, State::Bad),
    ];
    for (count, complaint, spare, state) in rows {
        assert_eq!(told(count, complaint, spare), state, "{count} {complaint:?} {spare}");
    }
    let usual = Roots { count: 3, complaint: None, named: None, spare: false };
    assert_eq!(usual.finding().line(), "good  ca certificates: from this system: 3");
}
