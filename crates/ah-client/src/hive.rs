//! What mail, approvals and questions share. The server is asked again and again, and waits a while
//! before it says that there is nothing.

use std::thread;
use std::time::Instant;

use ah_model::{Awaited, HiveImport, HiveImported, HiveSwept};
use ah_store::{Hive, StoreError};
use async_trait::async_trait;
use serde::Deserialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;
use crate::watch::{EMPTY_PAUSE, WAIT};

#[derive(Deserialize)]
struct Waited {
    ready: bool,
}

fn hive_target(part: &str) -> Target {
    Target::new(["hive", part])
}

#[async_trait]
impl Hive for RestStore {
    async fn sweep_hive(&self) -> Result<HiveSwept, StoreError> {
        self.http.order(Method::POST, &hive_target("sweep"))
    }

    async fn wait_for(&self, awaited: Awaited) -> Result<(), StoreError> {
        let asked = Instant::now();
        let target = hive_target("wait").query(&awaited);
        let target = target.pair("waitMs", WAIT.as_millis().to_string());
        let Waited { ready } = self.http.get_within(target, WAIT)?;
        if !ready {
            // A wait may end for nothing, and this one holds a thread: who waits looks, and comes
            // again. A server that does not wait is not asked without a pause.
            thread::sleep(EMPTY_PAUSE.saturating_sub(asked.elapsed()));
        }
        Ok(())
    }

    async fn import_hive(&self, import: HiveImport) -> Result<HiveImported, StoreError> {
        // What no store takes may be more than a server reads, and then it could not say why.
        import.check()?;
        self.create(Method::POST, &hive_target("import"), &import)
    }
}
