//! Keys of requests that may be sent again.

use ah_model::{RawJson, RequestKey};
use axum::http::HeaderMap;

use super::detail::Detail;
use crate::auth::Caller;
use crate::idempotency::{given, has_key, stored_name};

/// The key of a request that asks `what` with `body`, if its client gave one. It is read as
/// everywhere else, so what is no key is refused.
pub(super) fn key(
    caller: &Caller,
    headers: &HeaderMap,
    what: &str,
    body: &RawJson,
) -> Result<Option<RequestKey>, Detail> {
    if !has_key(headers) {
        return Ok(None);
    }
    let key = format!("coordinator:{}", given(headers)?);
    let caller = match caller {
        Caller::Open => "-",
        Caller::Token(token) => token.id.as_str(),
    };
    let parts = [caller, &key, what, body.as_str()].map(str::as_bytes);
    Ok(Some(RequestKey::new(stored_name(caller, &key), parts)?))
}
