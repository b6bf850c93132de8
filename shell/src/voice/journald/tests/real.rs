//! The real tool, and a real journal that another tool of the same makers writes.

use std::process::Command;

use super::*;

const WRITER: [&str; 2] =
    ["/usr/lib/systemd/systemd-journal-remote", "/lib/systemd/systemd-journal-remote"];

struct Journal {
    folder: TempDir,
    now: u64,
}

impl Journal {
    fn new() -> Self {
        let now = clock::now().wall.since_origin().as_micros();
        let now = u64::try_from(now).unwrap() - 30_000_000;
        Self { folder: tempfile::tempdir().unwrap(), now }
    }

    /// Adds entries, each with these fields beside its number, to the file of this name.
    fn write(&self, file: &str, numbers: std::ops::Range<u64>, fields: &[u8]) {
        let mut text = Vec::new();
        for at in numbers {
            let times = format!(
                "__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP={at}\n_BOOT_ID={:032x}\n",
                self.now + at,
                7
            );
            text.extend(
                [times.as_bytes(), format!("MESSAGE={at}\n").as_bytes(), fields, b"\n"].concat(),
            );
        }
        self.export(file, &text);
    }

    fn export(&self, file: &str, text: &[u8]) {
        let source = self.folder.path().join("export");
        fs::write(&source, text).unwrap();
        let writer = WRITER.iter().find(|path| fs::exists(path).unwrap());
        let writer = writer.expect("systemd-journal-remote is installed");
        let output = format!("--output={}", self.folder.path().join(file).display());
        let done = Command::new(writer).arg(output).arg(source).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn source(&self) -> Journald {
        let mut journald = Journald::new("node".into());
        journald.arguments = vec![format!("--directory={}", self.folder.path().display()).into()];
        journald
    }
}

fn read(journald: &mut Journald, room: usize) -> (Vec<String>, bool) {
    let feed = journald.round(&Wanted { room, ..Wanted::default() }, Now::default());
    assert_eq!(feed.troubles, Vec::<String>::new());
    (messages(&feed), feed.more)
}

fn numbers(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|at| at.to_string()).collect()
}

#[test]
fn a_backlog_of_the_real_journal_is_read_in_order_and_once() {
    let journal = Journal::new();
    journal.write("a.journal", 0..2500, b"PRIORITY=4\n_SYSTEMD_UNIT=a.service\n");
    let mut journald = journal.source();
    let mut all = Vec::new();
    while let (read, true) = read(&mut journald, 700) {
        assert_eq!(read.len(), 700);
        all.extend(read);
    }
    all.extend(numbers(2100..2500));
    assert_eq!(all, numbers(0..2500));
    assert_eq!(read(&mut journald, 700), (vec![], false));
    journal.write("a.journal", 2500..2503, b"");
    assert_eq!(read(&mut journald, 700), (numbers(2500..2503), false));
}

#[test]
fn a_message_of_bytes_and_one_of_several_come_as_the_real_journal_has_them() {
    let journal = Journal::new();
    let head = format!(
        "__REALTIME_TIMESTAMP={}\n__MONOTONIC_TIMESTAMP=1\n_BOOT_ID={:032x}\n",
        journal.now, 7
    );
    let long = "y".repeat(10_000);
    let binary = [b"MESSAGE\n".as_slice(), &5_u64.to_le_bytes(), b"a\xff\nb\x1b\n\n"].concat();
    let entries = [
        [head.as_bytes(), b"MESSAGE=first\nMESSAGE=second\nSYSLOG_IDENTIFIER=kernel\n\n"].concat(),
        [head.as_bytes(), &binary].concat(),
        [head.as_bytes(), b"PRIORITY=3\n\n"].concat(),
        [head.as_bytes(), format!("MESSAGE={long}\n\n").as_bytes()].concat(),
    ];
    journal.export("a.journal", &entries.concat());
    let (messages, _) = read(&mut journal.source(), 10);
    assert_eq!(messages, ["first", "a\u{fffd}\nb\u{1b}", &long]);
}

#[test]
fn a_cursor_of_a_removed_file_of_another_journal_or_of_no_journal_is_told() {
    let journal = Journal::new();
    journal.write("a.journal", 0..3, b"");
    let mut journald = journal.source();
    assert_eq!(read(&mut journald, 2), (numbers(0..2), true));
    fs::remove_file(journal.folder.path().join("a.journal")).unwrap();
    journal.write("b.journal", 5..7, b"");
    let feed = journald.round(&Wanted { room: 10, ..Wanted::default() }, Now::default());
    assert_eq!((messages(&feed), feed.troubles), (numbers(5..7), vec![GAP.to_owned()]));
    let Some(Position::Cursor(last)) = journald.reading.position() else { panic!("{journald:?}") };
    let late = last
        .replace(";t=", ";t=fffff")
        .replace(";i=", ";i=ffff")
        .replace("s=", "s=f")
        .replace(";m=", ";m=ffff");
    for cursor in [late.as_str(), "garbage"] {
        assert!(journald.reading.go_on(Some(&Position::Cursor(cursor.to_owned()))));
        let feed = journald.round(&Wanted { room: 10, ..Wanted::default() }, Now::default());
        assert_eq!(messages(&feed), numbers(5..7), "{cursor}");
        assert!(feed.troubles[0].starts_with("the journal does not know"), "{:?}", feed.troubles);
    }
}
