//! Follows a store: what happens, that it is gone, that it is back.

use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use ah_model::{FeedCursor, PageLimit};
use ah_store::{StoreError, block_on};

use crate::effect::Answer;
use crate::harbor::Harbor;
use crate::input::Input;

/// Between two tries to reach a store that is gone.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Tells what happens until nobody listens. Nothing is missed: after a silence it goes on from the
/// last cursor.
pub(crate) fn follow(harbor: &Arc<dyn Harbor>, tell: &SyncSender<Input>) {
    let mut cursor = None;
    let mut is_gone = false;
    loop {
        let Err(error) = followed(harbor, tell, &mut cursor, &mut is_gone) else { return };
        is_gone = true;
        if tell.send(Input::Answer(Answer::Gone(reason(&error)))).is_err() {
            return;
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

/// Follows until the store is gone, or, without an error, until nobody listens.
fn followed(
    harbor: &Arc<dyn Harbor>,
    tell: &SyncSender<Input>,
    cursor: &mut Option<FeedCursor>,
    is_gone: &mut bool,
) -> Result<(), StoreError> {
    let store = harbor.store();
    let from = match *cursor {
        Some(from) => from,
        None => block_on(store.feed_end())?,
    };
    *cursor = Some(from);
    // This call does not wait for anything to happen: it tells that the store is there.
    let mut entries = block_on(store.feed(from, PageLimit::MAX))?;
    if std::mem::take(is_gone) && tell.send(Input::Answer(Answer::Back)).is_err() {
        return Ok(());
    }
    let mut watch = None;
    loop {
        if let Some(last) = entries.last() {
            *cursor = Some(last.cursor);
            if tell.send(Input::Answer(Answer::Fed(entries))).is_err() {
                return Ok(());
            }
        }
        let watch = match &mut watch {
            Some(watch) => watch,
            None => watch.insert(block_on(store.watch_feed(cursor.unwrap_or(from)))?),
        };
        entries = block_on(watch.next())?;
    }
}

/// What is wrong, with its causes.
fn reason(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
