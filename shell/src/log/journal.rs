//! Lines as entries of the journal: in journald's own protocol, with every field of an event as a field.
//!
//! | Field | Holds |
//! |---|---|
//! | `MESSAGE` | the line as people read it, with its fields behind it |
//! | `PRIORITY` | 3 for an error, 4 a warning, 6 information, 7 debugging |
//! | `SYSLOG_IDENTIFIER` | `meshward` |
//! | `CODE_FILE`, `CODE_LINE`, `CODE_MODULE` | where in the program it comes from |
//! | `MESHWARD_…` | each field of the event, by its name in upper case |
//!
//! An entry that is too large for a datagram goes as the descriptor of a sealed file in memory, as journald wants it.

use std::{
    fmt::{self, Write as _},
    fs::File,
    io::{self, Write as _},
    os::{fd::AsFd as _, unix::net::UnixDatagram},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create},
    io::Errno,
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, sendmsg_addr},
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use super::{
    priority,
    queue::{Queue, fit},
};

/// Where journald listens.
pub const SOCKET: &str = "/run/systemd/journal/socket";

const IDENTIFIER: &str = "meshward";
const PREFIX: &str = "MESHWARD_";

/// The longest name of a field that journald takes.
const NAME_MAX: usize = 64;

/// The socket of journald, asked anew for each entry so that one that is restarted is found again.
#[derive(Debug)]
pub(super) struct Journal {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Journal {
    /// The one at this path, where somebody listens there.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        UnixDatagram::unbound()?.connect(path)?;
        Ok(Self { socket: UnixDatagram::unbound()?, path: path.to_owned() })
    }

    /// Brings one entry; waits where journald is slow.
    pub(super) fn send(&self, entry: &[u8]) -> io::Result<()> {
        match self.socket.send_to(entry, &self.path) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::MSGSIZE) => self.hand(entry),
            sent => sent.map(drop),
        }
    }

    fn hand(&self, entry: &[u8]) -> io::Result<()> {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
        let mut file = File::from(memfd_create("meshward-log", flags)?);
        file.write_all(entry)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
        fcntl_add_seals(&file, seals)?;
        let files = [file.as_fd()];
        let mut room = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !control.push(SendAncillaryMessage::ScmRights(&files)) {
            return Err(io::Error::other("no room for a descriptor"));
        }
        let to = SocketAddrUnix::new(&self.path)?;
        sendmsg_addr(&self.socket, &to, &[], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// Whether journald may be there again in a moment.
pub(super) fn is_passing(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::NOENT | Errno::CONNREFUSED | Errno::AGAIN | Errno::NOBUFS | Errno::INTR)
    )
}

/// Makes entries of events, for the queue.
#[derive(Debug)]
pub(super) struct Entries(pub(super) Queue);

impl<S: Subscriber> Layer<S> for Entries {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.0.push(entry(event));
    }
}

fn entry(event: &Event<'_>) -> Vec<u8> {
    let metadata = event.metadata();
    let mut entry = Entry::default();
    entry.put("PRIORITY", &priority(*metadata.level()).to_string());
    entry.put("SYSLOG_IDENTIFIER", IDENTIFIER);
    if let (Some(file), Some(line)) = (metadata.file(), metadata.line()) {
        entry.put("CODE_FILE", file);
        entry.put("CODE_LINE", &line.to_string());
    }
    entry.put("CODE_MODULE", metadata.module_path().unwrap_or_default());
    event.record(&mut entry);
    let text = format!("{}{}", entry.message, entry.fields);
    entry.put("MESSAGE", &text);
    entry.bytes
}

/// An entry, while it is being made.
#[derive(Debug, Default)]
struct Entry {
    bytes: Vec<u8>,
    message: String,
    /// As people read them, behind the message.
    fields: String,
}

impl Entry {
    /// With its length told, since a value may hold anything.
    fn put(&mut self, name: &str, value: &str) {
        let value = fit(value.as_bytes());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(b'\n');
        self.bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.push(b'\n');
    }

    fn take(&mut self, field: &Field, value: &str, shown: &str) {
        if field.name() == "message" {
            self.message = value.to_owned();
            return;
        }
        // A string takes all that is written.
        let _ = write!(self.fields, " {}={shown}", field.name());
        self.put(&name(field.name()), value);
    }
}

impl Visit for Entry {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value, &format!("{value:?}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        self.take(field, &text, &text);
    }
}

