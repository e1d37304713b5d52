use std::sync::Arc;

use ah_model::NewFence;
use ah_store::Store;

use super::{fencing, view};
use crate::app::App;
use crate::error::CommandError;
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
    /// How long members may take to have the leader's files
    #[arg(long, value_name = "SPAN", default_value = "60s")]
    timeout: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let timeout_ms = when::span(&args.timeout)?;
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let session_id = app.session_id(&*store, &args.session)?;
    let new = NewFence { session_id, timeout_ms, step: None, requested_by: app.user() };
    let (fence, mut following) = fencing::begin(&store, new)?;
    let fence = fencing::ended(app, &*store, &fence, &mut following, |_| Ok(()))?;
    app.output.result(&fence, view::fence)?;
    fencing::require_consistent(&fence)
}
