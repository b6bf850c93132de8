//! The configuration through the binary: every fault at once, with its place, and no secret shown.

use std::{collections::BTreeMap, fs};

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
fn an_entry_of_a_list_that_is_no_string_is_named_with_its_place_and_what_it_is() {
    let (code, told) = checked(
        "[nat]\nstun_servers = [\"a:1\", 3478]\n[logs]\nfile_patterns = [true]\n[logs.filter]\n\
         include_units = [\"a\", \"b\", [\"c\"]]\nexclude_units = \"a\"\n",
    );
    assert_eq!(code, Some(3), "{told}");
    for part in [
        "config.toml:2: nat.stun_servers: entry 2: must be a string, not a whole number",
        "config.toml:4: logs.file_patterns: entry 1: must be a string, not true or false",
        "config.toml:6: logs.filter.include_units: entry 3: must be a string, not a list",
        "config.toml:7: logs.filter.exclude_units: must be a list of strings, not a string",
    ] {
        assert!(told.contains(part), "{part:?} is missing in:\n{told}");
    }
}

#[test]
fn a_pipeline_that_is_off_is_held_to_no_rule_but_to_the_names_of_its_keys() {
    let off = format!(
        "{SOUND}[metrics]\nenabled = false\nbatch_size = -1\ncollect_interval = \"1ms\"\n[logs]\nenabled = false\n\
         file_patterns = [\"a.log\"]\nbatch_size = 200000\n[logs.filter]\nmin_severity = \"loud\"\n[audit]\n\
         enabled = false\nk8s_audit_file = \"log\"\n[audit.local_endpoint]\nurl = \"ftp://l\"\n"
    );
    let (code, told) = checked(&off);
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = checked(&off.replace("enabled = false\n", ""));
    assert_eq!(code, Some(3), "{told}");
    for key in ["metrics.batch_size", "logs.file_patterns", "logs.filter.min_severity"] {
        assert!(told.contains(key), "{key} is missing in:\n{told}");
    }
    let (code, told) = checked(&off.replace("batch_size = 2", "batch_sise = 2"));
    assert!(code == Some(3) && told.contains("unknown key logs.batch_sise"), "{told}");
    let (code, told) = checked(&off.replacen("enabled = false", "enabled = 7", 1));
    assert!(code == Some(3) && told.contains("metrics.batch_size"), "{told}");
}

#[test]
fn one_slip_is_one_fault_each_slip_of_a_list_is_told_and_faults_come_in_the_order_of_the_lines() {
    let (code, told) = checked(
        "[metrics]\ncollect_interval = \"5s\"\nreport_interval = \"10sec\"\nbatch_size = -5\n[logs]\n\
         file_patterns = [\"a.log\", \"/b.log\", \"c.log\"]\n[audit]\ncollect_interval = 7\n\
         [audit.local_endpoint]\nurl = \"https://l.example\"\n[node]\ndata_dir = \"/d\"\n\
         [control_plane]\nurl = 7\n",
    );
    assert_eq!(code, Some(3), "{told}");
    let faults: Vec<_> = told.lines().filter_map(|line| line.split_once("config.toml:")).collect();
    let want = [
        "3: metrics.report_interval: ",
        "4: metrics.batch_size: ",
        "6: logs.file_patterns: entry 1: must begin with \"/\"",
        "8: audit.collect_interval: ",
        "10: audit.local_endpoint.url: needs secret_key beside it",
        "14: control_plane.url: ",
    ];
    assert_eq!(faults.len(), want.len(), "{told}");
    assert!(told.contains("; entry 3: must begin with \"/\""), "{told}");
    for ((_, fault), want) in faults.iter().zip(want) {
        assert!(fault.starts_with(want), "{want:?} is missing in:\n{told}");
    }
}

