//! The data directory on the real filesystem: what only the kernel can show.
#![expect(clippy::unwrap_used, reason = "a test ends where its setting cannot be made")]

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use meshward_core::{
    agent::{Content, Finding, FoundContent, Memory, Order, OrderKind, StagedFile, Stored},
    secret::Secret,
    wire::{
        grammar::{NodeSecretKey, Uuid},
        identity::{Flaw, Found, Identity, IdentityFile, KeyFile, TokenDigest},
        rotation::Receipt,
        timestamp::Timestamp,
    },
};
use meshward_shell::store::{Store, StoreError};
use tempfile::TempDir;

fn identity() -> Identity {
    let node = Uuid::drawn([7; 16]);
    Identity {
        node,
        key: NodeSecretKey::from_bytes([7; 32]),
        file: IdentityFile {
            node_id: node.to_string(),
            mesh_ip: "10.0.0.7".into(),
            signing_public_key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".into(),
            signing_key_id: "key".into(),
            domain_mesh_cidr: "10.0.0.0/24".into(),
            last_rotation: None,
            spent_token: TokenDigest::default(),
        },
    }
}

fn at() -> Timestamp {
    Timestamp::parse("2027-01-15T08:00:00Z").unwrap()
}

fn place() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    (place, data)
}

#[test]
fn a_crowded_folder_of_what_was_pulled_is_told_and_stops_no_start() {
    const READ: usize = 16_384;
    let (_place, data) = place();
    drop(open(&data).unwrap());
    let folder = data.join("state/data");
    for number in 0..=READ {
        fs::write(folder.join(format!("{number}.json")), "").unwrap();
    }
    let memory = open(&data).unwrap().remember().unwrap();
    assert_eq!(memory.state.len(), READ);
    let folder = folder.display().to_string();
    let told = format!("{folder} holds more than {READ} files, and no more are read");
    assert_eq!(memory.findings, [Finding::Crowded { folder, most: READ }]);
    assert!(memory.findings[0].notice().text.starts_with(&told));
}

#[test]
fn what_an_earlier_process_left_and_what_is_not_the_agents_is_told_once_for_each_folder() {
    let (_place, data) = place();
    drop(open(&data).unwrap());
    let folders = ["", "state", "state/data", "state/report"].map(|name| data.join(name));
    for (folder, files) in folders.iter().zip(1..) {
        for number in 0..files {
            fs::write(folder.join(format!(".tmp-{number}")), "half").unwrap();
            let name = [&[0xff_u8], number.to_string().as_bytes()].concat();
            fs::write(folder.join(OsStr::from_bytes(&name)), "foreign").unwrap();
        }
    }
    fs::create_dir(data.join("state/report/.tmp-folder")).unwrap();
    let mut store = open(&data).unwrap();
    let text = |path: &Path| path.components().collect::<PathBuf>().display().to_string();
    let mut expected: Vec<_> = folders
        .iter()
        .zip(1..)
        .flat_map(|(folder, files)| {
            let (folder, names) = (text(folder), files);
            [
                Finding::Cleared { folder: folder.clone(), files },
                Finding::ForeignNames { folder, names },
            ]
        })
        .collect();
    let findings = store.remember().unwrap().findings;
    let Finding::Uncleared { file, cause } = &findings[6] else { panic!("{findings:?}") };
    assert_eq!(*file, text(&data.join("state/report/.tmp-folder")));
    let uncleared = Finding::Uncleared { file: file.clone(), cause: cause.clone() };
    expected.insert(6, uncleared);
    assert_eq!(findings, expected);
    assert_eq!(store.remember().unwrap().findings, [], "once");
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// Opens a directory that nobody holds: a process that another test begins holds what is open here until it runs its
/// program, and so a lock that was just let go.
fn open(data: &Path) -> Result<Store, StoreError> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match Store::open(data) {
            Err(StoreError::InUse { .. }) if Instant::now() < end => thread::yield_now(),
            outcome => return outcome,
        }
    }
}

fn refusal(data: &Path) -> String {
    open(data).unwrap_err().to_string()
}

