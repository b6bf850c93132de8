//! A way to the fixture that passes every byte on and counts the records which its receipts acknowledge.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use crate::{ASKING, keep_to};

/// What is passed on at once.
const PIECE: usize = 64 << 10;

/// What stands in front of the number of records in a receipt.
const RECORDS: &[u8] = b"\"records\":";

/// Where to connect to, and what went through.
#[derive(Clone, Debug)]
pub struct Tee {
    pub place: SocketAddr,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    sent: AtomicU64,
    records: AtomicU64,
    receipts: AtomicU64,
}

impl Tee {
    /// Listens on a free port until the process ends.
    pub fn new(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let tee = Self { place: listener.local_addr()?, counts: Arc::default() };
        let counts = Arc::clone(&tee.counts);
        thread::spawn(move || {
            keep_to(ASKING);
            while let Ok((near, _)) = listener.accept() {
                // Whoever connects meets a closed connection then.
                let _passed = pass(&near, server, &counts);
            }
        });
        Ok(tee)
    }

    /// How many records were acknowledged.
    pub fn records(&self) -> u64 {
        self.counts.records.load(Relaxed)
    }

    /// How many batches were acknowledged.
    pub fn receipts(&self) -> u64 {
        self.counts.receipts.load(Relaxed)
    }

    /// How many bytes were sent to the server.
    pub fn sent(&self) -> u64 {
        self.counts.sent.load(Relaxed)
    }
}

fn pass(near: &TcpStream, server: SocketAddr, counts: &Arc<Counts>) -> io::Result<()> {
    let far = TcpStream::connect(server)?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (from, to, there) = (near.try_clone()?, far.try_clone()?, Arc::clone(counts));
    let (back_from, back_to, back) = (far, near.try_clone()?, Arc::clone(counts));
    thread::spawn(move || {
        each_piece(from, to, |piece| {
            there.sent.fetch_add(piece.len() as u64, Relaxed);
        })
    });
    let mut reader = Receipts::default();
    thread::spawn(move || each_piece(back_from, back_to, |piece| reader.read(piece, &back)));
    Ok(())
}

/// Passes on what comes until an end closes.
fn each_piece(mut from: TcpStream, mut to: TcpStream, mut seen: impl FnMut(&[u8])) {
    keep_to(ASKING);
    let mut piece = vec![0; PIECE];
    while let Ok(read @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..read]).is_err() {
            break;
        }
        seen(&piece[..read]);
    }
    let (_, _) = (to.shutdown(Shutdown::Write), from.shutdown(Shutdown::Read));
}

/// Numbers behind a name, wherever the pieces are cut.
#[derive(Debug, Default)]
struct Receipts {
    /// How much of the name was met.
    met: usize,
    /// The number, once all of the name was met.
    number: u64,
}

impl Receipts {
    fn read(&mut self, piece: &[u8], counts: &Counts) {
        for byte in piece {
            if self.met < RECORDS.len() {
                self.met = match *byte == RECORDS[self.met] {
                    true => self.met + 1,
                    false => usize::from(*byte == RECORDS[0]),
                };
            } else if byte.is_ascii_digit() {
                self.number = self.number * 10 + u64::from(byte - b'0');
            } else {
                counts.records.fetch_add(self.number, Relaxed);
                counts.receipts.fetch_add(1, Relaxed);
                *self = Self::default();
            }
        }
    }
}
