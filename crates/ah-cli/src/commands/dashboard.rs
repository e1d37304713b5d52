//! `ah dashboard`: a link that logs a browser in, once.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use ah_model::TokenRole;
use ah_store::{Store, block_on};
use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::secret;

/// How long a link is good for.
const LINK_MS: u64 = 10 * 60 * 1000;
/// How long a server on this machine has to take a connection.
const ANSWER_MAX: Duration = Duration::from_millis(300);

/// Whom a link is for, when nobody says.
pub(crate) const OPERATOR: &str = "operator";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What may be done there: admin, operator or viewer
    #[arg(long, value_name = "ROLE", default_value = "admin")]
    role: String,
    /// Whom it is for: decisions made there carry this name
    #[arg(long, value_name = "NAME", default_value = OPERATOR)]
    name: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let role = match args.role.parse()? {
        role @ (TokenRole::Admin | TokenRole::Operator | TokenRole::Viewer) => role,
        other => {
            let message = format!("{other} is not for people");
            return Err(
                CommandError::new(Exit::Usage, message).hint("one of admin, operator, viewer")
            );
        }
    };
    let server = match app.config()?.remote_server()? {
        Some(server) => server.to_owned(),
        None => served_here(app)?,
    };
    let link = link(app, &*app.store()?, &server, (role, &args.name))?;
    app.output.result(&json!({ "url": link }), |_| link.clone())?;
    app.output.talk("good once, for ten minutes");
    Ok(())
}

/// A link to the pages of a server that logs in whoever opens it first.
pub(crate) fn link(
    app: &App,
    store: &dyn Store,
    server: &str,
    (role, name): (TokenRole, &str),
) -> Result<String, CommandError> {
    let now = app.now();
    let (secret, mut new) = secret::fresh(role, now)?;
    new.name = Some(name.to_owned());
    new.expires_at = Some(now.plus_ms(LINK_MS));
    block_on(store.create_token(new))?;
    Ok(format!("{}/login#{}", server.trim_end_matches('/'), secret.reveal()))
}

/// The server of this user that is up.
fn served_here(app: &App) -> Result<String, CommandError> {
    let servers = secret::served_at(&app.environment)?;
    servers.into_iter().find(|server| is_up(server)).ok_or_else(|| {
        CommandError::new(Exit::Unreachable, "no harbor of yours is up on this machine")
            .hint("start one: `ah up`")
            .hint("or name one: `ah dashboard --remote-server URL`")
    })
}

fn is_up(server: &str) -> bool {
    let address = server.split("://").last().unwrap_or(server);
    let mut addresses = address.to_socket_addrs().into_iter().flatten();
    addresses.any(|address| TcpStream::connect_timeout(&address, ANSWER_MAX).is_ok())
}
