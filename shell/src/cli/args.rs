//! The arguments.

use std::{path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::config::{LogFormat, LogLevel, duration};

const EXAMPLES: &str = "Examples:
  meshward --config meshward.toml config check
  meshward --config meshward.toml run
  meshward --socket /run/meshward/api.sock status --wait 30s
  meshward state metadata region";

const REPORT_EXAMPLES: &str = "Examples:
  meshward report put app.health --payload '{\"ok\": true}'
  date -u +'\"%FT%TZ\"' | meshward report put app.started
  meshward report put app.health --payload '\"fine\"' --if-match 1
  meshward report get app.health";

const SECRET_EXAMPLES: &str = "Examples:
  meshward secret get db-password
  meshward secret get db-password --version 2";

const ACTIONS_EXAMPLES: &str = "Examples:
  meshward actions run health.check
  meshward actions run diagnostics.ping_peer --param peer_id=10.99.0.2 --param count=3
  meshward actions run logs.snapshot --param lines=20 --param since=15m";

const COMPLETIONS_EXAMPLES: &str = "Examples:
  meshward completions bash >/usr/share/bash-completion/completions/meshward
  meshward completions zsh >/usr/share/zsh/vendor-completions/_meshward";

/// Under what the options of every command stand in its help.
const GLOBAL: &str = "Global options";

/// The Meshward node agent.
#[derive(Debug, Parser)]
#[command(name = "meshward", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What every command takes, before or after its name.
#[derive(Args, Debug)]
pub(super) struct Global {
    /// Configuration file [default: /etc/meshward/config.toml, which may be absent]
    #[arg(long, short, global = true, help_heading = GLOBAL, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,
    /// Socket of the local API [default: local_api.socket_path]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(super) socket: Option<PathBuf>,
    /// Form of what is printed
    #[arg(long, short, global = true, help_heading = GLOBAL, value_enum, default_value_t = Output::Text)]
    pub(super) output: Output,
    /// Least grave log line that is written
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, value_name = "LEVEL")]
    pub(super) log_level: Option<LogLevel>,
    /// Form of the log on standard error
    #[arg(long, global = true, help_heading = GLOBAL, value_enum, value_name = "FORMAT")]
    pub(super) log_format: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the agent in the foreground until SIGTERM or SIGINT
    Run,
    /// Register this node, or load its identity, and exit
    Register,
    /// Tell whether the agent is ready, and if not, why
    Status {
        /// Wait this long for it to become ready, such as 30s
        #[arg(long, value_name = "DURATION", value_parser = duration::parse, value_hint = ValueHint::Other)]
        wait: Option<Duration>,
    },
    /// Read the state that the control plane gave this node
    State {
        #[command(subcommand)]
        part: Option<StatePart>,
    },
    /// Read and write the reports of this node
    #[command(after_help = REPORT_EXAMPLES)]
    Report {
        #[command(subcommand)]
        part: ReportPart,
    },
    /// Read the secrets of this node
    #[command(after_help = SECRET_EXAMPLES)]
    Secret {
        #[command(subcommand)]
        part: SecretPart,
    },
    /// List the rules of the network policy that is in force
    Policies,
    /// List the other nodes of the mesh
    Peers,
    /// List and run the actions of this node
    #[command(after_help = ACTIONS_EXAMPLES)]
    Actions {
        #[command(subcommand)]
        part: ActionsPart,
    },
    /// List the hooks of this node, or look at their directory again
    Hooks {
        #[command(subcommand)]
        part: HooksPart,
    },
    /// Check or show the configuration
    Config {
        #[command(subcommand)]
        part: ConfigPart,
    },
    /// Look at all that the agent stands on, and tell how to mend what is wrong; 0 only where all is good
    Doctor,
    /// Print what makes a shell complete these commands
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print the version
    Version,
}

/// Reads a key; what its grammar is, the agent knows.
fn key(text: &str) -> Result<String, &'static str> {
    match text.is_empty() {
        true => Err("a key must not be empty"),
        false => Ok(text.to_owned()),
    }
}