fn register(store: &mut Store) {
    assert!(matches!(store.carry_out(Order::MakeKey { at: at() }), Stored::KeyMade(_)));
    assert_eq!(store.carry_out(Order::Persist(Box::new(identity()))), Stored::Persisted);
}

#[test]
fn a_missing_directory_is_created_for_its_owner_alone_and_holds_nothing() {
    let (_place, data) = place();
    let mut store = open(&data.join("below").join("")).unwrap();
    assert_eq!(mode(&data.join("below")), 0o700);
    assert_eq!(store.remember().unwrap(), Memory::default());
}

#[test]
fn an_identity_is_read_back_after_a_restart_from_files_of_mode_0600() {
    let (_place, data) = place();
    let mut store = open(&data).unwrap();
    register(&mut store);
    drop(store);
    let names = ["identity.json", "private_key", "node_secret_key", "signing_public_key", "lock"];
    for name in names {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    // Beside them there is only the folder of what is kept.
    assert_eq!(fs::read_dir(&data).unwrap().count(), names.len() + 1);
    let memory = open(&data).unwrap().remember().unwrap();
    assert_eq!(Identity::load(&memory.files), Ok(Some(identity())));
    let key = fs::read_to_string(data.join("node_secret_key")).unwrap();
    assert_eq!(key, *identity().key.to_text().expose());
}

#[test]
fn a_rotation_promotes_the_staged_key() {
    let (_place, data) = place();
    let mut store = open(&data).unwrap();
    register(&mut store);
    let Stored::Staged(key) = store.carry_out(Order::Stage) else { panic!("not staged") };
    assert_eq!(mode(&data.join("rotation_pending_key")), 0o600);
    assert_eq!(store.remember().unwrap().staged, StagedFile::Key(key));
    let staged = fs::read(data.join("rotation_pending_key")).unwrap();
    let receipt = Receipt { rotation_id: "r".into(), kid: "k".into(), wrap_key_version: 1 };
    let record = IdentityFile { last_rotation: Some(receipt), ..identity().file };
    let commit = Order::Commit(Box::new(record.clone()));
    for _ in 0..2 {
        assert_eq!(store.carry_out(commit.clone()), Stored::Committed);
        assert_eq!(fs::read(data.join("private_key")).unwrap(), staged);
        assert!(!data.join("rotation_pending_key").exists());
    }
    let loaded = Identity::load(&store.remember().unwrap().files).unwrap().unwrap();
    assert_eq!(loaded.file, record);
    assert!(matches!(store.carry_out(Order::Stage), Stored::Staged(_)));
    assert_eq!(store.carry_out(Order::Discard), Stored::Done);
    assert_eq!(store.carry_out(Order::Discard), Stored::Done);
    assert_eq!(store.remember().unwrap().staged, StagedFile::Missing);
}

#[test]
fn identity_files_are_set_aside_whatever_they_are() {
    let (_place, data) = place();
    let mut store = open(&data).unwrap();
    symlink("/etc/passwd", data.join("identity.json")).unwrap();
    assert!(Command::new("mkfifo").arg(data.join("private_key")).status().unwrap().success());
    fs::create_dir(data.join("node_secret_key")).unwrap();
    fs::write(data.join("signing_public_key"), [0; 44]).unwrap();
    fs::write(data.join("rotation_pending_key"), vec![b'A'; 70_000]).unwrap();
    let memory = store.remember().unwrap();
    assert_eq!(memory.files.identity, Found::Foreign("a symbolic link"));
    assert_eq!(memory.files.private_key, KeyFile::Broken(Flaw::Foreign("not a regular file")));
    assert_eq!(memory.files.node_secret_key, Found::Foreign("not a regular file"));
    assert_eq!(memory.files.signing_public_key, Found::Content("\0".repeat(44)));
    assert_eq!(memory.staged, StagedFile::Broken(Flaw::Foreign("larger than 64 KiB")));
    assert_eq!(store.carry_out(Order::SetAside { at: at() }), Stored::Done);
    assert_eq!(store.remember().unwrap(), Memory::default());
    let mut folders = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().path());
    let folder = folders.find(|path| path.is_dir() && !path.ends_with("state")).unwrap();
    assert!(
        folder.file_name().unwrap().to_str().unwrap().starts_with("corrupt-2027-01-15T08:00:00Z")
    );
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 5);
    register(&mut store);
}

