use ah_store::{Restored, block_on, repair_session};
use serde_json::json;

use super::{Named, Reach, active_session, view};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    reach: Reach,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let limit = args.reach.limit()?;
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    let done = block_on(repair_session(&*store, active_session(&agent)?, limit))?;
    let Restored { context, repaired } = &done;
    let answer = json!({
        "sessionId": context.session_id,
        "lastSeq": context.last_seq,
        "appended": repaired,
        "pendingCalls": context.pending_calls,
        "openRlms": context.open_rlms,
    });
    app.output.result(&answer, |_| match repaired {
        0 => format!("nothing to close in session {}", context.session_id),
        count => format!("{count} closed in session {}", context.session_id),
    })?;
    if !app.output.is_json() {
        view::open(context).iter().for_each(|remark| app.output.talk(remark));
    }
    Ok(())
}