/// Reads the number of a version.
fn whole<N: FromStr>(text: &str) -> Result<N, &'static str> {
    text.parse().map_err(|_| "a version is a whole number, such as 2")
}

#[derive(Debug, Subcommand)]
pub(super) enum StatePart {
    /// All metadata, or one value
    Metadata {
        /// Any text
        #[arg(value_parser = key, value_hint = ValueHint::Other)]
        key: Option<String>,
    },
    /// All data entries, or one
    Data {
        /// Any text
        #[arg(value_parser = key, value_hint = ValueHint::Other)]
        key: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ReportPart {
    /// List the keys with their versions
    List,
    /// Print the payload of one
    Get {
        /// A letter of a-z, then up to 127 of a-z, 0-9, ".", "_" and "-"
        #[arg(value_parser = key, value_hint = ValueHint::Other)]
        key: String,
    },
    /// Write one, which is sent on to the control plane
    Put(PutReport),
    /// Delete one, here and at the control plane
    Delete {
        /// A letter of a-z, then up to 127 of a-z, 0-9, ".", "_" and "-"
        #[arg(value_parser = key, value_hint = ValueHint::Other)]
        key: String,
    },
}

#[derive(Args, Debug)]
pub(super) struct PutReport {
    /// A letter of a-z, then up to 127 of a-z, 0-9, ".", "_" and "-"
    #[arg(value_parser = key, value_hint = ValueHint::Other)]
    pub(super) key: String,
    /// Media type of the payload
    #[arg(long, value_name = "TYPE", default_value = "application/json", value_hint = ValueHint::Other)]
    pub(super) content_type: String,
    /// Payload, as JSON [default: standard input]
    #[arg(long, value_name = "JSON", conflicts_with = "file", value_hint = ValueHint::Other)]
    pub(super) payload: Option<String>,
    /// File of the payload, as JSON; - is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) file: Option<PathBuf>,
    /// Write only over this version; 0 only where there is none
    #[arg(long, value_name = "VERSION", allow_negative_numbers = true, value_parser = whole::<i64>, value_hint = ValueHint::Other)]
    pub(super) if_match: Option<i64>,
}

#[derive(Debug, Subcommand)]
pub(super) enum SecretPart {
    /// List the keys with their versions
    List,
    /// Print the value of one, and nothing else
    Get {
        /// A letter of a-z, then up to 62 of a-z, 0-9, "_" and "-"
        #[arg(value_parser = key, value_hint = ValueHint::Other)]
        key: String,
        /// Version of the value [default: the current one]
        #[arg(long, value_parser = whole::<u64>, value_hint = ValueHint::Other)]
        version: Option<u64>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum HooksPart {
    /// List the hooks that were discovered
    List,
    /// Look at the hooks directory now, and tell what is wrong in it
    Reload,
}

#[derive(Debug, Subcommand)]
pub(super) enum ActionsPart {
    /// List the built-in actions and the hooks
    List,
    /// Run a built-in action and print how it ended; 0 only where it succeeded
    Run(RunAction),
}

#[derive(Args, Debug)]
pub(super) struct RunAction {
    /// Name as `actions list` tells it
    #[arg(value_parser = name, value_hint = ValueHint::Other)]
    pub(super) name: String,
    /// Parameter of the action; any number of them
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair, value_hint = ValueHint::Other)]
    pub(super) parameters: Vec<(String, String)>,
}

fn name(text: &str) -> Result<String, &'static str> {
    match text.is_empty() {
        true => Err("a name must not be empty"),
        false => Ok(text.to_owned()),
    }
}

/// A name, which holds no `=`, and its value, which may.
fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err("a parameter is a name, =, and its value, such as count=3"),
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigPart {
    /// Tell everything that is wrong
    Check,
    /// Print every setting with its origin; secrets are masked
    Show,
}
