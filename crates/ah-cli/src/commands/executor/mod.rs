//! `ah executor`: machines that run sessions.

mod authorize;
mod change;
mod disable;
mod drain;
mod enable;
mod history;
mod label;
mod list;
mod presence;
mod remove;
mod rename;
mod revoke;
mod show;
mod tag;

use ah_model::{Executor, ExecutorStatus, Timestamp};
use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;
use crate::output::printable;

/// An executor that was not heard of for so long is probably gone.
const STALE_MS: u64 = 120_000;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List executors
    List(Lazy<list::Args>),
    /// Show one executor
    Show(Lazy<show::Args>),
    /// Set or take away labels that runs may demand
    Label(Lazy<label::Args>),
    /// Add or take away tags that runs may demand
    Tag(Lazy<tag::Args>),
    /// Say who may do what with an executor
    Authorize(Lazy<authorize::Args>),
    /// Give an executor a name, or an owner
    Rename(Lazy<rename::Args>),
    /// Let an executor end what it has and take nothing new
    Drain(Lazy<drain::Args>),
    /// Keep an executor out until it is enabled; what it holds is lost
    Disable(Lazy<disable::Args>),
    /// Let an executor connect and take runs again
    Enable(Lazy<enable::Args>),
    /// Keep an executor out for ever; what it holds is lost
    Revoke(Lazy<revoke::Args>),
    /// Show what happened to executors, newest first
    History(Lazy<history::Args>),
    /// Ask an executor to go, or forget it with what it holds
    Remove(Lazy<remove::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Label(args) => label::run(app, &args),
        Command::Tag(args) => tag::run(app, &args),
        Command::Authorize(args) => authorize::run(app, &args),
        Command::Rename(args) => rename::run(app, &args),
        Command::Drain(args) => drain::run(app, &args),
        Command::Disable(args) => disable::run(app, &args),
        Command::Enable(args) => enable::run(app, &args),
        Command::Revoke(args) => revoke::run(app, &args),
        Command::History(args) => history::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
    }
}

/// How an executor stands.
fn state(executor: &Executor, now: Timestamp) -> &'static str {
    match (executor.status, executor.removal_requested_at) {
        (status @ (ExecutorStatus::Disabled | ExecutorStatus::Revoked), _) => status.as_str(),
        (_, Some(_)) => "leaving",
        (_, None) if executor.seen_at.plus_ms(STALE_MS) < now => "stale",
        (ExecutorStatus::Draining, None) => "draining",
        (ExecutorStatus::Active, None) => "online",
    }
}

/// Tags of an executor, whoever gave them.
fn shown_tags(executor: &Executor) -> String {
    let mut tags: Vec<_> = executor.offer.tags.iter().chain(&executor.tags).cloned().collect();
    tags.sort();
    tags.dedup();
    printable(&tags.join(" "))
}

fn shown_labels(executor: &Executor) -> String {
    let pairs = executor.labels.0.iter().map(|(key, value)| format!("{key}={value}"));
    printable(&pairs.collect::<Vec<_>>().join(" "))
}

fn shown_rules(executor: &Executor) -> String {
    if executor.authorization.is_empty() {
        return "everybody may do everything".to_owned();
    }
    let rules = executor.authorization.iter().map(|rule| {
        let verbs: Vec<_> = rule.verbs.iter().map(|verb| verb.as_str()).collect();
        format!("{} may {}", rule.user, verbs.join(", "))
    });
    printable(&rules.collect::<Vec<_>>().join("; "))
}
