//! `--dry-run` of the verbs that change a directory.

use ah_bundle::DryRun;

/// Whether a change is only told.
#[derive(Debug, clap::Args)]
pub(super) struct DryRunArg {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

impl DryRunArg {
    pub(super) fn get(&self) -> DryRun {
        match self.dry_run {
            true => DryRun::Yes,
            false => DryRun::No,
        }
    }

    /// What was done, in the words of a dry run if it is one.
    pub(super) fn words<'a>(&self, done: &'a str, would: &'a str) -> &'a str {
        if self.dry_run { would } else { done }
    }
}
