use ah_model::{AgentKindRef, Labels, SessionFilter};
use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::local;
use crate::commands::paging::{Look, Paging};
use crate::commands::repo;
use crate::error::CommandError;
use crate::when;

/// No repository has this number.
const NO_REPO: i64 = 0;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In this status; may be given several times
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Of this agent kind
    #[arg(long, value_name = "KIND[@VERSION]")]
    agent: Option<String>,
    /// With this label; may be given several times
    #[arg(long = "label", value_name = "K=V")]
    labels: Vec<String>,
    /// Active since: a span like 2h or 7d, or an RFC 3339 time
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Not active since: a span like 2h or 7d, or an RFC 3339 time
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// With this text in the title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Started by this session
    #[arg(long, value_name = "SESSION")]
    parent: Option<String>,
    /// Forked from this session
    #[arg(long, value_name = "SESSION")]
    forked_from: Option<String>,
    /// In the repository around the current directory (`--repo` names another)
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store = app.store()?;
    let mut filter = filter(app, args)?;
    let of = |id: &Option<String>| id.as_deref().map(|id| app.session_id(&*store, id)).transpose();
    (filter.parent, filter.forked_from) = (of(&args.parent)?, of(&args.forked_from)?);
    if args.here || app.global.repo.is_some() {
        // Looking does not record: a repository nobody worked in has no number, and no sessions.
        filter.repo_id = Some(repo::wanted(app, &*store)?.unwrap_or(NO_REPO));
    }
    let now = app.now();
    let empty = match filter == SessionFilter::default() {
        true => "no sessions; `ah session create` begins one",
        false => "no such sessions; `ah session list` without flags shows all",
    };
    let look = Look { header: view::HEADER, empty, row: &|session| view::row(session, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_sessions(filter.clone(), page))?))
}

fn filter(app: &App, args: &Args) -> Result<SessionFilter, CommandError> {
    let now = app.now();
    let at = |text: &Option<String>| text.as_deref().map(|text| when::parse(text, now)).transpose();
    let agent: Option<AgentKindRef> = args.agent.as_deref().map(str::parse).transpose()?;
    let versioned = args.agent.as_deref().is_some_and(|agent| agent.contains('@'));
    Ok(SessionFilter {
        statuses: args.status.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        repo_id: None,
        agent: agent.as_ref().map(|kind| kind.name.clone()),
        agent_version: agent.filter(|_| versioned).map(|kind| kind.version),
        labels: Labels::from_pairs(&args.labels)?,
        since: at(&args.since)?,
        until: at(&args.until)?,
        title: args.title.clone(),
        parent: None,
        forked_from: None,
    })
}
