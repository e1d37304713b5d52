//! The ways of a call into the store.

use std::path::Path;

use ah_import::{HookCall, HookFate, record_hooks};
use ah_store::{Store, block_on};

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

/// Brings the call into the store, behind those that were kept before it.
pub(super) fn deliver(app: &App, args: &Args, call: &HookCall, spool: &Spool) -> Delivered {
    let wants_mail = answer::is_wanted(args, call);
    let handed_over = match spool.is_empty() && !wants_mail {
        true => hand_over(app, call),
        false => None,
    };
    let fate = match handed_over {
        Some(fate) => fate,
        None => {
            let Ok(store) = app.store() else { return Delivered::NotYet };
            let fate = record(&*store, call, spool);
            if wants_mail && fate == HookFate::Recorded {
                answer::mail(&*store, args, call);
            }
            // The process ends soon: closing the database would only hold up the agent.
            std::mem::forget(store);
            fate
        }
    };
    match fate {
        HookFate::Recorded => Delivered::Recorded,
        HookFate::Refused(_) => {
            spool.put_aside(call.at, &call.id, call.payload.as_str().as_bytes());
            Delivered::Nothing
        }
        HookFate::Waiting(_) => Delivered::NotYet,
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
