//! What `ah login` keeps: the token in the keychain, or in a private file when there is none.
//!
//! A private list says which servers there is a token for and where, so that no keychain is asked
//! in vain: that would cost every command a conversation with another program.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{file, keychain};
use crate::environment::Environment;
use crate::error::{CommandError, Exit};

const FILE: &str = "logins.json";

/// Where a token is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Place {
    Keychain,
    File(String),
}

/// Where a token went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Into the keychain.
    Keychain,
    /// Into this file, because the keychain cannot be used, for this reason.
    File(PathBuf, String),
}

type Logins = BTreeMap<String, Place>;

fn path(environment: &Environment) -> Result<PathBuf, CommandError> {
    Ok(environment.state_dir()?.join(FILE))
}

fn load(environment: &Environment) -> Result<Logins, CommandError> {
    let path = path(environment)?;
    let Some(text) = file::read(&path)? else {
        return Ok(Logins::new());
    };
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        CommandError::new(Exit::Configuration, message)
            .hint(format!("`rm {}`, then `ah login SERVER` again", path.display()))
    })
}

fn save(environment: &Environment, logins: &Logins) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(logins)
        .map_err(|error| CommandError::new(Exit::Failed, error.to_string()))?;
    file::write(&path(environment)?, &text)
}

/// One form for all ways to write a server's address.
fn key(server: &str) -> String {
    server.trim().trim_end_matches('/').to_ascii_lowercase()
}

/// The token that is kept for `server`, if there is one.
pub(super) fn find(
    environment: &Environment,
    server: &str,
) -> Result<Option<String>, CommandError> {
    match load(environment)?.remove(&key(server)) {
        None => Ok(None),
        Some(Place::File(token)) => Ok(Some(token)),
        Some(Place::Keychain) => keychain::get(&key(server)).map_err(|reason| {
            let message = format!("the keychain that holds the token for {server}: {reason}");
            CommandError::new(Exit::NotAllowed, message)
                .hint("unlock it, or set AH_TOKEN, or `ah login` again")
        }),
    }
}

/// Keeps `token` for `server`.
pub(crate) fn keep(
    environment: &Environment,
    server: &str,
    token: &str,
) -> Result<Kept, CommandError> {
    let (key, mut logins) = (key(server), load(environment)?);
    let kept = match keychain::set(&key, token) {
        Ok(()) => {
            logins.insert(key, Place::Keychain);
            Kept::Keychain
        }
        Err(reason) => {
            logins.insert(key, Place::File(token.to_owned()));
            Kept::File(path(environment)?, reason)
        }
    };
    save(environment, &logins)?;
    Ok(kept)
}

/// Forgets the token for `server`; whether there was one.
pub(crate) fn forget(environment: &Environment, server: &str) -> Result<bool, CommandError> {
    let mut logins = load(environment)?;
    let Some(place) = logins.remove(&key(server)) else {
        return Ok(false);
    };
    if place == Place::Keychain {
        keychain::remove(&key(server)).map_err(|reason| {
            CommandError::new(Exit::NotAllowed, format!("the keychain refuses: {reason}"))
        })?;
    }
    save(environment, &logins)?;
    Ok(true)
}