/// What a start finds under a name below `state/report/`.
fn found(data: &Path, name: &str) -> Option<FoundContent> {
    let state = open(data).unwrap().remember().unwrap().state;
    let mut files = state.into_iter().filter(|found| found.file.name == name);
    files.next().map(|found| found.content)
}

#[test]
fn the_folders_of_what_is_kept_are_for_the_agent_alone_and_are_refused_when_they_are_not() {
    let (place, data) = place();
    drop(open(&data).unwrap());
    for folder in ["state", "state/report"] {
        let folder = data.join(folder);
        assert_eq!(mode(&folder), 0o700);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(refusal(&data).ends_with(&format!("chmod 700 {}", folder.display())));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let real = place.path().join("real");
        fs::rename(&folder, &real).unwrap();
        symlink(&real, &folder).unwrap();
        assert!(matches!(open(&data), Err(StoreError::NoFolder(_))), "a link");
        fs::remove_file(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        assert!(matches!(open(&data), Err(StoreError::NoFolder(_))), "a file");
        fs::remove_file(&folder).unwrap();
        fs::rename(&real, &folder).unwrap();
    }
    assert!(open(&data).is_ok());
}

#[test]
fn a_start_reads_every_file_of_a_folder_and_removes_what_is_half_written() {
    let (_place, data) = place();
    drop(open(&data).unwrap());
    let folder = data.join("state/report");
    let write = |name: &str, content: &[u8]| fs::write(folder.join(name), content).unwrap();
    write("a.json", b"{}");
    write("long.json", &vec![b'a'; 70_000]);
    write(".tmp-b.json", b"half");
    symlink("/etc/passwd", folder.join("link.json")).unwrap();
    fs::create_dir(folder.join("folder.json")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("pipe.json")).status().unwrap().success());
    assert_eq!(found(&data, "a.json"), Some(FoundContent::Bytes(Content(b"{}".into()))));
    for (name, kind) in [
        ("long.json", "larger than 64 KiB"),
        ("link.json", "a symbolic link"),
        ("folder.json", "not a regular file"),
        ("pipe.json", "not a regular file"),
    ] {
        assert_eq!(found(&data, name), Some(FoundContent::Foreign(kind.into())), "{name}");
    }
    assert!(!folder.join(".tmp-b.json").exists());
}

#[test]
fn a_second_agent_is_told_which_process_uses_the_directory() {
    let (_place, data) = place();
    let first = open(&data).unwrap();
    let told = Store::open(&data).unwrap_err().to_string();
    let expected = format!("another agent (pid {}) uses {}", std::process::id(), data.display());
    assert!(told.starts_with(&expected), "{told}");
    drop(first);
    assert!(open(&data).is_ok());
}

#[test]
fn a_directory_that_others_can_open_is_refused_with_the_mend() {
    let (_place, data) = place();
    fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    for mode in [0o750, 0o701, 0o770] {
        fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
        let told = refusal(&data);
        assert!(told.contains(&format!("mode {mode:04o}")), "{told}");
        assert!(told.ends_with(&format!("chmod 700 {}", data.display())), "{told}");
    }
}

#[test]
fn what_is_no_directory_is_refused() {
    let (place, data) = place();
    fs::DirBuilder::new().mode(0o700).create(place.path().join("real")).unwrap();
    symlink(place.path().join("real"), &data).unwrap();
    assert!(matches!(open(&data), Err(StoreError::Symlink(_))));
    assert!(matches!(open(&data.join("")), Err(StoreError::Symlink(_))));
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(open(&file), Err(StoreError::NotADirectory(_))));
    assert!(matches!(open(Path::new("")), Err(StoreError::Unset)));
    assert!(matches!(
        open(&file.join("data")),
        Err(StoreError::Create { .. } | StoreError::Open { .. })
    ));
}

