use ah_model::{AgentKindRef, Labels, SessionFilter};
use ah_store::{Repos, Sessions, block_on};

use super::view;
use crate::app::App;
use crate::commands::paging::{Paging, print};
use crate::error::CommandError;
use crate::when;

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
    /// In the repository around the current directory (`--repo` names another)
    #[arg(long)]
    here: bool,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let mut filter = filter(app, args)?;
    if args.here || app.global.repo.is_some() {
        filter.repo_id = Some(block_on(store.put_repo(app.repo_or_directory()?))?.id);
    }
    let page = block_on(store.list_sessions(filter, args.paging.request()?))?;
    let now = app.now();
    let empty = "no sessions; `ah session create` begins one";
    print(app, &page, view::HEADER, empty, |session| view::row(session, now))
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
        parent: args.parent.as_deref().map(str::parse).transpose()?,
    })
}
