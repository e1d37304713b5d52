//! The flags of every list: how many, and where to go on; and how its pages are printed.

use ah_model::{Cursor, Page, PageLimit, PageRequest};
use clap::Args;
use serde::Serialize;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::{put, table};

#[derive(Debug, Args)]
pub(crate) struct Paging {
    /// How many items at most (1 to 1000)
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,
    /// Go on where the page before ended: its `nextCursor`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// All of them, however many
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// How one kind of item is shown to people.
pub(crate) struct Look<'a, T> {
    pub(crate) header: &'a [&'a str],
    /// Said instead of a table without rows.
    pub(crate) empty: &'a str,
    pub(crate) row: &'a dyn Fn(&T) -> Vec<String>,
}

impl Paging {
    /// Prints the page that was asked for, or all of them one by one, as `fetch` gives them.
    pub(crate) fn print<T: Serialize>(
        &self,
        app: &App,
        look: &Look<'_, T>,
        fetch: impl Fn(PageRequest) -> Result<Page<T>, CommandError>,
    ) -> Result<(), CommandError> {
        let page = fetch(self.request()?)?;
        if app.output.is_json() {
            return self.print_json(app, page, fetch);
        }
        if page.items.is_empty() {
            app.output.talk(look.empty);
            return Ok(());
        }
        let rows: Vec<_> = page.items.iter().map(look.row).collect();
        let mut text = table(look.header, &rows);
        let mut next = page.next_cursor;
        while self.all
            && let Some(cursor) = next
        {
            app.output.text(&text)?;
            let page = fetch(PageRequest { limit: PageLimit::MAX, cursor: Some(cursor) })?;
            let rows: Vec<_> = page.items.iter().map(look.row).collect();
            text = table(look.header, &rows);
            next = page.next_cursor;
        }
        app.output.text(&text)?;
        if let Some(cursor) = &next {
            app.output.talk(&format!("more: add --all, or --cursor {cursor}"));
        }
        Ok(())
    }

    fn print_json<T: Serialize>(
        &self,
        app: &App,
        mut page: Page<T>,
        fetch: impl Fn(PageRequest) -> Result<Page<T>, CommandError>,
    ) -> Result<(), CommandError> {
        if !self.all {
            return app.output.json(&page);
        }
        app.output.stream(|out| {
            put(out, "{\"items\":[")?;
            let mut separator = "";
            loop {
                for item in &page.items {
                    let text = serde_json::to_string(item)
                        .map_err(|error| CommandError::new(Exit::Failed, error.to_string()))?;
                    put(out, &format!("{separator}{text}"))?;
                    separator = ",";
                }
                let Some(cursor) = page.next_cursor else {
                    return put(out, "],\"nextCursor\":null}\n");
                };
                page = fetch(PageRequest { limit: PageLimit::MAX, cursor: Some(cursor) })?;
            }
        })
    }

    fn request(&self) -> Result<PageRequest, CommandError> {
        let cursor = self.cursor.as_deref().map(str::parse::<Cursor>).transpose()?;
        let limit = if self.all { PageLimit::MAX } else { PageLimit::new(self.limit)? };
        Ok(PageRequest { limit, cursor })
    }
}
