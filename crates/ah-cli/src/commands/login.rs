//! `ah login`: keeps a token for a server.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

use ah_client::{RestOptions, RestStore};
use ah_model::TokenSecret;
use ah_store::StoreError;
use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::input::{Asking, read_text};
use crate::secret::{Kept, Trust, keep};

const TOKEN_BYTES_MAX: usize = 4 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server's address, or the name it has in the configuration
    server: String,
    /// Read the token from a file, or stdin for `-`; asked for when not given
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let server = app.server_url(&args.server)?;
    let text = match &args.token_file {
        Some(file) => read_text("token", file, TOKEN_BYTES_MAX)?,
        None => ask(app, &format!("Token for {server}"), "--token-file")?,
    };
    let token = text.trim();
    // A slip is found here, not by the first command that is refused.
    token.parse::<TokenSecret>()?;
    let options =
        RestOptions { token: Some(token.to_owned()), ..app.rest_options(&server, Trust::Own)? };
    match RestStore::connect(options) {
        // An agent's token may not ask what the server can do; that it is known is enough.
        Ok(_) | Err(StoreError::Forbidden { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let kept = keep(&app.environment, &server, token)?;
    let place = match &kept {
        Kept::Keychain => "the keychain".to_owned(),
        Kept::File(path, reason) => {
            app.output.talk(&format!(
                "no keychain can be used ({reason}): the token is kept in a file that only you may read"
            ));
            path.display().to_string()
        }
    };
    app.output.result(&json!({ "server": server, "keptIn": place }), |_| {
        format!("signed in to {server}; the token is kept in {place}")
    })
}

/// Asks for a secret without showing it.
pub(crate) fn ask(app: &App, what: &str, flag: &str) -> Result<String, CommandError> {
    let stdin = std::io::stdin();
    if app.asking() == Asking::Forbidden || !stdin.is_terminal() {
        return Err(CommandError::new(Exit::InputNeeded, "a token is needed")
            .hint(format!("give it with `{flag} FILE` (`-` for stdin); never as an argument")));
    }
    let _ = write!(std::io::stderr(), "{what}: ");
    let mut line = String::new();
    let _hidden = Hidden::new();
    stdin
        .lock()
        .read_line(&mut line)
        .map_err(|error| CommandError::new(Exit::Failed, format!("cannot read: {error}")))?;
    let _ = writeln!(std::io::stderr());
    Ok(line)
}

/// A terminal that does not show what is typed, until this is dropped.
#[cfg(unix)]
struct Hidden(Option<rustix::termios::Termios>);

#[cfg(unix)]
impl Hidden {
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let Ok(before) = tcgetattr(std::io::stdin()) else {
            return Self(None);
        };
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        let set = tcsetattr(std::io::stdin(), OptionalActions::Flush, &quiet);
        Self(set.is_ok().then_some(before))
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(before) = &self.0 {
            // Nothing else can be done about a terminal that is gone.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

#[cfg(not(unix))]
struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    fn new() -> Self {
        Self
    }
}
