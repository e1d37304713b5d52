//! Links on TCP: TLS, and the mux on top of it.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rustls::pki_types::CertificateDer;
use rustls::{CommonState, Error as TlsError};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::Limits;
use super::close::{Closed, Reason};
use super::mux::{HEADER_BYTES, HalfError, Header, Mux, MuxError, Side};
use crate::frame::ALPN;

/// How long the last words to a peer may take, and how long is waited for it to go.
pub(super) const LAST_WORDS_WITHIN: Duration = Duration::from_secs(2);
/// The most that is read of a peer that was told to go.
const DISCARD_BYTES: usize = 4 * 1024;

/// What the link and the halves of its streams share with the task that reads and writes.
#[derive(Debug)]
pub(super) struct Wire {
    mux: Mutex<Mux>,
    /// For whoever waits for a stream, for room to open one, or for the end.
    changed: Notify,
    side: Side,
    begun: Instant,
    /// Microseconds there and back, and one more; 0 before the first answer.
    rtt_us: AtomicU64,
    pub(super) remote: SocketAddr,
    pub(super) chain: Vec<CertificateDer<'static>>,
}

impl Wire {
    /// The wire of a connection whose handshake is done.
    pub(super) fn new(side: Side, limits: &Limits, remote: SocketAddr, tls: &CommonState) -> Self {
        Self {
            mux: Mutex::new(Mux::new(side, limits.streams_max, limits.stream_window_bytes)),
            changed: Notify::new(),
            side,
            begun: Instant::now(),
            rtt_us: AtomicU64::new(0),
            remote,
            chain: tls.peer_certificates().unwrap_or_default().to_vec(),
        }
    }

    /// Does something with the mux, and wakes whoever waits for what came of it.
    fn with<T>(&self, work: impl FnOnce(&mut Mux) -> T) -> T {
        let (done, stirred) = {
            let mut mux = self.mux.lock().unwrap_or_else(PoisonError::into_inner);
            let done = work(&mut mux);
            (done, mux.take_stirred())
        };
        if stirred {
            self.changed.notify_waiters();
        }
        done
    }

