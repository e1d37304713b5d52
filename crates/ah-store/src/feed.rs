//! The feed.

use ah_model::{FeedCursor, FeedEntry, PageLimit};
use async_trait::async_trait;

use crate::StoreError;

/// Everything that happens, from a cursor on.
#[async_trait]
pub trait Feed {
    /// Where the feed ends now.
    async fn feed_end(&self) -> Result<FeedCursor, StoreError>;

    /// What happened after `after`, each kind of thing in the order of its commits; at most
    /// `limit` entries, fewer when they are large. Empty at the end. What was answered once is
    /// never followed by something that belongs before it.
    ///
    /// Retention removes the oldest changes. Who asks with a cursor before the last that is gone is
    /// told so by a change of the kind [`ah_model::ChangeKind::ChangesTrimmed`] in their place; nobody
    /// else is.
    async fn feed(&self, after: FeedCursor, limit: PageLimit)
    -> Result<Vec<FeedEntry>, StoreError>;

    /// Follows the feed from `after` on.
    async fn watch_feed(&self, after: FeedCursor) -> Result<Box<dyn FeedWatch>, StoreError>;
}

/// A reader of the feed that waits at its end. Slow readers lose nothing: they are served from the
/// store.
#[async_trait]
pub trait FeedWatch: Send {
    /// The next entries, at least one; waits until there are some.
    async fn next(&mut self) -> Result<Vec<FeedEntry>, StoreError>;
}
