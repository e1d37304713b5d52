//! `ah agent`: named identities that live through many sessions.

mod access_point;
mod append;
mod compact;
mod context;
mod create;
mod destroy;
mod enroll;
mod fork;
mod history;
mod kinds;
mod lifecycle;
mod list;
mod model;
mod purge;
mod repair;
mod reset;
mod restore;
mod retire;
mod revive;
mod run;
mod say;
mod sessions;
mod show;
mod sleep;
mod stats;
mod update;
pub(crate) mod view;
mod wake;

use std::ops::ControlFlow;

use ah_model::{
    Agent, Invalid, Order, PageLimit, PageRequest, RawJson, Renewal, Session, SessionId, limits,
};
use ah_store::{ContextLimit, Kind, Store, StoreError, block_on};
use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

pub(crate) use self::context::print_context;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an agent with its first session and print its id
    Create(Lazy<create::Args>),
    /// List agents by name
    List(Lazy<list::Args>),
    /// Show one agent
    Show(Lazy<show::Args>),
    /// Change what is known of an agent
    Update(Lazy<update::Args>),
    /// Put an agent to sleep: it is known at a start, its history is not read
    Sleep(Lazy<sleep::Args>),
    /// Wake an agent that sleeps
    Wake(Lazy<wake::Args>),
    /// Let an agent die: its session ends and nothing more happens to it
    Retire(Lazy<retire::Args>),
    /// Stop an agent for good, keep what it left, and leave a tombstone
    Destroy(Lazy<destroy::Args>),
    /// Ask to bring back a destroyed agent with what it left
    Revive(Lazy<revive::Args>),
    /// Destroy an agent and wipe everything it left; there is no undo
    Purge(Lazy<purge::Args>),
    /// Show or choose the model an agent runs on
    Model(Lazy<model::Args>),
    /// End an agent's session, begin the next one and print its id
    Reset(Lazy<reset::Args>),
    /// Begin an agent's next session with a summary of the one before
    Compact(Lazy<compact::Args>),
    /// Let an agent go on from an earlier point, in a session of its own
    Fork(Lazy<fork::Args>),
    /// Print what a model is shown again of an agent's session
    Context(Lazy<context::Args>),
    /// Close what a crash left open: calls without an answer, programs without an end
    Repair(Lazy<repair::Args>),
    /// Repair and read every active agent, as a program that runs agents does at its start
    Restore(Lazy<restore::Args>),
    /// Append a message to an agent's session
    Say(Lazy<say::Args>),
    /// Append events to an agent's session; acknowledged once they are on disk
    Append(Lazy<append::Args>),
    /// List an agent's sessions, newest first
    Sessions(Lazy<sessions::Args>),
    /// Print the events of an agent's session, or of all its sessions
    History(Lazy<history::Args>),
    /// Show what an agent cost: in all, and by session
    Stats(Lazy<stats::Args>),
    /// Wait for an agent's mail and run its program once per message
    Run(Lazy<run::Args>),
    /// Serve the database to other programs over HTTP, and to executors
    AccessPoint(Lazy<access_point::Args>),
    /// Work for an access point: take runs, start their programs, report what happens
    Enroll(Lazy<enroll::Args>),
    /// Agent kinds: the programs that agents are instances of
    #[command(subcommand)]
    Kinds(Lazy<kinds::Command>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Update(args) => update::run(app, &args),
        Command::Sleep(args) => sleep::run(app, &args),
        Command::Wake(args) => wake::run(app, &args),
        Command::Retire(args) => retire::run(app, &args),
        Command::Destroy(args) => destroy::run(app, &args),
        Command::Revive(args) => revive::run(app, &args),
        Command::Purge(args) => purge::run(app, &args),
        Command::Model(args) => model::run(app, &args),
        Command::Reset(args) => reset::run(app, &args),
        Command::Compact(args) => compact::run(app, &args),
        Command::Fork(args) => fork::run(app, &args),
        Command::Context(args) => context::run(app, &args),
        Command::Repair(args) => repair::run(app, &args),
        Command::Restore(args) => restore::run(app, &args),
        Command::Say(args) => say::run(app, &args),
        Command::Append(args) => append::run(app, &args),
        Command::Sessions(args) => sessions::run(app, &args),
        Command::History(args) => history::run(app, &args),
        Command::Stats(args) => stats::run(app, &args),
        Command::Run(args) => run::run(app, &args),
        Command::AccessPoint(args) => access_point::run(app, &args),
        Command::Enroll(args) => enroll::run(app, &args),
        Command::Kinds(Lazy(command)) => kinds::run(app, command),
    }
}

/// Which agent.
#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// The agent's name, its id, or the beginning of that
    #[arg(value_name = "NAME")]
    agent: String,
}

