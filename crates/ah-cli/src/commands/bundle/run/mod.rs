//! `ah bundle run`: restores the bundle of a scope; where there is none, or it is to be refined, a
//! pre-stage makes it.

mod answer;
mod command;
mod flow;
mod openai;
mod plan;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use ah_bundle::json::Value;
use ah_model::Invalid;
use ah_model::limits::PROMPT_BYTES_MAX;
use clap::ValueEnum;

use super::place::{Identity, Place, not_blank, read_tools};
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::input::text_or_file;
use crate::when::span;

pub(crate) use self::flow::{KeyUse, Prestage, Request, perform};
pub(crate) use self::plan::{Action, Plan, print as print_plan};

/// What bundles say made them.
pub(crate) const TOOL_VERSION: &str = concat!("ah/", env!("CARGO_PKG_VERSION"));

/// The variable that the key of a model's server is in, as a rule.
pub(crate) const KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// How long a pre-stage may take when nobody says.
pub(crate) const TIMEOUT_DEFAULT: &str = "10m";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// The model
    #[arg(long, value_name = "MODEL", value_parser = not_blank)]
    model: String,
    /// The address of the model's server
    #[arg(long, value_name = "URL", value_parser = not_blank)]
    base_url: String,
    /// The manifest of the tools: a file with JSON
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// The scope; without it the one of --model, --base-url and --tools
    #[arg(long, value_name = "SCOPE", value_parser = not_blank)]
    scope: Option<String>,
    /// What the run is about; the pre-stage is told
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Refine the bundle: what is to be different
    #[arg(long, value_name = "TEXT", conflicts_with = "refine_file")]
    refine_text: Option<String>,
    /// Refine the bundle: a file that says what is to be different; stdin for `-`
    #[arg(long, value_name = "FILE")]
    refine_file: Option<PathBuf>,
    /// Print what would be done as JSON, and touch nothing
    #[arg(long)]
    dry_run: bool,
    /// The pre-stage that is built in, instead of a command
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    prestage: Option<BuiltIn>,
    /// The variable that holds the key for --prestage openai
    #[arg(long, value_name = "NAME", default_value = KEY_VARIABLE)]
    key_env: String,
    /// Show the key also to another machine that is called by plain http
    #[arg(long)]
    insecure: bool,
    /// How long the pre-stage may take
    #[arg(long, value_name = "SPAN", default_value = TIMEOUT_DEFAULT)]
    timeout: String,
    /// The pre-stage: a command that reads JSON on stdin and prints JSON
    #[arg(last = true, value_name = "PRESTAGE")]
    command: Vec<OsString>,
}

/// The pre-stages that are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BuiltIn {
    /// Ask the model at --base-url, which speaks the chat completions of OpenAI
    Openai,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let tools = args.tools.as_deref().map(read_tools).transpose()?;
    let (model, base_url) = (args.model.as_str(), args.base_url.as_str());
    let identity = Identity::new(model, base_url, tools.as_deref(), args.scope.as_deref());
    let prestage = match (args.prestage, args.command.is_empty()) {
        (Some(BuiltIn::Openai), _) => Some(Prestage::OpenAi(KeyUse {
            variables: vec![args.key_env.clone()],
            insecure: args.insecure,
        })),
        (None, false) => Some(Prestage::Command(args.command.clone())),
        (None, true) => None,
    };
    let plan = Plan {
        action: match args.refine_text.is_some() || args.refine_file.is_some() {
            true => Action::Refine,
            false => Action::RestoreOrSave,
        },
        has_refine_text: args.refine_text.is_some(),
        has_refine_file: args.refine_file.is_some(),
    };
    if args.dry_run {
        return print_plan(app, &plan, Some((&dir, &identity)), prestage.is_some());
    }
    let (text, file) = (args.refine_text.as_deref(), args.refine_file.as_deref());
    let request = Request {
        dir,
        identity,
        tools: parse_tools(tools.as_deref())?,
        prompt: args.prompt.clone(),
        refine: text_or_file("refinement", text, file, PROMPT_BYTES_MAX)?,
        prestage,
        timeout: timeout(&args.timeout)?,
    };
    perform(app, app.output, &request)
}

/// The manifest as the pre-stage is given it.
pub(crate) fn parse_tools(text: Option<&str>) -> Result<Option<Value>, CommandError> {
    let parse = |text: &str| {
        Value::parse(text.as_bytes()).map_err(|error| {
            CommandError::from(Invalid::new("tools", format!("the manifest is no JSON: {error}")))
                .hint("`--tools FILE` names a file with JSON")
        })
    };
    text.map(parse).transpose()
}

pub(crate) fn timeout(text: &str) -> Result<Duration, CommandError> {
    match span(text)? {
        0 => Err(CommandError::new(Exit::Usage, "a timeout of 0 leaves no time at all")
            .hint(format!("leave `--timeout` out for {TIMEOUT_DEFAULT}"))),
        ms => Ok(Duration::from_millis(ms)),
    }
}
