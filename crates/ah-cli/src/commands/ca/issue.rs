use std::path::{Path, PathBuf};

use ah_access::ca::Issue;
use ah_access::peer::PeerSide;
use ah_store::SystemIds;
use serde_json::json;

use super::open;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The node it is for: letters, digits, `.`, `-` and `_`
    node: String,
    /// For an access point, rather than for an executor
    #[arg(long)]
    server: bool,
    /// How long it lasts, but no longer than the authority
    #[arg(long, value_name = "N", default_value_t = 90)]
    days: u32,
    /// Where its files go; a directory named after the node when not given
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let authority = open(app)?;
    let out = args.out.as_deref().unwrap_or(Path::new(&args.node));
    let out = app.environment.absolute(out)?;
    let side = if args.server { PeerSide::Server } else { PeerSide::Executor };
    let issue = Issue { node: &args.node, side, days: args.days, out: &out };
    let issued = authority.issue(&issue, app.now(), &SystemIds)?;
    let files = ["chain.pem", "key.pem", "roots.pem"].map(|name| out.join(name));
    let [chain, key, roots] = &files;
    let answer = json!({
        "certificate": issued,
        "files": { "chain": chain, "key": key, "roots": roots },
    });
    app.output.result(&answer, |_| {
        let (id, until, out) = (&issued.id, issued.not_after, out.display());
        format!("issued {id} with the serial {}, until {until}, into {out}", issued.serial)
    })
}
