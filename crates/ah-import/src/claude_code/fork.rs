//! Finds the session that a transcript was copied from.
//!
//! A fork has the lines of the session it goes on from under a session id of its own. Where its
//! lines do not say it, the first line tells: the store keeps which sessions have it.

use ah_model::{Fork, KvEntry, RawJson, Timestamp};
use ah_store::StoreError;

use super::family::Member;
use super::reader::line_key;
use crate::transcript::{Import, Lineage, View, scan};
use crate::writer::Stop;

/// The pairs that say which sessions have a first line.
const SCOPE: &str = "import/claude-code/roots";
/// Most sessions that are remembered of one.
const SESSIONS_MAX: usize = 64;

/// What a transcript begins with.
#[derive(Debug)]
pub(super) enum Beginning {
    /// Lines of its own.
    Own,
    /// Lines of another session, and none of its own yet.
    OnlyCopied,
    /// Lines of another session, up to here.
    Copied(Stem),
}

/// The part of a session's log that a fork begins with.
#[derive(Debug)]
pub(super) struct Stem {
    pub(super) fork: Fork,
    pub(super) lineage: Lineage,
    /// The time of the first line of its own.
    pub(super) since: Timestamp,
}

/// Looks for the session that `member`, a transcript that is not here, was copied from: the one that
/// has most of its lines.
pub(super) async fn beginning(
    import: &Import<'_>,
    session: &str,
    member: &Member,
) -> Result<Beginning, Stop> {
    let mut best: Option<(u64, Measured, Lineage)> = None;
    for name in candidates(import, session, member).await? {
        let Some(known) = import.known(&name).await? else { continue };
        let lineage = Lineage::read(import.store, &known, is_line).await?;
        let measured = measure(member, &lineage)?;
        if measured.count > best.as_ref().map_or(0, |(count, ..)| *count) {
            best = Some((measured.count, measured, lineage));
        }
    }
    let Some((_, Measured { last: Some(fork), own, .. }, lineage)) = best else {
        return Ok(Beginning::Own);
    };
    Ok(match own {
        None => Beginning::OnlyCopied,
        Some(time) => {
            let since = time.unwrap_or(member.head.first);
            Beginning::Copied(Stem { fork, lineage, since })
        }
    })
}

/// The part of the log that a fork which is here already begins with.
pub(super) async fn known_stem(import: &Import<'_>, fork: &Fork) -> Result<Lineage, StoreError> {
    let mut stem = import.store.session(fork.session_id.clone()).await?;
    stem.last_seq = fork.at_seq;
    Lineage::read(import.store, &stem, is_line).await
}

/// Keeps that `session` has these first lines.
pub(super) async fn note_roots(
    import: &Import<'_>,
    session: &str,
    roots: &[String],
) -> Result<(), StoreError> {
    for root in roots {
        let mut sessions = sessions_of(import, root).await?;
        if sessions.len() < SESSIONS_MAX && !sessions.iter().any(|known| known == session) {
            sessions.push(session.to_owned());
            let value = serde_json::to_string(&sessions).unwrap_or_default();
            let entry = KvEntry { scope: SCOPE.to_owned(), key: root.clone(), value };
            import.store.kv_set(entry).await?;
        }
    }
    Ok(())
}

async fn sessions_of(import: &Import<'_>, root: &str) -> Result<Vec<String>, StoreError> {
    match import.store.kv_get(SCOPE.to_owned(), root.to_owned()).await {
        Ok(entry) => Ok(serde_json::from_str(&entry.value).unwrap_or_default()),
        Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn candidates(
    import: &Import<'_>,
    session: &str,
    member: &Member,
) -> Result<Vec<String>, StoreError> {
    let mut names: Vec<String> = member.head.copied_from.iter().cloned().collect();
    for name in sessions_of(import, &member.head.root).await? {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.retain(|name| name != session);
    Ok(names)
}

/// Lines with an id of their own.
fn is_line(key: &str) -> bool {
    key.strip_prefix("line/").is_some_and(|id| !id.contains('/'))
}

/// How much of a transcript another session has.
#[derive(Debug, Default)]
struct Measured {
    /// How many lines.
    count: u64,
    /// Where the last of them stands.
    last: Option<Fork>,
    /// Whether a line of its own comes after, and its time.
    own: Option<Option<Timestamp>>,
}

fn measure(member: &Member, lineage: &Lineage) -> Result<Measured, Stop> {
    let mut measured = Measured::default();
    scan(&member.grown.file, |json: &RawJson, _| {
        let line = View::of(json);
        let Some(uuid) = line.id("uuid") else { return true };
        match copied(&line, &uuid, lineage) {
            Some(place) => {
                measured.count += 1;
                measured.last = Some(place);
                true
            }
            None => {
                measured.own = Some(line.time());
                false
            }
        }
    })?;
    Ok(measured)
}

/// Where the lineage has a line: under its own id, or the one that it was copied from.
pub(super) fn copied(line: &View<'_>, uuid: &str, lineage: &Lineage) -> Option<Fork> {
    let own = lineage.place(&line_key(uuid));
    let from = || {
        let uuid = line.object("forkedFrom").id("messageUuid")?;
        lineage.place(&line_key(&uuid))
    };
    own.or_else(from).cloned()
}
