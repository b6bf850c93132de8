//! The command line: arguments, one file a command, exit codes.
//!
//! Specification: `decisions.md` sections 3 and 8 (exit codes, JSON output).

mod actions;
mod answer;
mod args;
mod completions;
mod config;
mod daemon;
mod doctor;
mod exit;
mod hooks;
mod network;
mod read;
mod refused;
mod report;
mod secret;
mod socket;
mod status;

use std::io::{self, IsTerminal as _, Write as _};

use clap::{CommandFactory as _, Parser as _};
use meshward_core::legible;

pub use exit::Code;

use args::{Arguments, Command, Output};

/// Reads the arguments of this process and carries out its command.
pub fn main() -> Code {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(usage) => return exit::usage(&usage),
    };
    let output = arguments.global.output;
    let done = match &arguments.command {
        Command::Run => daemon::run(&arguments.global),
        Command::Register => daemon::register(&arguments.global),
        Command::Status { wait } => status::status(&arguments.global, *wait),
        Command::State { part } => read::state(&arguments.global, part.as_ref()),
        Command::Report { part } => report::report(&arguments.global, part),
        Command::Secret { part } => secret::secret(&arguments.global, part),
        Command::Policies => network::policies(&arguments.global),
        Command::Peers => network::peers(&arguments.global),
        Command::Actions { part } => actions::actions(&arguments.global, part),
        Command::Hooks { part } => hooks::hooks(&arguments.global, part),
        Command::Config { part } => config::config(&arguments.global, part),
        Command::Doctor => doctor::doctor(&arguments.global),
        Command::Completions { shell } => completions::completions(*shell),
        Command::Version => version(output),
    };
    match done {
        Ok(code) => code,
        Err(failed) => {
            complain(output, &failed.text);
            failed.code
        }
    }
}

/// Every command with its arguments, for what is made of them: man pages and completions.
pub fn command() -> clap::Command {
    Arguments::command()
}

fn version(output: Output) -> Outcome {
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    match output {
        Output::Text => say(&format!("meshward {VERSION}\n")),
        Output::Json => say(&format!("{}\n", serde_json::json!({ "version": VERSION }))),
    }
}

/// Why a command failed, and the exit code of that kind of failure.
#[derive(Debug)]
struct Failed {
    code: Code,
    text: String,
}

impl Failed {
    fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

type Outcome = Result<Code, Failed>;

fn say(text: &str) -> Outcome {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // A reader that has seen enough is no failure.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failed::new(Code::Failed, format!("cannot write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(Code::Done),
    }
}

/// Prints a value byte for byte for the program that takes it; a terminal is not steered by it.
fn say_value(value: &str) -> Outcome {
    match io::stdout().is_terminal() {
        true => say(&legible::lines(value)),
        false => say(value),
    }
}

/// Tells what went wrong on standard error; nobody is left to tell when that is closed.
fn complain(output: Output, text: &str) {
    let line = match output {
        Output::Json => serde_json::json!({ "error": text }).to_string(),
        Output::Text => format!("meshward: {}", legible::lines(text)),
    };
    let _told = writeln!(io::stderr(), "{line}");
}
