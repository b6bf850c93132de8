//! The sidecar of a hook, member by member.

use std::time::Duration;

use meshward_core::wire::{
    hook::{PARAMETERS_MAX, Sidecar},
    local::ActionParameter,
};

fn read(text: &str) -> Sidecar {
    Sidecar::decode(text.as_bytes()).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

fn fault(text: &str) -> String {
    Sidecar::decode(text.as_bytes()).expect_err(text).to_string()
}

#[test]
fn every_member_is_read_and_what_nobody_knows_is_passed_over() {
    let sidecar = read(
        r#"{"description":"Deploys.","timeout":"1m30s","sandbox":"none","owner":"ops",
            "parameters":[
                {"name":"version","type":"string","required":true,"description":"Which one."},
                {"name":"tries","type":"int","default":3,"since":"1.2"},
                {"name":"note","default":"n\u00e9"},{"name":"x","default":null}]}"#,
    );
    let parameter = |name: &str, kind: &str, default: &str| ActionParameter {
        name: name.into(),
        kind: kind.into(),
        required: false,
        default: default.into(),
        description: String::new(),
    };
    let version = ActionParameter {
        required: true,
        description: "Which one.".into(),
        ..parameter("version", "string", "")
    };
    let others =
        [parameter("tries", "int", "3"), parameter("note", "", "né"), parameter("x", "", "")];
    assert_eq!(sidecar.description, "Deploys.");
    assert_eq!(sidecar.timeout, Some(("1m30s".into(), Duration::from_secs(90))));
    assert_eq!(sidecar.sandbox, "none");
    assert_eq!(sidecar.parameters, [vec![version], others.to_vec()].concat());
}

#[test]
fn members_that_are_left_out_or_null_are_as_if_they_were_empty() {
    let nulls = r#"{"description":null,"timeout":null,"sandbox":null,"parameters":null}"#;
    for text in ["{}", nulls, r#"{"timeout":"","parameters":[]}"#] {
        assert_eq!(read(text), Sidecar::default(), "{text}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_in_words() {
    let rows = [
        ("", "not valid JSON"),
        ("[]", "must be"),
        ("null", "must be"),
        (r#"{"description":7}"#, "description: must be"),
        (r#"{"description":"a","description":"b"}"#, "stands twice"),
        (r#"{"parameters":{}}"#, "parameters: must be"),
        (r#"{"parameters":["a"]}"#, "parameters[0]: must be"),
        (r#"{"parameters":[{"type":"string"}]}"#, "a parameter has no name"),
        (r#"{"parameters":[{"name":"a","required":"yes"}]}"#, "required: must be"),
        (r#"{"timeout":30}"#, "timeout: must be"),
        (r#"{"timeout":"30"}"#, "its timeout must be a duration"),
        (r#"{"timeout":"-1s"}"#, "its timeout must be a duration"),
        (r#"{"timeout":"0s"}"#, "its timeout must be longer than nothing"),
        (r#"{"timeout":"9000h"}"#, "its timeout must be a duration of at most"),
        (r#"{"sandbox":{"kind":"none"}}"#, "sandbox: must be"),
        ("{} x", "data after"),
    ];
    for (text, words) in rows {
        assert!(fault(text).contains(words), "{text}: {}", fault(text));
    }
}

#[test]
fn as_many_parameters_are_described_as_allowed_and_no_more() {
    let all = |count: usize| {
        format!(r#"{{"parameters":[{}]}}"#, vec![r#"{"name":"p"}"#; count].join(","))
    };
    assert_eq!(read(&all(PARAMETERS_MAX)).parameters.len(), PARAMETERS_MAX);
    assert_eq!(fault(&all(PARAMETERS_MAX + 1)), "it describes more than 256 parameters");
}
