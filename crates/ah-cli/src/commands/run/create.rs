use std::path::PathBuf;

use ah_model::{Demands, Labels, NewRun, RawJson, RunKind, limits};
use ah_store::block_on;
use serde_json::json;

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

/// What an executor must offer, or offers.
#[derive(Debug, clap::Args)]
pub(crate) struct DemandArgs {
    /// The machine
    #[arg(long, value_name = "HOST")]
    pub(crate) hostname: Option<String>,
    /// The directory the executor serves
    #[arg(long, value_name = "DIR")]
    pub(crate) project_dir: Option<String>,
    /// The executor's profile
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The executor's type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) executor_type: Option<String>,
    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

/// What the machine of an executor must be or have.
#[derive(Debug, clap::Args)]
struct MachineArgs {
    /// This executor and no other
    #[arg(long, value_name = "EXECUTOR")]
    on: Option<String>,
    /// A label that the operator gave it; may be given several times
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// An agent program it must have, such as claude
    #[arg(long, value_name = "PROGRAM")]
    agent: Option<String>,
    /// Its operating system: linux, macos or windows
    #[arg(long, value_name = "OS")]
    os: Option<String>,
    /// Its architecture: x86_64 or arm64
    #[arg(long, value_name = "NAME")]
    architecture: Option<String>,
    /// Cores it must have at least
    #[arg(long, value_name = "N")]
    cpu_cores: Option<u32>,
    /// Bytes of memory it must have at least
    #[arg(long, value_name = "BYTES")]
    memory_bytes: Option<u64>,
}

impl MachineArgs {
    fn demands(&self) -> Result<Demands, CommandError> {
        Ok(Demands {
            executor_id: self.on.as_deref().map(str::parse).transpose()?,
            labels: Labels::from_pairs(&self.labels)?,
            agent: self.agent.clone(),
            os: self.os.clone(),
            architecture: self.architecture.clone(),
            cpu_cores: self.cpu_cores,
            memory_bytes: self.memory_bytes,
            ..Demands::default()
        })
    }
}

impl DemandArgs {
    fn demands(&self, machine: Demands) -> Demands {
        Demands {
            hostname: self.hostname.clone(),
            project_dir: self.project_dir.clone(),
            executor_profile: self.profile.clone(),
            executor_type: self.executor_type.clone(),
            tags: self.tags.clone(),
            ..machine
        }
    }
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let kind = if args.resume { RunKind::Resume } else { RunKind::Start };
    let parent = args.parent.as_deref().map(|id| app.session_id(&*store, id)).transpose()?;
    let timeout_ms = args.timeout.as_deref().map(when::span).transpose()?;
    let new = NewRun {
        demands: args.demands.demands(args.machine.demands()?),
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
