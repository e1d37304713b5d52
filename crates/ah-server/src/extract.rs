//! What a request holds, read in our own words: axum's plain-text refusals never get out.

mod body;
mod path;
mod query;

pub(crate) use body::{JsonBody, bounded_events, given};
pub(crate) use path::{PathId, PathNumber};
pub(crate) use query::Pairs;
