use std::sync::Arc;

use ah_model::{
    APPLY_COMMIT, Approval, ApprovalId, ApprovalStatus, Awaited, NewApproval, Party, RawJson,
    limits,
};
use ah_store::{Store, block_on};

use super::decide;
use crate::app::App;
use crate::commands::{party, waiting};
use crate::error::{CommandError, Exit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent it is about; AH_AGENT when absent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// What is asked for: apply_commit, spawn, or any other word
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// For apply_commit: the commit of the agent's configuration; pinned now, HEAD when absent
    #[arg(long, value_name = "REF")]
    commit: Option<String>,
    /// Why, for the operator
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What else there is to know: a JSON object
    #[arg(long, value_name = "JSON")]
    details: Option<String>,
    /// Wait for the decision; exit 4 unless it is approved
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let parse = |text| RawJson::parse("details", text, limits::AGENT_JSON_BYTES_MAX);
    let details = args.details.as_deref().map(parse).transpose()?;
    let is_commit = args.kind == APPLY_COMMIT;
    let new = NewApproval {
        commit_ref: args.commit.clone().or_else(|| is_commit.then(|| "HEAD".to_owned())),
        reason: args.reason.clone(),
        details: details.unwrap_or_else(RawJson::empty_object),
        ..NewApproval::new(agent(app, args)?, &args.kind)
    };
    new.check_but_commit()?;
    let host = app.host()?;
    let approval = host.request_approval(new)?;
    if !args.wait {
        return app.output.result(&approval, |approval| approval.id.to_string());
    }
    let id = approval.id;
    app.output.talk(&format!("asked for {id}; `ah approval approve {id}` allows it"));
    decide::report(app, &decided(host.store(), &id)?, |approval| approval.status.to_string())
}

fn agent(app: &App, args: &Args) -> Result<String, CommandError> {
    match party::acting(app, args.agent.as_deref())? {
        Party::Agent(name) => Ok(name),
        Party::Operator => Err(CommandError::new(Exit::Usage, "an approval is about an agent")
            .hint("`--agent NAME` says which")),
    }
}

/// Waits until the approval is decided.
fn decided(store: &Arc<dyn Store>, id: &ApprovalId) -> Result<Approval, CommandError> {
    let look = || {
        let approval = block_on(store.approval(id.clone()))?;
        Ok(Some(approval).filter(|approval| approval.status != ApprovalStatus::Pending))
    };
    let found = waiting::until(store, Awaited::Approval(id.clone()), None, look)?;
    match found {
        Some(approval) => Ok(approval),
        None => Ok(block_on(store.approval(id.clone()))?),
    }
}
