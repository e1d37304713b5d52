//! The host's sweep of many homes: what it takes of memory, and how long a writer waits for it.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ah_hive::{Bus, Homes};
use ah_model::RawJson;

use super::ah;
use super::figure::{Figure, Goal};

const HOMES: usize = 200;
const EVENTS: usize = 10_000;
const MEMORY_MB_MAX: f64 = 256.0;
const WAIT_MS_MAX: f64 = 100.0;

pub(crate) fn measure() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    super::run(ah(&state).arg("status"));
    let bus = furnish(&state);
    let began = Instant::now();
    let mut child =
        ah(&state).args(["retention", "run", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let (memory_mb, wait_ms) = watch(&mut child, &bus);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let removed = said["receipt"]["removed"]["liveEvents"]["rows"].as_u64().unwrap();
    assert!(removed >= (HOMES * (EVENTS - 2_000)) as u64, "{said}");
    assert_eq!(bus.status().lost, 0);
    let note =
        format!("{removed} events in {:.1} s; raw: the bound", began.elapsed().as_secs_f64());
    let figure = |name, unit, ours, raw| Figure {
        name,
        unit,
        ours,
        raw,
        goal: Goal::AtMost(1.0),
        note: note.clone(),
    };
    vec![
        figure("sweep of 200 homes, memory", "MB", memory_mb, MEMORY_MB_MAX),
        figure("sweep of 200 homes, longest wait", "ms", wait_ms, WAIT_MS_MAX),
    ]
}

/// Homes with so many events each, and the bus of the first.
fn furnish(state: &Path) -> Bus {
    let homes = Homes::new(state);
    let create = |number: usize| homes.create(&format!("agent-{number}")).unwrap().events();
    let first = create(0);
    let bus = Bus::new(&first);
    (0..EVENTS).for_each(|_| publish(&bus));
    for number in 1..HOMES {
        std::fs::copy(&first, create(number)).unwrap();
    }
    bus
}

fn publish(bus: &Bus) {
    let text = "x".repeat(200);
    drop(bus.publish("stream", RawJson::of(&text).unwrap()));
}

/// Writes to one of the homes until the sweep is done: the sweep's most memory, and the longest that
/// a write took.
fn watch(child: &mut Child, bus: &Bus) -> (f64, f64) {
    let (mut memory, mut longest) = (0.0_f64, Duration::ZERO);
    while child.try_wait().unwrap().is_none() {
        memory = memory.max(peak_mb(child.id()));
        let start = Instant::now();
        publish(bus);
        longest = longest.max(start.elapsed());
        std::thread::sleep(Duration::from_millis(1));
    }
    (memory, longest.as_secs_f64() * 1_000.0)
}

/// The most memory that a process ever had, in megabytes.
fn peak_mb(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1_024.0
}
