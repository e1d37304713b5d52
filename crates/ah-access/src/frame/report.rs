//! What an executor reports of its runs, from its outbox, and how far the access point has kept it.
//!
//! An item is sent until it is acknowledged, so it may come twice: its number and its key make the
//! second one harmless.

use ah_model::limits::{LABEL_BYTES_MAX, REPORT_ITEMS_MAX};
use ah_model::{Invalid, OutboxId, ReportItem, ReportRefusal};
use serde::{Deserialize, Serialize};

use super::bounded::{check_count, check_optional, list};
use super::{Body, FrameKind};

/// What happened in runs, in the order of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The outbox.
    pub outbox_id: OutboxId,
    /// What happened; numbers rise by one.
    #[serde(deserialize_with = "list::<_, _, REPORT_ITEMS_MAX>")]
    pub items: Vec<ReportItem>,
}

impl Body for Report {
    const KIND: FrameKind = FrameKind::Report;

    fn check(&self) -> Result<(), Invalid> {
        ReportItem::check_all(&self.items)
    }
}

/// What happened is kept, up to here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportAck {
    /// The outbox.
    pub outbox_id: OutboxId,
    /// Every item up to this number is durable, or refused for ever: it may be forgotten.
    pub through: u64,
    /// Those of them that were refused.
    #[serde(default, deserialize_with = "list::<_, _, REPORT_ITEMS_MAX>")]
    pub refused: Vec<ReportRefusal>,
}

impl Body for ReportAck {
    const KIND: FrameKind = FrameKind::ReportAck;

    fn check(&self) -> Result<(), Invalid> {
        check_count("refused", self.refused.len(), REPORT_ITEMS_MAX)?;
        let mut details = self.refused.iter().map(|refusal| refusal.detail.as_deref());
        details.try_for_each(|detail| check_optional("refused.detail", detail, LABEL_BYTES_MAX))
    }
}
