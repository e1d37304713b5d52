//! One run of the program: parse, choose a store, do one command, answer with an exit code.

use std::cell::OnceCell;
use std::fmt::Display;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

use ah_client::{RestOptions, RestStore};
use ah_hive::{Homes, Host};
use ah_model::{
    Agent, AgentId, ApprovalId, DraftId, Executor, ExecutorFilter, ExecutorId, Invalid, MessageId,
    NewRepo, PageLimit, PageRequest, Party, QuestionId, RepoFate, SessionId, Timestamp,
};
use ah_store::{
    Capabilities, Clock, Ids, Kind, Store, StoreError, SystemClock, SystemIds, block_on,
};
use ah_store_sql::{Callers, PostgresOptions, SqlStore, SqliteOptions, Upgrade};
use clap::{ColorChoice, CommandFactory, FromArgMatches};

use crate::cli::{Cli, GlobalArgs};
use crate::commands::agentcli::spelled_out;
use crate::config::{
    Color, Config, ConfigError, Durability, FlagSetting, Layer, LogLevel, Sources,
};
use crate::detect::{self, fingerprint::PATIENCE};
use crate::environment::Environment;
use crate::error::{CommandError, Exit};
use crate::input::Asking;
use crate::output::{Format, Output, is_broken_pipe};
use crate::secret::{self, Trust};
use crate::whereabouts;

/// An id of this length is whole: what is looked for is it or nothing.
const MINTED_ID_CHARS: usize = 36;

/// What every command is given.
pub(crate) struct App {
    pub(crate) global: GlobalArgs,
    pub(crate) environment: Environment,
    pub(crate) output: Output,
    config: OnceCell<Config>,
}

pub(crate) fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let app = App::new(cli.global, Environment::capture());
    match crate::commands::run(&app, cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(CommandError { passed_on: Some(code), .. }) => ExitCode::from(code),
        Err(error) => {
            app.output.error(&error);
            ExitCode::from(error.exit as u8)
        }
    }
}

/// Reads the command line; help has colours of its own, which the flag must reach as well.
fn parse() -> Result<Cli, clap::Error> {
    let plain = std::env::args_os().any(|argument| argument == "--no-color");
    let choice = if plain { ColorChoice::Never } else { ColorChoice::Auto };
    let mut command = Cli::command().color(choice);
    let arguments = spelled_out(std::env::args_os().collect())?;
    let matches = command.try_get_matches_from_mut(arguments);
    // Thousands of small allocations: giving them back one by one is an eighth of what a short
    // command executes, and the process ends soon.
    std::mem::forget(command);
    Cli::from_arg_matches_mut(&mut matches?)
}

/// clap knows how to print help and its own errors; with `--json` errors are problems too.
fn usage(error: &clap::Error) -> ExitCode {
    if std::env::args_os().len() == 1 {
        // Who types `ah` alone wants to know what there is.
        let _ = Cli::command().print_help();
        return ExitCode::SUCCESS;
    }
    let wants_json = std::env::args_os().any(|argument| argument == "--json");
    if error.use_stderr() && wants_json {
        let text = error.to_string();
        let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        // What follows is usage and tips, for people.
        let detail = text.split("\n\n").next().unwrap_or(text);
        let detail = detail.split_whitespace().collect::<Vec<_>>().join(" ");
        let output = Output { format: Format::Json, level: LogLevel::Info, colour: false };
        output.error(&CommandError::new(Exit::Usage, detail));
    } else {
        // Nobody to tell when the stream is gone.
        let _ = error.print();
    }
    ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { 0 })
}

/// Only errors are coloured, so it is stderr that counts.
fn wants_colour(global: &GlobalArgs, environment: &Environment, setting: Color) -> bool {
    if global.no_color || environment.is_set("NO_COLOR") {
        return false;
    }
    match setting {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::io::stderr().is_terminal() && environment.var("TERM") != Some("dumb"),
    }
}

