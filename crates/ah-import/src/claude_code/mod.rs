//! Claude Code's transcripts: `projects/<directory>/<session>.jsonl`, of any version.
//!
//! A session is known by its file's name, a line by its `uuid`, an answer by its message's id.
//! Sub-agents are child sessions, wherever their lines stand: among those of the parent, in
//! `agent-<id>.jsonl` beside it, or in `<session>/subagents`. A fork copies the lines of the session
//! it goes on from: they are not stored again, the fork names the place.

mod family;
mod fork;
mod line;
mod reader;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use ah_model::{SessionId, Usage};
use ah_store::{Store, StoreError};

use self::family::{Family, Head, Member, Meta, families};
use self::fork::{Beginning, Stem};
use self::reader::State;
use crate::transcript::{
    Facts, Import, Lineage, Reading, SessionLog, Title, TitleRank, TranscriptOptions,
    TranscriptReport, Wanted, find, kind, project_dir,
};
use crate::writer::Stop;
use crate::{ImportError, Progress};

pub(crate) use self::line::Message;
pub(crate) use self::reader::{ClaudeReader, line_key};

/// What the sessions say they came from.
pub(crate) const SOURCE: &str = "claude-code";

type Tell<'p> = &'p mut (dyn FnMut(Progress<'_>) + Send);

pub(crate) async fn import(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: Tell<'_>,
) -> Result<TranscriptReport, ImportError> {
    let mut import = Import::new(store, SOURCE, options);
    let files = find(root, &mut import.general)?;
    let children: Vec<_> = files.iter().filter_map(family::child_by_path).collect();
    let (mut members, mut unbegun) = (Vec::new(), HashSet::new());
    for grown in import.grown(files, progress).await? {
        match Head::read(&grown.file) {
            Ok(Some(head)) => {
                let mut member = Member { grown, head };
                if let Some(name) = member.name() {
                    import.restart(&name, &mut member.grown).await?;
                }
                members.push(member);
            }
            Ok(None) => {
                import.skip(&grown.file, "holds no conversation yet");
                unbegun.extend(grown.file.path.file_stem().map(OsStr::to_os_string));
            }
            Err(stop) => import.fail(&grown.file, stop)?,
        }
    }
    for family in families(members) {
        let is_begun = !unbegun.contains(OsStr::new(&family.session));
        read_family(&mut import, &family, (&children, is_begun), progress).await?;
    }
    Ok(import.finish())
}

/// Takes the files of a session and of its children: first the row of the session, then the
/// children, so that the totals at its end can be compared with theirs, then its lines. Children of a
/// session whose file is there, but says nothing yet, wait for it: a child without a parent stays one.
async fn read_family(
    import: &mut Import<'_>,
    family: &Family,
    (children, mut is_begun): (&[(String, String)], bool),
    progress: Tell<'_>,
) -> Result<(), ImportError> {
    let session = &family.session;
    let mut opened = None;
    if let Some(member) = &family.main {
        match open_main(import, session, member).await {
            Ok(Some(main)) => opened = Some((member, main)),
            Ok(None) => {
                import.skip(&member.grown.file, "a fork that holds nothing of its own yet");
                is_begun = false;
            }
            Err(stop) => import.fail(&member.grown.file, stop)?,
        }
    }
    let parent = match &opened {
        Some((_, main)) => main.log.id().cloned(),
        None => import.known(session).await?.map(|known| known.id),
    };
    for (name, member) in &family.children {
        if parent.is_none() && !is_begun {
            import.skip(&member.grown.file, "its session holds no conversation yet");
            continue;
        }
        read_child(import, name, member, parent.clone(), progress).await?;
    }
    let Some((member, main)) = opened else { return Ok(()) };
    let Main { wanted, log, lineage, state } = main;
    let covered = covered(import, session, children).await?;
    let first = wanted.created_at;
    let mut reader = ClaudeReader::new(session, false, first, lineage, state);
    let reading = Reading { grown: &member.grown, wanted, opened: Some(log), covered };
    import.read(reading, &mut reader, progress).await?;
    if !import.options.dry_run {
        fork::note_roots(import, session, &reader.roots).await?;
    }
    Ok(())
}

/// The tokens of all children of a session that have files of their own.
async fn covered(
    import: &Import<'_>,
    session: &str,
    children: &[(String, String)],
) -> Result<Usage, StoreError> {
    let mut covered = Usage::default();
    for (_, child) in children.iter().filter(|(parent, _)| parent == session) {
        covered = covered.plus(import.total(child).await?);
    }
    Ok(covered)
}

/// The session of a transcript, before its lines are read.
struct Main<'a> {
    wanted: Wanted,
    log: SessionLog<'a>,
    lineage: Lineage,
    state: State,
}

/// Finds or makes the session of a transcript; nothing when it has no line of its own yet.
async fn open_main<'a>(
    import: &Import<'a>,
    session: &str,
    member: &Member,
) -> Result<Option<Main<'a>>, Stop> {
    let mut wanted = wanted(import, session, member);
    let state = state(member);
    wanted.title_before = state.title.as_ref().map(|title| title.text.clone());
    let lineage = match import.known(session).await? {
        Some(known) => match known.forked_from.filter(|_| member.grown.position.offset == 0) {
            Some(fork) => fork::known_stem(import, &fork).await?,
            None => Lineage::default(),
        },
        None => match fork::beginning(import, session, member).await? {
            Beginning::Own => Lineage::default(),
            Beginning::OnlyCopied => return Ok(None),
            Beginning::Copied(Stem { fork, lineage, since }) => {
                (wanted.forked_from, wanted.created_at) = (Some(fork), since);
                lineage
            }
        },
    };
    let log = import.open(&wanted).await?;
    Ok(Some(Main { wanted, log, lineage, state }))
}

async fn read_child(
    import: &mut Import<'_>,
    name: &str,
    member: &Member,
    parent: Option<SessionId>,
    progress: Tell<'_>,
) -> Result<(), ImportError> {
    let meta = Meta::read(&member.grown.file);
    let mut wanted = wanted(import, name, member);
    wanted.parent = parent;
    wanted.labels = meta.agent_type.into_iter().map(|word| ("agent-type", word)).collect();
    let state = state(member);
    let mut log = match import.open(&wanted).await {
        Ok(log) => log,
        Err(stop) => return import.fail(&member.grown.file, stop),
    };
    let title = meta.description.and_then(|text| Title::of(TitleRank::Made, &text));
    log.note(Facts { title, ..Facts::default() });
    let mut reader = ClaudeReader::new(name, true, wanted.created_at, Lineage::default(), state);
    let covered = Usage::default();
    let reading = Reading { grown: &member.grown, wanted, opened: Some(log), covered };
    import.read(reading, &mut reader, progress).await
}

/// What an import before kept of the lines that it read.
fn state(member: &Member) -> State {
    serde_json::from_value(member.grown.position.state.clone()).unwrap_or_default()
}

fn wanted(import: &Import<'_>, name: &str, member: &Member) -> Wanted {
    let head = &member.head;
    Wanted {
        origin: import.origin(name),
        created_at: head.first,
        repo: (import.options.repo_of)(Path::new(&head.dir)),
        kind: kind(SOURCE, head.version.as_deref()),
        project_dir: project_dir(&head.dir),
        parent: None,
        forked_from: None,
        labels: Vec::new(),
        title_before: None,
    }
}
