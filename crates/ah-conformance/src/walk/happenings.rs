//! Compares what both stores told in their feeds since the last step.

use std::collections::BTreeSet;

use ah_model::{Change, ChangeKind, FeedCursor, FeedEntry, Happening, PageLimit};
use ah_store::Store;
use serde_json::{Value, json};

use super::pairs::Pairs;
use super::perform::event;

/// How far each feed was read.
#[derive(Default)]
pub(super) struct Feeds {
    ours: FeedCursor,
    theirs: FeedCursor,
}

/// Whether the changes of a step are compared: which ones a restored run makes is the store's
/// choice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Changes {
    Compared,
    Free,
}

impl Feeds {
    /// Reads on in both, and says where they part.
    pub(super) async fn agree(
        &mut self,
        model: &dyn Store,
        store: &dyn Store,
        pairs: &mut Pairs,
        changes: Changes,
    ) -> Result<(), String> {
        let ours = read(model, &mut self.ours).await;
        let theirs = read(store, &mut self.theirs).await;
        pairs.agree(super::pairs::Noun::None, &events(&ours), &events(&theirs))?;
        let told = |entries: &[FeedEntry], name: &dyn Fn(&str) -> String| -> BTreeSet<Told> {
            changes_of(entries).map(|change| said(change, name)).collect()
        };
        let ours = told(&ours, &str::to_owned);
        let theirs = told(&theirs, &|id| pairs.ours(id));
        let missing: Vec<_> = ours.difference(&theirs).collect();
        // A session or an agent that was written as it was may be told all the same.
        let free = [ChangeKind::SessionUpdated, ChangeKind::AgentUpdated];
        // A run whose fleet ended may be told to stop and end in one sweep: the oracle, which compares
        // before and after, sees the end alone.
        let on_the_way = |told: &Told| {
            let ended =
                |other: &Told| other.kind == ChangeKind::RunUpdated && other.run == told.run;
            told.kind == ChangeKind::RunStopping && ours.iter().any(ended)
        };
        let surplus = theirs.difference(&ours);
        let surplus: Vec<_> =
            surplus.filter(|told| !free.contains(&told.kind) && !on_the_way(told)).collect();
        if changes == Changes::Free || (missing.is_empty() && surplus.is_empty()) {
            return Ok(());
        }
        Err(format!("changes that were not told: {missing:?}, or made up: {surplus:?}"))
    }
}

/// What one call changed: each once, in no order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    kind: ChangeKind,
    session: Option<String>,
    run: Option<String>,
    executor: Option<String>,
    party: Option<String>,
    subject: Option<String>,
    at: String,
}

/// A run's change may name its executor or not.
fn said(change: &Change, name: &dyn Fn(&str) -> String) -> Told {
    let executor = change.executor_id.as_ref().filter(|_| change.run_id.is_none());
    Told {
        kind: change.kind,
        session: change.session_id.as_ref().map(|id| name(id.as_str())),
        run: change.run_id.as_ref().map(|id| name(id.as_str())),
        executor: executor.map(ToString::to_string),
        party: change.party.as_ref().map(ToString::to_string),
        subject: change.subject.as_ref().map(|id| name(id)),
        at: change.at.to_string(),
    }
}

fn changes_of(entries: &[FeedEntry]) -> impl Iterator<Item = &Change> {
    entries.iter().filter_map(|entry| match &entry.happening {
        Happening::Event(_) => None,
        Happening::Change(change) => Some(change),
    })
}

fn events(entries: &[FeedEntry]) -> Value {
    let events = entries.iter().filter_map(|entry| match &entry.happening {
        Happening::Event(told) => Some(event(told)),
        Happening::Change(_) => None,
    });
    json!(events.collect::<Vec<_>>())
}

/// Everything behind `cursor`, which is moved on, in small pages.
async fn read(store: &dyn Store, cursor: &mut FeedCursor) -> Vec<FeedEntry> {
    let limit = PageLimit::new(5).unwrap();
    let mut entries: Vec<FeedEntry> = Vec::new();
    loop {
        let page = store.feed(*cursor, limit).await.unwrap();
        let Some(last) = page.last() else {
            return entries;
        };
        *cursor = last.cursor;
        entries.extend(page);
    }
}
