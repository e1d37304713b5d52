//! What approve, deny and withdraw have in common.

use ah_model::{Approval, ApprovalStatus, Decision, Party, Verdict};

use crate::app::App;
use crate::commands::party;
use crate::error::{CommandError, Exit};

/// Decides the approval that `id` names, and carries it out.
pub(super) fn decide(
    app: &App,
    id: &str,
    verdict: Verdict,
    by: Party,
    note: Option<String>,
) -> Result<(), CommandError> {
    let decision = Decision { verdict, by, resolver: Some(party::label(app)), note };
    decision.check()?;
    let host = app.host()?;
    let id = app.approval_id(&**host.store(), id)?;
    let approval = host.decide(id, decision).map_err(|error| {
        CommandError::from(error).hint("`ah approval show ID` shows who decided, and how")
    })?;
    if approval.status == verdict.status() && approval.problem.is_none() {
        return app.output.result(&approval, |approval| approval.status.to_string());
    }
    report(app, &approval, |approval| approval.status.to_string())
}

/// Prints an approval; one that came to nothing, or is not carried out, is also an error.
pub(super) fn report(
    app: &App,
    approval: &Approval,
    human: impl FnOnce(&Approval) -> String,
) -> Result<(), CommandError> {
    app.output.result(approval, human)?;
    let Approval { id, status, .. } = approval;
    if let Some(problem) = &approval.problem {
        let message = format!("approval {id} is approved but not carried out: {problem}");
        return Err(CommandError::new(Exit::Failed, message)
            .hint("it is tried again by `ah up`, and by the next `ah approval approve` of it"));
    }
    if *status == ApprovalStatus::Approved {
        return Ok(());
    }
    let note = approval.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    Err(CommandError::new(Exit::Conflict, format!("approval {id} is {status}{note}")))
}
