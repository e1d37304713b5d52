//! Relocation in SQL: repositories that are elsewhere now, and what follows them.
//!
//! A move is one transaction: the repository's path, its former one, the directories of sessions and
//! drafts, and the notes for the feed. Rows below a directory are chosen by its text and then by the
//! rule of ah-model, which knows what a component is.

use std::collections::BTreeMap;

use ah_model::limits::REPO_LOOKALIKES_MAX;
use ah_model::{
    ChangeKind, Earnest, ROOT_PATH, Relocated, Relocation, Repo, RepoFate, RepoMove, RepoPath,
    RepoSighting, SessionId, Sighted, Vcs, Whereabouts, joined_repo, path_and_above,
};
use ah_store::StoreError;

use crate::change;
use crate::reader::Reader;
use crate::repo::{self, columns, read};
use crate::resources::Resources;
use crate::tx::{Row, Tx, query_all, query_first};

const LIKE: &str =
    concat!("SELECT ", columns!(), " FROM repos WHERE fingerprint = $1 ORDER BY id LIMIT $2");

/// The repositories with that fingerprint.
pub(crate) fn like(tx: &mut dyn Tx, fingerprint: &str) -> Result<Vec<Repo>, StoreError> {
    let most = REPO_LOOKALIKES_MAX as u64;
    query_all(tx, LIKE, &[fingerprint.into(), most.into()], read)
}

const CANDIDATES: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM repos WHERE root_path = $1 OR fingerprint = $2 ORDER BY id"
);

/// What was seen, which may be a known repository that moved.
pub(crate) fn see(
    tx: &mut dyn Tx,
    ctx: &Resources,
    seen: &RepoSighting,
) -> Result<Sighted, StoreError> {
    let (root, print) = (seen.found.root_path.as_ref(), seen.marks.fingerprint.as_ref());
    let sql = format!("{CANDIDATES}{}", tx.dialect().for_update());
    let rows = query_all(tx, &sql, &[root.into(), print.into()], read)?;
    let fate = match seen.whereabouts(&rows) {
        Whereabouts::Known(_) => RepoFate::Known,
        Whereabouts::New => RepoFate::New,
        Whereabouts::Unclear(like) => RepoFate::Unclear { like },
        Whereabouts::Moved(id) => RepoFate::Moved { from: follow(tx, ctx, seen, id)? },
    };
    let known = repo::put(tx, ctx, &seen.found)?;
    Ok(Sighted { repo: mark(tx, known, seen)?, fate })
}

const MARK: &str = concat!(
    "UPDATE repos SET fingerprint = coalesce(fingerprint, $1), \
     remote_key = coalesce($2, remote_key), host = coalesce($3, host) WHERE id = $4 RETURNING ",
    columns!()
);

/// Notes what `known` is known by. A fingerprint stays: sessions belong to what was there first.
fn mark(tx: &mut dyn Tx, known: Repo, seen: &RepoSighting) -> Result<Repo, StoreError> {
    let marks = &seen.marks;
    let is_news = known.marks.fingerprint.is_none() && marks.fingerprint.is_some()
        || marks.remote_key.is_some() && marks.remote_key != known.marks.remote_key
        || marks.host.is_some() && marks.host != known.marks.host;
    if !is_news {
        return Ok(known);
    }
    let params = [
        marks.fingerprint.as_ref().into(),
        marks.remote_key.as_ref().into(),
        marks.host.as_ref().into(),
        known.id.into(),
    ];
    query_first(tx, MARK, &params, read)?
        .ok_or_else(|| StoreError::backend("mark a repository", "no row came back"))
}

