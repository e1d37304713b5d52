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
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::limits::{ACCEPT_PAUSE, CONNECTIONS_MAX, HANDSHAKE_MAX, IDLE_MAX, STALL_MAX};
use crate::tls::Tls;

/// Accepts connections while there is room.
pub(crate) struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
    tls: Option<TlsAcceptor>,
    /// Clients that agree on keys; the others do not wait for them.
    handshakes: JoinSet<Option<(Connection, SocketAddr)>>,
}

impl Door {
    pub(crate) fn new(listener: TcpListener, tls: Option<&Tls>) -> Self {
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        Self { listener, room, tls: tls.map(Tls::acceptor), handshakes: JoinSet::new() }
    }

    /// The next connection that is ready to be served, if one is now.
    fn knocked(
        &mut self,
        (stream, address, room): (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>),
    ) -> Option<(Connection, SocketAddr)> {
        // Answers are written whole; waiting for more only delays them. A stream that refuses works.
        let _ = stream.set_nodelay(true);
        let Some(tls) = self.tls.clone() else {
            return Some((Connection::new(Stream::Plain(stream), room), address));
        };
        self.handshakes.spawn(async move {
            let stream = timeout(HANDSHAKE_MAX, tls.accept(stream)).await.ok()?.ok()?;
            Some((Connection::new(Stream::Tls(Box::new(stream)), room), address))
        });
        None
    }
}

/// The next client, once there is room for it.
async fn knock(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    loop {
        // Nobody closes the semaphore, so there is always a permit in the end.
        let permit = Arc::clone(room).acquire_owned().await.ok();
        match listener.accept().await {
            Ok((stream, address)) => return (stream, address, permit),
            // A connection that broke before it began, or no descriptors left for now.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            tokio::select! {
                client = knock(&self.listener, &self.room) => {
                    if let Some(ready) = self.knocked(client) {
                        return ready;
                    }
                }
                Some(agreed) = self.handshakes.join_next() => {
                    // One that did not agree is gone, and its room is free.
                    if let Ok(Some(ready)) = agreed {
                        return ready;
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// What bytes travel through.
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
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
    stream: Stream,
    activity: Activity,
    idle: Pin<Box<Sleep>>,
    /// Runs while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn new(stream: Stream, room: Option<OwnedSemaphorePermit>) -> Self {
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
        self.poll_stalled(cx).map(Err)
    }

    /// Ready once the client has taken nothing for too long.
    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALL_MAX)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Error::from(ErrorKind::TimedOut))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let read = self.stream.poll_read(cx, buf);
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
        let written = self.stream.poll_write(cx, &[IoSlice::new(buf)]);
        self.progress(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let written = self.stream.poll_write(cx, bufs);
        self.progress(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = self.stream.poll_flush(cx);
        if flushed.is_ready() {
            // Nothing waits for the client any more. That is no activity: it is also so before.
            self.stalled = None;
            return flushed;
        }
        self.poll_stalled(cx).map(Err)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.stream.poll_shutdown(cx)
    }
}
