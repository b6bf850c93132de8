//! The configuration through the binary: every fault at once, with its place, and no secret shown.

use std::fs;

use serde_json::Value;

use crate::node::{Node, text};

const CANARY: &str = "canary-5e1f";

fn checked(content: &str) -> (Option<i32>, String) {
    let node = Node::new("http://127.0.0.1:9", "");
    fs::write(node.path("config.toml"), content).unwrap();
    let output = node.run(&["config", "check"]);
    (output.status.code(), text(&output.stderr) + &text(&output.stdout))
}

#[test]
fn every_fault_is_told_at_once_with_file_line_key_and_rule() {
    let (code, told) = checked(
        "[node]\ndata_dir = 7\n[control_plane]\nurl = \"ftp://plane\"\n[heartbeat]\nintervall = \"5s\"\n\
         interval = \"10ms\"\n[actions]\nmax_output_bytes = 12\n[metrics]\nreport_interval = \"6s\"\n",
    );
    assert_eq!(code, Some(3), "{told}");
    for part in [
        "config.toml:2: node.data_dir: must be a string, not a whole number",
        "config.toml:4: control_plane.url: must be a URL with the scheme http or https",
        "config.toml:6: unknown key heartbeat.intervall; did you mean heartbeat.interval?",
        "config.toml:7: heartbeat.interval: must be at least 1s",
        "config.toml:9: actions.max_output_bytes: must be a whole number from 1024",
        "config.toml:11: metrics.report_interval: must not be shorter than collect_interval",
        "config.toml:11: metrics.report_interval: must be at least 10s",
        "7 places",
    ] {
        assert!(told.contains(part), "{part:?} is missing in:\n{told}");
    }
}

#[test]
fn needed_settings_that_stand_nowhere_are_named_with_their_variable() {
    let (code, told) = checked("");
    assert_eq!(code, Some(3));
    assert!(
        told.contains("node.data_dir: must be set: in the file, or as MESHWARD_NODE__DATA_DIR"),
        "{told}"
    );
    assert!(told.contains("control_plane.url: must be set"), "{told}");
}

#[test]
fn a_secret_is_never_shown_whatever_is_wrong_around_it() {
    let sound = "[node]\ndata_dir = \"/d\"\n[control_plane]\nurl = \"http://p\"\n[registration]\n";
    for broken in [
        format!("{sound}token_value = [\"{CANARY}\"]\n"),
        format!("{sound}token_value = \"{CANARY}\n"),
        format!("{sound}token_value = \"{CANARY}\" trailing\n"),
        format!("{sound}token_value = \"{CANARY}\"\ntoken_value = \"{CANARY}\"\n"),
        format!("{sound}tokn_value = \"{CANARY}\"\n"),
        format!("{sound}token_value = \"{CANARY}{}\"\n", "x".repeat(5000)),
    ] {
        let (code, told) = checked(&broken);
        assert_eq!(code, Some(3), "{broken}");
        assert!(!told.contains(CANARY), "{told}");
        assert!(told.contains("config.toml:6") || told.contains("config.toml:7"), "{told}");
    }
    let node = Node::new("http://127.0.0.1:9", "");
    fs::write(node.path("config.toml"), format!("{sound}token_value = \"{CANARY}\"\n")).unwrap();
    for form in ["text", "json"] {
        let shown = text(&node.run(&["--output", form, "config", "show"]).stdout);
        assert!(shown.contains("********") && !shown.contains(CANARY), "{shown}");
    }
}

#[test]
fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
    let node = Node::new("http://127.0.0.1:9", "[log]\nlevel = \"warn\"\n");
    let level = |arguments: &[&str], variable: Option<&str>| {
        let mut command = node.command(&["--output", "json", "config", "show"]);
        command.args(arguments);
        if let Some(value) = variable {
            command.env("MESHWARD_LOG__LEVEL", value);
        }
        let shown: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        (
            shown["log"]["level"]["value"].clone(),
            shown["log"]["level"]["origin"].as_str().unwrap().to_owned(),
        )
    };
    assert_eq!(
        level(&["--log-level", "debug"], Some("error")),
        ("debug".into(), "flag --log-level".into())
    );
    assert_eq!(
        level(&[], Some("error")),
        ("error".into(), "environment variable MESHWARD_LOG__LEVEL".into())
    );
    let (value, origin) = level(&[], None);
    assert!(value == "warn" && origin.contains("config.toml:"), "{origin}");
    let show = node.run(&["config", "show"]);
    assert!(
        text(&show.stdout).contains("health.listen = \":9101\"  # default"),
        "{}",
        text(&show.stdout)
    );
}

#[test]
fn a_named_file_that_is_absent_and_a_bad_variable_are_exit_3() {
    let node = Node::new("http://127.0.0.1:9", "");
    let mut bad = node.command(&["config", "check"]);
    let bad = bad
        .env("MESHWARD_HEARTBEAT__INTERVAL", "soon")
        .env("MESHWARD_HEARTBEET__INTERVAL", "5s")
        .output()
        .unwrap();
    assert_eq!(bad.status.code(), Some(3));
    let told = text(&bad.stderr);
    assert!(
        told.contains(
            "environment variable MESHWARD_HEARTBEAT__INTERVAL: heartbeat.interval: must be"
        ),
        "{told}"
    );
    assert!(told.contains("unknown variable MESHWARD_HEARTBEET__INTERVAL; did you mean MESHWARD_HEARTBEAT__INTERVAL?"), "{told}");
    fs::remove_file(node.path("config.toml")).unwrap();
    let absent = node.run(&["run"]);
    assert_eq!(absent.status.code(), Some(3));
    assert!(
        text(&absent.stderr).contains("config.toml: cannot read it"),
        "{}",
        text(&absent.stderr)
    );
}
