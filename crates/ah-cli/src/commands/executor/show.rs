use ah_model::{Executor, Machine, Timestamp};
use ah_store::block_on;

use super::presence::{Present, Seen};
use super::{shown_labels, shown_rules, shown_tags, state};
use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes, fields, printable, printable_lines};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let (store, present) = Present::look(app)?;
    let seen = present.of(block_on(store.executor(args.id.parse()?))?);
    let now = app.now();
    app.output.result(&seen, |seen @ Seen { executor, .. }| {
        let mut all = said(executor, now);
        all.extend(seen.lines());
        all.extend(executor.machine.iter().flat_map(of_machine));
        let head = fields(&all);
        match executor.details.as_str() {
            "null" => head,
            details => format!("{head}\n{}", printable_lines(details)),
        }
    })
}

fn said(executor: &Executor, now: Timestamp) -> Vec<(&'static str, String)> {
    let text = |text: &Option<String>| printable(text.as_deref().unwrap_or(""));
    let offer = &executor.offer;
    let capacity = executor.capacity.map_or_else(String::new, |runs| format!("{runs} runs"));
    vec![
        ("id", executor.id.to_string()),
        ("name", text(&executor.friendly_name)),
        ("owner", text(&executor.owner)),
        ("state", state(executor, now).to_owned()),
        ("status", executor.status.to_string()),
        ("identity", printable(&executor.identity_provider)),
        ("host", text(&offer.hostname)),
        ("directory", text(&offer.project_dir)),
        ("profile", text(&offer.executor_profile)),
        ("type", text(&offer.executor_type)),
        ("tags", shown_tags(executor)),
        ("labels", shown_labels(executor)),
        ("rules", shown_rules(executor)),
        ("capacity", capacity),
        ("registered", format!("{} (time {})", executor.registered_at, executor.generation)),
        ("seen", executor.seen_at.to_string()),
    ]
}

fn of_machine(machine: &Machine) -> [(&'static str, String); 7] {
    let gpus = machine.gpus.iter().map(|gpu| format!("{} {}", gpu.vendor, gpu.model));
    let gpus = gpus.collect::<Vec<_>>().join(", ");
    let system = [&machine.os_name, &machine.os_version, &machine.architecture];
    let system = system.map(String::as_str).join(" ");
    [
        ("system", printable(&system)),
        ("cores", machine.cpu_cores.to_string()),
        ("memory", bytes(machine.memory_bytes)),
        ("storage", bytes(machine.storage_bytes)),
        ("gpus", printable(&gpus)),
        ("runtimes", printable(&machine.runtimes.join(" "))),
        ("agents", printable(&machine.agents.join(" "))),
    ]
}
