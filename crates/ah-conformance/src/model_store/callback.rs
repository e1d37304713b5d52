//! What follows the end of a run in the oracle: its session, and the parent that waits for it.

use ah_model::{Callback, NewRun, Run, RunEnd, RunKind, SessionId, limits};
use ah_store::StoreError;

use super::{Door, Rows};

impl Rows {
    /// The session follows `run`, which just ended, unless it is one of its fleet. Then its parent is told, and then the session
    /// itself hears what its children told it meanwhile.
    pub(super) fn follow_end(
        &mut self,
        run: &Run,
        end: &RunEnd,
        door: &Door,
    ) -> Result<(), StoreError> {
        if run.member.is_some() {
            return Ok(());
        }
        let session = self.row_mut(&run.session_id)?;
        session.run_ended(end, door.now());
        if session.status.is_finished() {
            self.end_fleet(&run.session_id, door)?;
        }
        if run.started_at.is_none() {
            self.release(run);
        }
        if let Some(callback) = Callback::of(run) {
            let parent = callback.parent_session_id.clone();
            let number = self.next_number();
            self.callbacks.retain(|_, known| known.run_id != run.id);
            self.callbacks.insert(number, callback);
            self.deliver(&parent, door)?;
        }
        self.deliver(&run.session_id, door)
    }

    /// What a run carried that never began waits again.
    fn release(&mut self, run: &Run) {
        for callback in self.callbacks.values_mut() {
            if callback.delivered_by.as_ref() == Some(&run.id) {
                callback.delivered_by = None;
                callback.attempts += 1;
            }
        }
    }

    /// Queues a run that tells `parent` all that waits for it, if it can be told now.
    pub(super) fn deliver(&mut self, parent: &SessionId, door: &Door) -> Result<(), StoreError> {
        let reached = Callback::can_reach(self.row(parent)?.status);
        let mut waiting = self.waiting(parent);
        waiting.truncate(limits::CALLBACKS_AT_ONCE);
        if waiting.is_empty() || !reached || self.live_run(parent).is_some() {
            return Ok(());
        }
        let told: Vec<_> = waiting.iter().map(|number| self.callbacks[number].clone()).collect();
        let parameters = Callback::parameters(&told)?;
        let resume = NewRun {
            requested_by: self.last_asked(parent),
            ..NewRun::new(parent.clone(), RunKind::Resume, parameters)
        };
        let run = self.create_run(resume, door)?;
        for number in waiting {
            let callback = self.callbacks.get_mut(&number).unwrap();
            callback.delivered_by = Some(run.id.clone());
        }
        Ok(())
    }

    /// Who asked for the newest run of a session.
    fn last_asked(&self, session: &SessionId) -> Option<String> {
        let mut runs = self.runs.values().rev().map(|row| &row.run);
        runs.find(|run| run.session_id == *session && run.member.is_none())?.requested_by.clone()
    }

    /// The numbers of what waits for `parent` and was not tried too often, oldest first.
    fn waiting(&self, parent: &SessionId) -> Vec<i64> {
        let waits = |callback: &Callback| {
            callback.parent_session_id == *parent
                && callback.delivered_by.is_none()
                && callback.attempts < limits::CALLBACK_ATTEMPTS_MAX
        };
        let callbacks = self.callbacks.iter().filter(|(_, callback)| waits(callback));
        callbacks.map(|(number, _)| *number).collect()
    }

    /// Everybody whom something waits for, by their id.
    pub(super) fn waiting_parents(&self) -> Vec<SessionId> {
        let waited_for = |id: &&SessionId| !self.waiting(id).is_empty();
        self.sessions.keys().filter(waited_for).cloned().collect()
    }
}
