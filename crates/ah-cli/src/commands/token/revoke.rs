use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The token's id: the part between `ah_` and the last `_`, or from `ah token list`
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let token = block_on(app.store()?.revoke_token(args.id.parse()?))?;
    app.output.result(&token, |token| format!("revoked {}", token.id))
}
