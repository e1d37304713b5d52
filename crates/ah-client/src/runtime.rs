//! Runtimes.

use ah_model::{Page, PageRequest, RawJson, Runtime, RuntimeSpec};
use ah_store::{Runtimes, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Serialize)]
struct Put {
    runtime: RuntimeSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<RawJson>,
}

#[async_trait]
impl Runtimes for RestStore {
    async fn put_runtime(
        &self,
        spec: RuntimeSpec,
        metadata: Option<RawJson>,
    ) -> Result<Runtime, StoreError> {
        self.http.send(Method::PUT, &Target::new(["runtimes"]), &Put { runtime: spec, metadata })
    }

    async fn list_runtimes(&self, page: PageRequest) -> Result<Page<Runtime>, StoreError> {
        self.http.list(Target::new(["runtimes"]).query(&page))
    }
}
