//! Programs that leave something behind, or that will not end.

use meshward_core::agent::Cause;
use meshward_shell::actions::supervise::{ControlGroup, Job};
use tokio::time::Instant;

use crate::pen::{PATIENCE, PROMISE, SHORT, python, run, script, text, within};

/// In a control group and without one; both have to do.
fn both(job: impl Fn() -> Job) -> [Job; 2] {
    [ControlGroup::Never, ControlGroup::IfPossible].map(|group| Job { group, ..job() })
}

#[tokio::test]
async fn a_child_that_holds_the_streams_is_given_a_second() {
    for job in both(|| script("$hang & echo begun; exit 4")) {
        let begun = Instant::now();
        let ending = run(job).await;
        assert_eq!(ending.cause, Cause::Exited(4));
        assert_eq!(text(&ending.stdout.bytes), "begun\n");
        let took = begun.elapsed();
        assert!(took > PROMISE && took < PATIENCE, "{took:?}");
    }
}

#[tokio::test]
async fn what_a_child_prints_within_the_second_is_kept() {
    let child = "(i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; echo late) & exit 0";
    let ending = run(script(child)).await;
    assert_eq!(ending.cause, Cause::Exited(0));
    assert_eq!(text(&ending.stdout.bytes), "late\n");
}

#[tokio::test]
async fn a_child_that_holds_no_stream_is_not_waited_for() {
    for job in both(|| script("$hang > /dev/null 2>&1 & exit 0")) {
        assert_eq!(run(job).await.cause, Cause::Exited(0));
    }
}

#[tokio::test]
async fn a_daemon_in_a_session_of_its_own_is_ended() {
    let daemon =
        "setsid sh -c '(setsid sh -c \"trap \\\"\\\" TERM HUP; $0\" & ) & exit 0' > /dev/null 2>&1";
    for job in both(|| script(&format!("{daemon}; setsid $hang > /dev/null 2>&1 & exit 0"))) {
        assert_eq!(run(job).await.cause, Cause::Exited(0));
    }
}

#[tokio::test]
async fn a_daemon_that_forked_twice_and_holds_the_streams_is_ended() {
    let daemon = "
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.chdir('/')
        signal.pause()
    os._exit(0)
print('begun', flush=True)";
    for job in both(|| python(daemon)) {
        let ending = run(job).await;
        assert_eq!(ending.cause, Cause::Exited(0));
        assert_eq!(text(&ending.stdout.bytes), "begun\n");
    }
}

#[tokio::test]
async fn a_program_that_ignores_every_signal_is_ended() {
    let deaf = "
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print('deaf', flush=True)
while True:
    signal.pause()";
    for job in both(|| within(PATIENCE / 6, python(deaf))) {
        let ending = run(job).await;
        assert_eq!(ending.cause, Cause::TimedOut);
        assert_eq!(text(&ending.stdout.bytes), "deaf\n");
    }
}

#[tokio::test]
async fn a_program_that_stops_itself_is_ended() {
    for job in
        both(|| within(SHORT, script("(kill -STOP $$; echo woken) & wait; kill -STOP $$; $hang")))
    {
        assert_eq!(run(job).await.cause, Cause::TimedOut);
    }
}

#[tokio::test]
async fn a_thousand_children_that_nobody_waited_for_are_gone() {
    let zombies = "
for _ in range(1000):
    if os.fork() == 0:
        os._exit(0)
print('begun', flush=True)";
    for ending in ["", "\nsignal.pause()"] {
        let limit = if ending.is_empty() { PATIENCE } else { PATIENCE / 3 };
        let job = within(limit, python(&format!("{zombies}{ending}")));
        let ended = run(job).await;
        assert_eq!(text(&ended.stdout.bytes), "begun\n");
        let expected = if ending.is_empty() { Cause::Exited(0) } else { Cause::TimedOut };
        assert_eq!(ended.cause, expected);
    }
}

#[tokio::test]
async fn orphans_that_end_while_the_program_runs_are_taken_note_of() {
    // Each is the child of one that has ended; so the watch has to wait for them, and is their parent.
    let orphans = "
for _ in range(200):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
def zombies():
    found = 0
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            state, parent = open(f'/proc/{name}/stat').read().rsplit(') ', 1)[1].split()[:2]
            found += state == 'Z' and int(parent) == os.getppid()
        except OSError:
            pass
    return found
while zombies():
    pass
print('none left')";
    let ending = run(python(orphans)).await;
    assert_eq!(
        (ending.cause, text(&ending.stdout.bytes)),
        (Cause::Exited(0), "none left\n".into())
    );
}

/// Each forks until there are so many, in groups and sessions of their own where that is wanted.
fn bomb(most: usize, session: &str) -> String {
    format!(
        "
count = os.open('/proc/self/fd/1', os.O_WRONLY)
def burst():
    while True:
        try:
            if os.fork() == 0:
                {session}
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
        except OSError:
            pass
        if len([name for name in os.listdir('/proc') if name.isdigit()]) > LIMIT:
            signal.pause()
LIMIT = len([name for name in os.listdir('/proc') if name.isdigit()]) + {most}
burst()"
    )
}

#[tokio::test]
async fn a_fork_bomb_is_ended() {
    for session in ["pass", "os.setsid()", "os.setpgid(0, 0)"] {
        for job in both(|| within(PATIENCE / 20, python(&bomb(300, session)))) {
            assert_eq!(run(job).await.cause, Cause::TimedOut);
        }
    }
}

#[tokio::test]
async fn a_chain_of_children_that_run_away_from_their_end_is_ended() {
    // Each process begins the next in a session of its own and ends, so that none is there for long.
    // Where this test is killed with its supervisor, nothing else would ever end it.
    let chain = "
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork() == 0:
        os.setsid()
        continue
    os._exit(0)";
    for job in both(|| within(PATIENCE / 20, python(chain))) {
        assert_eq!(run(job).await.cause, Cause::Exited(0));
    }
}