#[test]
fn a_pattern_of_files_that_is_none_is_told_with_its_rule() {
    for (pattern, rule) in [
        ("app.log", "must begin with \"/\""),
        ("/var/log/[a.log", "must close each \"[\" with \"]\""),
        ("/var/log/[z-a].log", "must write the smaller character of a range first"),
    ] {
        let file = format!("[logs]\nfile_patterns = [\"/var/log/**/*.log\", \"{pattern}\"]\n");
        let (code, told) = checked(&file);
        assert_eq!(code, Some(3), "{told}");
        let part = format!("config.toml:2: logs.file_patterns: entry 2: {rule}");
        assert!(told.contains(&part), "{part:?} is missing in:\n{told}");
    }
}

#[test]
fn needed_settings_that_stand_nowhere_are_named_with_their_variable() {
    let (code, told) = checked("");
    assert_eq!(code, Some(3));
    assert!(told.contains("node.data_dir: must be set: in /"), "{told}");
    assert!(told.contains("/config.toml, or as MESHWARD_NODE__DATA_DIR"), "{told}");
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

const SOUND: &str = "[node]\ndata_dir = \"/d\"\n[control_plane]\nurl = \"http://p\"\n";

#[test]
fn a_file_that_cannot_be_read_is_the_only_thing_told() {
    let node = Node::new("http://127.0.0.1:9", "");
    fs::write(node.path("config.toml"), "[node\n").unwrap();
    let output = node.run(&["config", "check"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        told.contains("config.toml:1: not valid TOML") && !told.contains("must be set"),
        "{told}"
    );
    fs::remove_file(node.path("config.toml")).unwrap();
    let told = text(&node.run(&["config", "check"]).stderr);
    assert!(told.contains("cannot read it") && !told.contains("must be set"), "{told}");
}

#[test]
fn an_interval_above_a_default_is_told_at_the_key_that_was_set() {
    let (code, told) = checked(&format!("{SOUND}[logs]\ncollect_interval = \"40s\"\n"));
    assert_eq!(code, Some(3));
    let want = "config.toml:6: logs.collect_interval: must not be longer than report_interval, which is 30s";
    assert!(told.contains(want), "{told}");
}

#[test]
fn a_socket_path_that_is_too_long_is_told_at_the_key_that_made_it() {
    let long = format!("/run/{}", "x".repeat(100));
    let (code, told) = checked(&SOUND.replace("\n[con", &format!("\nrun_dir = \"{long}\"\n[con")));
    assert_eq!(code, Some(3));
    assert!(
        told.contains("config.toml:3: node.run_dir: is too long for the socket in it"),
        "{told}"
    );
    let (code, told) = checked(&format!("{SOUND}[local_api]\nsocket_path = \"{long}/s\"\n"));
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = checked(&format!("{SOUND}[local_api]\nsocket_path = \"{long}/so\"\n"));
    assert_eq!(code, Some(3));
    assert!(
        told.contains("config.toml:6: local_api.socket_path: must be at most 107 bytes"),
        "{told}"
    );
}

/// The rows of the table in the guide, as key and default.
fn guide() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operating.md");
    let text = fs::read_to_string(path).unwrap();
    let table = text.split("| Key | Default | Rule |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cell = |at| row.split('|').nth(at).unwrap().trim().trim_matches('`').to_owned();
        (cell(1), cell(2).replace("<run_dir>", "/run/meshward").replace(", ", ","))
    })
    .collect()
}

fn flattened(section: &Value, prefix: &str, into: &mut BTreeMap<String, String>) {
    for (name, inner) in section.as_object().unwrap() {
        let path = format!("{prefix}{name}");
        match inner.get("origin") {
            Some(origin) => {
                let given = inner["value"]
                    .as_str()
                    .map_or_else(|| inner["value"].to_string(), str::to_owned);
                let is_default = origin == "default" && given != "null";
                into.insert(path, if is_default { given.replace('"', "") } else { String::new() });
            }
            None => flattened(inner, &format!("{path}."), into),
        }
    }
}

