//! The binary `meshward`.

use std::process::ExitCode;

fn main() -> ExitCode {
    meshward_shell::cli::main().into()
}
