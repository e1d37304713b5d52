//! Gemini CLI's sessions: `tmp/<project>/chats/session-<time>-<id>.jsonl`.
//!
//! A session is known by the id that its first line says. A message is written again with more in
//! it: each telling is an event, and who reads takes the newest. A sub-agent is a file in a directory
//! that is called like its parent. The directory of a project stands in a file beside its sessions.

mod reader;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ah_model::{Timestamp, Usage};
use ah_store::{Store, StoreError};

use self::reader::{GeminiReader, State};
use crate::transcript::{
    Import, Reading, SourceFile, TranscriptOptions, TranscriptReport, View, Wanted, find, head,
    kind, project_dir,
};
use crate::writer::Stop;
use crate::{ImportError, Progress};

/// What the sessions say they came from.
pub(crate) const SOURCE: &str = "gemini";

/// The file with the directory of a project, how far above a session it may be, and its size.
const PROJECT_ROOT: &str = ".project_root";
const LEVELS_MAX: usize = 4;
const PROJECT_ROOT_BYTES_MAX: u64 = 16 * 1024;
/// The directory of a project's sessions.
const CHATS: &str = "chats";

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
    // Parents come before their children.
    members.sort_by(|(one, _), (other, _)| {
        (one.parent.is_some(), one.first, &one.name).cmp(&(
            other.parent.is_some(),
            other.first,
            &other.name,
        ))
    });
    for (head, mut grown) in members {
        import.restart(&head.name, &mut grown).await?;
        let state: State = serde_json::from_value(grown.position.state.clone()).unwrap_or_default();
        let mut wanted = wanted(&import, &head).await?;
        wanted.title_before = state.title.as_ref().map(|title| title.text.clone());
        let mut reader = GeminiReader::new(&head.name, head.first, state);
        let reading = Reading { grown: &grown, wanted, opened: None, covered: Usage::default() };
        import.read(reading, &mut reader, progress).await?;
    }
    Ok(import.finish())
}

/// What the first line of a file and its place say.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    /// The session; below its parent's name if it is a child.
    name: String,
    first: Timestamp,
    dir: String,
    parent: Option<String>,
}

impl Head {
    /// Reads the beginning of a file; nothing when no line says whose it is.
    fn read(file: &SourceFile) -> Result<Option<Self>, Stop> {
        let mut found = None;
        head(file, |json| {
            found = Self::of(&View::of(json), file);
            found.is_none()
        })?;
        Ok(found)
    }

    fn of(line: &View<'_>, file: &SourceFile) -> Option<Self> {
        let session = line.id("sessionId").filter(|_| line.get("projectHash").is_some())?;
        let is_child = line.text("kind").as_deref() == Some("subagent");
        let parent = file.above(1).filter(|name| is_child && *name != CHATS).map(str::to_owned);
        let name = match &parent {
            Some(parent) => format!("{parent}/{session}"),
            None => session,
        };
        let first = line.text("startTime")?.parse().ok()?;
        let directories = line.get("directories").and_then(|list| list.elements(usize::MAX));
        let said = directories.and_then(|list| list.first().copied()?.to_raw().read().ok());
        Some(Self { name, first, dir: project_root(file).or(said).unwrap_or(place(file)), parent })
    }
}

/// The directory that a project's sessions are held in.
fn project_root(file: &SourceFile) -> Option<String> {
    file.path.ancestors().skip(1).take(LEVELS_MAX).find_map(|directory| {
        let mut text = String::new();
        let input = File::open(directory.join(PROJECT_ROOT)).ok()?;
        input.take(PROJECT_ROOT_BYTES_MAX).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    })
}

/// What stands for the directory where nothing says it: that of the project's sessions.
fn place(file: &SourceFile) -> String {
    let chats = file.path.ancestors().find(|path| path.ends_with(CHATS));
    let place = chats.or(file.path.parent()).and_then(Path::parent).unwrap_or(&file.path);
    place.to_string_lossy().into_owned()
}

async fn wanted(import: &Import<'_>, head: &Head) -> Result<Wanted, StoreError> {
    let parent = match &head.parent {
        Some(parent) => import.known(parent).await?.map(|known| known.id),
        None => None,
    };
    Ok(Wanted {
        origin: import.origin(&head.name),
        created_at: head.first,
        repo: (import.options.repo_of)(Path::new(&head.dir)),
        kind: kind(SOURCE, None),
        project_dir: project_dir(&head.dir),
        parent,
        forked_from: None,
        labels: Vec::new(),
        title_before: None,
    })
}
