//! A stream of a run: read to its end, and kept up to its limit.

use std::{io, os::fd::OwnedFd};

use meshward_core::agent::Captured;
use tokio::{io::AsyncReadExt as _, net::unix::pipe};

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// How often what lies in a pipe is read once its run is over; a pipe holds no more than that.
const LAST_READS: usize = 16;

#[derive(Debug)]
pub(super) struct Kept {
    /// `None` behind its end.
    pipe: Option<pipe::Receiver>,
    captured: Captured,
    limit: usize,
    chunk: Vec<u8>,
}

impl Kept {
    pub(super) fn new(end: OwnedFd, limit: usize) -> io::Result<Self> {
        let pipe = Some(pipe::Receiver::from_owned_fd(end)?);
        Ok(Self { pipe, captured: Captured::default(), limit, chunk: vec![0; CHUNK] })
    }

    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads once; to be asked only while it is open. What is given up meanwhile loses nothing.
    pub(super) async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.chunk).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(length) => self.keep(length),
        }
    }

    /// Reads what is there without waiting for more, then ends.
    pub(super) fn into_captured(mut self) -> Captured {
        for _ in 0..LAST_READS {
            let Some(pipe) = &mut self.pipe else { break };
            match pipe.try_read(&mut self.chunk) {
                Ok(0) | Err(_) => self.pipe = None,
                Ok(length) => self.keep(length),
            }
        }
        self.captured
    }

    fn keep(&mut self, length: usize) {
        let room = self.limit.saturating_sub(self.captured.bytes.len());
        self.captured.bytes.extend_from_slice(&self.chunk[..length.min(room)]);
        self.captured.cut |= length > room;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{CHUNK, Kept};

    #[tokio::test]
    async fn a_stream_is_kept_up_to_its_limit_and_read_beyond_it() {
        for (written, limit, cut) in [(4, 4, false), (5, 4, true), (CHUNK * 5, CHUNK * 3, true)] {
            let (reader, mut writer) = std::io::pipe().unwrap();
            let mut kept = Kept::new(reader.into(), limit).unwrap();
            let source = std::thread::spawn(move || writer.write_all(&vec![b'x'; written]));
            while kept.is_open() {
                kept.read().await;
            }
            source.join().unwrap().unwrap();
            let captured = kept.into_captured();
            assert_eq!((captured.bytes.len(), captured.cut), (limit.min(written), cut));
        }
    }

    #[tokio::test]
    async fn what_lies_in_a_pipe_that_is_never_closed_is_read_and_no_more_is_awaited() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let kept = Kept::new(reader.into(), 100).unwrap();
        writer.write_all(b"some").unwrap();
        // The runtime learns of it once it looks.
        tokio::task::yield_now().await;
        let captured = kept.into_captured();
        assert_eq!((captured.bytes.as_slice(), captured.cut), (&b"some"[..], false));
        drop(writer);
    }
}
