//! A row of `agents` as an agent.

use ah_model::{AgentType, Lifecycle, Origin, RawJson};

use super::rows::AgentRow;
use super::{Import, Place, SOURCE};
use crate::agent::{Extras, Identity, Parts, Permissions};
use crate::daycare;
use crate::foreign_db::Cell;
use crate::raw_object::json_of;
use crate::report::Tally;
use crate::target::Target;
use crate::writer::{AgentWriter, Newcomer, Stop};

/// The table.
const TABLE: &str = "agents";

impl Import<'_> {
    /// Imports one agent; whether its state is another than before.
    pub(super) async fn agent(
        &mut self,
        target: &mut Target<'_>,
        row: &AgentRow,
        id: &str,
        place: &Place,
        tally: &mut Tally,
    ) -> Result<bool, Stop> {
        if id.is_empty() {
            return Err(Stop::Failed("has no id, so that no session can be its".to_owned()));
        }
        if target.known(daycare::SOURCE, id).await?.is_some() {
            return Err(Stop::Agent("came from Daycare's files already".to_owned()));
        }
        let mut extras = Extras::default();
        let new = self.newcomer(row, id, &mut extras, tally);
        let (bounds, now) = (self.bounds, self.options.now);
        let mut writer = AgentWriter::new(target, tally, new, bounds, now).await?;
        match place {
            Place::Row(_) | Place::Missing(_) => self.sessions(&mut writer, row, place, id).await?,
            Place::Orphans(sessions) => self.orphans(&mut writer, sessions).await?,
        }
        daycare::keep_leftovers(&mut writer, extras.leftovers).await?;
        writer.finish().await
    }

    fn newcomer(
        &self,
        row: &AgentRow,
        id: &str,
        extras: &mut Extras,
        tally: &mut Tally,
    ) -> Newcomer {
        let mut reader = Reader { row, extras, tally };
        let parts = Parts {
            origin: Origin { source: SOURCE.to_owned(), external_id: id.to_owned() },
            identity: reader.identity(),
            permissions: reader.permissions(),
            tokens: reader.json("tokens", RawJson::null()),
            stats: reader.stats(),
            kind: self.options.kind.clone(),
            home: daycare::home(self.home, reader.tally),
            metadata: RawJson::empty_object(),
        };
        let lifecycle = reader.lifecycle();
        reader.others();
        let metadata = extras.metadata();
        Newcomer {
            agent: Parts { metadata, ..parts }.agent(),
            lifecycle,
            created_at: row.cell("created_at").moment().time(),
            updated_at: row.cell("updated_at").moment().time(),
        }
    }
}

struct Reader<'a> {
    row: &'a AgentRow,
    extras: &'a mut Extras,
    tally: &'a mut Tally,
}

impl Reader<'_> {
    fn remark(&mut self, what: impl Into<String>) {
        let line = self.row.rowid.and_then(|rowid| u64::try_from(rowid).ok());
        self.tally.remark(TABLE, line, what);
    }

    fn identity(&mut self) -> Identity {
        if self.row.rowid.is_none() {
            self.remark("no row of that id: an agent that sleeps stands for it");
            return Identity::unknown();
        }
        let found = self.row.cell("descriptor").found();
        let mut identity = Identity::of("descriptor", &found, self.extras, self.tally);
        // The column is what Daycare itself went by.
        match self.row.cell("type").text().map(str::parse::<AgentType>) {
            Some(Ok(agent_type)) => identity.agent_type = agent_type,
            _ => self.remark("type: not a word, that of the descriptor is taken"),
        }
        identity
    }

    fn permissions(&mut self) -> Permissions {
        if self.row.rowid.is_none() {
            return Permissions::none();
        }
        let json = self.json("permissions", RawJson::null());
        match json.as_str() {
            "null" => Permissions::none(),
            _ => Permissions::of(TABLE, &json, self.extras, self.tally),
        }
    }

    fn stats(&mut self) -> RawJson {
        let stats = self.json("stats", RawJson::empty_object());
        if stats.as_str().starts_with('{') {
            return stats;
        }
        self.remark("stats: not a JSON object, empty ones are taken");
        self.extras.keep(TABLE, "stats", stats);
        RawJson::empty_object()
    }

    /// The JSON value of a column; what is none is left over.
    fn json(&mut self, column: &str, default: RawJson) -> RawJson {
        let cell = self.row.cell(column);
        if cell.is_null() {
            return default;
        }
        match crate::agent::json(&cell.bytes()) {
            Ok(json) => self.extras.fit(TABLE, column, json, default),
            Err(reason) => {
                self.extras.leave(TABLE, format!("{column}: {reason}"), cell.bytes());
                default
            }
        }
    }

    fn lifecycle(&mut self) -> Lifecycle {
        if self.row.rowid.is_none() {
            return Lifecycle::Sleeping;
        }
        let cell = self.row.cell("lifecycle");
        match cell.text().and_then(|word| word.parse().ok()) {
            Some(lifecycle) => lifecycle,
            None if cell.is_null() => Lifecycle::Active,
            None => {
                self.remark("lifecycle: not one of active, sleeping, dead: active is taken");
                Lifecycle::Active
            }
        }
    }

    /// Keeps the columns that the agent does not hold whole.
    fn others(&mut self) {
        for column in ["created_at", "updated_at"] {
            if self.row.rowid.is_some() && !self.row.cell(column).moment().is_exact() {
                let value = self.row.cell(column).json();
                self.remark(format!("{column}: {} is no whole number", value.as_str()));
            }
        }
        let row = self.row;
        let whole = |column: &str, cell: &Cell| match column {
            "type" => cell.text().is_some_and(|word| word.parse::<AgentType>().is_ok()),
            "lifecycle" => cell.text().is_some_and(|word| word.parse::<Lifecycle>().is_ok()),
            _ => cell.moment().is_exact(),
        };
        let known = ["type", "lifecycle", "created_at", "updated_at"];
        let known = known.into_iter().map(|column| (column, row.cell(column)));
        let known = known.filter(|(column, cell)| !whole(column, cell));
        let others = row.others.iter().map(|(column, cell)| (column.as_str(), cell));
        let kept = known.chain(others).filter(|(_, cell)| !cell.is_null());
        let members = kept.map(|(column, cell)| {
            let key = RawJson::of(&column).unwrap_or_else(|_| RawJson::null());
            format!("{}:{}", key.as_str(), cell.json().as_str())
        });
        let members: Vec<String> = members.collect();
        if !members.is_empty() {
            let columns = json_of(format!("{{{}}}", members.join(",")));
            self.extras.keep(TABLE, "columns", columns);
        }
    }
}
