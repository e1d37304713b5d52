//! What the verbs share: which directory and session are meant, who keeps the snapshots there, and
//! how what a provider has goes together with what sessions' logs refer to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ah_model::{
    EventQuery, FileSnapshot, PageLimit, PageRequest, SNAPSHOT, Session, SessionFilter, SessionId,
    SnapshotProvider, to_hex,
};
use ah_snapshot::{Created, Ignored, NewSnapshot, Programs, Provider, choose, providers};
use ah_store::{IdSource, Store, SystemIds, block_on};
use serde::Serialize;

use crate::app::{App, if_found};
use crate::commands::session::log::Reader;
use crate::environment::hostname;
use crate::error::{CommandError, Exit};
use crate::whereabouts;

/// Most directories that a session's log is believed to have worked in.
const DIRECTORIES_MAX: usize = 16;
/// How many sessions are looked at for one that works here.
const RECENT_MAX: u64 = 200;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct PlaceArgs {
    /// The directory; the session's own when absent, else the current one
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Who keeps snapshots: git, btrfs or zfs; the best that can when absent
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
}

/// Whether the log of a session refers to a snapshot that its provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum State {
    /// Both know it.
    Recorded,
    /// Only the provider does.
    Unrecorded,
    /// Only the log does.
    Missing,
}

impl State {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Unrecorded => "unrecorded",
            Self::Missing => "missing",
        }
    }
}

/// A snapshot, and the event that refers to it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    #[serde(flatten)]
    pub(crate) snapshot: FileSnapshot,
    pub(crate) state: State,
    pub(crate) seq: Option<u64>,
}

/// A directory with those who can keep snapshots of it.
pub(crate) struct Scene {
    pub(crate) directory: PathBuf,
    programs: Programs,
    wanted: Option<SnapshotProvider>,
}

impl Scene {
    /// The directory that the flags name, else that of the session, else the current one.
    pub(crate) fn new(
        app: &App,
        args: &PlaceArgs,
        session: Option<&Session>,
    ) -> Result<Self, CommandError> {
        let directory = match (&args.dir, session) {
            (Some(dir), _) => existing(app.environment.absolute(dir)?)?,
            (None, Some(session)) => directory_of(session)?,
            (None, None) => app.current_dir()?.to_owned(),
        };
        let configured = app.config()?.snapshot_provider();
        let wanted = args.provider.as_deref().or(configured).map(str::parse).transpose()?;
        Ok(Self { directory, programs: programs(app), wanted })
    }

    /// Who takes the next snapshot.
    pub(crate) fn provider(&self) -> Result<Box<dyn Provider>, CommandError> {
        Ok(choose(&self.directory, self.wanted, &self.programs)?)
    }

    /// Everybody, whether usable or not.
    pub(crate) fn providers(&self) -> Vec<Box<dyn Provider>> {
        providers(&self.programs)
    }

    /// The same, with all taken by who keeps `snapshot`: only one's own can be compared.
    pub(crate) fn kept_by(self, snapshot: &FileSnapshot) -> Self {
        Self { wanted: Some(snapshot.provider), ..self }
    }

    /// Who keeps this snapshot.
    pub(crate) fn keeper(&self, snapshot: &FileSnapshot) -> Box<dyn Provider> {
        ah_snapshot::provider(snapshot.provider, &self.programs)
    }

    /// What providers have of `directory`.
    fn kept(&self, directory: &Path) -> Result<Vec<FileSnapshot>, CommandError> {
        let is_meant = |one: &dyn Provider| self.wanted.is_none_or(|wanted| wanted == one.name());
        let mut kept = Vec::new();
        for provider in self.providers() {
            if is_meant(&*provider) && provider.detect(directory).usable {
                kept.extend(provider.list(directory)?);
            }
        }
        Ok(kept)
    }

    /// The snapshots of all sessions in this directory, by session and number.
    pub(crate) fn all(&self, store: &dyn Store) -> Result<Vec<Listed>, CommandError> {
        let kept = self.kept(&self.directory)?;
        let sessions: BTreeSet<_> = kept.iter().map(|one| one.session_id.clone()).collect();
        let mut recorded = BTreeMap::new();
        for session in sessions {
            recorded.extend(events(store, &session)?.into_iter().map(|(seq, one)| (one.id, seq)));
        }
        Ok(kept.into_iter().map(|one| listed(one, &recorded)).collect())
    }

