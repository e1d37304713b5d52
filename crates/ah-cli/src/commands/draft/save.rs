use std::path::PathBuf;

use ah_model::{DraftFields, limits};
use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;
use crate::input::{ask_text, text_or_file};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its id, instead of a fresh one; a draft of that id is saved over
    #[arg(long)]
    id: Option<String>,
    /// The prompt so far
    #[arg(long, alias = "description", value_name = "TEXT", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// Read the prompt from a file, or stdin for `-`
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// The branch to work on
    #[arg(long, value_name = "B")]
    branch: Option<String>,
    /// An agent kind chosen; may be given several times
    #[arg(long = "agent", value_name = "KIND[@VERSION]")]
    agents: Vec<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let (prompt, file) = (args.prompt.as_deref(), args.prompt_file.as_deref());
    let description = match text_or_file("description", prompt, file, limits::PROMPT_BYTES_MAX)? {
        Some(description) => description,
        None => ask_text(app.asking(), "prompt", "--prompt")?,
    };
    let repo = app.repo()?;
    let fields = DraftFields {
        description,
        repository: repo.root_path.or(repo.remote_url).unwrap_or_default(),
        branch: args.branch.clone(),
        models: args.agents.clone(),
    };
    let id = args.id.as_deref().map(str::parse).transpose()?;
    let draft = block_on(app.store()?.save_draft(id, fields))?;
    app.output.result(&draft, |draft| draft.id.to_string())
}
