//! Who asks: tokens on their way in.
//!
//! A token finds its row by id and is proved by the hash of its secret, compared in constant time.
//! What was proved is believed for [`VERIFIED_MAX`](crate::limits::VERIFIED_MAX), so that a request
//! costs no read; a change of tokens by this server ends that at once. Secrets are in no message.

pub(crate) mod cookie;
mod lasting;
mod own;
mod verified;

use std::sync::Arc;

use ah_model::{AgentId, Invalid, SessionId, Token, TokenHash, TokenId, TokenRole, TokenSecret};
use ah_store::StoreError;
use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use tokio::time::Instant;

use crate::access::{Access, Scope};
use crate::extract::{Pairs, path_text};
use crate::limits::VERIFIED_MAX;
use crate::options::AuthMode;
use crate::problem::Failure;
use crate::sse;
use crate::state::ServerState;
pub(crate) use lasting::Lasting;
pub(crate) use verified::{Verified, VerifiedTokens};

const SCHEME: &str = "Bearer";
/// The name of a token in a query.
pub(crate) const IN_QUERY: &str = "access_token";

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) enum Caller {
    /// Nobody was asked for a token.
    Open,
    /// The holder of this token.
    Token(Arc<Verified>),
}

impl Caller {
    /// The agent that it is; others may look at everything.
    pub(crate) fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Token(token) if token.role == TokenRole::Agent => token.of.as_ref(),
            Self::Token(_) | Self::Open => None,
        }
    }

    /// Who does what is asked. Where nobody is asked for a token, and for an admin, it is who the
    /// request says; others are who their token is for.
    pub(crate) fn user(&self, said: Option<String>) -> Option<String> {
        let Self::Token(verified) = self else {
            return said;
        };
        let token = &verified.token;
        let named = |name: &Option<String>| name.clone().filter(|name| !name.trim().is_empty());
        let own = || {
            let name = named(&token.agent).or_else(|| named(&token.name));
            name.unwrap_or_else(|| token.id.to_string())
        };
        match token.role {
            TokenRole::Admin => Some(said.unwrap_or_else(own)),
            _ => Some(own()),
        }
    }
}

/// Handlers that need it take it as an argument; every route has found it out already.
impl FromRequestParts<ServerState> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &ServerState) -> Result<Self, Failure> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Failure::internal("the route does not know who asks"))
    }
}

/// Where a token may be, besides in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carrier {
    /// In the query of a request for a stream, under this name.
    pub(crate) in_query: Option<&'static str>,
    /// In the cookie of a page of ours.
    pub(crate) in_cookie: bool,
}

/// Why somebody may not, and who that is if it is known.
pub(crate) struct Refused {
    pub(crate) failure: Failure,
    pub(crate) caller: Caller,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { failure, caller: Caller::Open }
    }
}

/// The caller of a request, if it may do what has `access`.
pub(crate) async fn admit(
    state: &ServerState,
    access: Access,
    carrier: Carrier,
    parts: &mut Parts,
) -> Result<Caller, Refused> {
    if access.is_open() || state.options.auth == AuthMode::Open {
        return Ok(Caller::Open);
    }
    let secret = given(carrier, parts).await?;
    let (verified, _) = verify(state, secret.id(), secret.hash()).await?;
    let caller = Caller::Token(Arc::clone(&verified));
    if access.allows(verified.token.role) {
        return Ok(caller);
    }
    match check_scope(state, access, &verified, parts).await {
        Ok(()) => Ok(caller),
        Err(failure) => Err(Refused { failure, caller }),
    }
}

async fn given(carrier: Carrier, parts: &mut Parts) -> Result<TokenSecret, Failure> {
    let text = match parts.headers.get(AUTHORIZATION) {
        Some(header) => {
            let token = header.to_str().ok().and_then(bearer).map(str::to_owned);
            Some(token.ok_or_else(|| unauthorized("the token must follow the word Bearer"))?)
        }
        None => given_otherwise(carrier, parts).await?,
    };
    let none = "no token is given: send `Authorization: Bearer TOKEN`";
    let text = text.ok_or_else(|| unauthorized(none))?;
    text.parse().map_err(|invalid: Invalid| unauthorized(&invalid.reason))
}

