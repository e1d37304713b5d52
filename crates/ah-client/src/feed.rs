//! The feed. It is followed as a session's log is: the server is asked again and again, and waits a
//! while before it says that there is nothing.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use ah_model::{FeedCursor, FeedEntry, PageLimit};
use ah_store::{Feed, FeedWatch, StoreError};
use async_trait::async_trait;
use serde::Deserialize;

use crate::RestStore;
use crate::address::Target;
use crate::http::Http;
use crate::watch::{EMPTY_PAUSE, WAIT};

#[derive(Deserialize)]
struct End {
    cursor: FeedCursor,
}

#[derive(Deserialize)]
struct FeedPage {
    items: Vec<FeedEntry>,
    cursor: FeedCursor,
}

fn page_of(after: FeedCursor, limit: PageLimit) -> Target {
    Target::new(["feed"]).pair("after", after.to_string()).pair("limit", limit.get().to_string())
}

#[async_trait]
impl Feed for RestStore {
    async fn feed_end(&self) -> Result<FeedCursor, StoreError> {
        self.http.get(&Target::new(["feed", "end"])).map(|End { cursor }| cursor)
    }

    async fn feed(
        &self,
        after: FeedCursor,
        limit: PageLimit,
    ) -> Result<Vec<FeedEntry>, StoreError> {
        self.http.items(page_of(after, limit))
    }

    async fn watch_feed(&self, after: FeedCursor) -> Result<Box<dyn FeedWatch>, StoreError> {
        Ok(Box::new(RestFeedWatch { http: self.http.clone(), after }))
    }
}

/// Reads behind `after`. An error changes nothing: the next call goes on where this one was.
struct RestFeedWatch {
    http: Arc<Http>,
    after: FeedCursor,
}

impl RestFeedWatch {
    fn poll(&self) -> Result<FeedPage, StoreError> {
        let target = page_of(self.after, PageLimit::MAX).pair("wait", WAIT.as_secs().to_string());
        self.http.get_within(target, WAIT)
    }
}

#[async_trait]
impl FeedWatch for RestFeedWatch {
    async fn next(&mut self) -> Result<Vec<FeedEntry>, StoreError> {
        loop {
            let asked = Instant::now();
            let page = self.poll()?;
            self.after = page.cursor;
            if !page.items.is_empty() {
                return Ok(page.items);
            }
            thread::sleep(EMPTY_PAUSE.saturating_sub(asked.elapsed()));
        }
    }
}
