use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use ah_server::{ServerState, serve_until_signal};
use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Exit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen here; port 0 takes any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4747")]
    bind: SocketAddr,
    /// Ask nobody for a token; only for programs of this machine
    #[arg(long)]
    no_auth: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    check(args)?;
    let store = app.served_store()?;
    let listener = TcpListener::bind(args.bind).map_err(|error| {
        CommandError::new(Exit::Failed, format!("cannot listen on {}: {error}", args.bind))
            .hint("another program may have it: `--bind 127.0.0.1:0` takes a free port")
    })?;
    let address = listener.local_addr().map_err(broken)?;
    let url = format!("http://{address}");
    app.output.result(&json!({ "url": url }), |_| {
        format!("serving {url}\nuse it with `ah --remote-server {url} …`; Ctrl-C ends it")
    })?;
    serve_until_signal(listener, ServerState::new(Arc::new(store))).map_err(broken)
}

/// Until there are tokens, nobody but this machine may be served, and that must be said.
fn check(args: &Args) -> Result<(), CommandError> {
    if !args.no_auth {
        let message = "this version has no tokens yet: it can serve programs of this machine only";
        return Err(CommandError::new(Exit::NotAllowed, message)
            .hint("say that this is meant: `ah agent access-point --no-auth`"));
    }
    if !args.bind.ip().is_loopback() {
        let message = format!(
            "{} can be reached by others, and nobody would be asked for a token",
            args.bind
        );
        return Err(CommandError::new(Exit::NotAllowed, message)
            .hint("listen on this machine only: `--bind 127.0.0.1:4747`"));
    }
    Ok(())
}

fn broken(error: std::io::Error) -> CommandError {
    CommandError::new(Exit::Failed, format!("the server broke off: {error}"))
}
