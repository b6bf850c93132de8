//! A root of a file system whose server answers every question but that of `statfs`, which it leaves waiting until it is
//! told to let go.
//!
//! It speaks as much of FUSE as finding the way through it takes: its root holds folders, and other file systems are
//! mounted over these. Whoever asks it with `statfs` hangs in the kernel, and cannot even be killed.

use std::{
    fs::File,
    io::{ErrorKind, Read as _, Write as _},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
    io::Errno,
};

/// Where the kernel gives a connection to whoever serves one.
pub(crate) const DEVICE: &str = "/dev/fuse";

/// The kernel wants room for what it may send at once, which is no less than 8 KiB.
const QUESTION_MAX: usize = 64 << 10;

/// What may be written at once, in bytes; nothing is.
const WRITE_MAX: u32 = 4096;

/// How long the server waits until it looks whether it is over.
const GLANCE: Duration = Duration::from_millis(20);

/// What the kernel asks for, by its number.
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const STATFS: u32 = 17;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;

/// How long answers are good for, in seconds: longer than any test.
const FOREVER: u64 = 1 << 32;

/// The number of the root.
const ROOT: u64 = 1;

/// The server, which lets go of everybody and ends with this value.
#[derive(Debug)]
pub(crate) struct Fuse {
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    device: File,
    /// The folders of the root.
    names: Vec<String>,
    /// Who waits for an answer to `statfs`.
    waiting: Mutex<Vec<u64>>,
    is_kind: AtomicBool,
    is_over: AtomicBool,
}

impl Fuse {
    /// `None` where this machine has none.
    pub(crate) fn serving(names: Vec<String>) -> Option<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let device =
            File::options().read(true).write(true).custom_flags(flags).open(DEVICE).ok()?;
        let shared = Arc::new(Shared {
            device,
            names,
            waiting: Mutex::default(),
            is_kind: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        Some(Self { shared, server: Some(thread::spawn(move || own.serve())) })
    }

    /// The connection, for whoever mounts it.
    pub(crate) fn device(&self) -> File {
        self.shared.device.try_clone().unwrap()
    }

    /// How many hang.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Answers those who hang, and whoever comes from now on.
    pub(crate) fn let_go(&self) {
        self.shared.is_kind.store(true, Ordering::SeqCst);
        let waiting = std::mem::take(
            &mut *self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner),
        );
        waiting.into_iter().for_each(|unique| self.shared.answer(unique, Ok(&[0; 80])));
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        self.let_go();
        self.shared.is_over.store(true, Ordering::SeqCst);
        if let Some(server) = self.server.take() {
            // One that failed has failed the test by its silence.
            let _ = server.join();
        }
    }
}

impl Shared {
    fn serve(&self) {
        let mut question = vec![0; QUESTION_MAX];
        while !self.is_over.load(Ordering::SeqCst) {
            match (&self.device).read(&mut question) {
                Ok(length) => self.judge(&question[..length]),
                // It is not mounted yet.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    thread::park_timeout(GLANCE);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(),
                // A question was taken back.
                Err(error)
                    if [ErrorKind::NotFound, ErrorKind::Interrupted].contains(&error.kind()) => {}
                // It is mounted no longer.
                Err(_) => return,
            }
        }
    }

    fn wait(&self) {
        let mut device = [PollFd::new(&self.device, PollFlags::IN)];
        let glance = Timespec::try_from(GLANCE).unwrap();
        // Whatever it says, the next read tells.
        let _ = poll(&mut device, Some(&glance));
    }

    fn judge(&self, question: &[u8]) {
        let word = |at: usize| u32::from_ne_bytes(question[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_ne_bytes(question[at..at + 8].try_into().unwrap());
        let (unique, node, body) = (long(8), long(16), &question[40..]);
        match word(4) {
            INIT => self.answer(unique, Ok(&hello())),
            LOOKUP => match self
                .names
                .iter()
                .position(|name| body.strip_suffix(b"\0") == Some(name.as_bytes()))
            {
                Some(at) => self.answer(unique, Ok(&entry(ROOT + 1 + at as u64))),
                None => self.answer(unique, Err(Errno::NOENT)),
            },
            GETATTR => {
                let valid = [FOREVER.to_ne_bytes(), [0; 8]].concat();
                self.answer(unique, Ok(&[valid, attributes(node)].concat()));
            }
            STATFS if !self.is_kind.load(Ordering::SeqCst) => {
                self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(unique);
            }
            STATFS => self.answer(unique, Ok(&[0; 80])),
            FORGET | BATCH_FORGET | INTERRUPT => {}
            _ => self.answer(unique, Err(Errno::NOSYS)),
        }
    }

    fn answer(&self, unique: u64, answer: Result<&[u8], Errno>) {
        let (body, error) = match answer {
            Ok(body) => (body, 0),
            Err(error) => (&[][..], -error.raw_os_error()),
        };
        let length = u32::try_from(16 + body.len()).unwrap();
        let head = [&length.to_ne_bytes()[..], &error.to_ne_bytes(), &unique.to_ne_bytes()];
        // Who has asked may be gone.
        let _ = (&self.device).write(&[&head.concat(), body].concat());
    }
}

/// The version that is spoken, and nothing that is optional.
fn hello() -> Vec<u8> {
    let words: [u32; 6] = [7, 31, 0, 0, 0, WRITE_MAX];
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
    bytes.resize(64, 0);
    bytes
}

/// A folder by its number, with how long that is so.
fn entry(node: u64) -> Vec<u8> {
    let longs = [node, 0, FOREVER, FOREVER, 0];
    let head: Vec<u8> = longs.into_iter().flat_map(u64::to_ne_bytes).collect();
    [head, attributes(node)].concat()
}

/// Of a folder that anyone may go through.
fn attributes(node: u64) -> Vec<u8> {
    let longs = [node, 0, 0, 0, 0, 0];
    let words: [u32; 10] = [0, 0, 0, 0o040_755, 2, 0, 0, 0, 4096, 0];
    let longs = longs.into_iter().flat_map(u64::to_ne_bytes);
    longs.chain(words.into_iter().flat_map(u32::to_ne_bytes)).collect()
}
