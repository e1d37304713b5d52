//! Requests that may be sent again: the same key and request is answered as the first time.
//!
//! A key makes the whole request one that the store does once, whatever its handler calls: the
//! handler is given a store of that key, so no handler can forget it.

use ah_model::limits::REQUEST_KEY_BYTES_MAX;
use ah_model::{RequestKey, to_hex};
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName};
use sha2::{Digest, Sha256};

use crate::auth::Caller;
use crate::extract::{Share, read_whole};
use crate::problem::Failure;
use crate::state::ServerState;

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
/// What a refusal calls it.
pub(crate) const FIELD: &str = "idempotency key";

/// A request to hand on, the state it is handled with, and its share of the memory for bodies,
/// which is kept until it is handled.
pub(crate) struct Keyed {
    pub(crate) request: Request,
    pub(crate) state: ServerState,
    pub(crate) share: Option<Share>,
}

/// Whether the client gave a key, good or not.
pub(crate) fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key(HEADER)
}

/// Gives the request its key. The body is read for that, up to `bytes_max`.
pub(crate) async fn keyed(
    state: ServerState,
    caller: &Caller,
    request: Request,
    bytes_max: usize,
) -> Result<Keyed, Failure> {
    let key = given(request.headers())?;
    let (parts, mut body) = request.into_parts();
    let (bytes, share) = read_whole(&mut body, bytes_max, &state).await?;
    let caller = match caller {
        Caller::Open => "-",
        Caller::Token(token) => token.id.as_str(),
    };
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    // Ids may hold a colon, so what the name is made of is also told apart by the fingerprint.
    let told = [caller, &key, parts.method.as_str(), target].map(str::as_bytes);
    let told = told.into_iter().chain([bytes.as_slice()]);
    let key = RequestKey::new(stored_name(caller, &key), told)?;
    let request = Request::from_parts(parts, Body::from(bytes));
    Ok(Keyed { request, state: state.keyed(key), share: Some(share) })
}

/// What the store knows the key by: with its caller, and cut to a digest where that is too long.
pub(crate) fn stored_name(caller: &str, key: &str) -> String {
    let whole = format!("{caller}:{key}");
    match whole.len() > REQUEST_KEY_BYTES_MAX {
        true => format!("{caller}:{}", to_hex(&Sha256::digest(key.as_bytes()))),
        false => whole,
    }
}

/// The key. What is none is refused, or the client would believe in it.
pub(crate) fn given(headers: &HeaderMap) -> Result<String, Failure> {
    let mut values = headers.get_all(HEADER).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(Failure::invalid(FIELD, "it is given more than once"));
    };
    if !(1..=REQUEST_KEY_BYTES_MAX).contains(&value.len()) {
        let reason = format!("{} bytes, 1 to {REQUEST_KEY_BYTES_MAX} are allowed", value.len());
        return Err(Failure::invalid(FIELD, reason));
    }
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) if !text.chars().any(char::is_control) => Ok(text.to_owned()),
        _ => Err(Failure::invalid(FIELD, "it is not UTF-8, or has control characters")),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(values: &[&[u8]]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, HeaderValue::from_bytes(value).unwrap());
        }
        given(&headers).ok()
    }

    #[test]
    fn the_longest_key_of_the_longest_caller_has_a_name_that_can_be_stored() {
        let (caller, key) = ("t".repeat(128), "x".repeat(512));
        let name = stored_name(&caller, &key);
        assert!(name.len() <= REQUEST_KEY_BYTES_MAX && name.starts_with(&caller));
        assert_ne!(name, stored_name(&caller, &format!("{}y", &key[1..])));
        assert_eq!(stored_name("t", "x"), "t:x");
    }

    #[test]
    fn a_key_is_one_short_text_without_control_characters() {
        assert_eq!(read(&[b"a b"]), Some("a b".to_owned()));
        assert_eq!(read(&["ü".as_bytes()]), Some("ü".to_owned()));
        let longest = "x".repeat(512);
        assert_eq!(read(&[longest.as_bytes()]), Some(longest));
        let long = "x".repeat(513);
        for bad in [&[b"".as_slice()][..], &[b"a", b"a"], &[b"a\tb"], &[b"\xff"]] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
        assert_eq!(read(&[long.as_bytes()]), None);
    }
}
