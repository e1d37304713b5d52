//! Context over any store: reads the newest records of a session, and of those it was forked from,
//! in bounded memory, and hands them to the pure function of the model.

use ah_model::{
    Cause, Context, ContextReason, Event, EventQuery, Fork, Invalid, Order, PageLimit, Session,
    SessionId, Window, context, limits, repairs,
};

use crate::{Store, StoreError};

/// How much of a session a context is made of: the newest records that fit both bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimit {
    /// How many records.
    pub records: usize,
    /// How many payload bytes; the newest record is taken whatever its size.
    pub bytes: usize,
}

impl Default for ContextLimit {
    fn default() -> Self {
        Self { records: limits::CONTEXT_RECORDS_DEFAULT, bytes: limits::CONTEXT_BYTES_MAX }
    }
}

impl ContextLimit {
    /// The newest `records` records.
    pub fn of_records(records: usize) -> Result<Self, Invalid> {
        let max = limits::CONTEXT_RECORDS_MAX;
        if !(1..=max).contains(&records) {
            return Err(Invalid::new("records", format!("{records}, 1 to {max} are allowed")));
        }
        Ok(Self { records, ..Self::default() })
    }
}

/// What a model is shown again of `session`.
pub async fn session_context(
    store: &dyn Store,
    session: SessionId,
    limit: ContextLimit,
) -> Result<Context, StoreError> {
    let session = store.session(session).await?;
    let mut tail = Tail { store, limit, newest_first: Vec::new(), bytes: 0 };
    let (omitted, stem) = tail.read_lineage(&session).await?;
    let reason = reason_of(stem.as_ref().unwrap_or(&session));
    let mut events = tail.newest_first;
    events.reverse();
    Ok(context(&Window {
        session_id: &session.id,
        last_seq: session.last_seq,
        reason: reason.as_ref(),
        omitted,
        events: &events,
    }))
}

/// A context whose session has nothing open that could be closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What a model is shown again.
    pub context: Context,
    /// How many events closed what a crash had left open.
    pub repaired: u64,
}

/// Closes what a crash left open in `session`, as far as `limit` shows it: calls without an answer,
/// programs without an end. Nothing is appended when nothing is open; doing it twice, or two at
/// once, gives one history.
pub async fn repair_session(
    store: &dyn Store,
    session: SessionId,
    limit: ContextLimit,
) -> Result<Restored, StoreError> {
    let context = session_context(store, session.clone(), limit).await?;
    let repairs = repairs(&context)?;
    let mut repaired = 0;
    for batch in repairs.chunks(REPAIRS_AT_ONCE) {
        repaired += store.append_events(session.clone(), batch.to_vec()).await?.appended;
    }
    match repairs.is_empty() {
        true => Ok(Restored { context, repaired }),
        false => {
            let context = session_context(store, session, limit).await?;
            Ok(Restored { context, repaired })
        }
    }
}

/// Keys make it harmless that repairs of one session are more than one append.
const REPAIRS_AT_ONCE: usize = 100;

fn reason_of(session: &Session) -> Option<ContextReason> {
    let cause = session.of_agent.as_ref().map_or(Cause::Reset, |membership| membership.cause);
    let text = session.details.reset_message.clone()?;
    Some(ContextReason { cause, text, at: session.created_at })
}

struct Tail<'a> {
    store: &'a dyn Store,
    limit: ContextLimit,
    newest_first: Vec<Event>,
    bytes: usize,
}

impl Tail<'_> {
    /// Reads back from the end of `session` through the sessions it was forked from. Returns how
    /// many records are left out, and the session the log begins in when that is another.
    async fn read_lineage(
        &mut self,
        session: &Session,
    ) -> Result<(u64, Option<Session>), StoreError> {
        let mut omitted = self.read(&session.id, session.last_seq).await?;
        let (mut fork, mut stem) = (session.forked_from.clone(), None);
        let mut depth = 0;
        while let Some(Fork { session_id, at_seq }) = fork {
            if depth == limits::FORK_DEPTH_MAX {
                // Nobody reads so far back: what is beyond counts as left out.
                omitted += at_seq;
                break;
            }
            // A full window is not read on, but what is before it counts.
            omitted += match omitted {
                0 => self.read(&session_id, at_seq).await?,
                _ => at_seq,
            };
            let above = self.store.session(session_id).await?;
            fork = above.forked_from.clone();
            stem = Some(above);
            depth += 1;
        }
        Ok((omitted, stem))
    }

    /// Takes events up to `last_seq` from the newest on; returns how many did not fit.
    async fn read(&mut self, session: &SessionId, last_seq: u64) -> Result<u64, StoreError> {
        let mut left = last_seq;
        while left > 0 && self.newest_first.len() < self.limit.records {
            let room = (self.limit.records - self.newest_first.len()).min(PageLimit::MAX.get());
            let query = EventQuery {
                up_to: Some(left),
                order: Order::Newest,
                limit: PageLimit::new(u32::try_from(room).unwrap_or(1))?,
                ..EventQuery::default()
            };
            let page = self.store.events(session.clone(), query).await?;
            if page.is_empty() {
                return Ok(0);
            }
            for event in page.into_iter().rev() {
                self.bytes += event.data.as_str().len();
                if self.bytes > self.limit.bytes && !self.newest_first.is_empty() {
                    return Ok(left);
                }
                left = event.seq - 1;
                self.newest_first.push(event);
            }
        }
        Ok(left)
    }
}
