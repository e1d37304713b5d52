use ah_model::{ExecutorFilter, Labels, Page, Timestamp};
use ah_store::block_on;

use super::presence::{Present, Seen};
use super::{shown_tags, state};
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;
use crate::when::ago;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those in this status: active, draining, disabled or revoked; may be given several times
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Only those with this tag; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only those with this label; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<String>,
    #[command(flatten)]
    paging: Paging,
}

const HEADER: &[&str] = &[
    "ID",
    "NAME",
    "STATE",
    "SEEN",
    "CONNECTED",
    "LATENCY",
    "RUNS",
    "LOAD",
    "HOST",
    "PROFILE",
    "TAGS",
];

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let (store, present) = Present::look(app)?;
    let now = app.now();
    let filter = ExecutorFilter {
        statuses: args.status.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        tags: args.tag.clone(),
        labels: Labels::from_pairs(&args.label)?,
    };
    let empty = match filter == ExecutorFilter::default() {
        true => "no executors have registered",
        false => "no executor is like that; `ah executor list` shows all",
    };
    let look = Look { header: HEADER, empty, row: &|seen| row(seen, now) };
    args.paging.print(app, &look, |page| {
        let page = block_on(store.list_executors(filter.clone(), page))?;
        let items = page.items.into_iter().map(|executor| present.of(executor)).collect();
        Ok(Page { items, next_cursor: page.next_cursor })
    })
}

fn row(seen: &Seen, now: Timestamp) -> Vec<String> {
    let executor = &seen.executor;
    let text = |text: &Option<String>| printable(text.as_deref().unwrap_or(""));
    let [connected, latency, runs, load] = seen.columns();
    vec![
        executor.id.to_string(),
        text(&executor.friendly_name),
        state(executor, now).to_owned(),
        ago(executor.seen_at, now),
        connected,
        latency,
        runs,
        load,
        text(&executor.offer.hostname),
        text(&executor.offer.executor_profile),
        shown_tags(executor),
    ]
}