impl App {
    pub(crate) fn new(global: GlobalArgs, environment: Environment) -> Self {
        let format = if global.json { Format::Json } else { Format::Human };
        let output = Output { format, level: LogLevel::Info, colour: false };
        let mut app = Self { global, environment, output, config: OnceCell::new() };
        // One that cannot be read is the error of whichever command needs it.
        let config = app.load_config().ok();
        let color = config.as_ref().map_or(Color::Auto, Config::color);
        let level = config.as_ref().map_or(LogLevel::Info, Config::log_level);
        app.output.colour = wants_colour(&app.global, &app.environment, color);
        app.output.level = if app.global.quiet { LogLevel::Error } else { level };
        app.config = config.map_or_else(OnceCell::new, OnceCell::from);
        if app.output.level == LogLevel::Debug {
            app.name_config_files();
        }
        app
    }

    fn name_config_files(&self) {
        let files = self.config_files().unwrap_or_default();
        for (layer, path) in files.into_iter().filter(|(_, path)| path.exists()) {
            self.output.debug(&format!("{layer} configuration {}", path.display()));
        }
    }

    /// The configuration, read once.
    pub(crate) fn config(&self) -> Result<&Config, CommandError> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = self.load_config()?;
        Ok(self.config.get_or_init(|| config))
    }

    fn load_config(&self) -> Result<Config, CommandError> {
        let flag = |flag, key, value: &Option<String>| {
            value.clone().map(|value| FlagSetting { flag, key, value })
        };
        let switch = |name, key, on: bool, value: &str| {
            on.then(|| FlagSetting { flag: name, key, value: value.to_owned() })
        };
        let flags = [
            flag("--remote-server", "remote-server", &self.global.remote_server),
            flag("--database-url", "store.database-url", &self.global.database_url),
            switch("--quiet", "log-level", self.global.quiet, "error"),
            switch("--no-color", "ui.color", self.global.no_color, "never"),
            switch("--non-interactive", "non-interactive", self.global.non_interactive, "true"),
        ];
        self.with_sources(flags.into_iter().flatten().collect(), Config::load)
    }

    /// The configuration files that count, strongest first; none of them is read.
    pub(crate) fn config_files(&self) -> Result<Vec<(Layer, PathBuf)>, CommandError> {
        self.with_sources(Vec::new(), Config::files)
    }

    fn with_sources<T>(
        &self,
        flags: Vec<FlagSetting>,
        take: impl FnOnce(&Sources<'_>) -> Result<T, ConfigError>,
    ) -> Result<T, CommandError> {
        let root = self.project_root();
        Ok(take(&Sources {
            environment: &self.environment,
            flags,
            config_file: self.global.config.as_deref(),
            repo_root: root.as_deref(),
        })?)
    }

    /// Where project configuration is looked for. No repository is no error here: commands that
    /// need one say so themselves.
    fn project_root(&self) -> Option<PathBuf> {
        let current = self.environment.current_dir().ok()?;
        let start = match &self.global.repo {
            Some(repo) => current.join(repo),
            None => current.to_owned(),
        };
        detect::find_root(&start).ok().flatten().map(|root| root.path)
    }

    /// The current directory.
    pub(crate) fn current_dir(&self) -> Result<&Path, CommandError> {
        Ok(self.environment.current_dir()?)
    }

    /// The repository of `--repo`, else the one around the current directory.
    pub(crate) fn repo(&self) -> Result<NewRepo, CommandError> {
        let current = self.current_dir()?;
        Ok(match &self.global.repo {
            Some(repo) => detect::from_flag(repo, current)?,
            None => detect::require(current)?,
        })
    }

    /// As [`Self::repo`], or the current directory itself when there is no repository.
    pub(crate) fn repo_or_directory(&self) -> Result<NewRepo, CommandError> {
        match self.repo() {
            Err(error) if error.exit == Exit::NoRepository && self.global.repo.is_none() => {
                Ok(detect::for_directory(self.current_dir()?)?)
            }
            other => other,
        }
    }

    /// `found`, for a command that records: the store knows it at its path from here on, and a known
    /// one that moved there is said to have done so.
    pub(crate) fn settled(
        &self,
        store: &dyn Store,
        found: NewRepo,
    ) -> Result<NewRepo, CommandError> {
        let Some(sighted) = whereabouts::record(store, &found, PATIENCE)? else { return Ok(found) };
        let id = sighted.repo.id;
        match sighted.fate {
            RepoFate::Known | RepoFate::New => {}
            RepoFate::Moved { from } => self
                .output
                .talk(&format!("repository {id} moved here from {from}; its sessions follow")),
            RepoFate::Unclear { like } => {
                let like: Vec<_> = like.iter().map(ToString::to_string).collect();
                self.output.talk(&format!(
                    "this is repository {id}; any of {} may have moved here, which \
                     `ah repo relocate ID {}` says",
                    like.join(", "),
                    sighted.repo
                ));
            }
        }
        Ok(found)
    }

    /// Whether the person may be asked something.
    pub(crate) fn asking(&self) -> Asking {
        let configured = self.config.get().is_some_and(Config::non_interactive);
        match self.global.non_interactive || configured {
            true => Asking::Forbidden,
            false => Asking::Allowed,
        }
    }

    /// The user of the operating system, as far as the environment tells.
    pub(crate) fn user(&self) -> Option<String> {
        self.environment.user().map(str::to_owned)
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// The store the configuration chooses: a server's, or a database.
    pub(crate) fn store(&self) -> Result<Box<dyn Store>, CommandError> {
        match self.remote()? {
            Some(store) => Ok(Box::new(store)),
            None => Ok(Box::new(self.sql_store()?)),
        }
    }

    /// The server that the configuration chooses, if it does.
    pub(crate) fn remote(&self) -> Result<Option<RestStore>, CommandError> {
        let Some(server) = self.config()?.remote_server()? else { return Ok(None) };
        let trust = match self.config()?.trusts_remote_server() {
            true => Trust::Own,
            false => Trust::Project,
        };
        Ok(Some(RestStore::connect(self.rest_options(server, trust)?)?))
    }

    /// The store, and the homes of its agents if this machine keeps them.
    pub(crate) fn host(&self) -> Result<Host, CommandError> {
        let store = Arc::from(self.store()?);
        Ok(Host::new(store, self.homes()?))
    }

    /// The homes of this machine's agents; none when a server has them.
    pub(crate) fn homes(&self) -> Result<Option<Homes>, CommandError> {
        match self.config()?.remote_server()? {
            Some(_) => Ok(None),
            None => Ok(Some(Homes::new(self.environment.state_dir()?))),
        }
    }

    /// How a server is talked to: with the token that there is for it.
    pub(crate) fn rest_options(
        &self,
        server: &str,
        trust: Trust,
    ) -> Result<RestOptions, CommandError> {
        let token = secret::find(&self.environment, server, trust)?;
        let ca_file = self.config()?.ca_file();
        let ca_file = ca_file.map(|path| self.environment.absolute(Path::new(path))).transpose()?;
        Ok(RestOptions { token, ca_file, ..RestOptions::new(server) })
    }

    /// The address of a server that is named, or given by its address.
    pub(crate) fn server_url(&self, server: &str) -> Result<String, CommandError> {
        if server.contains("://") {
            return Ok(server.to_owned());
        }
        let servers = self.config()?.servers();
        match servers.iter().find(|known| known.name == server) {
            Some(known) => Ok(known.url.clone()),
            None => Ok(format!("http://{server}")),
        }
    }

    /// The database the configuration chooses, to be served to others.
    pub(crate) fn served_store(&self) -> Result<SqlStore, CommandError> {
        let (store, _) = self.open_database(Purpose::Serve)?;
        Ok(store)
    }

    /// The database the configuration chooses, for what only databases do.
    pub(crate) fn sql_store(&self) -> Result<SqlStore, CommandError> {
        let (store, upgrade) = self.open_store()?;
        if let Some(backup) = upgrade.backup {
            let Upgrade { from, to, dropped, .. } = upgrade;
            let dropped = match dropped {
                0 => String::new(),
                _ => format!("; {dropped} rows that belonged to nothing were left out"),
            };
            let kept = backup.display();
            self.output.talk(&format!(
                "upgraded the database from schema {from} to {to}{dropped}; the old one is kept at {kept}"
            ));
        }
        Ok(store)
    }

    /// The database file, for what is done to files: no server's database is meant.
    pub(crate) fn local_database(&self) -> Result<PathBuf, CommandError> {
        let config = self.config()?;
        self.refuse_remote(config)?;
        if config.database_url().is_some() {
            let message = "the database is a PostgreSQL server's, not a file";
            return Err(CommandError::new(Exit::Conflict, message)
                .hint("use the server's own tools")
                .hint("`ah config explain store.database-url` says where it is set"));
        }
        Ok(self.environment.database_path()?)
    }

    fn refuse_remote(&self, config: &Config) -> Result<(), CommandError> {
        let Some(server) = config.remote_server()? else {
            return Ok(());
        };
        let message = format!("the database is behind {server}: this is done where it is");
        Err(CommandError::new(Exit::Conflict, message)
            .hint("run it on the server's machine, without `--remote-server`")
            .hint("`ah config explain remote-server` says where it is set"))
    }

    /// As [`Self::sql_store`], with what opening it changed.
    pub(crate) fn open_store(&self) -> Result<(SqlStore, Upgrade), CommandError> {
        self.open_database(Purpose::Use)
    }

    fn open_database(&self, purpose: Purpose) -> Result<(SqlStore, Upgrade), CommandError> {
        let config = self.config()?;
        self.refuse_remote(config)?;
        let clock = Arc::new(SystemClock);
        let ids = Ids::new(Box::new(SystemIds));
        if let Some(url) = config.database_url() {
            let mut options = PostgresOptions::new(url);
            options.busy_timeout = config.busy_timeout();
            let capabilities = Capabilities { workspaces: true };
            let (store, upgrade) = SqlStore::connect_postgres(options, capabilities, clock, ids)?;
            return Ok((store.with_redaction(config.redaction()), upgrade));
        }
        let mut options = self.sqlite_options()?;
        self.output.debug(&format!("database {}", options.path.display()));
        let workspaces = match purpose {
            Purpose::Use => false,
            Purpose::Serve => {
                options.callers = Callers::Tasks;
                true
            }
        };
        let capabilities = Capabilities { workspaces };
        let (store, upgrade) = SqlStore::open_sqlite(options, capabilities, clock, ids)?;
        Ok((store.with_redaction(config.redaction()), upgrade))
    }

    fn sqlite_options(&self) -> Result<SqliteOptions, CommandError> {
        let config = self.config()?;
        let mut options = SqliteOptions::new(self.environment.database_path()?);
        options.busy_timeout = config.busy_timeout();
        options.durability = match config.durability() {
            Durability::Full => ah_store_sql::Durability::Full,
            Durability::Normal => ah_store_sql::Durability::Normal,
        };
        Ok(options)
    }

    /// The session that `text` names: its id, or the beginning of it when that is unique.
    pub(crate) fn session_id(
        &self,
        store: &dyn Store,
        text: &str,
    ) -> Result<SessionId, CommandError> {
        short(Kind::Session, text, |prefix| block_on(store.session_ids_with_prefix(prefix)))
    }

    /// The message that `text` names, as [`Self::session_id`].
    pub(crate) fn message_id(
        &self,
        store: &dyn Store,
        text: &str,
    ) -> Result<MessageId, CommandError> {
        short(Kind::Message, text, |prefix| block_on(store.message_ids_with_prefix(prefix)))
    }

    /// The approval that `text` names, as [`Self::session_id`].
    pub(crate) fn approval_id(
        &self,
        store: &dyn Store,
        text: &str,
    ) -> Result<ApprovalId, CommandError> {
        short(Kind::Approval, text, |prefix| block_on(store.approval_ids_with_prefix(prefix)))
    }

    /// The question that `text` names, as [`Self::session_id`].
    pub(crate) fn question_id(
        &self,
        store: &dyn Store,
        text: &str,
    ) -> Result<QuestionId, CommandError> {
        short(Kind::Question, text, |prefix| block_on(store.question_ids_with_prefix(prefix)))
    }

    /// Refuses an agent that is not there: a list would be empty and say nothing of it.
    pub(crate) fn known_party(&self, party: &Party) -> Result<(), CommandError> {
        if let Party::Agent(name) = party
            && block_on(self.store()?.agent_of_name(name.clone()))?.is_none()
        {
            return Err(StoreError::not_found(Kind::Agent, name).into());
        }
        Ok(())
    }

    /// The agent that `text` names: its id, its name in any case of its letters, or the beginning
    /// of its id when that is unique. A whole id wins: programs keep ids, and no name chosen later
    /// may take their place.
    pub(crate) fn agent(&self, store: &dyn Store, text: &str) -> Result<Agent, CommandError> {
        let id: AgentId = text.parse()?;
        if let Some(agent) = if_found(block_on(store.agent(id.clone())))? {
            return Ok(agent);
        }
        if let Some(agent) = block_on(store.agent_of_name(text.to_owned()))? {
            return Ok(agent);
        }
        let found = block_on(store.agent_ids_with_prefix(text.to_owned()))?;
        Ok(block_on(store.agent(unique(Kind::Agent, text, &id, found)?))?)
    }

    /// The executor that `text` names: its id, what people call it, the last part of its id, or the
    /// beginning of its id; each while it is unique.
    pub(crate) fn executor_id(
        &self,
        store: &dyn Store,
        text: &str,
    ) -> Result<ExecutorId, CommandError> {
        let id: ExecutorId = text.parse()?;
        if if_found(block_on(store.executor(id.clone())))?.is_some() {
            return Ok(id);
        }
        let is_called = |executor: &Executor| {
            let node = executor.id.as_str().rsplit('/').next();
            node == Some(text) || executor.friendly_name.as_deref() == Some(text)
        };
        let (mut called, mut begun) = (Vec::new(), Vec::new());
        let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
        loop {
            let page = block_on(store.list_executors(ExecutorFilter::default(), request.clone()))?;
            for executor in page.items {
                match is_called(&executor) {
                    true => called.push(executor.id),
                    false if executor.id.as_str().starts_with(text) => begun.push(executor.id),
                    false => {}
                }
            }
            match page.next_cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => break,
            }
        }
        if let [one, other, ..] = called.as_slice() {
            let message = format!("executor {text} is ambiguous: {one} and {other} are called so");
            return Err(CommandError::new(Exit::Conflict, message).hint("give the whole id"));
        }
        unique(Kind::Executor, text, &id, if called.is_empty() { begun } else { called })
    }

    /// The draft that `text` names: its id, or the beginning of it when that is unique.
    pub(crate) fn draft_id(&self, store: &dyn Store, text: &str) -> Result<DraftId, CommandError> {
        let id: DraftId = text.parse()?;
        if let Some(draft) = if_found(block_on(store.draft(id)))? {
            return Ok(draft.id);
        }
        let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
        let mut found: Option<DraftId> = None;
        loop {
            let page = block_on(store.list_drafts(request.clone()))?;
            let drafts = page.items.into_iter().map(|draft| draft.id);
            for id in drafts.filter(|id| id.as_str().starts_with(text)) {
                if let Some(other) = found.replace(id.clone()) {
                    return Err(ambiguous(Kind::Draft, text, &other, &id));
                }
            }
            match page.next_cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => break,
            }
        }
        found.ok_or_else(|| StoreError::not_found(Kind::Draft, text).into())
    }
}

