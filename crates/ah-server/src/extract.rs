//! What a request holds, read in our own words: axum's plain-text refusals never get out.

mod body;
mod path;
mod query;
mod spoken;

pub(crate) use body::{JsonBody, Share, bounded_events, given, read_whole, throw_away};
pub(crate) use path::{PathId, PathNumber, path_text};
pub(crate) use query::Pairs;
pub(crate) use spoken::{Speech, Spoken};