/// Moves the repository `id` to where it was seen, with its own sessions; answers where it was.
fn follow(
    tx: &mut dyn Tx,
    ctx: &Resources,
    seen: &RepoSighting,
    id: i64,
) -> Result<String, StoreError> {
    let known = repo::get(tx, id)?;
    let relocation = Relocation {
        from: known.found.root_path.clone().unwrap_or_default(),
        to: seen.found.root_path.clone().unwrap_or_default(),
        host: seen.marks.host.clone(),
        earnest: Earnest::Change,
    };
    let sessions = sessions_below(tx, &relocation)?;
    place(tx, ctx, &known, &relocation.to, relocation.host.as_ref())?;
    for session in sessions.iter().filter(|session| session.repo_id == id) {
        session.go(tx, ctx, None)?;
    }
    change::repo(tx, ctx, id)?;
    Ok(relocation.from)
}

const BECAME: &str = "INSERT INTO repo_paths (repo_id, path, host, since, until) \
    VALUES ($1, $2, $3, $4, $5)";
const PLACE: &str = "UPDATE repos SET root_path = $1, vcs = $2, remote_url = $3, \
    default_branch = $4, fingerprint = $5, remote_key = $6, host = $7, moved_at = $8 WHERE id = $9";

/// Puts `repo` at `to`, with what it says of itself, and keeps its former path.
fn place(
    tx: &mut dyn Tx,
    ctx: &Resources,
    repo: &Repo,
    to: &str,
    host: Option<&String>,
) -> Result<(), StoreError> {
    let (found, marks) = (&repo.found, &repo.marks);
    let since = repo.moved_at.unwrap_or(repo.created_at);
    let former = [
        repo.id.into(),
        found.root_path.as_ref().into(),
        marks.host.as_ref().into(),
        since.into(),
        ctx.now().into(),
    ];
    tx.execute(BECAME, &former)?;
    let params = [
        to.into(),
        found.vcs.as_str().into(),
        found.remote_url.as_ref().into(),
        found.default_branch.as_ref().into(),
        marks.fingerprint.as_ref().into(),
        marks.remote_key.as_ref().into(),
        host.or(marks.host.as_ref()).into(),
        ctx.now().into(),
        repo.id.into(),
    ];
    tx.execute(PLACE, &params).map(drop)
}

const ROOTED: &str = concat!("SELECT ", columns!(), " FROM repos WHERE root_path = $1");
const ONCE: &str =
    "SELECT repo_id FROM repo_paths WHERE path = $1 ORDER BY until DESC, id DESC LIMIT 1";

/// The repository at `path` or nearest above it; one that is there before one that was.
pub(crate) fn at(tx: &mut dyn Tx, path: &str) -> Result<Option<Repo>, StoreError> {
    for (steps, place) in path_and_above(path).enumerate() {
        let mut found = query_first(tx, ROOTED, &[place.into()], read)?;
        if found.is_none()
            && let Some(id) = query_first(tx, ONCE, &[place.into()], |row| row.int(0))?
        {
            found = Some(repo::get(tx, id)?);
        }
        if let Some(repo) = found.filter(|repo| steps == 0 || repo.found.vcs != Vcs::None) {
            return Ok(Some(repo));
        }
    }
    Ok(None)
}

const PATHS: &str = "SELECT path, host, since, until FROM repo_paths WHERE repo_id = $1 \
    ORDER BY until DESC, id DESC LIMIT $2";

/// Where the repository was before.
pub(crate) fn paths(tx: &mut dyn Tx, id: i64) -> Result<Vec<RepoPath>, StoreError> {
    repo::get(tx, id)?;
    let most = REPO_LOOKALIKES_MAX as u64;
    query_all(tx, PATHS, &[id.into(), most.into()], |row| {
        let row = Reader::new(row);
        Ok(RepoPath {
            path: row.text()?,
            host: row.opt_text()?,
            since: row.time()?,
            until: row.time()?,
        })
    })
}

