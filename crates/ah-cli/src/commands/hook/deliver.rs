//! The ways of a call into the store.

use std::path::Path;

use ah_client::RestStore;
use ah_import::{HookCall, HookFate, record_hooks};
use ah_store::{Store, block_on};
use ah_store_sql::SqlStore;

use super::spool::{Drained, Spool};
use super::{Args, answer};
use crate::app::App;
use crate::detect::fingerprint::HOOK_PATIENCE;
use crate::whereabouts::{self, Looking};

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Delivered {
    /// It is in the store, and answered if it was to be.
    Recorded,
    /// There was nothing that could ever be: it was put aside.
    Nothing,
    /// It is nowhere yet.
    NotYet,
}

/// How a delivery ended.
pub(super) struct Outcome {
    pub(super) delivered: Delivered,
    /// The database that was opened for it, to be left when there is time.
    pub(super) store: Option<SqlStore>,
}

/// Brings the call into the store, behind those that were kept before it.
pub(super) fn deliver(app: &App, args: &Args, call: &HookCall, spool: &Spool) -> Outcome {
    let mut opened = Opened { app, server: None, database: None };
    let handed_over = if spool.is_empty() { hand_over(app, call) } else { None };
    let fate = match handed_over {
        Some(fate) => Some(fate),
        None => opened.store().map(|store| record(store, call, spool)),
    };
    if fate == Some(HookFate::Recorded)
        && answer::is_wanted(args, call)
        && let Some(store) = opened.store()
    {
        answer::mail(store, args, call);
    }
    let delivered = match fate {
        Some(HookFate::Recorded) => Delivered::Recorded,
        Some(HookFate::Refused(_)) => {
            spool.put_aside(call.at, &call.id, call.payload.as_str().as_bytes());
            Delivered::Nothing
        }
        Some(HookFate::Waiting(_)) | None => Delivered::NotYet,
    };
    Outcome { delivered, store: opened.database }
}

/// The store, opened when it is first asked for.
struct Opened<'a> {
    app: &'a App,
    server: Option<RestStore>,
    database: Option<SqlStore>,
}

impl Opened<'_> {
    fn store(&mut self) -> Option<&dyn Store> {
        if self.server.is_none() && self.database.is_none() {
            match self.app.remote().ok()? {
                Some(server) => self.server = Some(server),
                None => self.database = Some(self.app.sql_store().ok()?),
            }
        }
        let server = self.server.as_ref().map(|server| server as &dyn Store);
        server.or(self.database.as_ref().map(|database| database as &dyn Store))
    }
}

/// Appends the call. If there are older ones that cannot be brought in yet it waits with them, so
/// that they stay in order.
fn record(store: &dyn Store, call: &HookCall, spool: &Spool) -> HookFate {
    let looking = Looking::Records(HOOK_PATIENCE);
    let repo_of = |dir: &Path| whereabouts::repo_of(store, dir, looking);
    match spool.drain(|calls| block_on(record_hooks(store, calls, &repo_of))) {
        Drained::Empty | Drained::ByAnother => {
            let fates = block_on(record_hooks(store, std::slice::from_ref(call), &repo_of));
            fates.into_iter().next().unwrap_or(HookFate::Waiting(String::new()))
        }
        Drained::Left => HookFate::Waiting("older calls wait".to_owned()),
    }
}

/// Gives the call to the server of this machine, if one runs and the store is its.
#[cfg(unix)]
fn hand_over(app: &App, call: &HookCall) -> Option<HookFate> {
    if app.config().ok()?.remote_server().ok()?.is_some() {
        return None;
    }
    super::handover::send(&app.environment.runtime_dir().ok()?, call)
}

#[cfg(not(unix))]
fn hand_over(_app: &App, _call: &HookCall) -> Option<HookFate> {
    None
}
