//! Bodies: read as bytes within a bound, then as JSON from those bytes, because raw payloads must
//! come through byte for byte.
//!
//! Memory is bounded for all bodies together. A sender that is refused is read on for a moment, so
//! that it gets to see why; one that is slow is given up.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use ah_model::limits::APPEND_EVENTS_MAX;
use ah_model::{Invalid, NewEvent, RawJson};
use ah_store::StoreError;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::limits::{
    BODY_BYTES_MAX, BODY_MAX, BODY_PART_MAX, BODY_UNIT_BYTES, DRAIN_BYTES_MAX, DRAIN_MAX,
    RETRY_AFTER, SMALL_BODY_BYTES_MAX,
};
use crate::problem::Failure;
use crate::state::ServerState;

/// A body of at most `MAX` bytes, read as `T`, and its share of the memory for bodies: a handler
/// keeps that until it is done with the value.
pub(crate) struct JsonBody<T, const MAX: usize = BODY_BYTES_MAX>(pub(crate) T, pub(crate) Share);

impl<T, const MAX: usize> FromRequest<ServerState> for JsonBody<T, MAX>
where
    T: DeserializeOwned + Send + 'static,
{
    type Rejection = Failure;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, Failure> {
        let typed = check_type(request.headers());
        let mut body = request.into_body();
        if let Err(failure) = typed {
            throw_away(&mut body).await;
            return Err(failure);
        }
        let (bytes, share) = read_whole(&mut body, MAX, state).await?;
        Ok(Self(parse_aside(bytes).await?, share))
    }
}

/// Refuses a body that says it is something else; one that says nothing is read.
fn check_type(headers: &HeaderMap) -> Result<(), Failure> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or_default();
    let name = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if name == "application/json" || (name.starts_with("application/") && name.ends_with("+json")) {
        return Ok(());
    }
    let detail = format!("{text:?} is not read here, application/json is");
    Err(Failure::new("wrong-media-type", "the body is not JSON by its type", 415, detail))
}

/// The bytes of a body of at most `max`, with their share of the memory for bodies.
pub(crate) async fn read_whole(
    body: &mut Body,
    max: usize,
    state: &ServerState,
) -> Result<(Vec<u8>, Share), Failure> {
    let mut share = Share { units: None, bodies: Arc::clone(&state.bodies) };
    match timeout(BODY_MAX, read(body, max, &mut share)).await {
        Ok(Ok(bytes)) => Ok((bytes, share)),
        Ok(Err(failure)) => {
            throw_away(body).await;
            Err(failure)
        }
        Err(_) => Err(too_slow()),
    }
}

/// A part of the memory for bodies, given back when dropped.
pub(crate) struct Share {
    units: Option<OwnedSemaphorePermit>,
    bodies: Arc<Semaphore>,
}

impl Share {
    /// Takes what a body of `bytes` needs beyond what it has.
    fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        let have = self.units.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = bytes.div_ceil(BODY_UNIT_BYTES).saturating_sub(have);
        if more == 0 {
            return Ok(());
        }
        let units = u32::try_from(more).unwrap_or(u32::MAX);
        let Ok(permit) = Arc::clone(&self.bodies).try_acquire_many_owned(units) else {
            return Err(StoreError::Busy { retry_after: RETRY_AFTER }.into());
        };
        match &mut self.units {
            Some(units) => units.merge(permit),
            None => self.units = Some(permit),
        }
        Ok(())
    }
}

async fn read(body: &mut Body, max: usize, share: &mut Share) -> Result<Vec<u8>, Failure> {
    let length = body.size_hint().exact();
    if length.is_some_and(|length| length > max as u64) {
        return Err(too_large(max));
    }
    let mut bytes = Vec::new();
    while let Some(part) = next_part(body).await? {
        let whole = bytes.len() + part.len();
        if whole > max {
            return Err(too_large(max));
        }
        share.grow(whole)?;
        bytes.extend_from_slice(&part);
    }
    Ok(bytes)
}

/// The next bytes, perhaps none; nothing at the end.
async fn next_part(body: &mut Body) -> Result<Option<Bytes>, Failure> {
    let part = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx));
    match timeout(BODY_PART_MAX, part).await {
        Err(_) => Err(too_slow()),
        Ok(None) => Ok(None),
        Ok(Some(Ok(frame))) => Ok(Some(frame.into_data().unwrap_or_default())),
        Ok(Some(Err(error))) => {
            Err(Failure::new("bad-body", "the body broke off", 400, error.to_string()))
        }
    }
}

/// Reads on for a moment what nobody wants, so that the sender gets to see the answer and the
/// connection lives on.
pub(crate) async fn throw_away(body: &mut Body) {
    if !body.is_end_stream() {
        let _ = timeout(DRAIN_MAX, drain(body)).await;
    }
}

async fn drain(body: &mut Body) {
    let mut drained = 0;
    while let Ok(Some(part)) = next_part(body).await {
        drained += part.len();
        if drained > DRAIN_BYTES_MAX {
            return;
        }
    }
}

