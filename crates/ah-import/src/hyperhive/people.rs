//! The agents that rows name. Each comes in with one session, which holds its live events.

use std::collections::HashMap;
use std::path::Path;

use ah_model::{
    Agent, AgentType, Cause, Lifecycle, NewAgent, NewRepo, NewSession, OPERATOR, Origin, Party,
    SessionImport, Timestamp, Vcs,
};

use super::time::read_time;
use super::{Import, SOURCE, became};
use crate::ImportError;
use crate::agent::Identity;
use crate::daycare;
use crate::foreign_db::{Cell, Database, Table, cell, column};
use crate::report::{Became, Tally};
use crate::writer::{AgentWriter, Newcomer, Stop};

/// The agent that runs a hive and cannot be destroyed.
const MANAGER: &str = "manager";
/// The name under which the hive itself writes.
const SYSTEM: &str = "system";

/// Who the names of the rows are here.
#[derive(Debug, Default)]
pub(super) struct People {
    parties: HashMap<String, Party>,
}

impl People {
    /// Who a column names, or why nobody.
    pub(super) fn party(&self, column: &str, cell: &Cell) -> Result<Party, String> {
        let name = cell.id().ok_or_else(|| format!("{column}: is missing"))?;
        match self.parties.get(&name) {
            _ if is_operator(&name) => Ok(Party::Operator),
            Some(party) => Ok(party.clone()),
            None => Err(format!("{column}: the agent {name:?} could not be taken")),
        }
    }
}

fn is_operator(name: &str) -> bool {
    name.eq_ignore_ascii_case(OPERATOR)
}

/// An agent that is named, and the first time that is known of it.
struct Person {
    name: String,
    since: Option<Timestamp>,
}

impl<'s> Import<'s> {
    /// Takes every agent that these columns name; beside each stands the column of the row's time.
    pub(super) async fn people(
        &mut self,
        file: &Path,
        database: &Database,
        named: &[(&Table, &str, &str)],
    ) -> Result<People, ImportError> {
        let mut found: Vec<Person> = Vec::new();
        for (table, names, times) in named {
            for (name, since) in named_in(database, table, names, times)? {
                match found.iter_mut().find(|person| person.name == name) {
                    Some(person) => person.since = earlier(person.since, since),
                    None => found.push(Person { name, since }),
                }
            }
        }
        // Who may keep its name does, whoever else would get it.
        found.sort_by_key(|person| Agent::check_name(&person.name).is_err());
        let mut people = People::default();
        for person in found {
            if let Some(name) = self.person(file, &person).await? {
                people.parties.insert(person.name, Party::Agent(name));
            }
        }
        Ok(people)
    }

    /// Takes one agent and reports it; its name here, unless it could not be taken.
    async fn person(
        &mut self,
        file: &Path,
        person: &Person,
    ) -> Result<Option<String>, ImportError> {
        let mut tally = Tally::default();
        let done = self.give_person(file, person, &mut tally).await;
        let became = became(done)?;
        let name = tally.given.name.clone().filter(|_| matches!(became, Became::Taken { .. }));
        if let Some(here) = name.as_ref().filter(|here| **here != person.name) {
            tally.remark("", None, format!("{:?} is {here} here", person.name));
        }
        self.report.import.add(&person.name, &file.to_string_lossy(), became, tally);
        Ok(name)
    }

    async fn give_person(
        &mut self,
        file: &Path,
        person: &Person,
        tally: &mut Tally,
    ) -> Result<bool, Stop> {
        let who = Who { name: &person.name, here: None, since: person.since };
        self.writer(file, who, tally).await?.finish().await
    }

    /// A writer for an agent, with its session begun.
    pub(super) async fn writer<'b>(
        &'b mut self,
        file: &Path,
        who: Who<'_>,
        tally: &'b mut Tally,
    ) -> Result<AgentWriter<'b, 's>, Stop> {
        let external_id = match &self.hive.hive {
            Some(hive) => format!("{hive}/{}", who.name),
            None => who.name.to_owned(),
        };
        let known = self.target.known(SOURCE, &external_id).await?;
        // What is known stays as it is: the file says nothing about an agent but that it is there.
        let since = known.as_ref().map(|agent| agent.created_at).or(who.since);
        let since = since.unwrap_or(self.options.now);
        let folder = file.parent().unwrap_or(Path::new("/"));
        let repo = NewRepo {
            vcs: Vcs::None,
            root_path: Some(daycare::home(folder, tally)),
            remote_url: None,
            default_branch: None,
        };
        let session = NewSession::new(repo, self.options.kind.clone());
        let new = Newcomer {
            lifecycle: who.lifecycle(),
            agent: who.agent(known.as_ref(), session, &external_id),
            created_at: Some(since),
            updated_at: Some(since),
        };
        let (bounds, now) = (self.bounds, self.options.now);
        let mut writer = AgentWriter::new(&mut self.target, tally, new, bounds, now).await?;
        writer.begin(session_since(external_id, since), None).await?;
        Ok(writer)
    }
}

/// Who an agent is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Who<'a> {
    pub(super) name: &'a str,
    /// The name it gets here; what can be made of that there when absent.
    pub(super) here: Option<&'static str>,
    /// The first time that is known of it.
    pub(super) since: Option<Timestamp>,
}

impl Who<'_> {
    fn lifecycle(&self) -> Lifecycle {
        match self.here {
            Some(_) => Lifecycle::Sleeping,
            None => Lifecycle::Active,
        }
    }

    fn agent(&self, known: Option<&Agent>, session: NewSession, external_id: &str) -> NewAgent {
        let here = self.here.map(str::to_owned);
        let name = here.unwrap_or_else(|| Identity::unknown().name(self.name));
        let agent_type = match self.name == SYSTEM || self.here.is_some() {
            true => AgentType::System,
            false => AgentType::Permanent,
        };
        let origin = Origin { source: SOURCE.to_owned(), external_id: external_id.to_owned() };
        NewAgent {
            agent_type,
            protected: known.map_or(self.name == MANAGER, |agent| agent.protected),
            origin: Some(origin),
            ..NewAgent::new(name, session)
        }
    }
}

fn session_since(external_id: String, since: Timestamp) -> SessionImport {
    SessionImport {
        external_id,
        cause: Cause::Created,
        reset_message: None,
        inference_session_id: None,
        created_at: since,
        ended_at: None,
        events: Vec::new(),
    }
}

/// The names in a column, in the order of their first rows, with the times of those.
fn named_in(
    database: &Database,
    table: &Table,
    names: &str,
    times: &str,
) -> Result<Vec<(String, Option<Timestamp>)>, ImportError> {
    let (names, times) = (column(&table.columns, names), column(&table.columns, times));
    // SQLite takes a column beside `min` from the row that has the least.
    let text = format!(
        "SELECT {names}, {times}, min(rowid) FROM {} WHERE {names} IS NOT NULL
         GROUP BY 1 ORDER BY 3",
        table.name
    );
    let rows = database.collect(&text, &[], |row| Ok((cell(row, 0)?, cell(row, 1)?)))?;
    let named = rows.into_iter().filter_map(|(name, time)| Some((name.id()?, read_time(&time))));
    Ok(named.filter(|(name, _)| !is_operator(name)).collect())
}

fn earlier(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
