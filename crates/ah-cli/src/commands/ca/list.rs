use ah_access::ca::Issued;
use ah_access::peer::PeerSide;
use ah_model::Timestamp;
use serde_json::json;

use super::{open, state};
use crate::app::App;
use crate::error::CommandError;
use crate::output::table;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

const HEADER: &[&str] = &["SERIAL", "NODE", "FOR", "STATE"];

pub(crate) fn run(app: &App) -> Result<(), CommandError> {
    let issued = open(app)?.issued()?;
    let now = app.now();
    app.output.result(&json!({ "items": issued, "nextCursor": null }), |_| {
        match issued.is_empty() {
            true => "nothing issued; `ah ca issue NODE` does".to_owned(),
            false => {
                table(HEADER, &issued.iter().map(|issued| row(issued, now)).collect::<Vec<_>>())
            }
        }
    })
}

pub(super) fn row(issued: &Issued, now: Timestamp) -> Vec<String> {
    let side = match issued.side {
        PeerSide::Executor => "executor",
        PeerSide::Server => "access point",
    };
    vec![issued.serial.clone(), issued.node.clone(), side.to_owned(), state(issued, now)]
}
