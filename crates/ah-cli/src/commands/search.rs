use std::io::IsTerminal;
use std::thread;
use std::time::{Duration, Instant};

use ah_model::{
    IndexPace, IndexState, Page, PageLimit, PageRequest, SearchHit, SearchQuery, SnippetPart,
    Timestamp,
};
use ah_store::{Store, block_on};

use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::commands::{progress, repo};
use crate::error::CommandError;
use crate::output::{line, printable};
use crate::when::{self, ago};

/// How long a search waits for the index to be brought up to date.
const UPDATE_MAX: Duration = Duration::from_secs(2);
/// Events that are brought into the index at a time.
const EVENTS_AT_ONCE: u64 = 500;
const TITLE_CHARS: usize = 24;
/// No repository has this number.
const NO_REPO: i64 = 0;

const HEADER: &[&str] = &["SESSION", "EVENT", "WHEN", "WHO", "TITLE", "TEXT"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Words that must all be there; "a phrase", a prefix*, -what must not be there
    #[arg(value_name = "QUERY", required_unless_present = "reindex")]
    query: Vec<String>,
    /// In this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// In sessions of this agent kind
    #[arg(long, value_name = "KIND")]
    agent: Option<String>,
    /// In events since: a span like 2h or 7d, or an RFC 3339 time
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// In events of this type; may be given several times
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// In the repository around the current directory (`--repo` names another)
    #[arg(long)]
    here: bool,
    /// Search what is in the index, without bringing it up to date first
    #[arg(long)]
    no_update: bool,
    /// Make the index anew first, however long that takes
    #[arg(long, conflicts_with = "no_update")]
    reindex: bool,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    // Read first: a query that means nothing changes nothing.
    let text = args.query.join(" ");
    let wanted = match text.is_empty() {
        true => None,
        false => Some(SearchQuery::new(text.parse()?)),
    };
    // A server keeps its own index up to date.
    let (store, is_ours): (Box<dyn Store>, bool) = match app.remote()? {
        Some(store) => (Box::new(store), false),
        None => (Box::new(app.sql_store()?), true),
    };
    if args.reindex {
        block_on(store.clear_search_index())?;
        update(app, &*store, None)?;
    } else if is_ours && !args.no_update {
        update(app, &*store, Some(UPDATE_MAX))?;
    }
    match wanted {
        None => Ok(()),
        Some(query) => show(app, &*store, filter(app, args, &*store, query)?, args),
    }
}

fn filter(
    app: &App,
    args: &Args,
    store: &dyn Store,
    query: SearchQuery,
) -> Result<SearchQuery, CommandError> {
    let session = args.session.as_deref().map(|id| app.session_id(store, id)).transpose()?;
    let repo_id = match args.here || app.global.repo.is_some() {
        // Looking does not record: a repository nobody worked in has no number, and no sessions.
        true => Some(repo::wanted(app, store)?.unwrap_or(NO_REPO)),
        false => None,
    };
    let since = args.since.as_deref().map(|text| when::parse(text, app.now())).transpose()?;
    let (agent, types) = (args.agent.clone(), args.types.clone());
    Ok(SearchQuery { session_id: session, repo_id, agent, since, types, ..query })
}

fn show(app: &App, store: &dyn Store, query: SearchQuery, args: &Args) -> Result<(), CommandError> {
    let (now, marked) = (app.now(), app.output.colour && std::io::stdout().is_terminal());
    let row = |hit: &SearchHit| row(hit, now, marked);
    let empty = "nothing was found; fewer words, or a prefix* find more";
    let look = Look { header: HEADER, empty, row: &row };
    args.paging.print(app, &look, |page| full_page(store, &query, page))
}

/// A page as full as it can be: the store's own may be short.
fn full_page(
    store: &dyn Store,
    query: &SearchQuery,
    mut wanted: PageRequest,
) -> Result<Page<SearchHit>, CommandError> {
    let limit = wanted.limit.get();
    let mut items = Vec::new();
    loop {
        let page = block_on(store.search(query.clone(), wanted.clone()))?;
        items.extend(page.items);
        if items.len() >= limit || page.next_cursor.is_none() {
            return Ok(Page { items, next_cursor: page.next_cursor });
        }
        wanted.limit = PageLimit::at_most((limit - items.len()) as u64);
        wanted.cursor = page.next_cursor;
    }
}

/// Brings the index up to date, for so long at most, and says what is left.
fn update(app: &App, store: &dyn Store, within: Option<Duration>) -> Result<(), CommandError> {
    let (began, mut pace) = (Instant::now(), IndexPace::default());
    let bar = progress::bar(app, 0, "search index {wide_bar} {pos}/{len}");
    loop {
        let step_began = Instant::now();
        let step = block_on(store.update_search_index(PageLimit::at_most(EVENTS_AT_ONCE)))?;
        bar.inc(step.indexed);
        bar.set_length(bar.position() + step.left);
        let over = within.is_some_and(|within| began.elapsed() >= within);
        match step.state {
            IndexState::Done => break,
            IndexState::More if !over => thread::sleep(pace.rest(&step, step_began.elapsed())),
            IndexState::More | IndexState::Waits => {
                app.output.talk(&left(step.left));
                break;
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn left(events: u64) -> String {
    match events {
        0 => "the index of search still holds words of what was deleted; search again to go on \
              with its upkeep"
            .to_owned(),
        _ => format!(
            "up to {events} events are not in the index of search yet; search again to go on, or \
             `ah search --reindex` makes it anew"
        ),
    }
}

fn row(hit: &SearchHit, now: Timestamp, marked: bool) -> Vec<String> {
    vec![
        hit.session_id.to_string(),
        hit.seq.to_string(),
        ago(hit.ts, now),
        hit.who.as_str().to_owned(),
        line(hit.title.as_deref().unwrap_or(""), TITLE_CHARS),
        hit.snippet.iter().map(|part| shown(part, marked)).collect::<String>().trim().to_owned(),
    ]
}

/// A part on one line; what was found stands out on a terminal.
fn shown(part: &SnippetPart, marked: bool) -> String {
    let blank = |c: char| if c.is_whitespace() { ' ' } else { c };
    let mut text = printable(&part.text.chars().map(blank).collect::<String>());
    while text.contains("  ") {
        text = text.replace("  ", " ");
    }
    match part.found && marked {
        true => format!("\x1b[1m{text}\x1b[0m"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_stands_out_where_that_is_wanted_and_stays_on_one_line() {
        let part = |text: &str, found| SnippetPart { text: text.to_owned(), found };
        assert_eq!(shown(&part("a\n\n  \x1b[31mb\t", false), true), "a \u{fffd}[31mb ");
        assert_eq!(shown(&part("word", true), true), "\x1b[1mword\x1b[0m");
        assert_eq!(shown(&part("word", true), false), "word");
    }
}
