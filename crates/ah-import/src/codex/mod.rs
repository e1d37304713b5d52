//! Codex's rollouts: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, of any version.
//!
//! A session is known by the id of its thread, a line by its ordinal, or by its number where an old
//! program wrote none. A sub-agent is a thread that names its parent. A fork goes on at its parent's
//! next ordinal and copies nothing.

mod line;
mod reader;

use std::path::Path;

use ah_model::{Fork, Timestamp, Usage};
use ah_store::{Store, StoreError};

use self::reader::{CodexReader, State, ordinal_key};
use crate::transcript::{
    Import, Lineage, Reading, SourceFile, TranscriptOptions, TranscriptReport, View, Wanted, find,
    head, kind, project_dir,
};
use crate::writer::Stop;
use crate::{ImportError, Progress};

pub(crate) use self::line::usage;

/// What the sessions say they came from.
pub(crate) const SOURCE: &str = "codex";

/// The length of a thread's id, which a file's name ends with.
const THREAD_BYTES: usize = 36;
/// How far below a fork's first ordinal the parent's last may be.
const GAP_MAX: u64 = 1_000;

pub(crate) async fn import(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    let mut import = Import::new(store, SOURCE, options);
    let files = find(root, &mut import.general)?;
    let mut members = Vec::new();
    for grown in import.grown(files, progress).await? {
        match Head::read(&grown.file) {
            Ok(Some(head)) => members.push((head, grown)),
            Ok(None) => import.skip(&grown.file, "holds no conversation yet"),
            Err(stop) => import.fail(&grown.file, stop)?,
        }
    }
    // Parents are older than their children, and what was forked than the fork.
    members.sort_by(|(one, _), (other, _)| {
        (one.first, &one.thread).cmp(&(other.first, &other.thread))
    });
    for (head, mut grown) in members {
        import.restart(&head.thread, &mut grown).await?;
        let state: State = serde_json::from_value(grown.position.state.clone()).unwrap_or_default();
        let mut wanted = wanted(&import, &head).await?;
        wanted.title_before = state.title.as_ref().map(|title| title.text.clone());
        let mut reader = CodexReader::new(&head.thread, head.first, state);
        let reading = Reading { grown: &grown, wanted, opened: None, covered: Usage::default() };
        import.read(reading, &mut reader, progress).await?;
    }
    Ok(import.finish())
}

/// What the first lines of a file say.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    thread: String,
    first: Timestamp,
    dir: String,
    version: Option<String>,
    parent: Option<String>,
    forked_from: Option<String>,
    /// The ordinal of the first line.
    ordinal: Option<u64>,
    nickname: Option<String>,
}

impl Head {
    /// Reads the beginning of a file; nothing when no line says where a conversation is held.
    fn read(file: &SourceFile) -> Result<Option<Self>, Stop> {
        let (mut first, mut found) = (None, None);
        head(file, |json| {
            let line = View::of(json);
            first = first.or(line.time());
            found = Self::of(&line, first, file);
            found.is_none()
        })?;
        Ok(found)
    }

    fn of(line: &View<'_>, first: Option<Timestamp>, file: &SourceFile) -> Option<Self> {
        let said = line.object("payload");
        let of_meta = line.text("type").as_deref() == Some("session_meta");
        let stem = file.stem();
        let named = stem.get(stem.len().saturating_sub(THREAD_BYTES)..).map(str::to_owned);
        let spawned = said.object("source").object("subagent").object("thread_spawn");
        Some(Self {
            thread: said.id("id").filter(|_| of_meta).or(named)?,
            first: first?,
            dir: said.text("cwd").filter(|dir| !dir.is_empty())?,
            version: said.text("cli_version"),
            parent: said.id("parent_thread_id").or_else(|| spawned.id("parent_thread_id")),
            forked_from: said.id("forked_from_id"),
            ordinal: line.get("ordinal").and_then(|ordinal| ordinal.as_str().parse().ok()),
            nickname: said.text("agent_nickname"),
        })
    }
}

async fn wanted(import: &Import<'_>, head: &Head) -> Result<Wanted, StoreError> {
    let parent = match &head.parent {
        Some(parent) => import.known(parent).await?.map(|known| known.id),
        None => None,
    };
    let mut labels: Vec<_> =
        head.nickname.iter().map(|name| ("agent-name", name.clone())).collect();
    let forked_from = fork_point(import, head).await?;
    if let Some(stem) = head.forked_from.as_ref().filter(|_| forked_from.is_none()) {
        // The thread is not here, or its lines have no ordinals: at least its name is kept.
        labels.push(("forked-from", stem.clone()));
    }
    Ok(Wanted {
        origin: import.origin(&head.thread),
        created_at: head.first,
        repo: (import.options.repo_of)(Path::new(&head.dir)),
        kind: kind(SOURCE, head.version.as_deref()),
        project_dir: project_dir(&head.dir),
        parent,
        forked_from,
        labels,
        title_before: None,
    })
}

/// The last line of the thread that a fork goes on from.
async fn fork_point(import: &Import<'_>, head: &Head) -> Result<Option<Fork>, StoreError> {
    let (Some(stem), Some(first)) = (&head.forked_from, head.ordinal.filter(|first| *first > 0))
    else {
        return Ok(None);
    };
    if let Some(known) = import.known(&head.thread).await? {
        return Ok(known.forked_from);
    }
    let Some(stem) = import.known(stem).await? else { return Ok(None) };
    let is_ordinal = |key: &str| key.starts_with(reader::ORDINAL);
    let lineage = Lineage::read(import.store, &stem, is_ordinal).await?;
    let before = (first.saturating_sub(GAP_MAX)..first).rev();
    Ok(before.map(ordinal_key).find_map(|key| lineage.place(&key).cloned()))
}
