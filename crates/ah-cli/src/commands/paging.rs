//! The flags of every list: how many, and where to go on.

use ah_model::{Cursor, Page, PageLimit, PageRequest};
use clap::Args;
use serde::Serialize;

use crate::app::App;
use crate::error::CommandError;
use crate::output::table;

#[derive(Debug, Args)]
pub(crate) struct Paging {
    /// How many items at most (1 to 1000)
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Go on where the page before ended: its `nextCursor`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

impl Paging {
    pub(crate) fn request(&self) -> Result<PageRequest, CommandError> {
        let cursor = self.cursor.as_deref().map(str::parse::<Cursor>).transpose()?;
        Ok(PageRequest { limit: PageLimit::new(self.limit)?, cursor })
    }
}

/// Prints a page: JSON, or a table and how to get the next one.
pub(crate) fn print<T: Serialize>(
    app: &App,
    page: &Page<T>,
    header: &[&str],
    empty: &str,
    row: impl Fn(&T) -> Vec<String>,
) -> Result<(), CommandError> {
    if app.output.is_json() {
        return app.output.json(page);
    }
    if page.items.is_empty() {
        app.output.talk(empty);
        return Ok(());
    }
    let rows: Vec<_> = page.items.iter().map(row).collect();
    app.output.text(&table(header, &rows))?;
    if let Some(cursor) = &page.next_cursor {
        app.output.talk(&format!("more: add --cursor {cursor}"));
    }
    Ok(())
}
