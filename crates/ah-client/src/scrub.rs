//! Secrets that are stored already.

use ah_model::{Scrub, ScrubStep};
use ah_store::{Scrubs, StoreError};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[async_trait]
impl Scrubs for RestStore {
    async fn scrub_step(&self, scrub: Scrub) -> Result<ScrubStep, StoreError> {
        self.http.send(Method::POST, &Target::new(["scrubs"]), &scrub)
    }
}
