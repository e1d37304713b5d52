//! Who is connected, where a server can be asked for it.

use std::collections::BTreeMap;

use ah_model::{Executor, ExecutorId, ExecutorPresence, PresentRun};
use ah_store::Store;
use serde::Serialize;

use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes, printable};
use crate::when::span_of;

/// What is not known.
const UNKNOWN: &str = "-";

/// Executors that are connected; nothing where nobody can tell, as a database alone cannot.
pub(super) struct Present(Option<BTreeMap<ExecutorId, ExecutorPresence>>);

/// An executor, and what its access point sees of it.
#[derive(Serialize)]
pub(super) struct Seen {
    #[serde(flatten)]
    pub(super) executor: Executor,
    /// Its connection; `null` if it has none there. Left out where nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    presence: Option<Option<ExecutorPresence>>,
}

impl Present {
    /// The store, and who is connected to the server that it is behind.
    pub(super) fn look(app: &App) -> Result<(Box<dyn Store>, Self), CommandError> {
        let Some(server) = app.remote()? else { return Ok((app.store()?, Self(None))) };
        // An older server has no such path; what else is wrong is told by the question that follows.
        let present = server.executors_present().ok();
        let by_id = |present: Vec<ExecutorPresence>| {
            present.into_iter().map(|one| (one.executor_id.clone(), one)).collect()
        };
        Ok((Box::new(server), Self(present.map(by_id))))
    }

    /// The executor with what is seen of it.
    pub(super) fn of(&self, executor: Executor) -> Seen {
        let presence = self.0.as_ref().map(|present| present.get(&executor.id).cloned());
        Seen { executor, presence }
    }
}

impl Seen {
    /// Connected for, latency, runs and load, for a row.
    pub(super) fn columns(&self) -> [String; 4] {
        match &self.presence {
            None => [UNKNOWN; 4].map(str::to_owned),
            Some(None) => ["no", "", "", ""].map(str::to_owned),
            Some(Some(here)) => {
                let runs = format!("{}/{}", here.runs.len(), held_max(here));
                [connected(here), latency(here), runs, cpu(here)]
            }
        }
    }

    /// The same for one executor, with more words.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let here = match &self.presence {
            None => return vec![("connected", UNKNOWN.to_owned())],
            Some(None) => return vec![("connected", "no".to_owned())],
            Some(Some(here)) => here,
        };
        let free =
            [("memory", here.load.memory_free_bytes), ("storage", here.load.storage_free_bytes)];
        let free = free
            .iter()
            .filter_map(|(what, left)| left.map(|left| format!("{} of {what} free", bytes(left))));
        let load: Vec<String> =
            [format!("{} of its cores", cpu(here))].into_iter().chain(free).collect();
        let runs: Vec<String> = here.runs.iter().map(shown_run).collect();
        let mut lines = vec![
            (
                "connected",
                format!("for {}, heard {} ago", connected(here), span_of(here.heard_ago_ms)),
            ),
            ("latency", format!("{}, {}", latency(here), here.quality)),
            ("load", load.join(", ")),
            ("held", format!("{} of {}", here.runs.len(), held_max(here))),
        ];
        lines.extend(runs.into_iter().map(|run| ("run", run)));
        if here.drift > 0 {
            lines.push(("drift", format!("{} runs are not as the store has them", here.drift)));
        }
        lines
    }
}

fn held_max(here: &ExecutorPresence) -> usize {
    here.runs.len().saturating_add(usize::try_from(here.room).unwrap_or(usize::MAX))
}

fn connected(here: &ExecutorPresence) -> String {
    span_of(here.connected_for_ms)
}

fn latency(here: &ExecutorPresence) -> String {
    here.rtt_ms.map_or_else(|| UNKNOWN.to_owned(), |ms| format!("{ms}ms"))
}

fn cpu(here: &ExecutorPresence) -> String {
    here.load.cpu.map_or_else(|| UNKNOWN.to_owned(), |share| format!("{:.0}%", share * 100.0))
}

fn shown_run(run: &PresentRun) -> String {
    let state = run.state.as_deref().unwrap_or("given");
    let left =
        run.lease_left_ms.map_or_else(String::new, |ms| format!(", kept for {}", span_of(ms)));
    printable(&format!("{} {state}{left}", run.run_id))
}
