//! The first token of a server: its owner finds it in a file and need not make one.
//!
//! A second file says at which addresses servers of this user have served with which token, so that
//! it is shown to none but those.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ah_model::{TokenRole, TokenSecret};
use ah_store::{Store, StoreError, block_on};

use super::{file, fresh};
use crate::app::App;
use crate::environment::Environment;
use crate::error::{CommandError, Exit};

const FILE: &str = "admin-token";
const SERVED: &str = "served.json";

/// Tokens by the address they are for.
type Served = BTreeMap<String, String>;

fn path(environment: &Environment, name: &str) -> Result<PathBuf, CommandError> {
    Ok(environment.state_dir()?.join(name))
}

/// One form for the ways to write an address of this machine.
fn key(server: &str) -> String {
    let server = server.trim().trim_end_matches('/').to_ascii_lowercase();
    let server = if server.contains("://") { server } else { format!("http://{server}") };
    // Who listens everywhere is found at this machine's own address too.
    for own in ["://localhost", "://0.0.0.0", "://[::]", "://[::1]"] {
        if server.contains(own) {
            return server.replacen(own, "://127.0.0.1", 1);
        }
    }
    server
}

fn served(environment: &Environment) -> Result<Served, CommandError> {
    let text = file::read(&path(environment, SERVED)?)?;
    // One that cannot be read is made again by the next server.
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// The token that a server of this user left for `server`, if one did.
pub(super) fn find(
    environment: &Environment,
    server: &str,
) -> Result<Option<String>, CommandError> {
    Ok(served(environment)?.remove(&key(server)))
}

/// The addresses that servers of this user have served at.
pub(crate) fn served_at(environment: &Environment) -> Result<Vec<String>, CommandError> {
    Ok(served(environment)?.into_keys().collect())
}

/// Makes sure that the file holds a token that `store` knows; the token, and where it is.
pub(crate) fn ensure(app: &App, store: &dyn Store) -> Result<(String, PathBuf), CommandError> {
    let path = path(&app.environment, FILE)?;
    let in_file = file::read(&path)?.map(|text| text.trim().to_owned());
    for token in in_file.into_iter().chain(served(&app.environment)?.into_values()) {
        if is_known(app, store, &token)? {
            return Ok((token, path));
        }
    }
    let (secret, mut new) = fresh(TokenRole::Admin, app.now())?;
    new.name = Some("first token, in the state directory".to_owned());
    // The file first: a token that nobody holds would stay for ever, a file is just made again.
    file::write(&path, &format!("{}\n", secret.reveal()))?;
    block_on(store.create_token(new))?;
    Ok((secret.reveal(), path))
}

/// Notes that `token` is for the server at `url`.
pub(crate) fn serves(app: &App, url: &str, token: &str) -> Result<(), CommandError> {
    let mut all = served(&app.environment)?;
    all.insert(key(url), token.to_owned());
    let text = serde_json::to_string_pretty(&all)
        .map_err(|error| CommandError::new(Exit::Failed, error.to_string()))?;
    file::write(&path(&app.environment, SERVED)?, &text)
}

fn is_known(app: &App, store: &dyn Store, token: &str) -> Result<bool, CommandError> {
    let Ok(secret) = token.parse::<TokenSecret>() else {
        return Ok(false);
    };
    match block_on(store.credentials(secret.id().clone())) {
        Ok(known) => Ok(known.hash == secret.hash() && known.token.is_valid(app.now())),
        Err(StoreError::NotFound { .. }) => Ok(false),
        Err(other) => Err(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_known_however_it_is_written() {
        for same in [
            "http://127.0.0.1:4747",
            "http://localhost:4747/",
            "127.0.0.1:4747",
            "http://0.0.0.0:4747",
            "http://[::1]:4747",
        ] {
            assert_eq!(key(same), "http://127.0.0.1:4747");
        }
        assert_ne!(key("http://127.0.0.1:4748"), key("http://127.0.0.1:4747"));
        assert_ne!(key("https://127.0.0.1:4747"), key("http://127.0.0.1:4747"));
    }
}
