//! Connections: how many there are, and how long one may do nothing.
//!
//! A connection without a request under way is closed when nothing was written to it for
//! [`IDLE_MAX`]: that ends idle ones and those whose head of a request trickles in, because reading
//! is no activity. One whose client takes nothing is closed after [`STALL_MAX`].

use std::future::Future;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::limits::{ACCEPT_PAUSE, CONNECTIONS_MAX, IDLE_MAX, STALL_MAX};

/// Accepts connections while there is room.
pub(crate) struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
}

impl Door {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(CONNECTIONS_MAX)) }
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            // Nobody closes the semaphore, so there is always a permit in the end.
            let permit = Arc::clone(&self.room).acquire_owned().await.ok();
            match self.listener.accept().await {
                Ok((stream, address)) => return (Connection::new(stream, permit), address),
                // A connection that broke before it began, or no descriptors left for now.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// What a connection does, as seen by its requests.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    requests: AtomicUsize,
    last: Mutex<Instant>,
}

impl Activity {
    fn new() -> Self {
        let last = Mutex::new(Instant::now());
        Self(Arc::new(Shared { requests: AtomicUsize::new(0), last }))
    }

    /// Notes that a request is under way, until the result is dropped.
    pub(crate) fn begin(&self) -> UnderWay {
        self.0.requests.fetch_add(1, Ordering::SeqCst);
        UnderWay(self.clone())
    }

    fn touch(&self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When the connection has done nothing for too long; from now on while a request is under way.
    fn deadline(&self) -> Instant {
        if self.0.requests.load(Ordering::SeqCst) > 0 {
            self.touch();
        }
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) + IDLE_MAX
    }
}

impl Connected<IncomingStream<'_, Door>> for Activity {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.io().activity.clone()
    }
}

/// A request of a connection.
pub(crate) struct UnderWay(Activity);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.requests.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A connection that ends by itself.
pub(crate) struct Connection {
    stream: TcpStream,
    activity: Activity,
    idle: Pin<Box<Sleep>>,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn new(stream: TcpStream, room: Option<OwnedSemaphorePermit>) -> Self {
        // Answers are written whole; waiting for more only delays them. A stream that refuses works.
        let _ = stream.set_nodelay(true);
        let activity = Activity::new();
        let idle = Box::pin(sleep_until(activity.deadline()));
        Self { stream, activity, idle, stalled: None, _room: room }
    }

    /// Ready once nothing has happened for too long.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        loop {
            let deadline = self.activity.deadline();
            if deadline <= Instant::now() {
                return Poll::Ready(Error::from(ErrorKind::TimedOut));
            }
            self.idle.as_mut().reset(deadline);
            ready!(self.idle.as_mut().poll(cx));
        }
    }

    /// What became of a write, unless the client has taken nothing for too long.
    fn progress<T>(&mut self, cx: &mut Context<'_>, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            self.activity.touch();
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_MAX)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_ready() {
            return read;
        }
        self.poll_idle(cx).map(Err)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.progress(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.progress(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