#[test]
fn a_lock_that_is_a_fifo_or_a_symlink_is_refused_and_nothing_hangs() {
    let (_place, data) = place();
    fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    assert!(Command::new("mkfifo").arg(data.join("lock")).status().unwrap().success());
    assert!(refusal(&data).contains("lock"));
    fs::remove_file(data.join("lock")).unwrap();
    symlink("elsewhere", data.join("lock")).unwrap();
    assert!(refusal(&data).contains("lock"));
    assert!(!data.join("elsewhere").exists());
}

#[test]
fn a_directory_of_another_user_is_refused() {
    if !is_root() {
        // Without root the ready example is a directory of root that everyone can reach.
        assert!(matches!(open(Path::new("/")), Err(StoreError::Owner { owner: 0, .. })));
        return;
    }
    let (_place, data) = place();
    fs::DirBuilder::new().mode(0o700).create(&data).unwrap();
    std::os::unix::fs::chown(&data, Some(65_534), None).unwrap();
    assert!(refusal(&data).ends_with(&format!("chown -R 0 {}", data.display())));
}

#[test]
fn the_token_file_is_removed_once_and_a_failure_is_told() {
    let (place, data) = place();
    let token = place.path().join("token");
    fs::write(&token, "secret").unwrap();
    let mut store = open(&data).unwrap().forgetting(Some(token.clone()));
    let forget = |text: &str| Order::ForgetToken(TokenDigest::of(&Secret::new(text.into())));
    assert_eq!(store.carry_out(forget("another")), Stored::Done);
    assert!(token.exists(), "a token that is not spent stays");
    let file = token.display().to_string();
    assert_eq!(store.carry_out(forget("secret")), Stored::TokenRemoved { file });
    assert!(!token.exists());
    assert_eq!(store.carry_out(forget("secret")), Stored::Done);
    fs::create_dir(&token).unwrap();
    let Stored::Failed { order: OrderKind::ForgetToken, reason, .. } =
        store.carry_out(forget("secret"))
    else {
        panic!("a directory was removed")
    };
    assert!(reason.contains(&token.display().to_string()), "{reason}");
}

#[test]
fn a_refused_identity_moves_beside_the_directory_with_its_mode_and_comes_back() {
    let (place, data) = place();
    let mut store = open(&data).unwrap();
    register(&mut store);
    let before = store.remember().unwrap();
    let Stored::Retired { folder } = store.carry_out(Order::Retire { at: at() }) else {
        panic!("not moved")
    };
    let beside = place.path().join("data.refused-2027-01-15T08:00:00Z");
    assert_eq!(Path::new(&folder), beside);
    assert_eq!(mode(&beside), 0o700);
    assert_eq!(store.remember().unwrap(), Memory::default());
    assert_eq!(store.carry_out(Order::Restore), Stored::Restored(StagedFile::Missing));
    assert_eq!(store.remember().unwrap(), before);
    assert!(!beside.exists(), "an empty folder is of no use");
    assert!(matches!(store.carry_out(Order::Retire { at: at() }), Stored::Retired { .. }));
    assert!(matches!(store.carry_out(Order::MakeKey { at: at() }), Stored::KeyMade(_)));
    drop(store);
    let findings = vec![Finding::PutBack { folder: "../data.refused-2027-01-15T08:00:00Z".into() }];
    let put_back = Memory { findings, ..before };
    assert_eq!(open(&data).unwrap().remember().unwrap(), put_back, "a start undoes it");
}

