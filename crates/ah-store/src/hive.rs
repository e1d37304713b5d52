//! What mail, approvals and questions share.

use ah_model::{Awaited, HiveImport, HiveImported, HiveSwept};
use async_trait::async_trait;

use crate::StoreError;

/// Waiting, deadlines, and bringing them from elsewhere.
#[async_trait]
pub trait Hive {
    /// Applies what time has decided: leases of messages and deadlines of questions that are over.
    /// Every method that reads or changes messages or questions does so first, for as many as one
    /// step takes; this does it for [`ah_model::limits::SWEEP_MAX`]. Do it again while it did
    /// something.
    async fn sweep_hive(&self) -> Result<HiveSwept, StoreError>;

    /// Waits until there may be what is awaited: a message that can be received, a question that is
    /// no longer open, an approval that is no longer pending. At once if there is. It may end for
    /// nothing; time alone (a lease, a deadline) does not end it.
    async fn wait_for(&self, awaited: Awaited) -> Result<(), StoreError>;

    /// Brings in messages, approvals and questions of another store, all or nothing, in their order.
    /// Agents they name must be here. Doing it again adds only what is new: a known id is left as it
    /// is, unless it is unresolved and untouched here and resolved there
    /// ([`ah_model::Message::takes_import`]).
    async fn import_hive(&self, import: HiveImport) -> Result<HiveImported, StoreError>;
}
