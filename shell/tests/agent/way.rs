//! A way to a control plane that can be cut, fall silent and lead to another one, while its address stays.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Open,
    /// Of each connection so many bytes of its answers get through, and then it ends.
    Cut(usize),
    /// Connections are taken and kept, and no byte of theirs gets anywhere.
    Silent,
    /// Connections end as they begin.
    Shut,
}

pub(crate) struct Way {
    addr: SocketAddr,
    to: watch::Sender<(Mode, SocketAddr)>,
    taken: Arc<AtomicUsize>,
    records: Arc<AtomicU64>,
}

impl Way {
    /// An open one.
    pub(crate) async fn to(plane: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (to, seen) = watch::channel((Mode::Open, plane));
        let taken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&taken);
        let records = Arc::new(AtomicU64::new(0));
        let receipts = Arc::clone(&records);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(connection(client, seen.clone(), Arc::clone(&receipts)));
            }
        });
        Self { addr, to, taken, records }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.to.send_modify(|to| to.0 = mode);
    }

    pub(crate) fn lead_to(&self, plane: SocketAddr) {
        self.to.send_modify(|to| to.1 = plane);
    }

    /// How many connections there have been.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// How many records the receipts tell of that have come from the control plane.
    pub(crate) fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }
}

async fn connection(
    client: TcpStream,
    seen: watch::Receiver<(Mode, SocketAddr)>,
    records: Arc<AtomicU64>,
) {
    let (mode, plane) = *seen.borrow();
    if mode == Mode::Shut {
        return;
    }
    let Ok(server) = TcpStream::connect(plane).await else { return };
    let ((asks, takes), (answers, hears)) = (client.into_split(), server.into_split());
    let outward = carry(asks, hears, seen.clone(), None);
    let homeward = carry(answers, takes, seen, Some(Receipts { records, rest: Vec::new() }));
    tokio::select! {
        _ = outward => {}
        _ = homeward => {}
    }
}

/// Carries bytes until either end is gone or the way ends them; a silence ends with the connection.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut seen: watch::Receiver<(Mode, SocketAddr)>,
    mut receipts: Option<Receipts>,
) -> Option<()> {
    let mut buffer = [0; 4096];
    let mut passed = 0;
    loop {
        let count = from.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        let mode = seen.borrow_and_update().0;
        if let Some(receipts) = &mut receipts {
            receipts.read(&buffer[..count]);
        }
        let through = match mode {
            Mode::Open => count,
            Mode::Cut(at) if receipts.is_some() => count.min(at.saturating_sub(passed)),
            Mode::Cut(_) => count,
            Mode::Shut => 0,
            Mode::Silent => {
                seen.wait_for(|to| to.0 != Mode::Silent).await.ok()?;
                0
            }
        };
        to.write_all(&buffer[..through]).await.ok()?;
        passed += through;
        if through < count {
            return None;
        }
    }
}

/// What a receipt says in front of its number of records, which ends its body.
const RECORDS: &[u8] = b"\"records\":";

/// Reads the receipts out of all answers of a connection.
struct Receipts {
    records: Arc<AtomicU64>,
    /// What may be the beginning of one.
    rest: Vec<u8>,
}

impl Receipts {
    fn read(&mut self, piece: &[u8]) {
        self.rest.extend_from_slice(piece);
        while let Some(at) = self.rest.windows(RECORDS.len()).position(|bytes| bytes == RECORDS) {
            let number = &self.rest[at + RECORDS.len()..];
            let Some(end) = number.iter().position(|byte| !byte.is_ascii_digit()) else { return };
            let told: u64 = String::from_utf8_lossy(&number[..end]).parse().unwrap_or_default();
            self.records.fetch_add(told, Ordering::Relaxed);
            self.rest.drain(..at + RECORDS.len() + end);
        }
        let needless = self.rest.len().saturating_sub(RECORDS.len());
        self.rest.drain(..needless);
    }
}