    /// Waits until `ask` has an answer.
    async fn until<T>(&self, mut ask: impl FnMut(&mut Mux) -> Option<T>) -> T {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            if let Some(answer) = self.with(&mut ask) {
                return answer;
            }
            changed.await;
        }
    }

    pub(super) async fn open(&self) -> Result<u32, Closed> {
        self.until(Mux::open).await
    }

    pub(super) async fn accept(&self) -> Result<u32, Closed> {
        self.until(Mux::accept).await
    }

    pub(super) async fn closed(&self) -> Closed {
        self.until(|mux| mux.closed().cloned()).await
    }

    pub(super) fn why_closed(&self) -> Option<Closed> {
        self.with(|mux| mux.closed().cloned())
    }

    pub(super) fn close(&self, why: Closed) {
        self.with(|mux| mux.close(why));
    }

    pub(super) async fn read(&self, stream: u32) -> Result<Option<Bytes>, HalfError> {
        poll_fn(|cx| self.with(|mux| mux.poll_read(stream, cx))).await
    }

    pub(super) async fn send(&self, stream: u32, mut bytes: Bytes) -> Result<(), HalfError> {
        poll_fn(|cx| self.with(|mux| mux.poll_send(stream, &mut bytes, cx))).await
    }

    pub(super) async fn stopped(&self, stream: u32) {
        poll_fn(|cx| self.with(|mux| mux.poll_stopped(stream, cx))).await;
    }

    pub(super) async fn ended(&self, stream: u32) -> Result<(), HalfError> {
        poll_fn(|cx| self.with(|mux| mux.poll_ended(stream, cx))).await
    }

    pub(super) fn finish(&self, stream: u32) {
        self.with(|mux| mux.finish(stream));
    }

    pub(super) fn give_up(&self, stream: u32) {
        self.with(|mux| mux.give_up(stream));
    }

    pub(super) fn stop_reading(&self, stream: u32) {
        self.with(|mux| mux.stop_reading(stream));
    }

    pub(super) fn rtt(&self) -> Option<Duration> {
        let known = self.rtt_us.load(Ordering::Relaxed).checked_sub(1);
        known.map(Duration::from_micros)
    }

    /// Reads and writes until the link is over, then says the last words.
    pub(super) async fn run(&self, tls: impl AsyncRead + AsyncWrite, limits: &Limits) {
        let _end = End(self);
        let (mut reader, mut writer) = split(tls);
        self.talk(&mut reader, &mut writer, limits).await;
        // A socket that is closed with unread bytes would take back what the peer has not read yet.
        let last = async {
            writer.shutdown().await?;
            discard(&mut reader).await
        };
        let _ = timeout(LAST_WORDS_WITHIN, last).await;
    }

    async fn talk(
        &self,
        reader: &mut (impl AsyncRead + Unpin),
        writer: &mut (impl AsyncWrite + Unpin),
        limits: &Limits,
    ) {
        let mut writing = pin!(self.write_pieces(writer, limits));
        let why = tokio::select! {
            why = self.read_pieces(reader, limits.idle) => why,
            why = &mut writing => return self.close(why),
            // A writer that is stuck cannot even say why the link is over.
            why = self.closed_for(LAST_WORDS_WITHIN) => return self.close(why),
        };
        self.close(why);
        if let Some(Closed::Here(_)) = self.why_closed() {
            // The reason follows what is being written.
            let _ = timeout(LAST_WORDS_WITHIN, writing).await;
        }
    }

    async fn closed_for(&self, time: Duration) -> Closed {
        let why = self.closed().await;
        sleep(time).await;
        why
    }

    async fn read_pieces(&self, reader: &mut (impl AsyncRead + Unpin), idle: Duration) -> Closed {
        loop {
            let Ok(read) = timeout(idle, self.read_piece(reader)).await else {
                return Closed::Silent;
            };
            if let Err(why) = read {
                return why;
            }
            if let Some(why @ (Closed::There(_) | Closed::Broken { .. })) = self.why_closed() {
                return why;
            }
        }
    }

    async fn read_piece(&self, reader: &mut (impl AsyncRead + Unpin)) -> Result<(), Closed> {
        let mut header = [0; HEADER_BYTES];
        reader.read_exact(&mut header).await.map_err(|error| of_io(&error))?;
        let wrong = |error: MuxError| Closed::Here(Reason::new(error.code(), &error.to_string()));
        let header = Header::read(header).map_err(wrong)?;
        self.with(|mux| mux.check(header)).map_err(wrong)?;
        let mut body = vec![0; header.length];
        reader.read_exact(&mut body).await.map_err(|error| of_io(&error))?;
        self.with(|mux| mux.receive(header, &body)).map_err(wrong)?;
        if let Some(sent_us) = self.with(Mux::take_pong) {
            self.note_pong(sent_us);
        }
        Ok(())
    }

    async fn write_pieces(
        &self,
        writer: &mut (impl AsyncWrite + Unpin),
        limits: &Limits,
    ) -> Closed {
        loop {
            let batch = self.next_batch(limits.keep_alive).await;
            let written = async {
                writer.write_all(&batch).await?;
                writer.flush().await
            };
            match timeout(limits.idle, written).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return of_io(&error),
                Err(_) => return Closed::Silent,
            }
            if let Some(why @ Closed::Here(_)) = self.why_closed() {
                return why;
            }
        }
    }

    /// What is to be written next. Whoever dialled asks for a sign of life when there is nothing.
    async fn next_batch(&self, keep_alive: Duration) -> Vec<u8> {
        loop {
            // Made for each batch, so that an idle link holds none.
            let mut batch = Vec::new();
            let next = poll_fn(|cx| self.with(|mux| mux.poll_write(&mut batch, cx)));
            let waited = match self.side {
                Side::Accepted => None,
                Side::Dialled => Some(keep_alive),
            };
            match within(waited, next).await {
                Some(()) => return batch,
                None => self.with(|mux| mux.ping(self.now_us())),
            }
        }
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn note_pong(&self, sent_us: u64) {
        if let Some(rtt_us) = self.now_us().checked_sub(sent_us) {
            self.rtt_us.store(rtt_us.saturating_add(1), Ordering::Relaxed);
        }
    }
}

/// Whoever waits learns that the link is over, also when its task is ended from outside.
struct End<'a>(&'a Wire);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.close(Closed::broken("whoever made the link is gone"));
    }
}

/// What a future gives, unless it takes longer than it may.
async fn within<T>(time: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match time {
        None => Some(future.await),
        Some(time) => timeout(time, future).await.ok(),
    }
}

/// Whether the peer asked for our protocol: TLS lets in who asks for none.
pub(super) fn speaks_ours(tls: &CommonState) -> bool {
    tls.alpn_protocol() == Some(ALPN)
}

/// Reads until the peer has nothing more to say.
pub(super) async fn discard(reader: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut unread = vec![0; DISCARD_BYTES];
    while reader.read(&mut unread).await? > 0 {}
    Ok(())
}

/// Why TLS or the network ended it.
pub(super) fn of_io(error: &io::Error) -> Closed {
    match tls_error(error) {
        Some(TlsError::AlertReceived(alert)) => Closed::of_alert(*alert, ""),
        Some(error) => Closed::broken(error),
        None if error.kind() == ErrorKind::UnexpectedEof => {
            Closed::broken("the peer went without a word")
        }
        None => Closed::broken(error),
    }
}

/// The error of TLS in one of IO.
pub(super) fn tls_error(error: &io::Error) -> Option<&TlsError> {
    error.get_ref().and_then(|inner| inner.downcast_ref())
}