/// The name of a field in the journal: letters, digits and underscores.
fn name(of: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    PREFIX.chars().chain(of.chars().map(fits)).take(NAME_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Read as _, time::Duration};

    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::log::queue;

    fn receiver(home: &tempfile::TempDir) -> (PathBuf, UnixDatagram) {
        let path = home.path().join("socket");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (path, socket)
    }

    /// The fields of an entry, as journald reads them.
    fn fields(mut entry: &[u8]) -> BTreeMap<String, String> {
        let mut fields = BTreeMap::new();
        while !entry.is_empty() {
            let end = entry.iter().position(|byte| *byte == b'\n').unwrap();
            let name = String::from_utf8(entry[..end].to_vec()).unwrap();
            let (length, rest) = entry[end + 1..].split_first_chunk::<8>().unwrap();
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
            let value = String::from_utf8(rest[..length].to_vec()).unwrap();
            assert_eq!(rest[length], b'\n', "{name}");
            assert_eq!(fields.insert(name, value), None, "a field that stands twice");
            entry = &rest[length + 1..];
        }
        fields
    }

    /// The next entry, and whether it came as a file.
    fn heard(socket: &UnixDatagram) -> (BTreeMap<String, String>, bool) {
        let mut buffer = vec![0; 1 << 20];
        let mut room = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        let into = &mut [io::IoSliceMut::new(&mut buffer)];
        let told = recvmsg(socket, into, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                assert_eq!(told.bytes, 0, "an entry is either in the datagram or in the file");
                let files: Vec<_> = files.collect();
                let seals = rustix::fs::fcntl_get_seals(&files[0]).unwrap();
                assert!(seals.contains(SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW));
                let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&files[0]));
                let mut bytes = Vec::new();
                File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
                return (fields(&bytes), true);
            }
        }
        (fields(&buffer[..told.bytes]), false)
    }

    #[test]
    fn an_event_becomes_an_entry_with_its_fields() {
        let home = tempfile::tempdir().unwrap();
        let (path, socket) = receiver(&home);
        let (queue, flushed) = queue::start_to(Journal::at(&path).unwrap().into()).unwrap();
        let log = tracing_subscriber::registry().with(Entries(queue));
        tracing::subscriber::with_default(log, || {
            let error = io::Error::other("no\nroom");
            tracing::warn!(%error, door = ?Some(1), r#type = "a\x1b[2Jb", "not accepted");
        });
        let (told, by_file) = heard(&socket);
        assert!(!by_file);
        let of = |name: &str| told[name].as_str();
        assert_eq!(of("PRIORITY"), "4");
        assert_eq!(of("SYSLOG_IDENTIFIER"), "meshward");
        assert_eq!(of("MESHWARD_ERROR"), "no\u{fffd}room");
        assert_eq!(of("MESHWARD_DOOR"), "Some(1)");
        assert_eq!(of("MESHWARD_TYPE"), "a\u{fffd}[2Jb");
        assert!(of("MESSAGE").starts_with("not accepted error=no\u{fffd}room door=Some(1)"));
        assert!(of("CODE_FILE").ends_with("journal.rs") && of("CODE_LINE").parse::<u32>().is_ok());
        assert!(of("CODE_MODULE").contains("log::journal"));
        drop(flushed);
    }

    #[test]
    fn an_entry_that_is_too_large_for_a_datagram_comes_as_a_sealed_file() {
        let home = tempfile::tempdir().unwrap();
        let (path, socket) = receiver(&home);
        let journal = Journal::at(&path).unwrap();
        let mut entry = Entry::default();
        entry.put("MESSAGE", &"x".repeat(4 << 20));
        journal.send(&entry.bytes).unwrap();
        let (told, by_file) = heard(&socket);
        assert!(by_file);
        assert_eq!(told["MESSAGE"].len(), 4 << 20);
    }

    #[test]
    fn lines_wait_for_a_journald_that_is_restarted_and_hold_up_nobody() {
        let home = tempfile::tempdir().unwrap();
        let (path, socket) = receiver(&home);
        let (queue, _flushed) = queue::start_to(Journal::at(&path).unwrap().into()).unwrap();
        drop(socket);
        std::fs::remove_file(&path).unwrap();
        let log = tracing_subscriber::registry().with(Entries(queue));
        tracing::subscriber::with_default(log, || {
            for number in 0..3 {
                tracing::info!(number, "told");
            }
        });
        let (_, socket) = receiver(&home);
        for number in 0..3 {
            assert_eq!(heard(&socket).0["MESHWARD_NUMBER"], number.to_string());
        }
    }

    #[test]
    fn a_host_without_journald_is_told_at_once() {
        let home = tempfile::tempdir().unwrap();
        assert!(Journal::at(&home.path().join("socket")).is_err());
    }

    #[test]
    fn names_of_fields_are_what_journald_takes() {
        assert_eq!(name("error"), "MESHWARD_ERROR");
        assert_eq!(name("log.target-é"), "MESHWARD_LOG_TARGET__");
        assert_eq!(name(&"x".repeat(99)).len(), NAME_MAX);
    }
}
