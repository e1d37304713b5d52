//! Rows that cannot be taken, and parts of rows that had no place: events of an agent that sleeps,
//! which comes only if there are any.

use std::path::Path;

use ah_model::RawJson;

use super::Import;
use super::people::Who;
use crate::foreign_db::{Leftover, TableRow};
use crate::raw_object::json_of;
use crate::report::{Became, Tally};
use crate::unreadable::Place;
use crate::writer::{Raw, Stop};

/// What the agent is called there, where no name has spaces, and here.
const THERE: &str = "rows that cannot be read";
const HERE: &str = "hyperhive-unreadable";

/// Something to keep as it was.
#[derive(Debug)]
pub(super) struct Kept {
    table: &'static str,
    line: Option<u64>,
    reason: String,
    bytes: Vec<u8>,
    key: String,
}

impl Kept {
    /// A whole row.
    pub(super) fn row(table: &'static str, row: &TableRow, reason: String) -> Self {
        let key = format!("{table}-{}-{:016x}", row.rowid, row.fingerprint());
        let text = |text: &String| RawJson::of(text).unwrap_or_else(|_| RawJson::null());
        let members = row
            .cells
            .iter()
            .map(|(name, cell)| format!("{}:{}", text(name).as_str(), cell.json().as_str()));
        let json = json_of(format!("{{{}}}", members.collect::<Vec<_>>().join(",")));
        let bytes = json.as_str().as_bytes().to_vec();
        Self { table, line: row.line(), reason, bytes, key }
    }
}

impl From<Leftover> for Kept {
    fn from(left: Leftover) -> Self {
        let key = left.key();
        Self { table: left.table, line: left.line, reason: left.reason, bytes: left.bytes, key }
    }
}

impl Import<'_> {
    /// Keeps what could not be taken of `file`.
    pub(super) async fn keep_raw(
        &mut self,
        file: &Path,
        kept: Vec<Kept>,
        tally: &mut Tally,
    ) -> Result<bool, Stop> {
        if kept.is_empty() {
            return Ok(false);
        }
        let who = Who { name: THERE, here: Some(HERE), since: None };
        let mut writer = self.writer(file, who, tally).await?;
        for Kept { table, line, reason, bytes, key } in kept {
            let place = Place::new(table, line, &reason);
            writer.keep_raw(&place, Raw::<&[u8]>::Held(&bytes), &key).await?;
        }
        writer.finish().await
    }

    /// Reports what was kept of `file`, if anything was.
    pub(super) fn report_raw(&mut self, file: &Path, tally: Tally) {
        if tally.records.kept_raw > 0 {
            let became = Became::Taken { changed: false };
            self.report.import.add(THERE, &file.to_string_lossy(), became, tally);
        }
    }
}
