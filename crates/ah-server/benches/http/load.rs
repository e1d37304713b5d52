//! Clients that each send one request after the other on a connection of their own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_millis(1_500);

pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) p99_ms: f64,
}

pub(crate) fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Lets `clients` send for a while; every answer must be a success.
pub(crate) fn measure(address: SocketAddr, clients: usize, requests: &[String]) -> Measured {
    let barrier = Barrier::new(clients);
    let times: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..clients)
            .map(|number| {
                let (barrier, request) = (&barrier, &requests[number % requests.len()]);
                scope.spawn(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.set_nodelay(true).unwrap();
                    barrier.wait();
                    send(&mut stream, request.as_bytes())
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    let rate = times.len() as f64 / TIME.as_secs_f64();
    let mut sorted = times;
    sorted.sort_by(f64::total_cmp);
    let p99_ms = sorted[sorted.len() * 99 / 100] * 1_000.0;
    Measured { rate, p99_ms }
}

fn send(stream: &mut TcpStream, request: &[u8]) -> Vec<f64> {
    let (start, mut times, mut buffer) = (Instant::now(), Vec::new(), Vec::new());
    while start.elapsed() < TIME {
        let sent = Instant::now();
        stream.write_all(request).unwrap();
        answer(stream, &mut buffer, 201);
        times.push(sent.elapsed().as_secs_f64());
    }
    times
}

/// Sends one request, and gives its answer, which must have that status.
pub(crate) fn exchange(stream: &mut TcpStream, request: &[u8], status: u16) -> String {
    stream.write_all(request).unwrap();
    let mut buffer = Vec::new();
    answer(stream, &mut buffer, status);
    String::from_utf8(buffer).unwrap()
}

/// Reads one answer to its end.
fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>, status: u16) {
    buffer.clear();
    let mut part = [0_u8; 4096];
    loop {
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "the server hung up");
        buffer.extend_from_slice(&part[..read]);
        let text = String::from_utf8_lossy(buffer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{head}");
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            return;
        }
    }
}
