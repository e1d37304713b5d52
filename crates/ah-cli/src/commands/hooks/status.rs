use ah_import::HookTool;
use ah_model::Redactions;
use serde::Serialize;

use super::settings::{Scope, Settings};
use crate::app::App;
use crate::commands::hook::spool::Spool;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this coding agent: claude-code, codex, gemini or goose
    #[arg(value_name = "KIND")]
    kind: Option<HookTool>,
}

/// What there is.
#[derive(Debug, Serialize)]
struct Status {
    items: Vec<Found>,
    /// Calls that wait to be brought in.
    waiting: usize,
    /// Payloads that never can be.
    refused: usize,
    /// Secrets that were taken out of calls, by rule.
    redacted: Redactions,
    /// Where all of it is.
    directories: Vec<std::path::PathBuf>,
}

/// The settings of one agent.
#[derive(Debug, Serialize)]
struct Found {
    kind: HookTool,
    scope: Scope,
    file: std::path::PathBuf,
    hooks: usize,
    /// What they run.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// Why the settings cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let mut items = Vec::new();
    for tool in HookTool::ALL.into_iter().filter(|tool| args.kind.is_none_or(|one| one == *tool)) {
        for scope in Scope::ALL {
            items.push(look(&Settings::of(app, tool, scope)?));
        }
    }
    let spool = Spool::of(&app.environment);
    let (waiting, refused) = spool.count();
    let redacted = spool.redacted();
    let directories = spool.places().iter().filter(|place| place.exists()).cloned().collect();
    let status = Status { items, waiting, refused, redacted, directories };
    app.output.result(&status, shown)
}

fn look(settings: &Settings) -> Found {
    let text = settings.read().map(|text| text.filter(|text| !text.trim().is_empty()));
    let ours = text.and_then(|text| match text {
        Some(text) => settings.ours(&text),
        None => Ok(Vec::new()),
    });
    let (ours, problem) = match ours {
        Ok(ours) => (ours, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let command = ours.first().and_then(|(_, handler)| handler["command"].as_str());
    Found {
        kind: settings.tool,
        scope: settings.scope,
        file: settings.path.clone(),
        hooks: ours.len(),
        command: command.map(str::to_owned),
        problem,
    }
}

fn shown(status: &Status) -> String {
    let mut lines: Vec<String> = status.items.iter().map(line).collect();
    lines.push(match status.waiting {
        0 => "nothing waits to be brought in".to_owned(),
        1 => "1 call waits to be brought in: `ah hooks drain`".to_owned(),
        many => format!("{many} calls wait to be brought in: `ah hooks drain`"),
    });
    if status.refused > 0 {
        let places: Vec<_> =
            status.directories.iter().map(|place| place.display().to_string()).collect();
        lines.push(format!(
            "{} payloads could not be understood: see `refused` in {}",
            status.refused,
            places.join(", ")
        ));
    }
    if !status.redacted.is_empty() {
        lines.push(format!("secrets taken out of calls: {}", status.redacted));
    }
    lines.join("\n")
}

fn line(found: &Found) -> String {
    let Found { kind, file, hooks, command, problem, .. } = found;
    let file = file.display();
    match (problem, command) {
        (Some(problem), _) => format!("{kind}: {problem}"),
        (None, Some(command)) => format!("{kind}: {hooks} hooks in {file} run `{command}`"),
        (None, None) => format!("{kind}: none in {file}"),
    }
}
