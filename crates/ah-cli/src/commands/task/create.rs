use std::path::{Path, PathBuf};

use ah_model::{AgentKindRef, Labels, NewRepo, NewTask, TaskBatch, limits};

use super::launch::{LaunchArgs, launch};
use crate::app::App;
use crate::commands::session::RuntimeArgs;
use crate::error::CommandError;
use crate::input::{ask_text, text_or_file};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `-` reads the prompt from stdin
    #[arg(value_name = "-", value_parser = ["-"], conflicts_with_all = ["prompt", "prompt_file"])]
    stdin: Option<String>,
    /// What is asked for
    #[arg(long, value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// Read the prompt from a file, or stdin for `-`
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    launch: LaunchArgs,
}

/// Everything of a task but its prompt and branch; launching a draft takes it too.
#[derive(Debug, clap::Args)]
pub(crate) struct DeliveryArgs {
    /// An agent kind that shall do it; may be given several times
    #[arg(long = "agent", value_name = "KIND[@VERSION]")]
    agents: Vec<String>,
    /// How many sessions of each kind
    #[arg(long, value_name = "N", default_value_t = 1)]
    instances: u32,
    /// The branch to work on
    #[arg(long, value_name = "B")]
    branch: Option<String>,
    /// How the result should come back: pr, branch or patch
    #[arg(long, value_name = "HOW")]
    delivery: Option<String>,
    /// A label to find it by; may be given several times
    #[arg(long = "label", value_name = "K=V")]
    labels: Vec<String>,
    #[command(flatten)]
    runtime: RuntimeArgs,
}

impl DeliveryArgs {
    /// Nothing is said: one session of each agent kind, on this machine.
    pub(crate) fn unsaid() -> Self {
        Self {
            agents: Vec::new(),
            instances: 1,
            branch: None,
            delivery: None,
            labels: Vec::new(),
            runtime: RuntimeArgs::default(),
        }
    }

    /// The task with this prompt; where the flags are silent, `agents` and `branch` speak.
    pub(crate) fn task(
        &self,
        app: &App,
        prompt: String,
        agents: &[String],
        branch: Option<String>,
        repo: NewRepo,
    ) -> Result<NewTask, CommandError> {
        let named = if self.agents.is_empty() { agents } else { &self.agents };
        let default = [app.config()?.default_agent().to_owned()];
        let named = if named.is_empty() { &default } else { named };
        let agents: Vec<AgentKindRef> =
            named.iter().map(|agent| agent.parse()).collect::<Result<_, _>>()?;
        let task = NewTask {
            prompt,
            agents,
            instances: self.instances,
            repo,
            runtime: self.runtime.spec()?,
            workspace: app.global.workspace.clone(),
            branch: self.branch.clone().or(branch),
            delivery: self.delivery.as_deref().map(str::parse).transpose()?,
            labels: Labels::from_pairs(&self.labels)?,
            project_dir: Some(app.current_dir()?.to_string_lossy().into_owned()),
            execution: None,
        };
        task.check()?;
        Ok(task)
    }
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    // What `-` names is stdin, for a flag and by itself.
    let file = args.prompt_file.as_deref().or(args.stdin.as_deref().map(Path::new));
    let prompt = args.prompt.as_deref();
    let prompt = match text_or_file("prompt", prompt, file, limits::PROMPT_BYTES_MAX)? {
        Some(prompt) => prompt,
        None => ask_text(app.asking(), "prompt", "--prompt")?,
    };
    let repo = app.settled(&*app.store()?, app.repo()?)?;
    let task = args.delivery.task(app, prompt, &[], None, repo)?;
    launch(app, &args.launch, task)
}

pub(crate) fn print(app: &App, batch: &TaskBatch) -> Result<(), CommandError> {
    app.output.result(batch, |batch| {
        let line = |task: &ah_model::Task| {
            let id = task.id.unwrap_or_default();
            format!("task {id}: session {} ({})\n", task.session_id, task.agent)
        };
        batch.tasks.iter().map(line).collect()
    })
}
