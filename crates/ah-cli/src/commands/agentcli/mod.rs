//! `ah agentcli`: `ah bundle run` with the flags that agentcli has for its state.

mod spelling;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ah_model::limits::PROMPT_BYTES_MAX;

pub(crate) use self::spelling::spelled_out;
use super::bundle::place::{Identity, read_tools, state_dir};
use super::bundle::run::{
    Action, KEY_VARIABLE, KeyUse, Plan, Prestage, Request, TIMEOUT_DEFAULT, parse_tools, perform,
    print_plan, timeout,
};
use crate::app::App;
use crate::config::LogLevel;
use crate::error::{CommandError, Exit};
use crate::input::read_text;
use crate::output::Output;

/// What the original takes when nobody says.
const MODEL_DEFAULT: &str = "oss-gpt-20b";
const BASE_URL_DEFAULT: &str = "https://api.openai.com/v1";

/// The original's variable for the key, which wins.
const ORIGINAL_KEY_VARIABLE: &str = "OAI_API_KEY";

#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct Args {
    /// Where bundles are kept; without it `AGENTCLI_STATE_DIR`
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// The scope; without it `AGENTCLI_STATE_SCOPE`, or the one of model, address and tools
    #[arg(long, value_name = "SCOPE")]
    state_scope: Option<String>,
    /// Refine the bundle there is; with the prompt, when no text and no file says how
    #[arg(long)]
    state_refine: bool,
    /// What is to be different
    #[arg(long, value_name = "TEXT")]
    state_refine_text: Option<String>,
    /// A file that says what is to be different; it wins over the text
    #[arg(long, value_name = "FILE")]
    state_refine_file: Option<PathBuf>,
    /// Print what would be done as JSON, and touch nothing
    #[arg(long)]
    dry_run: bool,
    /// What the run is about; the pre-stage is told
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// The manifest of the tools: a file with JSON
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// The model; without it `OAI_MODEL`, or oss-gpt-20b
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// The address of its server; without it `OAI_BASE_URL`, or the one of OpenAI
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Say more on stderr
    #[arg(long)]
    debug: bool,
    /// The pre-stage: a command, instead of the model (key in `OAI_API_KEY` or `OPENAI_API_KEY`)
    #[arg(last = true, value_name = "PRESTAGE")]
    command: Vec<OsString>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let state = args.state_dir.clone().filter(|path| !path.as_os_str().is_empty());
    let state = state.or_else(|| app.environment.var_os("AGENTCLI_STATE_DIR").map(PathBuf::from));
    let plan = args.plan();
    let Some(state) = state else { return stateless(app, args, plan) };
    let dir = state_dir(app, &expanded(app, state)?)?;
    let tools = args.tools.as_deref().map(read_tools).transpose()?;
    let identity = args.identity(app, tools.as_deref());
    if args.dry_run {
        return print_plan(app, &plan, Some((&dir, &identity)), true);
    }
    let request = Request {
        dir,
        identity,
        tools: parse_tools(tools.as_deref())?,
        prompt: args.prompt.clone(),
        refine: args.refinement(plan)?,
        prestage: Some(args.prestage()),
        timeout: timeout(TIMEOUT_DEFAULT)?,
    };
    let level = if args.debug { LogLevel::Debug } else { app.output.level };
    perform(app, Output { level, ..app.output }, &request)
}

impl Args {
    /// A text or a file alone means refining too.
    fn plan(&self) -> Plan {
        let has_refine_text = self.state_refine_text.as_ref().is_some_and(|text| !text.is_empty());
        let has_refine_file = self.state_refine_file.is_some();
        let action = match self.state_refine || has_refine_text || has_refine_file {
            true => Action::Refine,
            false => Action::RestoreOrSave,
        };
        Plan { action, has_refine_text, has_refine_file }
    }

    fn identity(&self, app: &App, tools: Option<&str>) -> Identity {
        let or_variable = |flag: &'_ Option<String>, variable: &str| {
            let flag = flag.clone().filter(|text| !text.trim().is_empty());
            flag.or_else(|| app.environment.var(variable).map(str::to_owned))
        };
        let model = or_variable(&self.model, "OAI_MODEL");
        let base_url = or_variable(&self.base_url, "OAI_BASE_URL");
        let scope = or_variable(&self.state_scope, "AGENTCLI_STATE_SCOPE");
        let model = model.as_deref().unwrap_or(MODEL_DEFAULT);
        let base_url = base_url.as_deref().unwrap_or(BASE_URL_DEFAULT);
        Identity::new(model, base_url, tools, scope.as_deref())
    }

    fn refinement(&self, plan: Plan) -> Result<Option<String>, CommandError> {
        if plan.action != Action::Refine {
            return Ok(None);
        }
        if let Some(file) = &self.state_refine_file {
            return read_text("refinement", file, PROMPT_BYTES_MAX).map(Some);
        }
        let text = self.state_refine_text.clone().filter(|text| !text.trim().is_empty());
        match text.or_else(|| self.prompt.clone()) {
            Some(text) => Ok(Some(text)),
            None => Err(CommandError::new(Exit::Usage, "-state-refine has nothing to refine with")
                .hint("add -state-refine-text TEXT or -state-refine-file FILE")),
        }
    }

    fn prestage(&self) -> Prestage {
        match self.command.is_empty() {
            true => Prestage::OpenAi(KeyUse {
                variables: vec![ORIGINAL_KEY_VARIABLE.to_owned(), KEY_VARIABLE.to_owned()],
                insecure: false,
            }),
            false => Prestage::Command(self.command.clone()),
        }
    }
}

/// Without a directory the original keeps nothing; there is nothing else that is done here.
fn stateless(app: &App, args: &Args, plan: Plan) -> Result<(), CommandError> {
    let wants = "-state-dir DIR names it, or the variable AGENTCLI_STATE_DIR";
    if plan.action == Action::Refine {
        let message = "the flags that refine need a state directory";
        return Err(CommandError::new(Exit::Usage, message).hint(wants));
    }
    if args.dry_run {
        return print_plan(app, &Plan { action: Action::None, ..plan }, None, true);
    }
    Err(CommandError::new(Exit::Usage, "no state directory is named, so there is nothing to do")
        .hint(wants)
        .hint("only the state of agentcli is kept here; its main call is not made"))
}

/// `~` and what is below it is the user's home, as in the original.
fn expanded(app: &App, path: PathBuf) -> Result<PathBuf, CommandError> {
    match path.strip_prefix("~") {
        Ok(below) if below == Path::new("") => Ok(app.environment.home()?.to_owned()),
        Ok(below) => Ok(app.environment.home()?.join(below)),
        Err(_) => Ok(path),
    }
}
