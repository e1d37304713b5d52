//! Drafts in the oracle.

use ah_model::{Cursor, Draft, DraftFields, DraftId, NewTask, Page, PageRequest, TaskBatch};
use ah_store::{Drafts, Kind, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, after_text, overfull};

#[async_trait]
impl Drafts for ModelStore {
    async fn save_draft(
        &self,
        id: Option<DraftId>,
        fields: DraftFields,
    ) -> Result<Draft, StoreError> {
        fields.check()?;
        let fields = self.clean(fields);
        self.write_once(|rows, door| rows.save_draft(id, fields, door))
    }

    async fn draft(&self, id: DraftId) -> Result<Draft, StoreError> {
        let found = self.read(|rows| rows.drafts.get(&id).cloned());
        found.ok_or_else(|| StoreError::not_found(Kind::Draft, id))
    }

    async fn list_drafts(&self, page: PageRequest) -> Result<Page<Draft>, StoreError> {
        let after = after_text(&page)?;
        self.read(|rows| {
            let drafts = rows.drafts.values();
            let drafts = drafts.filter(|draft| after.is_none_or(|a| draft.id.as_str() > a));
            let items = overfull(drafts.cloned(), &page);
            let cursor = |draft: &Draft| Cursor::Text(draft.id.to_string());
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }

    async fn delete_draft(&self, id: DraftId) -> Result<(), StoreError> {
        self.write(|rows, _| rows.delete_draft(&id))
    }

    async fn launch_draft(&self, id: DraftId, task: NewTask) -> Result<TaskBatch, StoreError> {
        task.check()?;
        let task = self.clean(task);
        self.write_once(|rows, door| {
            rows.delete_draft(&id)?;
            rows.create_task(task, door)
        })
    }
}

impl Rows {
    fn save_draft(
        &mut self,
        id: Option<DraftId>,
        fields: DraftFields,
        door: &Door,
    ) -> Result<Draft, StoreError> {
        let now = door.now();
        let id = match id {
            Some(id) => id,
            None => door.ids.draft(now)?,
        };
        let known = self.drafts.get(&id);
        let draft = Draft {
            id: id.clone(),
            fields,
            created_at: known.map_or(now, |known| known.created_at),
            updated_at: now,
        };
        self.drafts.insert(id, draft.clone());
        Ok(draft)
    }

    fn delete_draft(&mut self, id: &DraftId) -> Result<(), StoreError> {
        match self.drafts.remove(id) {
            Some(_) => Ok(()),
            None => Err(StoreError::not_found(Kind::Draft, id)),
        }
    }
}
