//! What a program finds around it.

use std::{
    collections::BTreeSet,
    fs::File,
    os::fd::{AsFd as _, OwnedFd},
};

use meshward_core::agent::Cause;
use meshward_shell::actions::{
    supervise::{Executable, Job},
    supervisor::Limits,
};

use crate::pen::{program, run, script, text};

async fn printed(job: Job) -> String {
    let ending = run(job).await;
    assert_eq!((ending.cause, text(&ending.stderr.bytes)), (Cause::Exited(0), String::new()));
    text(&ending.stdout.bytes)
}

/// What a program of the system prints, run from the bytes of its file.
async fn of_file(path: &str, arguments: &[&str]) -> String {
    let mut job = program(std::fs::read(path).expect("the file is there"));
    job.arguments.extend(arguments.iter().map(Into::into));
    printed(job).await
}

#[tokio::test]
async fn its_input_is_empty() {
    assert_eq!(printed(script("cat; readlink /proc/self/fd/0")).await, "/dev/null\n");
}

#[tokio::test]
async fn its_environment_is_exactly_what_was_given() {
    let mut job = script("tr '\\0' '\\n' < /proc/$$/environ");
    let odd = [("EMPTY", ""), ("LINES", "a\nb"), ("odd name", "=x="), ("ÄÖ", "ü")];
    job.environment.extend(odd.map(|(name, value)| (name.into(), value.into())));
    let pairs = job.environment.iter();
    let expected = pairs
        .map(|(name, value)| format!("{}={}\n", name.to_str().unwrap(), value.to_str().unwrap()));
    let expected: String = expected.collect();
    assert_eq!(printed(job).await, expected);
}

#[tokio::test]
async fn its_name_and_arguments_are_those_that_were_given() {
    let file = std::fs::read("/bin/sh").unwrap();
    let mut job = program(file);
    let name = job.arguments[0].to_str().unwrap().to_owned();
    job.arguments.extend(["-c", "tr '\\0' '|' < /proc/$$/cmdline", "a b", ""].map(Into::into));
    let expected = format!("{name}|-c|tr '\\0' '|' < /proc/$$/cmdline|a b||");
    assert_eq!(printed(job).await, expected);
}

#[tokio::test]
async fn it_inherits_no_descriptor_that_the_agent_left_open() {
    // As an agent has it that was begun with one, or a library that opens files the old way.
    let file = File::open("/dev/null").unwrap();
    let left_open: OwnedFd = rustix::io::dup(file.as_fd()).unwrap();
    assert!(rustix::io::fcntl_getfd(&left_open).unwrap().is_empty());
    let open = |listed: &str| listed.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    // The one above is by which the folder is read.
    let usual = ["0", "1", "2", "3"].map(str::to_owned).into();
    assert_eq!(open(&of_file("/bin/ls", &["/proc/self/fd"]).await), usual);
    // A script has itself besides, and nothing else.
    let listed = printed(script("for one in /proc/$$/fd/*; do readlink $one; done")).await;
    let odd: Vec<_> =
        listed.lines().filter(|one| !one.starts_with("pipe:") && *one != "/dev/null").collect();
    assert!(odd.iter().all(|one| one.starts_with("/memfd:program")), "{odd:?}");
    let mut job = Job { executable: Executable::Path("/bin/ls".into()), ..script("") };
    job.arguments.push("/proc/self/fd".into());
    assert_eq!(open(&printed(job).await), usual);
}

#[tokio::test]
async fn it_has_its_folder_its_mask_and_no_core() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let job = Job { directory: path.clone(), ..script("pwd; umask; ulimit -c; ulimit -Sn") };
    assert_eq!(printed(job).await, format!("{}\n0022\n0\n1024\n", path.display()));
}

#[tokio::test]
async fn its_signals_are_neither_held_back_nor_ignored() {
    // Read by a program that changes none of them itself.
    let status = of_file("/bin/cat", &["/proc/self/status"]).await;
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    for name in ["SigBlk:", "SigIgn:", "SigCgt:", "SigPnd:", "ShdPnd:"] {
        assert_eq!(of(name), "0000000000000000", "{name}");
    }
}

#[tokio::test]
async fn it_leads_its_group_and_has_no_terminal() {
    let job =
        script("read -r line < /proc/$$/stat; echo ${line##*)} | cut -d ' ' -f 3,4,5; echo $$");
    let printed = printed(job).await;
    let numbers: Vec<i64> =
        printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [group, session, terminal, own] = numbers[..] else { panic!("{printed}") };
    assert_eq!((group, terminal), (own, 0));
    // Of this test: zero where its leader is outside of this namespace of processes.
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("NSsid:")).unwrap();
    let own: i64 = line.split_ascii_whitespace().next_back().unwrap().parse().unwrap();
    assert_ne!(session, own);
    assert_ne!(session, 0);
}

#[tokio::test]
async fn its_priority_and_its_choice_when_memory_runs_out_are_the_agents_own() {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let nice = rustix::process::getpriority_process(None).unwrap();
    let job = script("cat /proc/self/oom_score_adj; cut -d ' ' -f 19 /proc/self/stat");
    assert_eq!(printed(job).await, format!("{own}{nice}\n"));
}

#[tokio::test]
async fn its_limits_hold() {
    let limits = Limits {
        address_space: Some(1 << 30),
        file_size: Some(4096),
        open_files: 99,
        processes: Some(5000),
    };
    let job = Job { limits, ..script("ulimit -v; ulimit -f; ulimit -n; ulimit -p") };
    assert_eq!(printed(job).await, "1048576\n8\n99\n5000\n");
}

#[tokio::test]
async fn it_cannot_change_itself_while_it_runs() {
    let change = "(echo echo changed >> $0) 2> /dev/null || echo refused; echo the same";
    assert_eq!(printed(script(change)).await, "refused\nthe same\n");
}

#[tokio::test]
async fn a_file_that_changes_its_own_file_runs_on_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hook");
    let text =
        "#!/bin/sh\necho first\nprintf '#!/bin/sh\\necho changed\\n' > \"$FILE\"\necho second\n";
    std::fs::write(&path, text).unwrap();
    let mut job = program(std::fs::read(&path).unwrap());
    job.environment.push(("FILE".into(), path.clone().into()));
    assert_eq!(printed(job).await, "first\nsecond\n");
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("changed\n"));
}
