//! Writes the manual pages of `meshward` and of each of its commands into a folder.

use std::{env, error::Error, fs, io, path::Path};

use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

const FILES: [(&str, &str); 6] = [
    ("/etc/meshward/config.toml", "the configuration, which may be absent"),
    ("/etc/meshward/bootstrap-token", "the token of the first registration, mode 0600"),
    ("/etc/meshward/hooks/", "the hooks, which are root's alone to change"),
    ("/var/lib/meshward/", "the data directory with the identity, mode 0700"),
    ("/run/meshward/api.sock", "the socket of the local API"),
    (
        "/usr/share/doc/meshward/",
        "operating.md, which tells all, and an example of a configuration",
    ),
];

const ENVIRONMENT: [(&str, &str); 4] = [
    ("MESHWARD_CONFIG", "as --config, which wins over it"),
    ("MESHWARD_SOCKET", "as --socket, which wins over it"),
    ("MESHWARD_LOG_LEVEL", "as --log-level, which wins over it"),
    (
        "MESHWARD_<SECTION>__<KEY>",
        "any setting, such as MESHWARD_HEARTBEAT__INTERVAL; it wins over the configuration file",
    ),
];

const EXIT_STATUS: [(&str, &str); 6] = [
    ("0", "done; of doctor: all is good; of status: the agent is ready"),
    ("1", "the command failed, or the agent refuses it or is too busy for it"),
    ("2", "bad usage of the command line"),
    ("3", "the configuration is absent, unreadable or broken"),
    ("4", "the control plane refused the registration for good"),
    ("5", "no agent answers on the socket"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).ok_or("usage: man FOLDER")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let mut command = meshward_shell::cli::command().disable_help_subcommand(true);
    command.build();
    write(folder, &command)?;
    Ok(())
}

/// Writes the page of a command, and those of the commands below it.
fn write(folder: &Path, command: &clap::Command) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write(folder, below)?;
    }
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    rest(command).to_writer(&mut page)?;
    fs::write(folder.join(man.get_filename()), page)
}

/// What the library knows no sections for.
fn rest(command: &clap::Command) -> Roff {
    let mut roff = Roff::new();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if let Some(examples) = examples.strip_prefix("Examples:\n") {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.lines() {
            roff.text([roman(line.trim())]);
        }
        roff.control("fi", []);
    }
    let sections =
        [("FILES", &FILES[..]), ("ENVIRONMENT", &ENVIRONMENT), ("EXIT STATUS", &EXIT_STATUS)];
    for (heading, rows) in sections {
        roff.control("SH", [heading]);
        for (name, words) in rows {
            roff.control("TP", []).text([bold(*name)]).text([roman(*words)]);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    let others = match command.get_display_name() {
        None | Some("meshward") => command.get_subcommands().map(page).collect::<Vec<_>>(),
        Some(_) => vec!["meshward(1)".to_owned()],
    };
    let others = [others, vec!["journalctl(1)".to_owned(), "systemctl(1)".to_owned()]].concat();
    roff.text([roman(others.join(", "))]);
    roff
}

fn page(command: &clap::Command) -> String {
    format!("{}(1)", command.get_display_name().unwrap_or_else(|| command.get_name()))
}
