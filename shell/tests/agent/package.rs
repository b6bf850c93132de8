//! What the package brings beside the program is held to the program: the example of a configuration and the unit.

use std::{collections::BTreeMap, fs};

use crate::node::{Node, text};

const EXAMPLE: &str = include_str!("../../../packaging/config.example.toml");
const UNIT: &str = include_str!("../../../packaging/meshward.service");

/// The values of a setting of the unit, in their order.
fn unit(key: &str) -> Vec<&'static str> {
    let lines = UNIT.lines().filter_map(|line| line.split_once('='));
    lines.filter(|(name, _)| *name == key).map(|(_, value)| value).collect()
}

fn checked(content: &str) -> (Option<i32>, String) {
    let node = Node::new("http://127.0.0.1:9", "");
    fs::write(node.path("config.toml"), content).unwrap();
    let output = node.run(&["config", "check"]);
    (output.status.code(), text(&output.stderr) + &text(&output.stdout))
}

/// A line that shows a setting begins with `#` and its name, without a space.
fn uncommented(line: &str) -> &str {
    line.strip_prefix('#').filter(|rest| rest.starts_with(char::is_alphabetic)).unwrap_or(line)
}

#[test]
fn the_example_is_sound_as_it_stands_and_with_every_setting_that_it_shows() {
    assert_eq!(checked(EXAMPLE), (Some(0), "the configuration is sound\n".into()));
    let shown: String = EXAMPLE.lines().map(|line| uncommented(line).to_owned() + "\n").collect();
    assert_ne!(shown, EXAMPLE);
    assert_eq!(checked(&shown), (Some(0), "the configuration is sound\n".into()));
}

#[test]
fn the_example_names_the_directories_of_the_unit() {
    assert!(EXAMPLE.contains("data_dir = \"/var/lib/meshward\""));
    assert_eq!(unit("StateDirectory"), ["meshward"]);
    assert_eq!(unit("RuntimeDirectory"), ["meshward"]);
    assert_eq!(unit("ConfigurationDirectory"), ["meshward"]);
}

#[test]
fn the_commands_of_the_unit_are_those_of_the_program() {
    let node = Node::new("http://127.0.0.1:9", "");
    let commands = [unit("ExecStart"), unit("ExecReload")].concat();
    let ours: Vec<_> =
        commands.iter().filter_map(|line| line.strip_prefix("/usr/bin/meshward ")).collect();
    assert_eq!(ours.len(), 2);
    for line in ours {
        let mut arguments: Vec<_> = line.split(' ').collect();
        arguments.push("--help");
        let output = node.run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stderr));
    }
}

#[test]
fn the_variable_of_the_unit_names_the_file_of_the_token_that_it_loads() {
    let environment: BTreeMap<_, _> =
        unit("Environment").into_iter().filter_map(|line| line.split_once('=')).collect();
    assert_eq!(environment.len(), 1);
    let (name, value) = environment.first_key_value().unwrap();
    let credential = value.strip_prefix("%d/").unwrap();
    assert!(unit("LoadCredential").iter().all(|line| line.starts_with(credential)));
    // Without it a node that has no token any more would not start.
    assert_eq!(unit("SetCredential"), [format!("{credential}:\\n")]);
    let node = Node::new("http://127.0.0.1:9", "");
    let mut command = node.command(&["config", "show"]);
    let output = command.env(name, "/credentials/token").output().unwrap();
    let shown = text(&output.stdout);
    assert!(shown.contains("registration.token_file = \"/credentials/token\""), "{shown}");
}
