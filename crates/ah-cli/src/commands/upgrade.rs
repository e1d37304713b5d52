//! `ah upgrade`: the database's schema.

use ah_store_sql::{Upgrade, inspect_sqlite};
use serde_json::json;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say what would be done and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let upgrade =
        if args.dry_run { inspect_sqlite(&app.local_database()?)? } else { app.open_store()?.1 };
    let answer = json!({
        "from": upgrade.from,
        "to": upgrade.to,
        "steps": upgrade.steps,
        "backup": upgrade.backup,
        "dropped": upgrade.dropped,
        "dryRun": args.dry_run,
    });
    app.output.result(&answer, |_| describe(&upgrade, args.dry_run))
}

fn describe(upgrade: &Upgrade, dry_run: bool) -> String {
    if upgrade.steps.is_empty() {
        return format!("the database is at schema {}, nothing to do", upgrade.to);
    }
    let verb = if dry_run { "would go" } else { "went" };
    let backup = match &upgrade.backup {
        Some(path) => format!("\nthe old database is kept at {}", path.display()),
        None if dry_run && upgrade.from > 0 => "\na backup would be made first".to_owned(),
        None => String::new(),
    };
    let Upgrade { from, to, steps, .. } = upgrade;
    format!("the database {verb} from schema {from} to {to}: {}{backup}", steps.join(", "))
}
