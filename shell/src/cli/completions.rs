//! `completions`.

use clap_complete::Shell;

use super::{Outcome, command, say};

/// Prints what makes this shell complete the commands of this program.
pub(super) fn completions(shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "meshward", &mut script);
    say(&String::from_utf8_lossy(&script))
}
