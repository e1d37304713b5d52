use ah_model::{ExecutorChange, Labels};

use super::change::change;
use super::shown_labels;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
    /// Labels to set, `key=value`
    #[arg(value_name = "KEY=VALUE", required_unless_present = "unset")]
    labels: Vec<String>,
    /// A label to take away; may be given several times
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let wanted = ExecutorChange {
        set_labels: Labels::from_pairs(&args.labels)?,
        unset_labels: args.unset.clone(),
        ..ExecutorChange::default()
    };
    change(app, &args.id, wanted, |executor| {
        format!("executor {}: {}", executor.id, shown_labels(executor))
    })
}
