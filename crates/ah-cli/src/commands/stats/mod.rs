//! `ah stats`: what sessions cost, in tokens and dollars.

mod view;

use ah_model::{
    Day, Invalid, PageLimit, PageRequest, Prices, SpendingBy, SpendingFilter, SpendingFold, Spent,
    Timestamp,
};
use ah_store::{Store, block_on};
use clap::ValueEnum;

use self::view::{Group, Report};
use crate::app::App;
use crate::commands::repo;
use crate::config;
use crate::error::{CommandError, Exit};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to add up by
    #[arg(long, value_name = "WHAT", default_value = "day")]
    by: By,
    /// Not before: a day in UTC like 2026-01-31, or a span like 7d
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
    /// Not after: a day in UTC like 2026-01-31, or a span like 7d
    #[arg(long, value_name = "DAY")]
    until: Option<String>,
    /// Of this agent kind, any version
    #[arg(long, value_name = "KIND")]
    agent: Option<String>,
    /// Of this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Print comma-separated values, with a line of names
    #[arg(long)]
    csv: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Day,
    Model,
    Repo,
    Agent,
    Session,
}

impl By {
    fn in_model(self) -> SpendingBy {
        match self {
            Self::Day => SpendingBy::Day,
            Self::Model => SpendingBy::Model,
            Self::Repo => SpendingBy::Repo,
            Self::Agent => SpendingBy::Agent,
            Self::Session => SpendingBy::Session,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Model => "model",
            Self::Repo => "repo",
            Self::Agent => "agent",
            Self::Session => "session",
        }
    }
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    if args.csv && app.output.is_json() {
        let message = "--csv and --json are two forms of the same answer";
        return Err(CommandError::new(Exit::Usage, message).hint("give one of them"));
    }
    let prices = Prices::listed().with(config::own_prices(&app.environment)?);
    let store = app.store()?;
    let filter = filter(app, args, &*store)?;
    let report = report(&*store, args.by, &filter, &prices)?;
    if args.csv {
        return app.output.text(&view::csv(&report));
    }
    if report.groups.is_empty() && !app.output.is_json() {
        app.output.talk(match filter == SpendingFilter::default() {
            true => "nothing was spent yet; `ah import --all` brings in transcripts",
            false => "nothing was spent there; `ah stats` without flags shows all",
        });
        return Ok(());
    }
    app.output.result(&report, |report| view::human(report, view::terminal_width(app)))
}

/// No repository has this number.
const NO_REPO: i64 = 0;

fn filter(app: &App, args: &Args, store: &dyn Store) -> Result<SpendingFilter, CommandError> {
    let now = app.now();
    let at = |text: &Option<String>| text.as_deref().map(|text| day(text, now)).transpose();
    let repo_id = match app.global.repo {
        // Looking does not record: a repository nobody worked in has no number, and cost nothing.
        Some(_) => Some(repo::wanted(app, store)?.unwrap_or(NO_REPO)),
        None => None,
    };
    Ok(SpendingFilter {
        since: at(&args.since)?,
        until: at(&args.until)?,
        session: args.session.as_deref().map(|id| app.session_id(store, id)).transpose()?,
        repo_id,
        agent: args.agent.clone(),
    })
}

/// A day, or that of a time that [`when::parse`] knows.
fn day(text: &str, now: Timestamp) -> Result<Day, Invalid> {
    let of_time = |_| when::parse(text, now).map(Day::of);
    text.parse().or_else(of_time).map_err(|_: Invalid| {
        let reason = format!("{text:?} is neither a day like 2026-01-31 nor a span like 7d");
        Invalid::new("day", reason)
    })
}

fn report(
    store: &dyn Store,
    by: By,
    filter: &SpendingFilter,
    prices: &Prices,
) -> Result<Report, CommandError> {
    let mut fold = SpendingFold::new(by.in_model(), prices);
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let found = block_on(store.list_spendings(filter.clone(), page.clone()))?;
        found.items.iter().for_each(|spending| fold.add(spending));
        match found.next_cursor {
            None => break,
            next => page.cursor = next,
        }
    }
    let total = fold.total();
    let group = |(key, spent): (String, Spent)| {
        let place = match by {
            By::Repo => place(store, &key)?,
            By::Day | By::Model | By::Agent | By::Session => None,
        };
        Ok(Group { key, place, numbers: spent.into() })
    };
    let groups = fold.groups().into_iter().map(group).collect::<Result<_, CommandError>>()?;
    Ok(Report { by: by.name(), groups, total: total.into() })
}

/// Where a repository is.
fn place(store: &dyn Store, id: &str) -> Result<Option<String>, CommandError> {
    let Ok(id) = id.parse() else { return Ok(None) };
    let found = block_on(store.repo(id))?.found;
    Ok(found.root_path.or(found.remote_url))
}
