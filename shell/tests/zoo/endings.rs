//! How a program ends, or does not begin.

use meshward_core::agent::{Cause, Ending};
use meshward_shell::actions::supervise::{Executable, Job};
use tokio::sync::oneshot;

use crate::pen::{MAX_OUTPUT_BYTES, SHORT, program, run, run_until, script, text, until, within};

#[tokio::test]
async fn a_program_that_exits_is_told_with_its_code_and_its_output() {
    for code in [0, 1, 7, 255] {
        let ending = run(script(&format!("echo out; echo err >&2; exit {code}"))).await;
        assert_eq!(ending.cause, Cause::Exited(code));
        assert_eq!(
            (text(&ending.stdout.bytes), text(&ending.stderr.bytes)),
            ("out\n".into(), "err\n".into())
        );
        assert!(!ending.stdout.cut && !ending.stderr.cut);
    }
}

#[tokio::test]
async fn a_program_that_a_signal_ends_is_told_with_the_signal() {
    // Hang-up, interrupt, quit, illegal, trap, abort, bus, arithmetic, kill, user, segment, pipe, alarm, terminate, a
    // real-time one.
    for signal in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 31, 40] {
        let ending = run(script(&format!("echo before; kill -{signal} $$; echo behind"))).await;
        assert_eq!(ending.cause, Cause::Signalled(signal));
        assert_eq!(text(&ending.stdout.bytes), "before\n");
    }
}

#[tokio::test]
async fn what_is_no_program_is_broken_and_given_to_no_shell() {
    let neither = "it is neither a script, which begins with #!, nor a program of this machine";
    let elf = b"\x7fELF\x02\x01\x01nothing that any machine could execute".as_slice();
    for bytes in
        [b"echo a shell ran".as_slice(), b"", b"#", b"\0", b"\n#!/bin/sh\necho a shell ran", elf]
    {
        let ending = run(program(bytes)).await;
        assert_eq!(ending.cause, Cause::Broken(neither.into()));
        assert_eq!((ending.stdout.bytes, ending.stderr.bytes), (Vec::new(), Vec::new()));
    }
}

#[tokio::test]
async fn a_script_without_its_interpreter_and_a_run_without_its_folder_are_broken_in_words() {
    let ending = run(program("#!/nonexistent/interpreter\n")).await;
    let absent = "the program, or the interpreter that its first line names, is not there";
    assert_eq!(ending.cause, Cause::Broken(absent.into()));
    let ending = run(Job { directory: "/nonexistent".into(), ..script("") }).await;
    let Cause::Broken(words) = ending.cause else { panic!("{ending:?}") };
    assert!(words.starts_with("its working directory cannot be entered: No such file"), "{words}");
    let ending =
        run(Job { executable: Executable::Path("/etc/passwd".into()), ..script("") }).await;
    let Cause::Broken(words) = ending.cause else { panic!("{ending:?}") };
    assert!(words.starts_with("it cannot be executed: Permission denied"), "{words}");
}

#[tokio::test]
async fn what_the_kernel_takes_no_more_of_is_broken_in_words() {
    let mut job = script("");
    job.environment.push(("LONG".into(), "x".repeat(4 << 20).into()));
    let ending = run(job).await;
    let Cause::Broken(words) = ending.cause else { panic!("{ending:?}") };
    assert!(words.starts_with("it cannot be executed: Argument list too long"), "{words}");
    let mut job = script("");
    job.environment.push(("ZERO".into(), "a\0b".into()));
    let ending = run(job).await;
    let words = "it cannot be run: an argument, a variable or a path holds a zero byte";
    assert_eq!(ending.cause, Cause::Broken(words.into()));
}

#[tokio::test]
async fn a_program_that_hangs_is_ended_at_its_deadline_with_what_it_printed() {
    let ending = run(within(SHORT, script("echo before; $hang; echo behind"))).await;
    assert_eq!(ending.cause, Cause::TimedOut);
    assert_eq!(text(&ending.stdout.bytes), "before\n");
}

#[tokio::test]
async fn a_program_is_asked_first_and_may_say_so() {
    let ending = run(within(SHORT, script("trap 'echo asked; exit 3' TERM; $hang & wait"))).await;
    assert_eq!(ending.cause, Cause::TimedOut);
    assert_eq!(text(&ending.stdout.bytes), "asked\n");
}

/// Lets a program begin, then cancels its run.
async fn cancelled(mut job: Job) -> Ending {
    let folder = tempfile::tempdir().expect("a folder");
    let begun = folder.path().join("begun");
    job.environment.push(("BEGUN".into(), begun.clone().into()));
    let (cancel, cancelled) = oneshot::channel();
    let waits = async {
        until(|| begun.exists(), || "it does not begin".into()).await;
        cancel.send(()).expect("the run has not ended");
    };
    let (ending, ()) = tokio::join!(run_until(job, cancelled), waits);
    assert_eq!(ending.cause, Cause::Cancelled);
    ending
}

#[tokio::test]
async fn a_program_that_is_cancelled_is_asked_first_and_may_say_so() {
    let ending =
        cancelled(script("trap 'echo asked; exit 3' TERM; $hang & echo > $BEGUN; wait")).await;
    assert_eq!(text(&ending.stdout.bytes), "asked\n");
}

#[tokio::test]
async fn a_program_that_is_cancelled_and_does_not_care_is_ended() {
    cancelled(script("trap '' TERM; setsid $hang & echo > $BEGUN; $hang")).await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_begins_is_cancelled() {
    let (cancel, cancelled) = oneshot::channel();
    drop(cancel);
    let ending = run_until(script("$hang"), cancelled).await;
    assert_eq!(ending.cause, Cause::Cancelled);
}

#[tokio::test]
async fn output_is_kept_to_the_byte_and_the_limit_is_no_cut() {
    let exactly = format!(
        "head -c {MAX_OUTPUT_BYTES} /dev/zero; head -c {} /dev/zero >&2",
        MAX_OUTPUT_BYTES + 1
    );
    let ending = run(script(&exactly)).await;
    assert_eq!((ending.stdout.bytes.len(), ending.stdout.cut), (MAX_OUTPUT_BYTES, false));
    assert_eq!((ending.stderr.bytes.len(), ending.stderr.cut), (MAX_OUTPUT_BYTES, true));
}

#[tokio::test]
async fn bytes_that_are_no_text_come_as_they_are() {
    let ending =
        run(script("printf '\\377\\376\\000\\033[31mred\\r\\n\\302'; printf '\\000' >&2")).await;
    assert_eq!(ending.stdout.bytes, b"\xff\xfe\0\x1b[31mred\r\n\xc2");
    assert_eq!(ending.stderr.bytes, b"\0");
}
