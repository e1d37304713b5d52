//! Secrets that are stored already.

use ah_model::{Scrub, ScrubStep};
use async_trait::async_trait;

use crate::StoreError;

/// Scrubbing in bounded steps.
#[async_trait]
pub trait Scrubs {
    /// Takes the secrets out of some of what is stored, at most
    /// [`ah_model::limits::SCRUB_ROWS_MAX`] rows, and says where to go on. Numbers, ids, keys and
    /// times stay, and nobody is told of a change. What was changed is on a receipt, in the same
    /// transaction; the last step closes it. Doing a step again changes nothing more.
    async fn scrub_step(&self, scrub: Scrub) -> Result<ScrubStep, StoreError>;
}
