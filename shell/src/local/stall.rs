//! A connection whose peer must take what is written to it: one that stands still too long is broken off.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// A connection with a limit on each write that waits.
#[derive(Debug)]
pub struct Stalling<T> {
    stream: T,
    limit: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Stalling<T> {
    /// Breaks the connection off where a write waits longer than `limit`.
    pub const fn new(stream: T, limit: Duration) -> Self {
        Self { stream, limit, waiting: None }
    }

    /// What the connection runs over.
    pub const fn stream(&self) -> &T {
        &self.stream
    }

    /// Turns a write that waits longer than the limit into an error.
    fn watched<R>(
        &mut self,
        context: &mut Context<'_>,
        progress: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if progress.is_ready() {
            self.waiting = None;
            return progress;
        }
        let limit = self.limit;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + limit)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Stalling<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Stalling<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watched(context, progress)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_write_vectored(context, bytes);
        this.watched(context, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_flush(context);
        this.watched(context, progress)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let progress = Pin::new(&mut this.stream).poll_shutdown(context);
        this.watched(context, progress)
    }
}

#[cfg(test)]
mod tests {
    use std::{io, time::Duration};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::Stalling;

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_broken_off_and_one_that_reads_is_not() {
        let (near, mut far) = tokio::io::duplex(4);
        let mut near = Stalling::new(near, Duration::from_millis(50));
        near.write_all(b"four").await.unwrap();
        let refused = near.write_all(b"more").await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        let mut taken = [0; 4];
        far.read_exact(&mut taken).await.unwrap();
        near.write_all(b"next").await.unwrap();
        far.read_exact(&mut taken).await.unwrap();
        assert_eq!(&taken, b"next");
    }
}
