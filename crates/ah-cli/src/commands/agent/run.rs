use std::path::PathBuf;
use std::sync::Arc;

use ah_hive::resident::{Ending, Pace, Resident, ResidentOptions, Stop, Until};
use serde_json::json;

use super::Named;
use crate::app::App;
use crate::commands::residents::{self, span};
use crate::error::CommandError;
use crate::output::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// Handle the mail that waits, then end
    #[arg(long)]
    once: bool,
    /// End after so many turns
    #[arg(long, value_name = "N")]
    max_turns: Option<u64>,
    /// How long a message is held without a sign of life; 60s when absent
    #[arg(long, value_name = "SPAN")]
    lease: Option<String>,
    /// How long one turn may take; 1h when absent
    #[arg(long, value_name = "SPAN")]
    turn_timeout: Option<String>,
    /// The script of an agent of the kind `scripted`, instead of `config/script.json` in its home
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let options = options(app, args)?;
    let host = residents::host(app, Arc::from(app.store()?))?;
    let agent = args.named.living(app, &**host.store())?;
    let stop = Stop::default();
    residents::stops(&stop)?;
    app.output.talk(&format!("{} waits for mail; Ctrl-C ends it", agent.name));
    let ran = Resident::new(host, &agent, options, stop)?.run()?;
    let ending = match ran.ending {
        Ending::Stopped => "stopped",
        Ending::TurnsMade => "turns-made",
        Ending::NoMail => "no-mail",
        Ending::NotActive(lifecycle) => lifecycle.as_str(),
    };
    let answer = json!({
        "agent": agent.name,
        "succeeded": ran.succeeded,
        "failed": ran.failed,
        "ending": ending,
    });
    app.output.result(&answer, |_| {
        format!("{}, {} failed ({ending})", counted(ran.succeeded, "turn"), ran.failed)
    })
}

fn options(app: &App, args: &Args) -> Result<ResidentOptions, CommandError> {
    let usual = Pace::default();
    let pace = Pace {
        lease_ms: span(args.lease.as_deref(), usual.lease_ms)?,
        turn_ms: span(args.turn_timeout.as_deref(), usual.turn_ms)?,
        ..usual
    };
    ah_model::check_lease_ms(pace.lease_ms)?;
    let until = Until { turns: args.max_turns, no_mail: args.once };
    let script = args.script.as_deref().map(|file| app.environment.absolute(file)).transpose()?;
    let events = residents::events(app);
    Ok(ResidentOptions { script, events, ..residents::options(app, pace, until)? })
}
