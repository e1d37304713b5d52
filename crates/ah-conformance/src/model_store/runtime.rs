//! Runtimes in the oracle.

use ah_model::{Page, PageRequest, RawJson, Runtime, RuntimeSpec};
use ah_store::{Runtimes, StoreError};
use async_trait::async_trait;

use super::{ModelStore, Rows, numbered_page};

#[async_trait]
impl Runtimes for ModelStore {
    async fn put_runtime(
        &self,
        spec: RuntimeSpec,
        metadata: Option<RawJson>,
    ) -> Result<Runtime, StoreError> {
        spec.check()?;
        self.write(|rows, _| Ok(rows.put_runtime(spec, metadata)))
    }

    async fn list_runtimes(&self, page: PageRequest) -> Result<Page<Runtime>, StoreError> {
        self.read(|rows| numbered_page(&rows.runtimes, &page, |runtime| runtime.id))
    }
}

impl Rows {
    pub(super) fn put_runtime(&mut self, spec: RuntimeSpec, metadata: Option<RawJson>) -> Runtime {
        let known = self.runtimes.values_mut().find(|row| row.spec == spec);
        if let Some(known) = known {
            known.metadata = metadata.or(known.metadata.take());
            return known.clone();
        }
        let id = self.next_number();
        let row = Runtime { id, spec, metadata };
        self.runtimes.insert(id, row.clone());
        row
    }
}
