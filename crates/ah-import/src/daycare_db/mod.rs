//! Daycare's first database: agents, sessions and their history in a SQLite file.
//!
//! An agent is known again by its id, a session by its id, an event by the number of its row. Order
//! is the order of writing (`rowid`), never `created_at`, which a clock may have set back.
//!
//! What belongs to nothing is kept: sessions of a missing agent come under an agent that sleeps and
//! has the missing id; the history of every missing session is a session of one more such agent.
//!
//! Memory is bounded by the pages of history and by the largest value of the database.

mod agent_row;
mod rows;
mod session_row;

use std::path::Path;

use ah_store::Store;

use self::rows::{AgentRow, Schema};
use crate::foreign_db::{Cell, Database, Program};
use crate::report::{Became, Tally};
use crate::target::Target;
use crate::writer::{Bounds, Stop};
use crate::{ImportError, ImportOptions, ImportReport, Progress};

/// What agents and sessions of the database say they came from.
pub(crate) const SOURCE: &str = "daycare-db";

/// The ids of the agents for what belongs to none; no agent of Daycare has spaces in its id.
const OF_NO_AGENT: &str = "sessions of no agent";
const OF_NO_SESSION: &str = "history of no session";

/// Where an agent's rows are.
enum Place {
    /// A row of `agents`.
    Row(i64),
    /// None: only its sessions are there.
    Missing(Cell),
    /// The history of missing sessions.
    Orphans(Vec<Cell>),
}

impl From<ImportError> for Stop {
    fn from(error: ImportError) -> Self {
        Self::Import(error)
    }
}

/// What every part of an import needs.
struct Import<'a> {
    database: Database,
    schema: Schema,
    /// The directory of the file.
    home: &'a Path,
    options: &'a ImportOptions,
    bounds: Bounds,
}

pub(crate) async fn import(
    store: &dyn Store,
    file: &Path,
    options: &ImportOptions,
    bounds: Bounds,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<ImportReport, ImportError> {
    let database = Database::open(Program::Daycare, file)?;
    let schema = Schema::read(&database)?;
    let home = file.parent().unwrap_or(Path::new("/"));
    let mut import = Import { database, schema, home, options, bounds };
    let mut report = ImportReport::new(SOURCE, options.dry_run);
    let general = import.left_alone()?;
    (report.remarks, report.more_remarks) = (general.remarks, general.more_remarks);
    let places = import.places()?;
    let bytes = import.database.history_bytes()?;
    progress(Progress::Found { agents: places.len() as u64, bytes });
    let mut target = Target::new(store, options.dry_run);
    for place in places {
        let mut tally = Tally::default();
        let row = import.row(&place)?;
        let id = row.id.id().unwrap_or_default();
        let became = match import.agent(&mut target, &row, &id, &place, &mut tally).await {
            Ok(changed) => Became::Taken { changed },
            Err(Stop::Agent(reason)) => Became::Skipped(reason),
            Err(Stop::Failed(reason)) => Became::Failed(reason),
            Err(Stop::Import(error)) => return Err(error),
        };
        let bytes = tally.bytes;
        report.add(&id, &file.to_string_lossy(), became, tally);
        progress(Progress::Agent { name: &id, bytes });
    }
    Ok(report)
}

impl Import<'_> {
    /// What is in the database and not taken.
    fn left_alone(&self) -> Result<Tally, ImportError> {
        let mut tally = Tally::default();
        for table in self.database.other_tables()? {
            tally.remark(&table, None, "a table of something else, left alone");
        }
        for (table, column) in self.schema.unknown() {
            tally.remark(table, None, format!("its column {column} is left out"));
        }
        Ok(tally)
    }

    /// Every agent, those without a row behind the others.
    fn places(&self) -> Result<Vec<Place>, ImportError> {
        let mut places: Vec<_> = self.database.agents()?.into_iter().map(Place::Row).collect();
        places.extend(self.database.missing_agents()?.into_iter().map(Place::Missing));
        let orphans = self.database.missing_sessions()?;
        if !orphans.is_empty() {
            places.push(Place::Orphans(orphans));
        }
        Ok(places)
    }

    fn row(&self, place: &Place) -> Result<AgentRow, ImportError> {
        match place {
            Place::Row(rowid) => self.database.agent(&self.schema, *rowid),
            Place::Missing(Cell::Null) => Ok(AgentRow::missing(text(OF_NO_AGENT))),
            Place::Missing(id) => Ok(AgentRow::missing(id.clone())),
            Place::Orphans(_) => Ok(AgentRow::missing(text(OF_NO_SESSION))),
        }
    }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.as_bytes().to_vec())
}
