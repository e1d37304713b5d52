use std::thread;
use std::time::Duration;

use ah_model::{Receipt, Redactions, Scrub, ScrubFinding, ScrubPlace};
use ah_store::{Store, block_on};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::app::App;
use crate::commands::progress;
use crate::error::CommandError;
use crate::output::{printable, table};
use crate::when;

/// How often, and how long apart, it is tried to empty the log while others read from it.
const FILE_TRIES: u32 = 20;
const FILE_PAUSE: Duration = Duration::from_millis(100);
/// Most places that are told.
const FINDINGS_MAX: usize = 10_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only say what would be taken out and where; nothing is changed
    #[arg(long)]
    dry_run: bool,
    /// Only what belongs to this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only what was written since: a span like 2h or 7d, or an RFC 3339 time
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
}

/// What a whole scrub did.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Scrubbed {
    dry_run: bool,
    /// Rows that were looked at.
    rows: u64,
    /// Rows that held secrets.
    changed: u64,
    found: Redactions,
    findings: Vec<ScrubFinding>,
    receipt: Option<Receipt>,
    /// Whether the log of the database still holds what it held before.
    log_left: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let session = args.session.as_deref().map(|id| app.session_id(&*store, id)).transpose()?;
    let since = args.since.as_deref().map(|text| when::parse(text, app.now())).transpose()?;
    let scrub = Scrub { session_id: session, since, dry_run: args.dry_run, from: None };
    let bar = progress::bar(app, 0, "{spinner} {pos} rows looked at, {msg}");
    let done = all_steps(&*store, scrub, &bar)?;
    bar.finish_and_clear();
    app.output.result(&done, text)?;
    if done.log_left {
        let warning = "warning: others read from the database, so its log still holds what it held";
        app.output.talk(warning);
        app.output.talk("hint: `ah scrub` again when they are done");
    }
    Ok(())
}

fn all_steps(
    store: &dyn Store,
    mut scrub: Scrub,
    bar: &ProgressBar,
) -> Result<Scrubbed, CommandError> {
    let mut done = Scrubbed { dry_run: scrub.dry_run, ..Scrubbed::default() };
    let mut tries = 0;
    loop {
        let step = block_on(store.scrub_step(scrub.clone()))?;
        done.rows += step.rows;
        done.changed += step.changed;
        done.found.add_all(&step.found);
        // What was taken out is counted; where it is matters while it is there.
        if done.dry_run {
            let room = FINDINGS_MAX.saturating_sub(done.findings.len());
            done.findings.extend(step.findings.into_iter().take(room));
        }
        done.receipt = step.receipt;
        bar.set_position(done.rows);
        bar.set_message(step.place.as_str());
        let Some(next) = step.next else { return Ok(done) };
        if (step.place, next.place) == (ScrubPlace::File, ScrubPlace::File) {
            tries += 1;
            if tries == FILE_TRIES {
                done.log_left = true;
                return Ok(done);
            }
            thread::sleep(FILE_PAUSE);
        }
        scrub.from = Some(next);
    }
}

fn text(done: &Scrubbed) -> String {
    if done.found.is_empty() {
        return format!("no secrets were found in {} rows", done.rows);
    }
    let row = |(rule, count): (&String, &u64)| vec![rule.clone(), count.to_string()];
    let rules = table(&["RULE", "SECRETS"], &done.found.0.iter().map(row).collect::<Vec<_>>());
    if done.dry_run {
        return format!(
            "{}\n{rules}{} of {} rows hold secrets; nothing was changed",
            places(&done.findings),
            done.changed,
            done.rows
        );
    }
    let receipt = done.receipt.as_ref().map_or(String::new(), |it| format!("; receipt {}", it.id));
    format!("{rules}{} of {} rows were changed{receipt}", done.changed, done.rows)
}

fn places(findings: &[ScrubFinding]) -> String {
    let row = |finding: &ScrubFinding| {
        let path = finding.path.as_deref().unwrap_or_default();
        let place = finding.place.to_string();
        vec![place, printable(&finding.id), printable(path), finding.rule.clone()]
    };
    table(&["WHAT", "ID", "WHERE", "RULE"], &findings.iter().map(row).collect::<Vec<_>>())
}