#[test]
fn the_guide_names_every_key_with_its_default() {
    let node = Node::new("http://127.0.0.1:9", "");
    fs::write(node.path("config.toml"), SOUND).unwrap();
    let shown = node.run(&["--output", "json", "config", "show"]).stdout;
    let mut known = BTreeMap::new();
    flattened(&serde_json::from_slice(&shown).unwrap(), "", &mut known);
    assert_eq!(guide(), known);
}

#[test]
fn a_client_needs_nothing_of_the_configuration_but_the_socket() {
    let node = Node::new("http://127.0.0.1:9", "");
    fs::write(node.path("config.toml"), "[node]\nrun_dir = \"/run/elsewhere\"\n").unwrap();
    let output = node.run(&["status"]);
    assert_eq!(output.status.code(), Some(5));
    let told = text(&output.stderr);
    assert!(told.contains("no agent on the socket /run/elsewhere/api.sock"), "{told}");
    fs::write(node.path("config.toml"), "").unwrap();
    let mut command = node.command(&["status"]);
    let output =
        command.env("MESHWARD_LOCAL_API__SOCKET_PATH", "/run/other.sock").output().unwrap();
    let told = text(&output.stderr);
    assert!(told.contains("no agent on the socket /run/other.sock"), "{told}");
}

#[test]
fn a_setting_without_effect_is_told_at_the_start() {
    let node = Node::new("http://127.0.0.1:9", "[tunnel]\nmtu = 1400\n[policy]\nenabled = true\n");
    fs::remove_file(node.path("token")).unwrap();
    let output = node.run(&["register"]);
    let told = text(&output.stderr);
    assert!(told.contains("without effect in this version: policy.enabled, tunnel.mtu"), "{told}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_variable_that_looks_like_a_setting_and_is_none_is_warned_of() {
    let node = Node::new("http://127.0.0.1:9", "");
    node.amend("[registration]\n", "[registration]\ntoken_env = \"MESHWARD_MY_TOKEN\"\n");
    fs::remove_file(node.path("token")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = node.command(arguments);
        let names = ["MESHWARD_HEARTBEAT_INTERVAL", "MESHWARD_PORT_80_TCP", "MESHWARD_FAULTS"];
        for name in names {
            command.env(name, "canary");
        }
        let output = command.env("MESHWARD_MY_TOKEN", "with\ttab").output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let warned = "no setting, and without effect: environment variable MESHWARD_HEARTBEAT_INTERVAL (did you mean \
                  MESHWARD_HEARTBEAT__INTERVAL?), environment variable MESHWARD_PORT_80_TCP\n";
    let (code, said, told) = run(&["config", "check"]);
    assert_eq!((code, said.as_str()), (Some(0), "the configuration is sound\n"));
    assert_eq!(told, format!("meshward: {warned}"));
    let (code, said, told) = run(&["config", "check", "--output", "json"]);
    assert_eq!((code, said.as_str(), told.as_str()), (Some(0), "{\"ok\":true}\n", ""));
    let (code, _, told) = run(&["register"]);
    assert_eq!(code, Some(1));
    assert!(told.contains(warned) && !told.contains("canary"), "{told}");
}

#[test]
fn a_section_that_is_unknown_is_told_with_the_one_that_was_meant() {
    let (code, told) = checked(&format!(
        "{SOUND}[hartbeat]\ninterval = \"5s\"\n[logs.fliter]\n[strange]\nx = 1\n"
    ));
    assert_eq!(code, Some(3));
    for part in [
        "config.toml:5: unknown section [hartbeat]; did you mean [heartbeat]?",
        "config.toml:7: unknown section [logs.fliter]; did you mean [logs.filter]?",
        "config.toml:8: unknown section [strange]\n",
    ] {
        assert!(format!("{told}\n").contains(part), "{part:?} is missing in:\n{told}");
    }
}
