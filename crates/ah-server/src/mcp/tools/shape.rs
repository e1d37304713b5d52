//! What inputs and outputs of tools share.

use std::time::Duration;

use ah_model::{Cursor, Page, PageLimit, PageRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::{MCP_WAIT_SECONDS_DEFAULT, MCP_WAIT_SECONDS_MAX};
use crate::problem::Failure;

/// Seconds that a caller is ready to wait; clients give up on longer calls.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct WaitSeconds(
    #[schemars(range(min = 0, max = MCP_WAIT_SECONDS_MAX))] pub(super) u64,
);

impl Default for WaitSeconds {
    fn default() -> Self {
        Self(MCP_WAIT_SECONDS_DEFAULT)
    }
}

impl WaitSeconds {
    pub(super) fn none() -> Self {
        Self(0)
    }

    pub(super) fn duration(self) -> Result<Duration, Failure> {
        if self.0 > MCP_WAIT_SECONDS_MAX {
            let reason = format!("{}, at most {MCP_WAIT_SECONDS_MAX} are allowed", self.0);
            return Err(Failure::invalid("waitSeconds", reason));
        }
        Ok(Duration::from_secs(self.0))
    }
}

/// Which page of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInput {
    /// How many at most; 50 when absent.
    #[serde(default)]
    limit: Option<u32>,
    /// `nextCursor` of the page before.
    #[serde(default)]
    cursor: Option<Cursor>,
}

impl PageInput {
    pub(super) fn request(self) -> Result<PageRequest, Failure> {
        let limit = self.limit.map_or(Ok(PageLimit::default()), PageLimit::new)?;
        Ok(PageRequest { limit, cursor: self.cursor })
    }
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Items<T> {
    pub(super) items: Vec<T>,
    /// Where the next page begins; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<Cursor>,
}

impl<T> Items<T> {
    pub(super) fn of<S>(page: Page<S>, shape: impl FnMut(S) -> T) -> Self {
        let items = page.items.into_iter().map(shape).collect();
        Self { items, next_cursor: page.next_cursor }
    }
}
