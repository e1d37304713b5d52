//! Logging in: a link that works once, or a token, becomes a cookie.
//!
//! The link holds a token that ends soon. Whoever comes with it gets another one, of the same role, in a
//! cookie that no script can read and that no other site's page sends; the link's own ends with that. The
//! id of the second follows from the first, so that the store refuses to make it twice: a link that was
//! used lets nobody else in, whichever access point is asked.

use ah_model::{NewToken, Token, TokenId, TokenSecret};
use ah_store::{IdSource, SystemIds};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{Answer, no_content};
use crate::auth::{self, Caller, cookie};
use crate::extract::JsonBody;
use crate::limits::{LOGIN_BYTES_MAX, LOGIN_MAX};
use crate::problem::Failure;
use crate::routing::{Routes, doc};
use crate::state::ServerState;

/// Ends the id of a token that a link was changed for.
const SUFFIX: &str = "-page";

pub(crate) fn routes() -> Routes {
    let enter = doc("Logs a browser in: a link's code or a token becomes a cookie").fails([401]);
    let leave = doc("Logs a browser out, and ends the token that its link gave it");
    Routes::new().post("/login", Access::OPEN, enter, login).post(
        "/logout",
        Access::LOOK,
        leave,
        logout,
    )
}

/// How somebody proves who it is.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Proof {
    /// What stands in a link; it is good once.
    Code(String),
    /// A token, which stays as good as it is.
    Token(String),
}

async fn login(
    State(state): State<ServerState>,
    headers: HeaderMap,
    JsonBody(proof, _share): JsonBody<Proof, LOGIN_BYTES_MAX>,
) -> Answer {
    cookie::check_page(&headers)?;
    let secret = match proof {
        Proof::Code(code) => exchange(&state, &read(&code)?).await?,
        Proof::Token(token) => {
            let secret = read(&token)?;
            auth::prove(&state, &secret).await?;
            secret
        }
    };
    with_cookie(no_content()?, &state, &headers, &secret.reveal())
}

async fn logout(State(state): State<ServerState>, caller: Caller, headers: HeaderMap) -> Answer {
    if let Caller::Token(token) = caller
        && token.id.as_str().ends_with(SUFFIX)
    {
        let id = token.id.clone();
        state.call(|store| async move { store.revoke_token(id).await }).await?;
        state.auth.forget();
    }
    with_cookie(no_content()?, &state, &headers, "")
}

fn read(secret: &str) -> Result<TokenSecret, Failure> {
    secret
        .trim()
        .parse()
        .map_err(|_| auth::unauthorized("this is neither a link's code nor a token"))
}

/// Another token in place of a link's, which ends.
async fn exchange(state: &ServerState, link: &TokenSecret) -> Result<TokenSecret, Failure> {
    let token = auth::prove(state, link).await?;
    let secret = page_secret(&token)?;
    let ends =
        state.options.clock.now().plus_ms(LOGIN_MAX.as_millis().try_into().unwrap_or(u64::MAX));
    let new = NewToken {
        id: secret.id().clone(),
        hash: secret.hash(),
        role: token.role,
        agent: token.agent.clone(),
        name: token.name.clone(),
        expires_at: Some(ends),
    };
    let made = state.call(|store| async move { store.create_token(new).await }).await;
    if made.as_ref().is_err_and(|failure| failure.problem().status == 409) {
        return Err(auth::unauthorized("this link was used before; `ah dashboard` gives another"));
    }
    made?;
    state.call(|store| async move { store.revoke_token(token.id).await }).await?;
    state.auth.forget();
    Ok(secret)
}

fn page_secret(link: &Token) -> Result<TokenSecret, Failure> {
    let id: TokenId = format!("{}{SUFFIX}", link.id).parse()?;
    let mut random = [0; 32];
    for part in random.chunks_mut(8) {
        let bytes = SystemIds.random()?;
        part.copy_from_slice(bytes.get(..part.len()).unwrap_or_default());
    }
    Ok(TokenSecret::new(id, random))
}

fn with_cookie(
    mut answer: Response,
    state: &ServerState,
    headers: &HeaderMap,
    value: &str,
) -> Answer {
    let cookie = cookie::text(headers, value, state.options.tls.is_some());
    let cookie =
        HeaderValue::from_str(&cookie).map_err(|error| Failure::internal(error.to_string()))?;
    answer.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(answer)
}
