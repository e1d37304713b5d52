use serde_json::json;

use super::{open, state};
use crate::app::App;
use crate::error::CommandError;
use crate::output::fields;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A serial, or a node: what was issued for it; the authority itself when not given
    #[arg(value_name = "SERIAL|NODE")]
    which: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let authority = open(app)?;
    let now = app.now();
    let Some(which) = &args.which else {
        let about = authority.about()?;
        return app.output.result(&about, |about| {
            fields(&[
                ("trust domain", about.trust_domain.clone()),
                ("directory", about.directory.display().to_string()),
                ("roots", about.roots.display().to_string()),
                ("revocations", about.crl.display().to_string()),
                ("made", about.created_at.to_string()),
                ("ends", about.not_after.to_string()),
                ("public key", format!("sha256 {}", about.spki_sha256)),
            ])
        });
    };
    let found = authority.find(which)?;
    app.output.result(&json!({ "items": found, "nextCursor": null }), |_| {
        let shown = found.iter().map(|issued| {
            fields(&[
                ("id", issued.id.clone()),
                ("serial", issued.serial.clone()),
                ("node", issued.node.clone()),
                ("state", state(issued, now)),
                ("issued", issued.issued_at.to_string()),
                ("begins", issued.not_before.to_string()),
                ("ends", issued.not_after.to_string()),
                ("certificate", format!("sha256 {}", issued.sha256)),
            ])
        });
        shown.collect::<Vec<_>>().join("\n")
    })
}
