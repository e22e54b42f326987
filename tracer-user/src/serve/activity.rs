//! When a connection last moved, and until when it may stay as it is.
//!
//! Must not know what goes over it.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, sleep_until},
};

/// For the handshake and the first request, however slowly they drip.
const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// For a client that does not take what it asked for.
const NOT_READING: Duration = Duration::from_secs(10);
/// For an answer that is being made.
const ANSWERING: Duration = Duration::from_secs(120);
/// Between two requests: longer than most scrape intervals.
pub(super) const IDLE: Duration = Duration::from_secs(150);

/// What a connection does.
#[derive(Debug)]
pub(super) struct Activity {
    began: Instant,
    /// Milliseconds after `began` when bytes last went over it.
    moved_ms: AtomicU64,
    /// The client takes nothing more.
    blocked: AtomicBool,
    answering: AtomicUsize,
    asked: AtomicBool,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            moved_ms: AtomicU64::new(0),
            blocked: AtomicBool::new(false),
            answering: AtomicUsize::new(0),
            asked: AtomicBool::new(false),
        }
    }

    /// When bytes last went over it.
    pub(super) fn moved(&self) -> Instant {
        self.began + Duration::from_millis(self.moved_ms.load(Ordering::Relaxed))
    }

    /// While this is held, an answer is being made.
    pub(super) fn answering(self: &Arc<Self>) -> Answering {
        self.asked.store(true, Ordering::Relaxed);
        self.answering.fetch_add(1, Ordering::Relaxed);
        Answering(Arc::clone(self))
    }

    /// An answer is being made, or waits to be taken.
    pub(super) fn is_answering(&self) -> bool {
        self.answering.load(Ordering::Relaxed) != 0 || self.blocked.load(Ordering::Relaxed)
    }

    /// Ready when the connection has been as it is for too long.
    pub(super) async fn expired(&self) {
        loop {
            let deadline = self.deadline();
            if Instant::now() >= deadline {
                return;
            }
            // What changes meanwhile is looked at once a second.
            let next = Instant::now() + Duration::from_secs(1);
            sleep_until(deadline.min(next)).await;
        }
    }

    fn deadline(&self) -> Instant {
        if self.blocked.load(Ordering::Relaxed) {
            self.moved() + NOT_READING
        } else if self.answering.load(Ordering::Relaxed) != 0 {
            self.moved() + ANSWERING
        } else if self.asked.load(Ordering::Relaxed) {
            self.moved() + IDLE
        } else {
            self.began + FIRST_REQUEST
        }
    }

    fn has_moved(&self) {
        let now = self.began.elapsed().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        self.moved_ms.store(now, Ordering::Relaxed);
    }
}

/// See [`Activity::answering`].
pub(super) struct Answering(Arc<Activity>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.has_moved();
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A socket that tells its [`Activity`] what it does.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TcpStream,
    activity: Arc<Activity>,
}

impl Watched {
    pub(super) const fn new(stream: TcpStream, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }

    fn written<T>(&self, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match &poll {
            Poll::Pending => self.activity.blocked.store(true, Ordering::Relaxed),
            Poll::Ready(_) => {
                self.activity.has_moved();
                self.activity.blocked.store(false, Ordering::Relaxed);
            }
        }
        poll
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() != before {
            self.activity.has_moved();
        }
        poll
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