/// Moves everything at and below a directory.
pub(crate) fn relocate(
    tx: &mut dyn Tx,
    ctx: &Resources,
    relocation: &Relocation,
) -> Result<Relocated, StoreError> {
    let moves = repos_below(tx, relocation)?;
    let sessions = sessions_touched(tx, relocation, &moves)?;
    let drafts = drafts_below(tx, relocation)?;
    let relocated = Relocated {
        repos: moves.iter().map(|(_, step)| step.clone()).collect(),
        sessions: sessions.len() as u64,
        tasks: tasks_of(tx, &sessions)?,
        drafts: drafts.len() as u64,
    };
    if relocation.earnest == Earnest::Plan {
        return Ok(relocated);
    }
    for (repo, step) in &moves {
        match step.joined {
            Some(other) => join(tx, ctx, repo, other, relocation)?,
            None => place(tx, ctx, repo, &step.to, relocation.host.as_ref())?,
        }
    }
    for session in &sessions {
        session.go(tx, ctx, moves.iter().find_map(|(_, step)| joined(step, session.repo_id)))?;
    }
    for (id, repository) in &drafts {
        tx.execute(MOVE_DRAFT, &[repository.into(), id.into()])?;
    }
    moves.iter().try_for_each(|(_, step)| change::repo(tx, ctx, step.id))?;
    Ok(relocated)
}

const REPOS_BELOW: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM repos WHERE substr(root_path, 1, length($1)) = $1 ORDER BY root_path, id"
);

/// The repositories that move. Those above come first, so that what moves up finds its place free.
fn repos_below(
    tx: &mut dyn Tx,
    relocation: &Relocation,
) -> Result<Vec<(Repo, RepoMove)>, StoreError> {
    let sql = format!("{REPOS_BELOW}{}", tx.dialect().for_update());
    let rows = query_all(tx, &sql, &[relocation.from_text().into()], read)?;
    let moving: Vec<i64> = rows.iter().map(|repo| repo.id).collect();
    let mut moves = Vec::new();
    for repo in rows {
        let Some(from) = repo.found.root_path.clone() else { continue };
        let Some(to) = relocation.moved(ROOT_PATH, &from)? else { continue };
        let there = query_first(tx, ROOTED, &[(&to).into()], read)?.map(|repo| repo.id);
        let joined = there.filter(|there| !moving.contains(there));
        moves.push((repo.clone(), RepoMove { id: repo.id, from, to, joined }));
    }
    Ok(moves)
}

/// The number that a session of a joined repository gets.
fn joined(step: &RepoMove, repo_id: i64) -> Option<i64> {
    (step.joined == Some(repo_id)).then_some(step.id)
}

const TAKE_PATHS: &str = "UPDATE repo_paths SET repo_id = $1 WHERE repo_id = $2";
const TAKE_SESSIONS: &str = "UPDATE sessions SET repo_id = $1 WHERE repo_id = $2";
const DROP_REPO: &str = "DELETE FROM repos WHERE id = $1";

/// Joins `other`, which is known where `repo` moves to, with it.
fn join(
    tx: &mut dyn Tx,
    ctx: &Resources,
    repo: &Repo,
    other: i64,
    relocation: &Relocation,
) -> Result<(), StoreError> {
    let there = repo::get(tx, other)?;
    let whole = joined_repo(repo, &there);
    tx.execute(TAKE_PATHS, &[repo.id.into(), other.into()])?;
    tx.execute(TAKE_SESSIONS, &[repo.id.into(), other.into()])?;
    tx.execute(DROP_REPO, &[other.into()])?;
    let to = whole.found.root_path.clone().unwrap_or_default();
    // What is kept as former is where it was, on the machine where it was.
    let mut former = whole.clone();
    former.found.root_path.clone_from(&repo.found.root_path);
    former.marks.host.clone_from(&repo.marks.host);
    place(tx, ctx, &former, &to, relocation.host.as_ref().or(whole.marks.host.as_ref()))
}

/// A session that is other behind a relocation.
struct MovedSession {
    id: SessionId,
    repo_id: i64,
    /// Its directory now, if that moved.
    project_dir: Option<String>,
}

const MOVE_SESSION: &str = "UPDATE sessions SET project_dir = $1 WHERE id = $2";

