use ah_store::block_on;
use serde_json::json;

use crate::app::App;
use crate::error::CommandError;
use crate::secret;
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What it allows: admin, operator, viewer, executor or agent
    #[arg(long, value_name = "ROLE")]
    role: String,
    /// The agent it is for, with `--role agent`
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// When it ends: a span like 12h or 30d, or an RFC 3339 time; never when not given
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// What to call it in lists
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let now = app.now();
    let expires_at =
        args.expires.as_deref().map(|text| when::parse_ahead(text, now)).transpose()?;
    let (secret, mut new) = secret::fresh(args.role.parse()?, now)?;
    (new.agent, new.name) = (args.agent.clone(), args.name.clone());
    new.expires_at = expires_at;
    new.check()?;
    let store = app.store()?;
    if let Some(agent) = &new.agent {
        new.agent = Some(app.agent(&*store, agent)?.name);
    }
    let token = block_on(store.create_token(new))?;
    let shown = secret.reveal();
    app.output.result(&json!({ "token": token, "secret": shown }), |_| shown.clone())?;
    app.output
        .talk("shown this once: only its hash is kept. Use it as AH_TOKEN, or `ah login SERVER`");
    Ok(())
}
