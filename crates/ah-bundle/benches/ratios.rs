//! What bundles cost over the bare file system: the same bytes, the same durability, the same run.
//!
//! Rounds of ours and raw alternate, so that a busy machine slows both; figures are medians. A
//! figure is never asserted here: `cargo xtask bench` prints it beside its goal.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use ah_bundle::json::Value;
use ah_bundle::{Bundle, StateDir};
use ah_model::Timestamp;
use sha2::{Digest, Sha256};

const SCOPE: &str = "bench";
const LISTED: usize = 10_000;
const LIST_GOAL_MS: f64 = 100.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with("--")).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| name.contains(n.as_str()));
    if wanted("bundle save") {
        for (size, name) in [(4 * 1024, "4 kB"), (1024 * 1024, "1 MB")] {
            save(size, name).iter().for_each(|figure| figure.print(json));
        }
    }
    for (shape, name) in [(prose as Shape, "prompts"), (settings as Shape, "settings")] {
        if wanted(&format!("bundle load {name}")) {
            load(shape, name).print(json);
        }
    }
    if wanted("bundle list") {
        list().print(json);
    }
}

/// A line of the report: milliseconds of ours beside raw, or beside the goal itself.
struct Figure {
    name: String,
    ours_ms: f64,
    raw_ms: f64,
    goal: f64,
}

impl Figure {
    fn print(&self, json: bool) {
        let Self { name, ours_ms, raw_ms, goal } = self;
        let ratio = ours_ms / raw_ms;
        let met = ratio <= *goal;
        if json {
            let document = serde_json::json!({
                "name": name, "unit": "ms", "ours": ours_ms, "raw": raw_ms, "ratio": ratio,
                "goal": format!("at most {goal}"), "met": met,
            });
            println!("{document}");
        } else {
            let met = if met { "" } else { "  MISSED" };
            println!(
                "{name:<44} ours {ours_ms:>9.3} ms, raw {raw_ms:>9.3} ms, ratio {ratio:.2} \
                 (goal at most {goal}){met}"
            );
        }
    }
}

/// A save beside the same bytes written, synced and renamed, once without and once with a sync of
/// the directory, which a save has as well.
fn save(size: usize, name: &str) -> [Figure; 2] {
    const ROUNDS: usize = 60;
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::new(directory.path().join("state"));
    let raw = directory.path().join("raw");
    fs::create_dir(&raw).unwrap();
    let bundle = prose(size);
    let bytes = bundle.encode();
    let mut bundles = vec![bundle; ROUNDS];
    let mut ours = || drop(state.save(bundles.pop().unwrap(), Timestamp::EPOCH).unwrap());
    let (mut files, mut both) = (0, 0);
    let [ours, file, both] = medians(
        ROUNDS,
        [
            &mut ours,
            &mut || {
                files += 1;
                write(&raw, &format!("file-{files}"), &bytes, Sync::File);
            },
            &mut || {
                both += 1;
                write(&raw, &format!("both-{both}"), &bytes, Sync::Both);
            },
        ],
    );
    let goal = 2.0;
    [
        Figure {
            name: format!("bundle save {name} / file sync"),
            ours_ms: ours,
            raw_ms: file,
            goal,
        },
        Figure {
            name: format!("bundle save {name} / file and directory sync"),
            ours_ms: ours,
            raw_ms: both,
            goal,
        },
    ]
}

#[derive(PartialEq)]
enum Sync {
    File,
    Both,
}

/// Every save is a new file, so this is one as well.
fn write(directory: &Path, name: &str, bytes: &str, sync: Sync) {
    let (temporary, name) = (directory.join("temporary"), directory.join(name));
    let mut file = File::create(&temporary).unwrap();
    file.write_all(bytes.as_bytes()).unwrap();
    file.sync_all().unwrap();
    fs::rename(temporary, name).unwrap();
    if sync == Sync::Both {
        File::open(directory).unwrap().sync_all().unwrap();
    }
}

type Shape = fn(usize) -> Bundle;

/// Loading with everything checked beside reading and hashing the same file.
fn load(shape: Shape, name: &str) -> Figure {
    const ROUNDS: usize = 200;
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::new(directory.path().join("state"));
    let saved = state.save(shape(1024 * 1024), Timestamp::EPOCH).unwrap().snapshot;
    let file = state.path().join(&saved.name);
    let [ours_ms, raw_ms] = medians(
        ROUNDS,
        [&mut || drop(black_box(state.load(SCOPE).unwrap())), &mut || {
            black_box(Sha256::digest(fs::read(&file).unwrap()));
        }],
    );
    Figure { name: format!("bundle load 1 MB of {name}"), ours_ms, raw_ms, goal: 2.0 }
}

fn list() -> Figure {
    let directory = tempfile::tempdir().unwrap();
    let state = StateDir::new(directory.path().join("state"));
    state.save(prose(2_000), Timestamp::EPOCH).unwrap();
    let text = fs::read_to_string(state.path().join(&state.list().unwrap()[0].name)).unwrap();
    for number in 1..LISTED {
        let created_at = format!("2026-01-01T00:00:00.{number:06}Z");
        let text = text.replace("1970-01-01T00:00:00.000000Z", &created_at);
        let sha = ah_model::to_hex(&Sha256::digest(text.as_bytes()));
        let name = format!("state-{}-{}.json", created_at.replace(':', ""), &sha[..8]);
        let path = state.path().join(name);
        fs::write(&path, text).unwrap();
        private(&path);
    }
    let mut list = || assert_eq!(black_box(state.list().unwrap()).len(), LISTED);
    let [ours_ms] = medians(20, [&mut list]);
    Figure {
        name: "bundle list 10,000 / 100 ms".to_owned(),
        ours_ms,
        raw_ms: LIST_GOAL_MS,
        goal: 1.0,
    }
}

fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Long prompts of short lines, as people write them.
fn prose(size: usize) -> Bundle {
    let line = "- Prefer the smallest change that works, and say \"why\" in the message.\n";
    let text = line.repeat(size / line.len() / 4 + 1);
    let prompts = ["developer", "system", "tools", "style"];
    let prompts = prompts.map(|role| (role.to_owned(), Value::from(text.as_str())));
    Bundle { prompts: Some(prompts.into_iter().collect()), ..empty() }
}

/// Thousands of small values.
fn settings(size: usize) -> Bundle {
    let members = (0..size / 40).map(|number| {
        let value = Value::parse(format!("{{\"weight\":{number}.5}}").as_bytes()).unwrap();
        (format!("setting_{number}"), value)
    });
    Bundle { prep_settings: Some(members.collect()), ..empty() }
}

fn empty() -> Bundle {
    let mut bundle = Bundle::new("model", "http://localhost/v1", "");
    bundle.scope_key = SCOPE.to_owned();
    bundle
}

/// The median milliseconds of each, run in turn; who goes first alternates.
fn medians<const N: usize>(rounds: usize, works: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    for round in 0..rounds {
        for turn in 0..N {
            let which = if round % 2 == 0 { turn } else { N - 1 - turn };
            let start = Instant::now();
            works[which]();
            times[which].push(start.elapsed().as_secs_f64() * 1_000.0);
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}
