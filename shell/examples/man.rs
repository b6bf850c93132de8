//! Writes the manual pages of `meshward` and of each of its commands into a folder.

use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("usage: man FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    clap_mangen::generate_to(
        meshward_shell::cli::command().disable_help_subcommand(true),
        &folder,
    )?;
    Ok(())
}
