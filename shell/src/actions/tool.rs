//! A tool of the system, run for the text it prints: without a shell, an input or an inherited variable, and ended as
//! every other run.

use std::{
    env,
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Duration,
};

use meshward_core::agent::{Cause, Ending};
use tokio::sync::oneshot;

use super::{
    supervise::{ControlGroup, Executable, Job, supervise},
    supervisor::Limits,
};

/// Where tools are looked for behind the places of the agent's own `PATH`.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Where tools are looked for, and look for others themselves.
pub(crate) fn path() -> &'static str {
    static OF_AGENT: LazyLock<String> = LazyLock::new(|| places(env::var("PATH").ok()));
    &OF_AGENT
}

/// The absolute places that are named, as what stands where the agent was started from is not meant; then the usual ones.
fn places(named: Option<String>) -> String {
    let named = named.unwrap_or_default();
    let mut places: Vec<&str> = named.split(':').filter(|place| place.starts_with('/')).collect();
    for usual in PATH.split(':') {
        if !places.contains(&usual) {
            places.push(usual);
        }
    }
    places.join(":")
}

/// The longest output that is kept, in bytes.
pub const OUTPUT_MAX: usize = 512 * 1024;

/// What a tool printed, up to [`OUTPUT_MAX`]; `None` where it is missing, fails, or takes longer than the limit.
pub async fn text(command: &[&str], limit: Duration) -> Option<String> {
    // Held until the end: a tool is ended where it is dropped.
    let (_go_on, cancelled) = oneshot::channel();
    let ending = capture(path(), command, (limit, OUTPUT_MAX), cancelled).await?;
    match ending.cause {
        Cause::Exited(0) => Some(String::from_utf8_lossy(&ending.stdout.bytes).into_owned()),
        Cause::Exited(_)
        | Cause::Signalled(_)
        | Cause::TimedOut
        | Cause::Cancelled
        | Cause::Broken(_)
        | Cause::Changed { .. } => None,
    }
}

/// How a tool ended, with what it printed on each stream up to `max` bytes; `None` where no folder of `folders` has it. It is
/// ended when its time is over or `cancelled` is sent or dropped.
pub async fn capture(
    folders: &str,
    command: &[&str],
    (limit, max): (Duration, usize),
    cancelled: oneshot::Receiver<()>,
) -> Option<Ending> {
    let program = find(command.first()?, folders)?;
    let variable = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let job = Job {
        executable: Executable::Path(program),
        arguments: command.iter().map(OsString::from).collect(),
        environment: vec![variable("PATH", path()), variable("LC_ALL", "C")],
        directory: "/".into(),
        deadline: limit,
        max_output_bytes: max,
        limits: Limits::default(),
        // It begins nothing that would need one.
        group: ControlGroup::Never,
    };
    Some(supervise(job, cancelled).await)
}

/// The first file of that name that somebody may execute.
pub(crate) fn find(name: &str, path: &str) -> Option<PathBuf> {
    let files = path.split(':').map(|folder| Path::new(folder).join(name));
    files.into_iter().find(|file| {
        file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::{PATH, find, places};

    #[test]
    fn a_tool_is_the_first_file_on_the_way_that_may_be_executed() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for (name, mode) in [("a", 0o644), ("b", 0o755), ("c", 0o755)] {
            fs::create_dir(place(name)).unwrap();
            fs::write(place(name).join("tool"), "").unwrap();
            fs::set_permissions(place(name).join("tool"), fs::Permissions::from_mode(mode))
                .unwrap();
        }
        fs::create_dir(place("folder")).unwrap();
        fs::create_dir(place("folder").join("tool")).unwrap();
        let path =
            ["missing", "folder", "a", "b", "c"].map(|name| place(name).display().to_string());
        assert_eq!(find("tool", &path.join(":")), Some(place("b").join("tool")));
        assert_eq!(find("tool", &path[..3].join(":")), None);
        assert!(find("sh", PATH).is_some());
    }

    #[test]
    fn tools_are_looked_for_in_the_absolute_places_of_the_path_and_in_the_usual_ones() {
        let of = |named: &str| places(Some(named.to_owned()));
        let behind = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin";
        assert_eq!(of("/opt/bin:/bin"), format!("/opt/bin:/bin:{behind}"));
        assert_eq!(of(".:/opt/bin::here:/bin:"), format!("/opt/bin:/bin:{behind}"));
        assert_eq!((of(""), of("."), places(None)), (PATH.into(), PATH.into(), PATH.into()));
    }
}
