//! How long an event takes from the client that sends it to a thousand that read the stream.

use std::net::{SocketAddr, TcpStream as BlockingStream};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::latency::Latencies;
use super::{load, serve, session_id};

const GOAL_MS: f64 = 50.0;
const READERS: usize = 1_000;
const EVENTS: usize = 500;
const EVERY: Duration = Duration::from_millis(10);
/// What stands before the time at which an event was sent, in microseconds since the start.
const MARK: &[u8] = b"\"sentAt\":";

pub(crate) fn measure(json: bool) {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(&directory.path().join("ours.db"));
    let (address, start) = (server.address(), Instant::now());
    let (ready, mut all_ready) = mpsc::channel(READERS);
    let readers = thread::spawn(move || {
        Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let mut readers = JoinSet::new();
            for _ in 0..READERS {
                readers.spawn(read(address, start, ready.clone()));
            }
            drop(ready);
            readers.join_all().await.concat()
        })
    });
    while all_ready.blocking_recv().is_some() {}
    let appends = Latencies::new(send(address, start));
    let latencies = Latencies::new(readers.join().unwrap());
    let note = format!("the appends alone p99 {:.1} ms", appends.of_thousand(990));
    latencies.report("SSE, 1,000 readers, 100 events/s", GOAL_MS, &note, json);
}

/// Sends an event every now and then, and says how long each took to be acknowledged.
fn send(address: SocketAddr, start: Instant) -> Vec<Duration> {
    let mut stream = BlockingStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let path = format!("/api/v1/sessions/{}/events", session_id(0));
    let (first, mut times) = (Instant::now(), Vec::new());
    for number in 0..EVENTS as u32 {
        thread::sleep((EVERY * number).saturating_sub(first.elapsed()));
        let sent = Instant::now();
        let sent_at = sent.duration_since(start).as_micros();
        let text = "x".repeat(200);
        let data = format!(r#"{{"sentAt":{sent_at},"text":"{text}"}}"#);
        let body = format!(r#"{{"events":[{{"type":"note","data":{data}}}]}}"#);
        load::exchange(&mut stream, load::post(&path, &body).as_bytes(), 201);
        times.push(sent.elapsed());
    }
    times
}

/// Reads every event, and says how long each was on its way.
async fn read(address: SocketAddr, start: Instant, ready: mpsc::Sender<()>) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let path = format!("/api/v1/sessions/{}/events", session_id(0));
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut buffer, mut times) = (Vec::with_capacity(16 * 1024), Vec::with_capacity(EVENTS));
    stream.read_buf(&mut buffer).await.unwrap();
    assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer));
    drop(ready);
    while times.len() < EVENTS {
        take_times(&mut buffer, start, &mut times);
        if times.len() < EVENTS {
            assert!(stream.read_buf(&mut buffer).await.unwrap() > 0, "the stream ended");
        }
    }
    times
}

/// Takes the times of whole frames out of `buffer`.
fn take_times(buffer: &mut Vec<u8>, start: Instant, times: &mut Vec<Duration>) {
    let now = start.elapsed();
    let mut done = 0;
    while let Some(end) = find(&buffer[done..], b"\n\n") {
        let frame = &buffer[done..done + end];
        if let Some(at) = find(frame, MARK) {
            let digits = &frame[at + MARK.len()..];
            let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
            let sent_at = digits.fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'));
            times.push(now.saturating_sub(Duration::from_micros(sent_at)));
        }
        done += end + 2;
    }
    buffer.drain(..done);
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
