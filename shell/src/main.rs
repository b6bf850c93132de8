//! The binary `meshward`.

use std::process::ExitCode;

use meshward_shell::{actions::supervisor, cli};

fn main() -> ExitCode {
    supervisor::supervise_if_asked().unwrap_or_else(|| cli::main().into())
}
