//! Durable appends over HTTP beside a bare axum server with one writer thread: the same rows, the
//! same durability, the same clients, the same run. And how fast news travels: events to many
//! readers of a stream, runs to an executor that waits.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

mod bare;
mod claim;
mod latency;
mod load;
mod stream;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

use ah_model::{NewRepo, NewSession, Vcs};
use ah_server::{RunningServer, ServerState};
use ah_store::{Capabilities, Ids, Sessions, SystemClock, SystemIds, block_on};
use ah_store_sql::{Callers, SqlStore, SqliteOptions};

use load::{Measured, measure};

const ROUNDS: usize = 5;
const GOAL: f64 = 0.6;
/// As many sessions as there may be clients: each writes its own log.
pub(crate) const SESSIONS: usize = 64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with("--")).collect();
    let wanted =
        |title: &str| names.is_empty() || names.iter().any(|name| title.contains(name.as_str()));
    if wanted("http append") {
        [8, 64].into_iter().for_each(|clients| compare(clients, json));
    }
    if wanted("http stream") {
        stream::measure(json);
    }
    if wanted("http claim") {
        claim::measure(json);
    }
}

fn compare(clients: usize, json: bool) {
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let directory = tempfile::tempdir().unwrap();
        let (server, bodies) = (serve(&directory.path().join("ours.db")), our_requests());
        ours.push(measure(server.address(), clients, &bodies));
        drop(server);
        let bare = bare::serve(&directory.path().join("bare.db"));
        raw.push(measure(bare.address, clients, &bare::requests()));
    }
    report(clients, &median(ours), &median(raw), json);
}

fn serve(path: &Path) -> RunningServer {
    let mut options = SqliteOptions::new(path);
    options.callers = Callers::Tasks;
    let ids = Ids::new(Box::new(SystemIds));
    let capabilities = Capabilities { workspaces: true };
    let (store, _) =
        SqlStore::open_sqlite(options, capabilities, Arc::new(SystemClock), ids).unwrap();
    let root_path = Some("/r".to_owned());
    let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
    for number in 0..SESSIONS {
        let mut session = NewSession::new(repo.clone(), "codex".parse().unwrap());
        session.id = Some(session_id(number).parse().unwrap());
        block_on(store.create_session(session)).unwrap();
    }
    let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    RunningServer::start(listener, ServerState::new(Arc::new(store))).unwrap()
}

/// As long as the ids we mint.
pub(crate) fn session_id(number: usize) -> String {
    format!("019b7ca9-8f2e-7001-a2ee-{number:012}")
}

/// About 300 bytes, as a tool call's record.
pub(crate) fn payload() -> String {
    let text = "x".repeat(240);
    format!(r#"{{"tool":"bash","input":{{"command":"{text}"}},"ok":true}}"#)
}

fn our_requests() -> Vec<String> {
    let body = format!(r#"{{"events":[{{"type":"pre_tool","data":{}}}]}}"#, payload());
    let path = |number| format!("/api/v1/sessions/{}/events", session_id(number));
    (0..SESSIONS).map(|number| load::post(&path(number), &body)).collect()
}

/// The round with the median rate.
fn median(mut rounds: Vec<Measured>) -> Measured {
    rounds.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    rounds.swap_remove(rounds.len() / 2)
}

fn report(clients: usize, ours: &Measured, raw: &Measured, json: bool) {
    let ratio = ours.rate / raw.rate;
    let name = format!("HTTP append, {clients} clients");
    let note = format!("p99 {:.1} ms, bare {:.1} ms", ours.p99_ms, raw.p99_ms);
    if json {
        let document = serde_json::json!({
            "name": name, "unit": "appends/s", "ours": ours.rate, "raw": raw.rate, "ratio": ratio,
            "goal": format!("at least {GOAL}"), "met": ratio >= GOAL, "note": note,
        });
        println!("{document}");
    } else {
        let missed = if ratio >= GOAL { "" } else { "  MISSED" };
        println!(
            "{name:<34} ours {:.0} appends/s, raw {:.0} appends/s, ratio {ratio:.2} \
             (goal at least {GOAL}){missed}  {note}",
            ours.rate, raw.rate
        );
    }
}