    /// The snapshots of one session wherever it worked, by number.
    pub(crate) fn of_session(
        &self,
        store: &dyn Store,
        session: &SessionId,
    ) -> Result<Vec<Listed>, CommandError> {
        let events = events(store, session)?;
        let recorded: BTreeMap<_, _> =
            events.iter().map(|(seq, one)| (one.id.clone(), *seq)).collect();
        let mut places: Vec<PathBuf> = vec![self.directory.clone()];
        for (_, one) in &events {
            let place = PathBuf::from(&one.directory);
            if !places.contains(&place) && place.is_dir() && places.len() < DIRECTORIES_MAX {
                places.push(place);
            }
        }
        let mut kept = BTreeMap::new();
        for place in places {
            kept.extend(self.kept(&place)?.into_iter().map(|one| (one.id.clone(), one)));
        }
        let mut all = Vec::new();
        for (seq, one) in events {
            match kept.remove(&one.id) {
                Some(one) => all.push(listed(one, &recorded)),
                None => all.push(Listed { snapshot: one, state: State::Missing, seq: Some(seq) }),
            }
        }
        let left = kept.into_values().filter(|one| one.session_id == *session);
        all.extend(left.map(|one| listed(one, &recorded)));
        all.sort_by_key(|one| one.snapshot.number);
        Ok(all)
    }