#[test]
fn a_note_that_names_no_folder_stops_the_start_and_tells_the_mend() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 6] = [
        ("it is empty", |note| fs::write(note, "").unwrap()),
        ("is a symbolic link", |note| {
            fs::remove_file(note).unwrap();
            symlink("elsewhere", note).unwrap();
        }),
        ("is not a regular file", |note| {
            fs::remove_file(note).unwrap();
            fs::create_dir(note).unwrap();
        }),
        ("no name of such a folder", |note| fs::write(note, b"refused-\xff").unwrap()),
        ("no name of such a folder", |note| fs::write(note, "../../etc").unwrap()),
        ("there is no folder", |note| fs::write(note, "refused-gone").unwrap()),
    ];
    for (what, damage) in damages {
        let (place, data) = place();
        let mut store = open(&data).unwrap();
        register(&mut store);
        let before = store.remember().unwrap();
        assert!(matches!(store.carry_out(Order::Retire { at: at() }), Stored::Retired { .. }));
        drop(store);
        let note = data.join("refused_identity");
        damage(&note);
        let refused = open(&data).unwrap_err();
        let told = format!("{refused}: {}", std::error::Error::source(&refused).unwrap());
        assert!(told.contains(&note.display().to_string()) && told.contains(what), "{told}");
        assert!(told.contains("remove it to have this node register afresh"), "{told}");
        if note.is_dir() { fs::remove_dir(&note) } else { fs::remove_file(&note) }.unwrap();
        fs::write(&note, "../data.refused-2027-01-15T08:00:00Z\n").unwrap();
        let mended = open(&data).unwrap().remember().unwrap();
        assert_eq!(mended.files, before.files, "the mend that was told works");
        drop(place);
    }
}

#[test]
fn a_damaged_note_beside_an_identity_is_told_and_stops_nothing() {
    let (_place, data) = place();
    let mut store = open(&data).unwrap();
    register(&mut store);
    let before = store.remember().unwrap();
    drop(store);
    let note = data.join("refused_identity");
    fs::write(&note, "").unwrap();
    let memory = open(&data).unwrap().remember().unwrap();
    let [Finding::NeedlessNote { removed: Ok(()), .. }] = &memory.findings[..] else {
        panic!("{:?}", memory.findings)
    };
    assert!(!note.exists());
    fs::create_dir(&note).unwrap();
    let memory = open(&data).unwrap().remember().unwrap();
    assert_eq!(memory.files, before.files);
    let [Finding::NeedlessNote { removed: Err(_), .. }] = &memory.findings[..] else {
        panic!("{:?}", memory.findings)
    };
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this process may mount: root of a container often may not.
fn may_mount() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap() >> 21 & 1 == 1
}

/// A tiny filesystem, unmounted when dropped.
struct Tiny(TempDir);

impl Tiny {
    fn mount() -> Self {
        let place = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs"])
            .arg(place.path())
            .status();
        assert!(mounted.unwrap().success(), "a tmpfs can be mounted with CAP_SYS_ADMIN");
        Self(place)
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_full_disk_fails_an_order_without_a_trace_and_the_order_works_once_there_is_space() {
    if !may_mount() {
        // No other disk can be filled here; the shadow disk fails each operation with the same error.
        return;
    }
    let tiny = Tiny::mount();
    let data = tiny.0.path();
    let mut store = open(data).unwrap();
    register(&mut store);
    let before = fs::read(data.join("identity.json")).unwrap();
    assert!(fs::write(data.join("filler"), vec![1; 70_000]).is_err(), "the disk is not full");
    let other = IdentityFile { mesh_ip: "10.0.0.8".into(), ..identity().file };
    for order in [Order::Stage, Order::Persist(Box::new(Identity { file: other, ..identity() }))] {
        let kind = order.kind();
        let Stored::Failed { order, reason, .. } = store.carry_out(order) else {
            panic!("written to a full disk")
        };
        assert_eq!(order, kind);
        assert!(reason.contains("No space left"), "{reason}");
        assert!(reason.contains(&data.display().to_string()), "{reason}");
    }
    assert_eq!(fs::read(data.join("identity.json")).unwrap(), before);
    let names = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_str().unwrap().starts_with('.')).count(), 0);
    fs::remove_file(data.join("filler")).unwrap();
    assert!(matches!(store.carry_out(Order::Stage), Stored::Staged(_)));
    drop(store);
    let memory = open(data).unwrap().remember().unwrap();
    assert_eq!(Identity::load(&memory.files), Ok(Some(identity())));
}
