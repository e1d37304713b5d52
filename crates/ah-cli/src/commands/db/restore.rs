use std::path::PathBuf;

use ah_store::StoreError;
use ah_store_sql::restore_sqlite;
use serde_json::json;

use crate::app::App;
use crate::error::CommandError;
use crate::input::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A backup made by `ah db backup` or before an upgrade
    file: PathBuf,
    /// Do not ask; only people at a terminal are asked
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let path = app.local_database()?;
    let source = app.environment.absolute(&args.file)?;
    if !args.yes {
        let question = format!("Replace {} by {}?", path.display(), source.display());
        confirm(app.asking(), &question)?;
    }
    let kept = restore_sqlite(&path, &source, app.now()).map_err(refused)?;
    // Opening proves it, and upgrades a backup of an older version.
    app.sql_store()?;
    let done = json!({ "path": path, "restoredFrom": source, "kept": kept });
    app.output.result(&done, |_| match &kept {
        Some(kept) => format!("restored; what was there is kept at {}", kept.display()),
        None => "restored".to_owned(),
    })
}

/// The usual advice on a damaged database is to restore a backup: here it is the backup itself.
fn refused(error: StoreError) -> CommandError {
    let is_damage = matches!(error, StoreError::Corrupt { .. });
    let mut error = CommandError::from(error);
    if is_damage {
        error.hints = vec!["nothing was changed; give a file that `ah db backup` made".to_owned()];
    }
    error
}
