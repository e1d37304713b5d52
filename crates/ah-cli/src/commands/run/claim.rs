use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ah_model::{Offer, Run, RunClaim};
use ah_store::{Store, block_on};

use super::create::DemandArgs;
use super::view;
use crate::app::App;
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
    match take(&store, &claim, wait)? {
        Some(run) => app.output.result(&run, view::run),
        None => Err(CommandError::new(
            Exit::NotFound,
            "no run waits for what this executor offers",
        )
        .hint("`ah run list --status pending` shows what waits, and `ah run show ID` its demands")
        .hint("`--wait 30s` waits for one")),
    }
}

/// Claims at once, and again whenever something happened, until the time is over.
fn take(
    store: &Arc<dyn Store>,
    claim: &RunClaim,
    wait: Duration,
) -> Result<Option<Run>, CommandError> {
    let end = Instant::now() + wait;
    // Watched before the first look, so that nothing comes between.
    let changes = if wait.is_zero() { None } else { Some(changes(store)?) };
    loop {
        if let Some(run) = block_on(store.claim_run(claim.clone()))? {
            return Ok(Some(run));
        }
        let left = end.saturating_duration_since(Instant::now());
        let Some(changes) = changes.as_ref().filter(|_| !left.is_zero()) else {
            return Ok(None);
        };
        match changes.recv_timeout(left) {
            Ok(()) => while changes.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let message = "the store can no longer be followed";
                return Err(CommandError::new(Exit::Failed, message));
            }
        }
    }
}

/// A signal for everything that happens. Its thread ends with the process.
fn changes(store: &Arc<dyn Store>) -> Result<Receiver<()>, CommandError> {
    let from = block_on(store.feed_end())?;
    let mut watch = block_on(store.watch_feed(from))?;
    let (tell, told) = channel();
    let follow = move || while block_on(watch.next()).is_ok() && tell.send(()).is_ok() {};
    std::thread::Builder::new()
        .name("ah-watch".to_owned())
        .spawn(follow)
        .map_err(|error| CommandError::new(Exit::Failed, format!("cannot wait: {error}")))?;
    Ok(told)
}