impl Named {
    fn find(&self, app: &App, store: &dyn Store) -> Result<Agent, CommandError> {
        app.agent(store, &self.agent)
    }

    /// As [`Self::find`], but not one that nothing more happens to. The store refuses that as well;
    /// it does not know what helps.
    fn living(&self, app: &App, store: &dyn Store) -> Result<Agent, CommandError> {
        let agent = self.find(app, store)?;
        match agent.refuse_dead() {
            Ok(()) => Ok(agent),
            Err(reason) => Err(dead(&agent, reason)),
        }
    }
}

fn dead(agent: &Agent, reason: String) -> CommandError {
    let instead = "`ah agent create NEWNAME` makes another, `ah agent list` shows those there are";
    let late = agent.active_session_id.as_ref().map(late_hint);
    CommandError {
        hints: [instead.to_owned()].into_iter().chain(late).collect(),
        ..StoreError::conflict(Kind::Agent, &agent.name, reason).into()
    }
}

/// Where a record goes that comes after its agent has left the session.
fn late_hint(session: &SessionId) -> String {
    format!("`ah session append {session} --type T --data JSON` still takes a late record")
}

/// Which session the caller believes to be the active one.
#[derive(Debug, clap::Args)]
pub(crate) struct Expected {
    /// Only if this session is the active one
    #[arg(long, value_name = "ID")]
    expect_session: Option<String>,
}

impl Expected {
    fn session(&self, app: &App, store: &dyn Store) -> Result<Option<SessionId>, CommandError> {
        self.expect_session.as_deref().map(|id| app.session_id(store, id)).transpose()
    }
}

/// How far back a session is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Reach {
    /// How many of the newest records are read (1 to 100000); 2000 when absent
    #[arg(long, value_name = "N")]
    records: Option<usize>,
}

impl Reach {
    pub(crate) fn limit(&self) -> Result<ContextLimit, Invalid> {
        self.records.map_or_else(|| Ok(ContextLimit::default()), ContextLimit::of_records)
    }
}

/// The session an agent goes on in.
fn active_session(agent: &Agent) -> Result<SessionId, StoreError> {
    let none = || StoreError::conflict(Kind::Agent, &agent.name, "has no session");
    agent.active_session_id.clone().ok_or_else(none)
}

fn is_of(session: &Session, agent: &Agent) -> bool {
    session.of_agent.as_ref().is_some_and(|of| of.id == agent.id)
}

/// The session of `agent` that `text` names, else the active one.
fn session_of(
    app: &App,
    store: &dyn Store,
    agent: &Agent,
    text: Option<&str>,
) -> Result<SessionId, CommandError> {
    let Some(text) = text else {
        return Ok(active_session(agent)?);
    };
    let id = app.session_id(store, text)?;
    let session = block_on(store.session(id.clone()))?;
    if is_of(&session, agent) {
        return Ok(id);
    }
    let name = &agent.name;
    let error = CommandError::from(Invalid::new("session", format!("{id} is not one of {name}'s")));
    Err(error.hint(format!("`ah agent sessions {name}` lists them")))
}

/// Begins the agent's next session and prints its id.
fn renew(app: &App, store: &dyn Store, agent: Agent, renewal: Renewal) -> Result<(), CommandError> {
    let session = block_on(store.renew_agent(agent.id, renewal))?;
    app.output.result(&session, |session| session.id.to_string())
}

/// Hands the agent's sessions from the first on to `each`, until it has had enough.
fn each_session(
    store: &dyn Store,
    agent: &Agent,
    mut each: impl FnMut(&Session) -> Result<ControlFlow<()>, CommandError>,
) -> Result<(), CommandError> {
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let page = block_on(store.agent_sessions(agent.id.clone(), Order::Oldest, request))?;
        for session in &page.items {
            if each(session)?.is_break() {
                return Ok(());
            }
        }
        if page.next_cursor.is_none() {
            return Ok(());
        }
        request = PageRequest { limit: PageLimit::MAX, cursor: page.next_cursor };
    }
}

/// A flag's JSON value.
fn json_flag(field: &'static str, text: Option<&str>) -> Result<Option<RawJson>, CommandError> {
    let parse = |text| RawJson::parse(field, text, limits::AGENT_JSON_BYTES_MAX);
    text.map(parse).transpose().map_err(correct_flag)
}

/// A value to be corrected, with the flag it was given by.
fn correct_flag(invalid: Invalid) -> CommandError {
    let flag = invalid.field.to_string();
    let is_json =
        ["descriptor", "permissions", "tokens", "stats", "metadata"].contains(&flag.as_str());
    let error = CommandError::from(invalid);
    match is_json {
        true => error.hint(format!("give one JSON value in quotes: --{flag} '{{\"key\": 1}}'")),
        false => error,
    }
}
