//! Tokens of this user: where they come from, and where they are kept.
//!
//! The order: `AH_TOKEN`, then what `ah login` kept for the server, then, for a server of this
//! machine, the token that it left for its owner, at the address where it said it serves. No token is
//! ever an argument or in a message.

mod admin;
mod file;
mod keychain;
mod logins;

use ah_model::{NewToken, Timestamp, TokenId, TokenRole, TokenSecret};

use crate::environment::Environment;
use crate::error::{CommandError, Exit};

pub(crate) use self::admin::{ensure as ensure_admin_token, served_at, serves};
pub(crate) use self::logins::{Kept, forget, keep};

/// The variable that wins over everything that is kept.
pub(crate) const AH_TOKEN: &str = "AH_TOKEN";

/// Who chose the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// This person.
    Own,
    /// A file of the project, which may come from anybody.
    Project,
}

/// The token to show to `server`, if there is one. To a server that only a project names goes
/// nothing but what was kept for that very address.
pub(crate) fn find(
    environment: &Environment,
    server: &str,
    trust: Trust,
) -> Result<Option<String>, CommandError> {
    let given = environment.var(AH_TOKEN).filter(|_| trust == Trust::Own);
    if let Some(token) = given {
        return Ok(Some(token.trim().to_owned()));
    }
    if let Some(token) = logins::find(environment, server)? {
        return Ok(Some(token));
    }
    match trust {
        Trust::Own => admin::find(environment, server),
        Trust::Project => Ok(None),
    }
}

/// What the key of a model's server is kept under: never the token of a harbor at that address.
pub(crate) fn model_server(base_url: &str) -> String {
    format!("openai+{}", base_url.trim())
}

/// The key for the model's server at `base_url`: of the variable, else what was kept for it.
pub(crate) fn find_model_key(
    environment: &Environment,
    variable: &str,
    base_url: &str,
) -> Result<Option<String>, CommandError> {
    if let Some(key) = environment.var(variable) {
        return Ok(Some(key.trim().to_owned()));
    }
    // Without a home nothing was ever kept.
    if environment.state_dir().is_err() {
        return Ok(None);
    }
    logins::find(environment, &model_server(base_url)).map_err(|error| CommandError {
        hints: vec![format!("unlock it, or set {variable}, or `ah bundle key` again")],
        ..error
    })
}

/// A new token and what is kept of it.
pub(crate) fn fresh(
    role: TokenRole,
    now: Timestamp,
) -> Result<(TokenSecret, NewToken), CommandError> {
    let mut random = [0; 42];
    getrandom::fill(&mut random)
        .map_err(|error| CommandError::new(Exit::Failed, format!("no random bytes: {error}")))?;
    let (secret, id) = random.split_at(32);
    let ms = u64::try_from(now.unix_ms()).unwrap_or(0);
    let id = TokenId::mint(ms, id.try_into().unwrap_or_default());
    let secret = TokenSecret::new(id.clone(), secret.try_into().unwrap_or_default());
    let new = NewToken { id, hash: secret.hash(), role, agent: None, name: None, expires_at: None };
    Ok((secret, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_tokens_differ_and_are_told_by_their_hash() {
        let make = || fresh(TokenRole::Viewer, Timestamp::EPOCH).unwrap();
        let ((one, kept), (other, _)) = (make(), make());
        assert_ne!(one.reveal(), other.reveal());
        let read: TokenSecret = one.reveal().parse().unwrap();
        assert_eq!((read.hash(), read.id()), (kept.hash, &kept.id));
    }
}
