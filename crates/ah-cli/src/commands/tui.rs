//! `ah tui`: the harbor in the terminal.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_hive::{Host, HostError};
use ah_model::{
    Agent, AgentId, Approval, ApprovalId, Decision, DraftFields, DraftId, Prices, RequestKey,
    TaskBatch, Timestamp,
};
use ah_store::{Clock, Ids, Store, SystemClock, SystemIds, block_on};
use ah_tui::{Harbor, Launch, Mouse, Opened, Opening, Refused};

use super::draft::task_of;
use super::party;
use super::task::{DeliveryArgs, queued};
use crate::app::{App, if_found};
use crate::cli::GlobalArgs;
use crate::config::{self, Color, write_private};
use crate::environment::Environment;
use crate::error::{CommandError, Exit};

/// What was typed and no store took, in the state directory.
const KEPT: &str = "tui-draft.json";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Clicks choose and the wheel moves; text can then be selected with Shift only
    #[arg(long)]
    mouse: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    party::require_operator(app, "look at the harbor of the operator")?;
    require_terminal(app)?;
    let harbor = Desk::open(app)?;
    // What is wrong from the beginning is an error; what goes away later comes back.
    block_on(harbor.store().feed_end())?;
    let opening = opening(app, &harbor)?;
    let mouse = if args.mouse { Mouse::On } else { Mouse::Off };
    let failed = |error: io::Error| CommandError::new(Exit::Failed, format!("terminal: {error}"));
    let opened = Opened::open(|| Box::new(io::stdout()) as Box<dyn Write + Send>, mouse);
    let ready = |ender: ah_tui::Ender| ah_server::when_asked_to_end(move || ender.end());
    ah_tui::run(Arc::new(harbor), opened.map_err(failed)?, opening, ready).map_err(failed)?;
    Ok(())
}

fn require_terminal(app: &App) -> Result<(), CommandError> {
    let missing = match () {
        () if app.output.is_json() => "it prints no JSON",
        () if !io::stdout().is_terminal() => "standard output is none",
        () if !io::stdin().is_terminal() => "standard input is none",
        () if app.environment.var("TERM") == Some("dumb") => "TERM is dumb",
        () => return Ok(()),
    };
    Err(CommandError::new(Exit::Usage, format!("`ah tui` needs a terminal: {missing}"))
        .hint(
            "`ah status` prints what is here, `ah approval list` and `ah question list` what waits",
        )
        .hint("every such command prints JSON with `--json`"))
}

fn opening(app: &App, harbor: &Desk) -> Result<Opening, CommandError> {
    let config = app.config()?;
    let plain = app.global.no_color || app.environment.is_set("NO_COLOR");
    let place = match (config.remote_server()?, config.database_url()) {
        (Some(server), _) => server.to_owned(),
        (None, Some(_)) => "PostgreSQL".to_owned(),
        (None, None) => app.environment.database_path()?.display().to_string(),
    };
    let repository = match app.repo() {
        Ok(repo) => repo.root_path.or(repo.remote_url),
        // Somebody types one, or only looks.
        Err(_) => Some(app.current_dir()?.display().to_string()),
    };
    Ok(Opening {
        now: app.now(),
        size: (0, 0),
        place,
        has_colour: !plain && config.color() != Color::Never,
        repository,
        agent: config.default_agent().to_owned(),
        draft: harbor.ids.draft(app.now())?,
        kept: harbor.kept(),
    })
}

/// What the window is given: it works in threads of its own, so nothing here is shared with the
/// command that opened it.
struct Desk {
    host: Host,
    ids: Ids,
    label: String,
    prices: Prices,
    kept: PathBuf,
    is_local: bool,
    global: GlobalArgs,
    environment: Environment,
}

impl Desk {
    fn open(app: &App) -> Result<Self, CommandError> {
        Ok(Self {
            host: app.host()?,
            ids: Ids::new(Box::new(SystemIds)),
            label: party::label(app),
            prices: Prices::listed().with(config::own_prices(&app.environment)?),
            kept: app.environment.state_dir()?.join(KEPT),
            is_local: app.config()?.remote_server()?.is_none(),
            // The repository is typed, and nothing is said over what is drawn.
            global: GlobalArgs { repo: None, quiet: true, ..app.global.clone() },
            environment: app.environment.clone(),
        })
    }

    /// The task of a draft, by the rules of `ah draft launch` and `ah task create --queue`.
    fn task(&self, fields: DraftFields, how: Launch) -> Result<ah_model::NewTask, CommandError> {
        let app = App::new(self.global.clone(), self.environment.clone());
        let store = self.host.store();
        let task = task_of(&app, &**store, &DeliveryArgs::unsaid(), fields)?;
        match how {
            Launch::Queued => queued(&app, store, task),
            Launch::Recorded => Ok(task),
        }
    }
}

fn host_refused(error: HostError) -> Refused {
    match error {
        HostError::Store(error) => Refused::Store(error),
        other => Refused::Other(other.to_string()),
    }
}

fn refused(error: CommandError) -> Refused {
    let hints: String = error.hints.iter().map(|hint| format!("; {hint}")).collect();
    Refused::Other(format!("{error}{hints}"))
}

impl Harbor for Desk {
    fn store(&self) -> &dyn Store {
        &**self.host.store()
    }

    fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    fn label(&self) -> String {
        self.label.clone()
    }

    fn keeps_index(&self) -> bool {
        self.is_local
    }

    fn prices(&self) -> &Prices {
        &self.prices
    }

    fn draft_id(&self) -> Result<DraftId, Refused> {
        Ok(self.ids.draft(self.now())?)
    }

    fn decide(&self, id: ApprovalId, decision: Decision) -> Result<Approval, Refused> {
        self.host.decide(id, decision).map_err(host_refused)
    }

    fn set_model(&self, id: AgentId, model: Option<String>) -> Result<Agent, Refused> {
        self.host.set_model(id, model.as_deref()).map_err(host_refused)
    }

    /// Sent twice, because the first answer was lost, it is recorded once.
    fn launch(
        &self,
        draft: DraftId,
        fields: DraftFields,
        how: Launch,
    ) -> Result<TaskBatch, Refused> {
        let task = self.task(fields.clone(), how).map_err(refused)?;
        let said = serde_json::to_vec(&task).map_err(|error| Refused::Other(error.to_string()))?;
        let key = RequestKey::new("tui", [said.as_slice()])?;
        // What was changed since is another request.
        let key = RequestKey { key: format!("tui {draft} {}", key.fingerprint), ..key };
        block_on(self.store().save_draft(Some(draft.clone()), fields))?;
        let batch = block_on(self.store().keyed(key).launch_draft(draft.clone(), task))?;
        // An answer that was kept leaves the draft where it is.
        if_found(block_on(self.store().delete_draft(draft)))?;
        Ok(batch)
    }

    fn keep(&self, fields: Option<&DraftFields>) {
        // The store is away or the window closes: there is nobody left to tell.
        let _ = match fields.and_then(|fields| serde_json::to_string(fields).ok()) {
            Some(text) => write_private(&self.kept, &text),
            None => removed(&self.kept),
        };
    }

    fn kept(&self) -> Option<DraftFields> {
        let text = std::fs::read_to_string(&self.kept).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Most often there is nothing to remove.
fn removed(path: &Path) -> io::Result<()> {
    if path.exists() { std::fs::remove_file(path) } else { Ok(()) }
}
