//! How long a run takes from the client that queues it to the executor that waits for one.

use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::latency::Latencies;
use super::{load, serve};

const GOAL_MS: f64 = 20.0;
const RUNS: usize = 300;
/// Between two runs, so that the executor waits again.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) fn measure(json: bool) {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(&directory.path().join("ours.db"));
    let address = server.address();
    let (claimed, claims) = mpsc::channel();
    let executor = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let body = r#"{"executorId":"e1","leaseMs":60000}"#;
        let request = load::post("/api/v1/runs/claim?wait=30", body);
        for _ in 0..RUNS {
            let answer = load::exchange(&mut stream, request.as_bytes(), 200);
            assert!(answer.contains("\"status\":\"claimed\""), "{answer}");
            claimed.send(Instant::now()).unwrap();
        }
    });
    let mut stream = TcpStream::connect(address).unwrap();
    let mut times = Vec::new();
    for number in 0..RUNS {
        thread::sleep(PAUSE);
        let request = load::post("/api/v1/runs", &new_run(number));
        let queued = Instant::now();
        load::exchange(&mut stream, request.as_bytes(), 201);
        times.push(claims.recv().unwrap().duration_since(queued));
    }
    executor.join().unwrap();
    let note = "from the request that queues it to the answer of the claim";
    Latencies::new(times).report("create to claim", GOAL_MS, note, json);
}

fn new_run(number: usize) -> String {
    let session = format!("s{number}");
    serde_json::json!({
        "sessionId": session, "kind": "start", "parameters": { "prompt": "x".repeat(200) },
        "session": {
            "id": session, "agent": { "type": "codex", "version": "1" },
            "repo": { "vcs": "none", "rootPath": "/r", "remoteUrl": null, "defaultBranch": null },
        },
    })
    .to_string()
}
