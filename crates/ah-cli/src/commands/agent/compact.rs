use std::path::PathBuf;

use ah_model::{Beginning, Renewal, limits};

use super::{Expected, Named, renew};
use crate::app::App;
use crate::error::CommandError;
use crate::input::text_or_file;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("sum").required(true).args(["summary", "summary_file"])))]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// What was said so far: the first thing in the new context
    #[arg(long, value_name = "S")]
    summary: Option<String>,
    /// Read the summary from a file, or stdin for `-`
    #[arg(long, value_name = "FILE")]
    summary_file: Option<PathBuf>,
    #[command(flatten)]
    expected: Expected,
    /// Only if the newest event of the active session has this seq
    #[arg(long, value_name = "SEQ")]
    expect_seq: Option<u64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let (text, file) = (args.summary.as_deref(), args.summary_file.as_deref());
    let summary = text_or_file("summary", text, file, limits::PROMPT_BYTES_MAX)?;
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    let renewal = Renewal {
        expected_session: args.expected.session(app, &*store)?,
        expected_seq: args.expect_seq,
        ..Renewal::new(Beginning::Compaction { summary: summary.unwrap_or_default() })
    };
    renew(app, &*store, agent, renewal)
}
