use std::path::PathBuf;

use ah_model::{Demands, NewRun, RawJson, RunKind, limits};
use ah_store::block_on;
use serde_json::json;

use super::demands::{DemandArgs, MachineArgs};
use crate::app::App;
use crate::error::CommandError;
use crate::input::{ask_text, text_or_file};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session to execute: its id, or the beginning of it
    session: String,
    /// Go on with a session that has run before
    #[arg(long)]
    resume: bool,
    /// What the agent is told
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["prompt_file", "parameters"])]
    prompt: Option<String>,
    /// Read the prompt from a file, or stdin for `-`
    #[arg(long, value_name = "FILE", conflicts_with = "parameters")]
    prompt_file: Option<PathBuf>,
    /// What the executor is told, as JSON, in place of a prompt
    #[arg(long, value_name = "JSON")]
    parameters: Option<String>,
    #[command(flatten)]
    demands: DemandArgs,
    /// This executor and no other
    #[arg(long, value_name = "EXECUTOR")]
    on: Option<String>,
    #[command(flatten)]
    machine: Box<MachineArgs>,
    /// Fail if nobody has taken it within this time, such as 5m
    #[arg(long, value_name = "SPAN")]
    timeout: Option<String>,
    /// How whoever asks waits: sync, async_poll or async_callback
    #[arg(long, value_name = "MODE", default_value = "sync")]
    mode: String,
    /// Resume this session with the result, with `--mode async_callback`; the session's parent else
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
    /// Queue it again, rather than fail, when its executor is lost at work
    #[arg(long)]
    requeue: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let kind = if args.resume { RunKind::Resume } else { RunKind::Start };
    let parent = args.parent.as_deref().map(|id| app.session_id(&*store, id)).transpose()?;
    let timeout_ms = args.timeout.as_deref().map(when::span).transpose()?;
    let executor_id = args.on.as_deref().map(str::parse).transpose()?;
    let new = NewRun {
        demands: Demands { executor_id, ..args.demands.with(&args.machine)? },
        execution_mode: args.mode.parse()?,
        parent_session_id: parent,
        timeout_ms,
        requeue: args.requeue,
        requested_by: app.user(),
        ..NewRun::new(app.session_id(&*store, &args.session)?, kind, parameters(app, args)?)
    };
    let run = block_on(store.create_run(new))?;
    app.output.result(&run, |run| run.id.to_string())
}

fn parameters(app: &App, args: &Args) -> Result<RawJson, CommandError> {
    if let Some(json) = &args.parameters {
        return Ok(RawJson::parse("parameters", json, limits::PROMPT_BYTES_MAX)?);
    }
    let (text, file) = (args.prompt.as_deref(), args.prompt_file.as_deref());
    let prompt = match text_or_file("prompt", text, file, limits::PROMPT_BYTES_MAX)? {
        Some(prompt) => prompt,
        None => ask_text(app.asking(), "prompt", "--prompt")?,
    };
    Ok(RawJson::of(&json!({ "prompt": prompt }))?)
}
