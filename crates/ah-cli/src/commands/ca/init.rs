use ah_access::ca::Authority;

use super::directory;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whom it vouches for: the first part of every id, such as example.org
    #[arg(long, value_name = "DOMAIN")]
    trust_domain: String,
    /// How long it lasts
    #[arg(long, value_name = "N", default_value_t = 3650)]
    days: u32,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let domain = args.trust_domain.parse()?;
    let authority = Authority::init(&directory(app)?, domain, args.days, app.now())?;
    let about = authority.about()?;
    app.output.result(&about, |about| {
        format!("made the authority of {} in {}", about.trust_domain, about.directory.display())
    })?;
    app.output.talk(
        "next: `ah ca issue NAME --server` for an access point, `ah ca issue NODE` for an executor",
    );
    Ok(())
}
