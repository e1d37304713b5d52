//! Pages: every list is bounded and continues from a cursor.

use serde::{Deserialize, Serialize};

use crate::limits::{PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use crate::{Cursor, Invalid};

/// How many items a page may hold: 1 to [`PAGE_ITEMS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit(u32);

impl PageLimit {
    /// The largest page there is.
    pub const MAX: Self = Self(PAGE_ITEMS_MAX);

    /// Refuses 0 and more than [`PAGE_ITEMS_MAX`].
    pub fn new(items: u32) -> Result<Self, Invalid> {
        if (1..=PAGE_ITEMS_MAX).contains(&items) {
            return Ok(Self(items));
        }
        Err(Invalid::new("limit", format!("{items}, 1 to {PAGE_ITEMS_MAX} are allowed")))
    }

    /// The largest limit that is neither over `items` nor over the maximum, and at least 1.
    pub fn at_most(items: u64) -> Self {
        Self(u32::try_from(items).unwrap_or(u32::MAX).clamp(1, PAGE_ITEMS_MAX))
    }

    /// The number of items.
    pub fn get(self) -> usize {
        self.0 as usize
    }
}

impl Default for PageLimit {
    fn default() -> Self {
        Self(PAGE_ITEMS_DEFAULT)
    }
}

/// Which page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// How many items at most.
    pub limit: PageLimit,
    /// Where the page before ended; absent for the first.
    pub cursor: Option<Cursor>,
}

/// Some items of a list and where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "{T}Page"))]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items, in the list's order.
    pub items: Vec<T>,
    /// Where the next page starts; absent after the last.
    pub next_cursor: Option<Cursor>,
}

impl<T> Page<T> {
    /// Cuts `items`, read with one more than `limit`, to a page; `cursor` names an item's position.
    pub fn from_overfull(
        mut items: Vec<T>,
        limit: PageLimit,
        cursor: impl Fn(&T) -> Cursor,
    ) -> Self {
        let more = items.len() > limit.get();
        items.truncate(limit.get());
        let next_cursor = if more { items.last().map(cursor) } else { None };
        Self { items, next_cursor }
    }
}
