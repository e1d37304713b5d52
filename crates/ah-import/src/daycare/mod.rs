//! Daycare's files of February 2026, in every shape they had: a folder per agent with
//! `descriptor.json`, `state.json` and `history.jsonl`.
//!
//! An agent is known again by its folder's name, a session by its number in the history, an event
//! by a fingerprint of its line.

mod folder;
mod history;
mod split;
mod state;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;

use ah_model::limits::INDEXED_TEXT_BYTES_MAX;
use ah_model::{NewEvent, Origin, RawJson, Timestamp};
use ah_store::Store;

use self::folder::{DESCRIPTOR, Folder};
use self::split::Split;
use self::state::State;
use crate::agent::{Body, Extras, Identity, Leftover, Parts};
use crate::lines::Lines;
use crate::report::{Became, Tally};
use crate::target::Target;
use crate::unreadable::{Place, fingerprint, fingerprint_of};
use crate::writer::{AgentWriter, Bounds, Newcomer, Raw, Stop};
use crate::{ImportError, ImportOptions, ImportReport, Progress, daycare_db};

/// What agents and sessions of the files say they came from.
pub(crate) const SOURCE: &str = "daycare";

/// The type of the event that holds a context copy.
const CONTEXT_COPY: &str = "context_copy";

pub(crate) async fn import(
    store: &dyn Store,
    dir: &Path,
    options: &ImportOptions,
    bounds: Bounds,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<ImportReport, ImportError> {
    let agents = folder::agents_dir(dir)?;
    let mut general = Tally::default();
    let folders = folder::folders(&agents, &mut general)?;
    if agents == dir && !folders.iter().any(Folder::has_files) {
        return Err(ImportError::NoAgents { path: dir.to_owned() });
    }
    let bytes = folders.iter().map(Folder::bytes).sum();
    progress(Progress::Found { agents: folders.len() as u64, bytes });
    let mut report = ImportReport::new(SOURCE, options.dry_run);
    (report.remarks, report.more_remarks) = (general.remarks, general.more_remarks);
    let mut target = Target::new(store, options.dry_run);
    for folder in &folders {
        let mut tally = Tally::default();
        let result = import_folder(&mut target, folder, options, bounds, &mut tally).await;
        let became = match result {
            Ok(changed) => Became::Taken { changed },
            Err(Stop::Agent(reason)) => Became::Skipped(reason),
            Err(Stop::Failed(reason)) => Became::Failed(reason),
            Err(Stop::Import(error)) => return Err(error),
        };
        let name = folder.name.to_string_lossy();
        report.add(&name, &folder.path.to_string_lossy(), became, tally);
        progress(Progress::Agent { name: &name, bytes: folder.bytes() });
    }
    Ok(report)
}

/// Imports one agent; whether its state is another than before.
async fn import_folder(
    target: &mut Target<'_>,
    folder: &Folder,
    options: &ImportOptions,
    bounds: Bounds,
    tally: &mut Tally,
) -> Result<bool, Stop> {
    folder.name_others(tally);
    let id = folder.id()?;
    if folder.is_empty() {
        let reason = "holds nothing in descriptor.json, state.json or history.jsonl";
        return Err(Stop::Agent(reason.to_owned()));
    }
    if target.known(daycare_db::SOURCE, id).await?.is_some() {
        return Err(Stop::Agent("came from a Daycare database already".to_owned()));
    }
    let mut extras = Extras::default();
    let state = State::of(&folder.json_file(state::FILE, bounds, &mut extras)?, &mut extras, tally);
    let State { lifecycle, created_at, updated_at, .. } = state;
    let found = folder.json_file(DESCRIPTOR, bounds, &mut extras)?;
    let parts = Parts {
        origin: Origin { source: SOURCE.to_owned(), external_id: id.to_owned() },
        identity: Identity::of(DESCRIPTOR, &found, &mut extras, tally),
        permissions: state.permissions,
        tokens: state.tokens,
        stats: state.stats,
        metadata: extras.metadata(),
        kind: options.kind.clone(),
        home: home(&folder.path, tally),
    };
    let new = Newcomer { agent: parts.agent(), lifecycle, created_at, updated_at };
    let mut writer = AgentWriter::new(target, tally, new, bounds, options.now).await?;
    read_history(&mut writer, id, folder, state.inference_session_id).await?;
    if let Some(context) = state.context {
        keep_context(&mut writer, context, updated_at).await?;
    }
    keep_leftovers(&mut writer, extras.leftovers).await?;
    writer.finish().await
}

/// The absolute path of a folder, as far as one can be stored.
pub(crate) fn home(folder: &Path, tally: &mut Tally) -> String {
    let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let path = path.to_string_lossy().into_owned();
    if path.len() <= INDEXED_TEXT_BYTES_MAX {
        return path;
    }
    tally.remark("", None, "the path of its folder is too long, its sessions work in /");
    "/".to_owned()
}

async fn read_history(
    writer: &mut AgentWriter<'_, '_>,
    id: &str,
    folder: &Folder,
    inference_session_id: Option<String>,
) -> Result<(), Stop> {
    let Some((file, bytes)) = folder.history()? else {
        writer.tally.remark(history::FILE, None, "is missing: a session without records");
        return Split::new(writer, id, (1, inference_session_id)).ensure_session(None).await;
    };
    let mut lines = Lines::new(file, bytes, history::LINE_BYTES_MAX);
    // The provider's id belongs to the last session, which may be given long before the end.
    let last = match &inference_session_id {
        Some(_) => split::count_sessions(&mut lines),
        None => Ok(0),
    };
    let last = last.map_err(|error| Stop::io(history::FILE, &error))?.max(1);
    let mut split = Split::new(writer, id, (last, inference_session_id));
    split.read(&mut lines).await?;
    split.ensure_session(None).await
}

/// Keeps the copy of the context where there is nothing else that it was made of.
async fn keep_context(
    writer: &mut AgentWriter<'_, '_>,
    context: RawJson,
    time: Option<Timestamp>,
) -> Result<(), Stop> {
    if !writer.session_is_silent() {
        let what = "context: left out, it is made of the session's records";
        writer.tally.remark(state::FILE, None, what);
        return Ok(());
    }
    let key = format!("context:{:016x}", fingerprint(context.as_str().as_bytes()));
    let kind = CONTEXT_COPY.to_owned();
    let event = NewEvent { kind, data: context, dedup_key: None, ts: None };
    match event.check() {
        Ok(()) => {
            let what = "context: kept as an event, the session has no records it was made of";
            writer.tally.remark(state::FILE, None, what);
            let time = time.unwrap_or(writer.time());
            writer.push(CONTEXT_COPY, event.data, key, Some(time)).await
        }
        Err(invalid) => {
            let reason = format!("context: {invalid}");
            let place = Place::new(state::FILE, None, &reason);
            let bytes = event.data.as_str().as_bytes();
            writer.keep_raw(&place, Raw::<&[u8]>::Held(bytes), &key).await
        }
    }
}

/// Keeps what has no place in the agent in its last session.
pub(crate) async fn keep_leftovers(
    writer: &mut AgentWriter<'_, '_>,
    leftovers: Vec<Leftover>,
) -> Result<(), Stop> {
    for Leftover { file, reason, body } in leftovers {
        let place = Place::new(&file, None, &reason);
        let key = |bits: u64| format!("{file}:{bits:016x}");
        match body {
            Body::Held(bytes) => {
                let key = key(fingerprint(&bytes));
                writer.keep_raw(&place, Raw::<&[u8]>::Held(&bytes), &key).await?;
            }
            Body::File(path, bytes) => {
                let open = || File::open(&path).map_err(|error| Stop::io(&file, &error));
                let bits = fingerprint_of(open()?, bytes);
                let key = key(bits.map_err(|error| Stop::io(&file, &error))?);
                writer.keep_raw(&place, Raw::Long(open()?, bytes), &key).await?;
            }
        }
    }
    Ok(())
}