fn too_large(max: usize) -> Failure {
    let detail = format!("at most {max} bytes are allowed here");
    Failure::new("too-large", "the body is too large", 413, detail)
}

fn too_slow() -> Failure {
    Failure::new("too-slow", "the body did not come in time", 408, "send it faster")
}

/// Reads a large body on a thread that other requests do not need.
async fn parse_aside<T: DeserializeOwned + Send + 'static>(bytes: Vec<u8>) -> Result<T, Failure> {
    if bytes.len() <= SMALL_BODY_BYTES_MAX {
        return parse(&bytes);
    }
    let read = tokio::task::spawn_blocking(move || parse(&bytes)).await;
    read.map_err(|_| Failure::internal("reading the body broke off"))?
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let error = match serde_json::from_slice(bytes) {
        // Our bodies are objects, but serde would take the fields of one as a list, too.
        Ok(_) if !bytes.trim_ascii_start().starts_with(b"{") => {
            return Err(Failure::invalid("body", "must be a JSON object"));
        }
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // Serde calls some wrong types bad syntax, so what is JSON is found out by reading it again.
    match serde_json::from_slice::<IgnoredAny>(bytes) {
        Ok(_) => Err(misfit(&error.to_string()).into()),
        Err(error) => Err(Failure::new("bad-json", "the body is not JSON", 400, error.to_string())),
    }
}

/// What serde says of JSON that is not what was asked for, with the field if it names one.
fn misfit(text: &str) -> Invalid {
    for words in ["missing field `", "unknown field `", "duplicate field `"] {
        let name = text.strip_prefix(words).and_then(|rest| rest.split_once('`'));
        if let Some((name, _)) = name {
            return Invalid::new(name.to_owned(), text);
        }
    }
    // A rule of the model says `invalid FIELD: REASON`; so does serde, of things it calls these.
    let serdes = ["type", "value", "length"];
    match text.strip_prefix("invalid ").and_then(|rest| rest.split_once(": ")) {
        Some((field, reason)) if !serdes.contains(&field) => {
            // The place in the body says nothing that the rule does not.
            let reason = reason.rsplit_once(" at line ").map_or(reason, |(reason, _)| reason);
            Invalid::new(field.to_owned(), reason)
        }
        _ => Invalid::new("body", text),
    }
}

/// Reads a part that may be absent; `null` is a value of its own.
pub(crate) fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// Reads events, but never more than one append may have: of the others only their number.
pub(crate) fn bounded_events<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<NewEvent>, D::Error> {
    deserializer.deserialize_seq(Bounded(PhantomData))
}

struct Bounded(PhantomData<NewEvent>);

impl<'de> Visitor<'de> for Bounded {
    type Value = Vec<NewEvent>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<NewEvent>, A::Error> {
        let mut events = Vec::new();
        while events.len() < APPEND_EVENTS_MAX {
            match items.next_element()? {
                Some(event) => events.push(event),
                None => return Ok(events),
            }
        }
        let mut count = events.len();
        while items.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        if count > APPEND_EVENTS_MAX {
            let reason = format!("{count}, 1 to {APPEND_EVENTS_MAX} are allowed");
            return Err(A::Error::custom(Invalid::new("number of events", reason)));
        }
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use ah_model::{NewSession, StatusChange};

    use super::*;

    fn said<T: DeserializeOwned>(json: &str) -> String {
        let failure = parse::<T>(json.as_bytes()).map(drop).unwrap_err();
        let problem = failure.problem();
        let field = problem.field.clone().unwrap_or_default();
        format!("{} {} {field}", problem.status, problem.code)
    }

    #[test]
    fn a_body_is_json_unless_it_says_otherwise() {
        let refused = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, text.parse().unwrap());
            check_type(&headers).is_err()
        };
        assert!(check_type(&HeaderMap::new()).is_ok());
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/x+json"] {
            assert!(!refused(json), "{json}");
        }
        for other in ["text/plain", "application/x-www-form-urlencoded", "", "text/x+json", "é"] {
            assert!(refused(other), "{other}");
        }
    }

    #[test]
    fn bodies_that_do_not_fit_name_the_field_where_it_is_known() {
        assert_eq!(said::<StatusChange>("{\"to\": "), "400 bad-json ");
        assert_eq!(said::<StatusChange>("{} {}"), "400 bad-json ");
        assert_eq!(said::<StatusChange>("{}"), "422 invalid to");
        assert_eq!(said::<StatusChange>("[\"idle\"]"), "422 invalid body");
        assert_eq!(said::<StatusChange>("{\"to\":\"idle\",\"x\":1}"), "422 invalid x");
        assert_eq!(said::<StatusChange>("[1]"), "422 invalid body");
        assert_eq!(said::<StatusChange>("{\"to\":7}"), "422 invalid body");
        assert_eq!(said::<NewSession>("{\"id\":\"a/b\"}"), "422 invalid session id");
    }
}