    /// The snapshot that `text` names: its number in a session, or the beginning of its id.
    pub(crate) fn find(
        &self,
        store: &dyn Store,
        session: Option<&SessionId>,
        text: &str,
    ) -> Result<Listed, CommandError> {
        let all = match session {
            Some(session) => self.of_session(store, session)?,
            None => self.all(store)?,
        };
        let number = text.parse::<u64>().ok();
        let is_numbered = |one: &&Listed| Some(one.snapshot.number) == number;
        let mut found: Vec<&Listed> = all.iter().filter(is_numbered).collect();
        if found.is_empty() {
            found = all.iter().filter(|one| one.snapshot.is_called(text)).collect();
        }
        match found.as_slice() {
            [one] if one.state == State::Missing => Err(gone(&one.snapshot)),
            [one] => Ok((*one).clone()),
            [] => Err(CommandError::new(
                Exit::NotFound,
                format!("no snapshot {text} in {}", self.directory.display()),
            )
            .hint("`ah snapshot list --all` shows what there is")),
            [one, other, ..] => Err(CommandError::new(
                Exit::Conflict,
                format!(
                    "snapshot {text} is ambiguous: {} of session {} and {} of session {}",
                    short(&one.snapshot),
                    one.snapshot.session_id,
                    short(&other.snapshot),
                    other.snapshot.session_id
                ),
            )
            .hint("give more of the id, or the session with `--session`")),
        }
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct OneArgs {
    /// Its number in the session, or the beginning of its id
    id: String,
    /// The session that a number is meant in; the newest here when absent
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
}

impl OneArgs {
    /// The snapshot that is meant, its session, and where it is.
    pub(crate) fn find(
        &self,
        app: &App,
        store: &dyn Store,
    ) -> Result<(Listed, Session, Scene), CommandError> {
        let session = session(app, store, self.session.as_deref())?;
        let scene = Scene::new(app, &self.place, Some(&session))?;
        match scene.find(store, Some(&session.id), &self.id) {
            Ok(found) => Ok((found, session, scene)),
            // No session was named, so that of the snapshot may be another.
            Err(error) if error.exit == Exit::NotFound && self.session.is_none() => {
                let found = scene.find(store, None, &self.id).map_err(|_| error)?;
                let session = block_on(store.session(found.snapshot.session_id.clone()))?;
                Ok((found, session, scene))
            }
            Err(error) => Err(error),
        }
    }
}

/// Programs of the providers on the search path, and where those of administrators are.
fn programs(app: &App) -> Programs {
    let path = app.environment.var_os("PATH");
    let mut search: Vec<PathBuf> =
        path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    search.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let find = |name: &str| search.iter().map(|dir| dir.join(name)).find(|path| path.is_file());
    Programs { git: find("git"), btrfs: find("btrfs"), zfs: find("zfs"), agentfs: find("agentfs") }
}

fn listed(snapshot: FileSnapshot, recorded: &BTreeMap<String, u64>) -> Listed {
    let seq = recorded.get(&snapshot.id).copied();
    let state = if seq.is_some() { State::Recorded } else { State::Unrecorded };
    Listed { snapshot, state, seq }
}

/// What the log of a session refers to; nothing of a session that is not there.
fn events(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Vec<(u64, FileSnapshot)>, CommandError> {
    if if_found(block_on(store.session(session.clone())))?.is_none() {
        return Ok(Vec::new());
    }
    let types = vec![SNAPSHOT.to_owned()];
    let query = EventQuery { types, limit: PageLimit::MAX, ..EventQuery::default() };
    let mut reader = Reader::new(store, session.clone(), query, u64::MAX)?;
    let mut found = Vec::new();
    while let Some(events) = reader.next()? {
        let read =
            events.iter().filter_map(|event| Some((event.seq, FileSnapshot::of_event(event)?)));
        found.extend(read);
    }
    Ok(found)
}

/// Takes a snapshot and records it; before that, what a crash left unrecorded.
pub(crate) fn take(
    app: &App,
    store: &dyn Store,
    scene: &Scene,
    new: &NewSnapshot,
) -> Result<Listed, CommandError> {
    let Created { snapshot, not_kept } = scene.provider()?.create(&scene.directory, new)?;
    for line in not_kept {
        app.output.talk(&format!("not kept: {line}"));
    }
    for left in scene.of_session(store, &new.session)? {
        if left.state == State::Unrecorded && left.snapshot.id != snapshot.id {
            record(store, left)?;
        }
    }
    record(store, Listed { snapshot, state: State::Unrecorded, seq: None })
}

/// Refers to a snapshot in its session's log.
pub(crate) fn record(store: &dyn Store, listed: Listed) -> Result<Listed, CommandError> {
    let Listed { snapshot, .. } = listed;
    let event = snapshot.event()?;
    let done = block_on(store.append_events(snapshot.session_id.clone(), vec![event]))?;
    Ok(Listed { snapshot, state: State::Recorded, seq: Some(done.first_seq) })
}

/// A snapshot to take now.
pub(crate) fn fresh(
    app: &App,
    session: SessionId,
    message: Option<String>,
) -> Result<NewSnapshot, CommandError> {
    Ok(NewSnapshot {
        session,
        at: app.now(),
        nonce: to_hex(&SystemIds.random()?),
        message,
        labels: ah_model::Labels::default(),
        ignored: Ignored::LeftOut,
    })
}

/// The session that `text` names, else the one that was last active in the directory here, or in its
/// repository.
pub(crate) fn session(
    app: &App,
    store: &dyn Store,
    text: Option<&str>,
) -> Result<Session, CommandError> {
    if let Some(text) = text {
        return Ok(block_on(store.session(app.session_id(store, text)?))?);
    }
    if let Some(session) = active_in(store, app.current_dir()?)? {
        return Ok(session);
    }
    let here = app.repo_or_directory()?;
    let none = || {
        let place = here.root_path.as_deref().unwrap_or("this repository");
        CommandError::new(Exit::NotFound, format!("no session works in {place}"))
            .hint("name one: `ah session list` shows them")
            .hint("`ah session create` begins one here")
    };
    let repo_id = whereabouts::known(store, &here)?.ok_or_else(none)?;
    let filter = SessionFilter { repo_id: Some(repo_id), ..SessionFilter::default() };
    let page = PageRequest { limit: PageLimit::at_most(1), cursor: None };
    block_on(store.list_sessions(filter, page))?.items.into_iter().next().ok_or_else(none)
}

/// Of the sessions that were active lately, the one whose directory is this one or the nearest above:
/// a fork works beside the session it comes from, in the same repository.
fn active_in(store: &dyn Store, here: &Path) -> Result<Option<Session>, CommandError> {
    let page = PageRequest { limit: PageLimit::at_most(RECENT_MAX), cursor: None };
    let recent = block_on(store.list_sessions(SessionFilter::default(), page))?.items;
    let host = hostname();
    let depth = |session: &Session| {
        let details = &session.details;
        let is_here = details.hostname.is_none() || details.hostname == host;
        let directory = details.project_dir.as_deref().map(Path::new).filter(|_| is_here)?;
        here.starts_with(directory).then(|| directory.components().count())
    };
    let nearest = recent.iter().filter_map(depth).max();
    Ok(recent.into_iter().find(|session| nearest.is_some() && depth(session) == nearest))
}

/// Where a session of this machine works.
fn directory_of(session: &Session) -> Result<PathBuf, CommandError> {
    let (theirs, here) = (session.details.hostname.as_deref(), hostname());
    if let (Some(theirs), Some(here)) = (theirs, &here)
        && theirs != here
    {
        let message = format!("session {} works on {theirs}, and this is {here}", session.id);
        return Err(CommandError::new(Exit::Conflict, message)
            .hint(format!("run it on {theirs}"))
            .hint("name a directory of this machine with `--dir DIR`"));
    }
    let directory = session.details.project_dir.as_ref().or(session.repo.root_path.as_ref());
    match directory {
        Some(directory) => existing(PathBuf::from(directory)),
        None => Err(CommandError::new(
            Exit::NotFound,
            format!("session {} has no directory", session.id),
        )
        .hint("name it with `--dir DIR`")),
    }
}

fn existing(directory: PathBuf) -> Result<PathBuf, CommandError> {
    match directory.canonicalize() {
        Ok(directory) if directory.is_dir() => Ok(directory),
        Ok(_) | Err(_) => {
            let message = format!("there is no directory {}", directory.display());
            Err(CommandError::new(Exit::NotFound, message).hint("name one with `--dir DIR`"))
        }
    }
}

/// As much of an id as people need.
pub(crate) fn short(snapshot: &FileSnapshot) -> &str {
    snapshot.id.get(..12).unwrap_or(&snapshot.id)
}

fn gone(snapshot: &FileSnapshot) -> CommandError {
    let message = format!("snapshot {} is gone from {}", short(snapshot), snapshot.directory);
    CommandError::new(Exit::NotFound, message)
        .hint("`ah snapshot list` shows which ones are still there")
}