async fn given_otherwise(carrier: Carrier, parts: &mut Parts) -> Result<Option<String>, Failure> {
    if let Some(name) = carrier.in_query
        && sse::is_wanted(&parts.headers)
    {
        let pairs = Pairs::from_request_parts(parts, &()).await?;
        if let Some(token) = pairs.get(name) {
            return Ok(Some(token.to_owned()));
        }
    }
    if carrier.in_cookie { cookie::given(&parts.method, &parts.headers) } else { Ok(None) }
}

/// What follows the name of the scheme, which may be in any case.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim())
}

/// The token of a secret, if it is good.
pub(crate) async fn prove(state: &ServerState, secret: &TokenSecret) -> Result<Token, Failure> {
    let (verified, _) = verify(state, secret.id(), secret.hash()).await?;
    Ok(verified.token.clone())
}

/// The token that the hash of its secret proves, and until when that is believed.
async fn verify(
    state: &ServerState,
    id: &TokenId,
    hash: TokenHash,
) -> Result<(Arc<Verified>, Instant), Failure> {
    if let Some((known, until)) = state.auth.find(id, &hash) {
        return Ok((good(state, known)?, until));
    }
    let (generation, until) = (state.auth.generation(), Instant::now() + VERIFIED_MAX);
    let verified = good(state, Arc::new(look_up(state, id.clone(), hash).await?))?;
    state.auth.keep(&verified, generation, until);
    note_use(state, &verified.token);
    Ok((verified, until))
}

/// Refuses one that has ended, also while it is believed.
fn good(state: &ServerState, verified: Arc<Verified>) -> Result<Arc<Verified>, Failure> {
    if verified.token.is_valid(state.options.clock.now()) {
        return Ok(verified);
    }
    let ended = if verified.token.revoked_at.is_some() { "was revoked" } else { "has expired" };
    Err(unauthorized(&format!("the token {} {ended}", verified.token.id)))
}

/// Reads the token's row, and who its agent is.
async fn look_up(state: &ServerState, id: TokenId, hash: TokenHash) -> Result<Verified, Failure> {
    let found = state.call(move |store| async move {
        match store.credentials(id).await {
            Ok(credentials) => Ok(Some(credentials)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    });
    // Nobody learns from the answer which ids there are.
    let found = found.await?.filter(|credentials| credentials.hash == hash);
    let token = found.ok_or_else(|| unauthorized("no such token, or its secret is wrong"))?.token;
    let agent = match token.agent.clone() {
        Some(name) => {
            let agent = state.call(|store| async move { store.agent_of_name(name).await }).await?;
            agent.map(|agent| agent.id)
        }
        None => None,
    };
    Ok(Verified { token, hash, of: agent })
}

/// A use that cannot be noted is no reason to refuse it.
fn note_use(state: &ServerState, token: &Token) {
    let (state, id) = (state.clone(), token.id.clone());
    tokio::spawn(async move {
        let _ = state.call(|store| async move { store.token_used(id).await }).await;
    });
}

/// Lets an agent do what is about itself.
async fn check_scope(
    state: &ServerState,
    access: Access,
    verified: &Verified,
    parts: &mut Parts,
) -> Result<(), Failure> {
    let Token { role, .. } = verified.token;
    if role != TokenRole::Agent || access.scope() == Scope::Nothing {
        let needed = access.words();
        return Err(forbidden(format!("this needs the role {needed}, the token's is {role}")));
    }
    let name = verified.token.agent.as_deref().unwrap_or_default();
    let Some(agent) = &verified.of else {
        return Err(forbidden(format!("the token is for the agent {name}, which is not there")));
    };
    let own = match access.scope() {
        Scope::Nothing => false,
        // Handlers of these know what is whose.
        Scope::Anything | Scope::Party => true,
        Scope::Agent => path_text(parts, state).await? == agent.as_str(),
        Scope::AgentName => {
            let pairs = Pairs::from_request_parts(parts, &()).await?;
            pairs.get("name").is_some_and(|asked| asked.eq_ignore_ascii_case(name))
        }
        Scope::Session => {
            let id: SessionId = path_text(parts, state).await?.parse()?;
            let session = state.call(|store| async move { store.session(id).await }).await?;
            session.of_agent.is_some_and(|of| of.id == *agent)
        }
    };
    let refusal = || forbidden(format!("the token is for the agent {name} and what is its own"));
    own.then_some(()).ok_or_else(refusal)
}

pub(crate) fn unauthorized(detail: &str) -> Failure {
    Failure::new("unauthorized", "not signed in", 401, detail)
}

pub(crate) fn forbidden(detail: String) -> Failure {
    Failure::new("forbidden", "not allowed", 403, detail)
}
