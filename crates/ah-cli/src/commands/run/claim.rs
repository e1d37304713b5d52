use std::sync::Arc;
use std::time::Duration;

use ah_model::{Offer, RunClaim};
use ah_store::{Store, block_on};

use super::demands::DemandArgs;
use super::view;
use crate::app::App;
use crate::commands::waiting;
use crate::environment::hostname;
use crate::error::{CommandError, Exit};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who takes it: any name that says where to look
    #[arg(long, value_name = "ID")]
    executor: String,
    #[command(flatten)]
    offer: DemandArgs,
    /// Take only runs that demand one of the tags
    #[arg(long)]
    only_tagged: bool,
    /// Only this run, if it waits
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// How long before it must be renewed, such as 60s
    #[arg(long, value_name = "SPAN", default_value = "60s")]
    lease: String,
    /// Wait so long for a run, such as 30s
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    wait: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let claim = RunClaim {
        executor_id: args.executor.parse()?,
        offer: Offer {
            hostname: args.offer.hostname.clone().or_else(hostname),
            project_dir: args.offer.project_dir.clone(),
            executor_profile: args.offer.profile.clone(),
            executor_type: args.offer.executor_type.clone(),
            tags: args.offer.tags.clone(),
            require_matching_tags: args.only_tagged,
        },
        lease_ms: when::span(&args.lease)?,
        run_id: args.run.as_deref().map(str::parse).transpose()?,
    };
    claim.check()?;
    let wait = Duration::from_millis(when::span(&args.wait)?);
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let take = || Ok(block_on(store.claim_run(claim.clone()))?);
    match waiting::until_changed(&store, wait, take)? {
        Some(run) => app.output.result(&run, view::run),
        None => Err(CommandError::new(
            Exit::NotFound,
            "no run waits for what this executor offers",
        )
        .hint("`ah run list --status pending` shows what waits, and `ah run show ID` its demands")
        .hint("`--wait 30s` waits for one")),
    }
}
