//! The live events of one agent: `agents/<name>/state/hyperhive-events.sqlite`.

use std::path::{Component, Path};

use ah_model::{NewEvent, RawJson};

use super::people::Who;
use super::time::read_time;
use super::{Import, became};
use crate::ImportError;
use crate::foreign_db::{Database, Table, TableRow};
use crate::report::Tally;
use crate::unreadable::Place;
use crate::writer::{AgentWriter, Raw, Stop};

pub(super) const TABLE: &str = "events";
pub(super) const NEEDED: [&str; 2] = ["kind", "payload_json"];
const COLUMNS: [&str; 4] = ["id", "ts", "kind", "payload_json"];

/// What stands before the kind in the type of an event.
const LIVE: &str = "live.";

impl Import<'_> {
    /// Takes the live events of a file.
    pub(super) async fn live(
        &mut self,
        file: &Path,
        database: &Database,
        events: &Table,
    ) -> Result<(), ImportError> {
        let Some(name) = self.hive.agent.clone().or_else(|| owner(file)) else {
            let reason = "its path `agents/<name>/state/` does not say whose events it holds: \
                          give the agent's name";
            return Err(database.refuse(reason.to_owned()));
        };
        let mut tally = Tally::default();
        for column in events.unknown(&COLUMNS) {
            tally.remark(TABLE, None, format!("its column {column} is left out"));
        }
        let done = self.live_of(&name, file, database, events, &mut tally).await;
        self.report.import.add(&name, &file.to_string_lossy(), became(done)?, tally);
        Ok(())
    }

    async fn live_of(
        &mut self,
        name: &str,
        file: &Path,
        database: &Database,
        events: &Table,
        tally: &mut Tally,
    ) -> Result<bool, Stop> {
        let rowids = events.rowids(database)?;
        let first = events.page(database, &rowids[..rowids.len().min(1)])?;
        let since = first.first().and_then(|row| read_time(row.cell("ts")));
        let who = Who { name, here: None, since };
        let mut writer = self.writer(file, who, tally).await?;
        let mut rest = &rowids[..];
        while !rest.is_empty() {
            let page = events.page(database, rest)?;
            rest = &rest[page.len()..];
            for row in page {
                record(&mut writer, &row).await?;
            }
        }
        writer.finish().await
    }
}

/// The agent whose state directory a file is in.
fn owner(file: &Path) -> Option<String> {
    let path = std::path::absolute(file).ok()?;
    let parts: Vec<Component<'_>> = path.components().collect();
    let is = |part: &Component<'_>, name: &str| part.as_os_str() == name;
    let found = parts.windows(3).rfind(|w| is(&w[0], "agents") && is(&w[2], "state"))?;
    found[1].as_os_str().to_str().map(str::to_owned)
}

/// Gives one row.
async fn record(writer: &mut AgentWriter<'_, '_>, row: &TableRow) -> Result<(), Stop> {
    let key = format!("{LIVE}{}-{:016x}", row.rowid, row.fingerprint());
    let time = read_time(row.cell("ts"));
    writer.tally.bytes += row.bytes();
    if time.is_none() {
        writer.tally.records.untimed += 1;
        let what = "ts: no time, that of the record before is taken";
        writer.tally.remark(TABLE, row.line(), what);
    }
    let kind = String::from_utf8_lossy(&row.cell("kind").bytes()).into_owned();
    match event(row) {
        Ok(event) => writer.push(&event.kind, event.data, key, time).await,
        Err(reason) => {
            let place = Place { kind: Some(&kind), time, ..Place::new(TABLE, row.line(), &reason) };
            let bytes = row.cell("payload_json").bytes();
            writer.keep_raw(&place, Raw::<&[u8]>::Held(&bytes), &key).await
        }
    }
}

/// The event of a row, or why it is none.
fn event(row: &TableRow) -> Result<NewEvent, String> {
    let kind = row.cell("kind").text().ok_or("kind: is no text")?;
    let payload = row.cell("payload_json");
    let data = match payload.is_null() {
        true => RawJson::null(),
        false => crate::agent::json(&payload.bytes())
            .map_err(|reason| format!("payload_json: {reason}"))?,
    };
    let event = NewEvent { kind: format!("{LIVE}{kind}"), data, dedup_key: None, ts: None };
    event.check().map_err(|invalid| invalid.to_string())?;
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_read_from_the_path() {
        for (path, expected) in [
            ("/var/lib/hyperhive/agents/alice/state/hyperhive-events.sqlite", Some("alice")),
            ("/agents/x/state/agents/bob/state/deep/e.db", Some("bob")),
            ("/var/lib/hyperhive/agents/alice/e.db", None),
            ("/state/hyperhive-events.sqlite", None),
        ] {
            assert_eq!(owner(Path::new(path)).as_deref(), expected, "{path}");
        }
    }
}
