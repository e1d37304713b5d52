//! The verbs: a folder per noun, a file per verb, one flat match each.

mod agent;
pub(crate) mod agentcli;
mod approval;
mod bundle;
mod ca;
mod completions;
mod config;
mod dashboard;
mod db;
mod demo;
mod draft;
mod executor;
mod executors;
mod fleet;
pub(crate) mod hook;
mod hooks;
mod identity;
mod import;
mod kv;
pub(crate) mod local;
mod login;
mod logout;
mod man;
mod mcp;
mod message;
mod paging;
pub(crate) mod pane;
mod party;
mod progress;
mod question;
mod queue;
mod repo;
mod residents;
mod retention;
mod run;
mod scrub;
mod search;
mod serving;
mod session;
mod snapshot;
mod stats;
mod status;
mod task;
mod token;
mod tui;
mod up;
mod upgrade;
mod variable;
mod waiting;
mod whole_file;
mod workspace;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the harbor of this machine: serve its database until Ctrl-C
    Up(Lazy<up::Args>),
    /// Print a link that opens the dashboard of the harbor in a browser
    Dashboard(Lazy<dashboard::Args>),
    /// Look at the harbor in the terminal: what needs you, agents, sessions, a new task
    Tui(Lazy<tui::Args>),
    /// Show what is ready on this machine, and the state of the harbor
    Status(Lazy<status::Args>),
    /// Sessions: conversations of agents, with their events
    #[command(subcommand)]
    Session(Lazy<session::Command>),
    /// Snapshots: states of the files that sessions work on
    #[command(subcommand)]
    Snapshot(Lazy<snapshot::Command>),
    /// Search what was said in all sessions: prompts, answers, tool calls and their results
    Search(Lazy<search::Args>),
    /// Agents: named identities that live through many sessions
    #[command(subcommand)]
    Agent(Lazy<agent::Command>),
    /// What sessions cost: tokens and dollars by day, model, repository, agent or session
    Stats(Lazy<stats::Args>),
    /// Messages: mail between agents and you, the operator
    #[command(subcommand)]
    Message(Lazy<message::Command>),
    /// Approvals: decisions that only you, the operator, may take
    #[command(subcommand)]
    Approval(Lazy<approval::Command>),
    /// Questions: asked of you or of an agent, with a deadline
    #[command(subcommand)]
    Question(Lazy<question::Command>),
    /// Tasks: what you asked agents to do
    #[command(subcommand)]
    Task(Lazy<task::Command>),
    /// Drafts: tasks not sent yet
    #[command(subcommand)]
    Draft(Lazy<draft::Command>),
    /// Runs: executions of sessions, leased to who does them
    #[command(subcommand)]
    Run(Lazy<run::Command>),
    /// Executors: machines that run sessions
    #[command(subcommand)]
    Executor(Lazy<executor::Command>),
    /// Fleets: several executors that work on one session
    #[command(subcommand)]
    Fleet(Lazy<fleet::Command>),
    /// Repositories that sessions work in
    #[command(subcommand)]
    Repo(Lazy<repo::Command>),
    /// Workspaces: named groups of sessions on a server
    #[command(subcommand)]
    Workspace(Lazy<workspace::Command>),
    /// Small values by scope and key
    #[command(subcommand)]
    Kv(Lazy<kv::Command>),
    /// State bundles: prompts and settings of a scope as files that can be verified
    #[command(subcommand)]
    Bundle(Lazy<bundle::Command>),
    /// State bundles with the flags of agentcli, for scripts that were written for it
    Agentcli(Lazy<agentcli::Args>),
    /// Bring in what other programs left
    Import(Lazy<import::Args>),
    /// Hooks: have coding agents tell what they do while they do it
    #[command(subcommand)]
    Hooks(Lazy<hooks::Command>),
    /// Take one payload of a coding agent's hook from standard input; for agents, not for people
    Hook(Lazy<hook::Args>),
    /// Speak the Model Context Protocol on standard input and output, for an agent or for you
    Mcp(Lazy<mcp::Args>),
    /// Tokens: who may do what over the network
    #[command(subcommand)]
    Token(Lazy<token::Command>),
    /// A small private authority: certificates for executors and access points
    #[command(subcommand)]
    Ca(Lazy<ca::Command>),
    /// Keep a token for a server
    Login(Lazy<login::Args>),
    /// Forget the token for a server
    Logout(Lazy<logout::Args>),
    /// Settings and where they come from
    #[command(subcommand)]
    Config(Lazy<config::Command>),
    /// The database file: check, back up, restore
    #[command(subcommand)]
    Db(Lazy<db::Command>),
    /// Retention: what is removed when, and the receipts of it
    #[command(subcommand)]
    Retention(Lazy<retention::Command>),
    /// Take secrets out of everything that is stored
    Scrub(Lazy<scrub::Args>),
    /// Bring the database to this version's schema
    Upgrade(Lazy<upgrade::Args>),
    /// Print a completion script for a shell
    Completions(Lazy<completions::Args>),
    /// Print the manual page, or write the pages of all commands
    Man(Lazy<man::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Up(args) => up::run(app, &args),
        Command::Dashboard(args) => dashboard::run(app, &args),
        Command::Tui(args) => tui::run(app, &args),
        Command::Status(args) => status::run(app, &args),
        Command::Session(Lazy(command)) => session::run(app, command),
        Command::Snapshot(Lazy(command)) => snapshot::run(app, command),
        Command::Search(args) => search::run(app, &args),
        Command::Agent(Lazy(command)) => agent::run(app, command),
        Command::Stats(args) => stats::run(app, &args),
        Command::Message(Lazy(command)) => message::run(app, command),
        Command::Approval(Lazy(command)) => approval::run(app, command),
        Command::Question(Lazy(command)) => question::run(app, command),
        Command::Task(Lazy(command)) => task::run(app, command),
        Command::Draft(Lazy(command)) => draft::run(app, command),
        Command::Run(Lazy(command)) => run::run(app, command),
        Command::Executor(Lazy(command)) => executor::run(app, command),
        Command::Fleet(Lazy(command)) => fleet::run(app, command),
        Command::Repo(Lazy(command)) => repo::run(app, command),
        Command::Workspace(Lazy(command)) => workspace::run(app, command),
        Command::Kv(Lazy(command)) => kv::run(app, command),
        Command::Bundle(Lazy(command)) => bundle::run(app, command),
        Command::Agentcli(args) => agentcli::run(app, &args),
        Command::Import(args) => import::run(app, &args),
        Command::Hooks(Lazy(command)) => hooks::run(app, command),
        Command::Hook(args) => hook::run(app, &args),
        Command::Mcp(args) => mcp::run(app, &args),
        Command::Token(Lazy(command)) => token::run(app, command),
        Command::Ca(Lazy(command)) => ca::run(app, command),
        Command::Login(args) => login::run(app, &args),
        Command::Logout(args) => logout::run(app, &args),
        Command::Config(Lazy(command)) => config::run(app, command),
        Command::Db(Lazy(command)) => db::run(app, command),
        Command::Retention(Lazy(command)) => retention::run(app, command),
        Command::Scrub(args) => scrub::run(app, &args),
        Command::Upgrade(args) => upgrade::run(app, &args),
        Command::Completions(args) => completions::run(app, &args),
        Command::Man(args) => man::run(app, &args),
    }
}