impl MovedSession {
    fn read(row: &dyn Row, relocation: &Relocation) -> Result<Self, StoreError> {
        let row = Reader::new(row);
        let (id, repo_id, dir) = (row.parse()?, row.int()?, row.opt_text()?);
        let project_dir = match dir {
            Some(dir) => relocation.moved("projectDir", &dir)?,
            None => None,
        };
        Ok(Self { id, repo_id, project_dir })
    }

    /// Writes what is other; sessions of a joined repository were taken over with it.
    fn go(
        &self,
        tx: &mut dyn Tx,
        ctx: &Resources,
        taken_over: Option<i64>,
    ) -> Result<(), StoreError> {
        if let Some(dir) = &self.project_dir {
            tx.execute(MOVE_SESSION, &[dir.into(), self.id.as_str().into()])?;
        }
        match self.project_dir.is_some() || taken_over.is_some() {
            true => change::session(tx, ctx, ChangeKind::SessionUpdated, &self.id),
            false => Ok(()),
        }
    }
}

const SESSIONS_BELOW: &str = "SELECT id, repo_id, project_dir FROM sessions \
    WHERE substr(project_dir, 1, length($1)) = $1 ORDER BY id";
const SESSIONS_OF: &str =
    "SELECT id, repo_id, project_dir FROM sessions WHERE repo_id = $1 ORDER BY id";

/// The sessions whose directory moves.
fn sessions_below(
    tx: &mut dyn Tx,
    relocation: &Relocation,
) -> Result<Vec<MovedSession>, StoreError> {
    let sql = format!("{SESSIONS_BELOW}{}", tx.dialect().for_update());
    let read = |row: &dyn Row| MovedSession::read(row, relocation);
    let mut found = query_all(tx, &sql, &[relocation.from_text().into()], read)?;
    found.retain(|session| session.project_dir.is_some());
    Ok(found)
}

/// The sessions whose directory moves or whose repository is joined, by id.
fn sessions_touched(
    tx: &mut dyn Tx,
    relocation: &Relocation,
    moves: &[(Repo, RepoMove)],
) -> Result<Vec<MovedSession>, StoreError> {
    let mut touched = BTreeMap::new();
    let sql = format!("{SESSIONS_OF}{}", tx.dialect().for_update());
    for other in moves.iter().filter_map(|(_, step)| step.joined) {
        let read = |row: &dyn Row| MovedSession::read(row, relocation);
        let of = query_all(tx, &sql, &[other.into()], read)?;
        touched.extend(of.into_iter().map(|session| (session.id.clone(), session)));
    }
    let below = sessions_below(tx, relocation)?;
    touched.extend(below.into_iter().map(|session| (session.id.clone(), session)));
    Ok(touched.into_values().collect())
}

const TASKS_OF: &str = "SELECT count(*) FROM tasks WHERE session_id = $1";

fn tasks_of(tx: &mut dyn Tx, sessions: &[MovedSession]) -> Result<u64, StoreError> {
    let mut tasks = 0;
    for session in sessions {
        let of = query_first(tx, TASKS_OF, &[session.id.as_str().into()], |row| row.uint(0))?;
        tasks += of.unwrap_or_default();
    }
    Ok(tasks)
}

const DRAFTS_BELOW: &str = "SELECT id, repository FROM drafts \
    WHERE substr(repository, 1, length($1)) = $1 ORDER BY id";
const MOVE_DRAFT: &str = "UPDATE drafts SET repository = $1 WHERE id = $2";

/// The drafts for what moves, each with its repository then.
fn drafts_below(
    tx: &mut dyn Tx,
    relocation: &Relocation,
) -> Result<Vec<(String, String)>, StoreError> {
    let found = query_all(tx, DRAFTS_BELOW, &[relocation.from_text().into()], |row| {
        Ok((row.text(0)?, row.text(1)?))
    })?;
    let mut moved = Vec::new();
    for (id, repository) in found {
        moved.extend(relocation.moved("repository", &repository)?.map(|now| (id, now)));
    }
    Ok(moved)
}