/// What was looked for, or nothing when there is no such thing.
pub(crate) fn if_found<T>(looked: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// The id that `text` is, or is the beginning of.
fn short<I: FromStr<Err = Invalid> + Display + PartialEq>(
    kind: Kind,
    text: &str,
    find: impl FnOnce(String) -> Result<Vec<I>, StoreError>,
) -> Result<I, CommandError> {
    let id: I = text.parse()?;
    if text.len() == MINTED_ID_CHARS {
        return Ok(id);
    }
    unique(kind, text, &id, find(text.to_owned())?)
}

/// The one id among those that begin with `text`; one that is `whole` wins.
fn unique<I: Display + PartialEq>(
    kind: Kind,
    text: &str,
    whole: &I,
    found: Vec<I>,
) -> Result<I, CommandError> {
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => Err(StoreError::not_found(kind, text).into()),
        (Some(first), other) => match other.filter(|_| first != *whole) {
            None => Ok(first),
            Some(other) => Err(ambiguous(kind, text, &first, &other)),
        },
    }
}

/// What a database is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// One command of one person.
    Use,
    /// Other programs, over a server, which has workspaces.
    Serve,
}

fn ambiguous(kind: Kind, text: &str, one: &dyn Display, other: &dyn Display) -> CommandError {
    let message = format!("{kind} {text} is ambiguous: {one} and {other} begin with it");
    CommandError::new(Exit::Conflict, message).hint("give more of the id")
}
