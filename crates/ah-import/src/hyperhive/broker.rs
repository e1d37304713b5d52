//! The broker's database: `messages`, `approvals` and `operator_questions`, in that order.

use std::path::Path;

use ah_model::limits::HIVE_IMPORT_MAX;
use ah_model::{
    Approval, ApprovalStatus, HiveImport, HiveImported, Message, MessageId, Question,
    QuestionStatus, Timestamp,
};
use ah_store::StoreError;

use super::message_row::Handled;
use super::people::People;
use super::time::read_time;
use super::unreadable_rows::Kept;
use super::{Import, RowCounts, approval_row, became, lacks, message_row, question_row};
use crate::ImportError;
use crate::foreign_db::{Columns, Database, Table, TableRow};
use crate::report::{Became, Tally};
use crate::unreadable::fingerprint;
use crate::writer::Stop;

/// The tables of a broker.
struct Tables {
    messages: Table,
    approvals: Option<Table>,
    questions: Vec<Table>,
}

/// What a row became.
enum Taken {
    Message(Message),
    Approval(Approval),
    Question(Question),
}

impl Taken {
    /// Its place in the order there.
    fn set_number(&mut self, number: u64) {
        match self {
            Self::Message(message) => message.number = number,
            Self::Approval(approval) => approval.number = number,
            Self::Question(question) => question.number = number,
        }
    }
}

/// What the rows of one table become.
#[derive(Clone, Copy)]
enum Rows {
    Messages,
    Approvals,
    Questions,
}

/// What is known while a table is read.
struct Reading<'a> {
    database: &'a Database,
    table: &'a Table,
    rows: Rows,
    people: &'a People,
    rowids: Vec<i64>,
    /// The time of the row before.
    time: Timestamp,
    now: Timestamp,
    hive: &'a str,
    tally: &'a mut Tally,
    kept: Vec<Kept>,
    /// Rows that were not taken since they were last counted.
    refused: u64,
}

impl Tables {
    /// What the database has, or why it is none of Hyperhive's.
    fn read(database: &Database) -> Result<Self, ImportError> {
        let find = |name: &'static str, needed: &[&'static str]| {
            let found = Table::find(database, name)?;
            match found.as_ref().and_then(|table| lacks(table, needed)) {
                Some(column) => {
                    Err(database.refuse(format!("its table {name} has no column {column}")))
                }
                None => Ok(found),
            }
        };
        let Some(messages) = find(message_row::TABLE, &message_row::NEEDED)? else {
            let reason = "it has neither a table `messages`, as `broker.sqlite` has, nor a table \
                          `events` with `kind` and `payload_json`, as an agent's events have";
            return Err(database.refuse(reason.to_owned()));
        };
        let mut questions = Vec::new();
        for name in question_row::TABLES {
            questions.extend(find(name, &question_row::NEEDED)?);
        }
        Ok(Self {
            messages,
            approvals: find(approval_row::TABLE, &approval_row::NEEDED)?,
            questions,
        })
    }

    /// The tables in the order they are taken.
    fn all(&self) -> Vec<(&Table, Rows)> {
        let approvals = self.approvals.iter().map(|table| (table, Rows::Approvals));
        let questions = self.questions.iter().map(|table| (table, Rows::Questions));
        [(&self.messages, Rows::Messages)].into_iter().chain(approvals).chain(questions).collect()
    }

    /// The columns that name agents, with that of the time of their row.
    fn naming(&self) -> Vec<(&Table, &'static str, &'static str)> {
        let of = |(table, rows)| match rows {
            Rows::Messages => vec![(table, "sender", "sent_at"), (table, "recipient", "sent_at")],
            Rows::Approvals => vec![(table, "agent", "requested_at")],
            Rows::Questions => vec![(table, "asker", "asked_at"), (table, "target", "asked_at")],
        };
        self.all().into_iter().flat_map(of).collect()
    }
}

impl Import<'_> {
    /// Takes what a broker's database holds.
    pub(super) async fn broker(
        &mut self,
        file: &Path,
        database: &Database,
    ) -> Result<(), ImportError> {
        let tables = Tables::read(database)?;
        let mut tally = Tally::default();
        left_alone(database, &tables, &mut tally)?;
        let people = self.people(file, database, &tables.naming()).await?;
        let mut raw = Tally::default();
        for (table, rows) in tables.all() {
            let reading = Reading {
                database,
                table,
                rows,
                people: &people,
                rowids: table.rowids(database)?,
                time: self.options.now,
                now: self.options.now,
                hive: self.hive.hive.as_deref().unwrap_or_default(),
                tally: &mut tally,
                kept: Vec::new(),
                refused: 0,
            };
            self.table(file, reading, &mut raw).await?;
        }
        self.report_raw(file, raw);
        let report = &mut self.report.import;
        report.remarks.extend(tally.remarks);
        report.more_remarks += tally.more_remarks;
        report.records.untimed += tally.records.untimed;
        Ok(())
    }

    async fn table(
        &mut self,
        file: &Path,
        mut reading: Reading<'_>,
        raw: &mut Tally,
    ) -> Result<(), ImportError> {
        let mut done = 0;
        while done < reading.rowids.len() {
            let page = reading.table.page(reading.database, &reading.rowids[done..])?;
            done += page.len();
            for rows in page.chunks(HIVE_IMPORT_MAX) {
                let taken = reading.take(rows)?;
                self.give(&mut reading, taken).await?;
            }
            let kept = std::mem::take(&mut reading.kept);
            if let Became::Failed(reason) = became(self.keep_raw(file, kept, raw).await)? {
                self.report.fail(file, reason);
            }
        }
        Ok(())
    }

    /// Gives rows together, or one by one where the store refuses them together.
    async fn give(
        &mut self,
        reading: &mut Reading<'_>,
        taken: Vec<(Taken, TableRow)>,
    ) -> Result<(), ImportError> {
        let all = together(taken.iter().map(|(taken, _)| taken));
        match self.give_import(all).await {
            Ok(done) => self.counts(reading.rows).add(done),
            Err(Stop::Agent(_) | Stop::Failed(_)) => {
                for (one, row) in taken {
                    match self.give_import(together([&one])).await {
                        Ok(done) => self.counts(reading.rows).add(done),
                        Err(Stop::Agent(reason) | Stop::Failed(reason)) => {
                            self.counts(reading.rows).kept_raw += 1;
                            reading.kept.push(Kept::row(reading.table.name, &row, reason));
                        }
                        Err(Stop::Import(error)) => return Err(error),
                    }
                }
            }
            Err(Stop::Import(error)) => return Err(error),
        }
        self.counts(reading.rows).kept_raw += std::mem::take(&mut reading.refused);
        Ok(())
    }

    fn counts(&mut self, rows: Rows) -> &mut RowCounts {
        match rows {
            Rows::Messages => &mut self.report.messages,
            Rows::Approvals => &mut self.report.approvals,
            Rows::Questions => &mut self.report.questions,
        }
    }

    async fn give_import(&self, import: HiveImport) -> Result<HiveImported, Stop> {
        match self.options.dry_run {
            false => Ok(self.store.import_hive(import).await?),
            true => Ok(self.foretell(import).await?),
        }
    }

    /// What the store would answer.
    async fn foretell(&self, import: HiveImport) -> Result<HiveImported, StoreError> {
        let mut done = HiveImported::default();
        for message in import.messages {
            let known = found(self.store.message(message.id.clone()).await)?;
            note(&mut done, known.map(|known| known.takes_import(&message)));
        }
        for approval in import.approvals {
            let known = found(self.store.approval(approval.id).await)?;
            let open = |status| status == ApprovalStatus::Pending;
            note(&mut done, known.map(|known| open(known.status) && !open(approval.status)));
        }
        for question in import.questions {
            let known = found(self.store.question(question.id).await)?;
            let open = |status| status == QuestionStatus::Open;
            note(&mut done, known.map(|known| open(known.status) && !open(question.status)));
        }
        Ok(done)
    }
}

fn found<T>(answer: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Counts a row that is new, or known and whether it would change.
fn note(done: &mut HiveImported, changes: Option<bool>) {
    match changes {
        None => done.created += 1,
        Some(true) => done.updated += 1,
        Some(false) => done.present += 1,
    }
}

fn together<'a>(taken: impl IntoIterator<Item = &'a Taken>) -> HiveImport {
    let mut import = HiveImport::default();
    for one in taken {
        match one {
            Taken::Message(message) => import.messages.push(message.clone()),
            Taken::Approval(approval) => import.approvals.push(approval.clone()),
            Taken::Question(question) => import.questions.push(question.clone()),
        }
    }
    import
}

/// Names what is in the database and not taken.
fn left_alone(database: &Database, tables: &Tables, tally: &mut Tally) -> Result<(), ImportError> {
    let text = "SELECT name FROM sqlite_schema WHERE type = 'table'
        AND name NOT IN ('messages', 'approvals', 'operator_questions', 'questions')
        AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name";
    for table in database.collect(text, &[], |row| row.get::<_, String>(0))? {
        tally.remark(&table, None, "a table of something else, left alone");
    }
    for (table, rows) in tables.all() {
        let known = match rows {
            Rows::Messages => &message_row::COLUMNS[..],
            Rows::Questions => &question_row::COLUMNS[..],
            // Its details keep every other column.
            Rows::Approvals => continue,
        };
        for column in table.unknown(known) {
            tally.remark(table.name, None, format!("its column {column} is left out"));
        }
    }
    Ok(())
}

impl Reading<'_> {
    /// What rows become; what cannot be taken is kept.
    fn take(&mut self, rows: &[TableRow]) -> Result<Vec<(Taken, TableRow)>, ImportError> {
        let mut taken = Vec::with_capacity(rows.len());
        for row in rows {
            self.time = self.time_of(row);
            match self.row(row) {
                Ok(mut one) => {
                    if let Taken::Message(message) = &mut one {
                        message.in_reply_to = self.replied_to(row)?;
                    }
                    one.set_number(row.line().unwrap_or_default());
                    taken.push((one, row.clone()));
                }
                Err(reason) => {
                    self.refused += 1;
                    self.kept.push(Kept::row(self.table.name, row, reason));
                }
            }
        }
        Ok(taken)
    }

    /// The time of a row; one without gets that of the row before.
    fn time_of(&mut self, row: &TableRow) -> Timestamp {
        let column = match self.rows {
            Rows::Messages => "sent_at",
            Rows::Approvals => "requested_at",
            Rows::Questions => "asked_at",
        };
        read_time(row.cell(column)).unwrap_or_else(|| {
            self.tally.records.untimed += 1;
            let what = format!("{column}: no time, that of the row before is taken");
            self.tally.remark(self.table.name, row.line(), what);
            self.time
        })
    }

    /// What a row becomes, or why it cannot be taken.
    fn row(&mut self, row: &TableRow) -> Result<Taken, String> {
        let id = self.id(row);
        let refused = |invalid: ah_model::Invalid| invalid.to_string();
        let mut columns = Columns::new(self.table.name, "id", row, self.tally);
        let taken = match self.rows {
            Rows::Messages => {
                let acks = self.table.columns.iter().any(|column| column == "acked_at");
                let handled = if acks { Handled::WhenAcked } else { Handled::WhenDelivered };
                let id = id.parse().map_err(refused)?;
                message_row::message(&mut columns, self.people, id, self.time, handled)
                    .map(Taken::Message)
            }
            Rows::Approvals => {
                let id = id.parse().map_err(refused)?;
                approval_row::approval(&mut columns, row, self.people, id, self.time)
                    .map(Taken::Approval)
            }
            Rows::Questions => {
                let id = id.parse().map_err(refused)?;
                question_row::question(&mut columns, self.people, id, self.time, self.now)
                    .map(Taken::Question)
            }
        }?;
        self.kept.extend(columns.leftovers.into_iter().map(Kept::from));
        Ok(taken)
    }

    /// What a row is known by in any copy of the file: its number, and what of it never changes.
    fn id(&self, row: &TableRow) -> String {
        let (table, lasting) = match self.rows {
            Rows::Messages => (message_row::TABLE, message_row::LASTING),
            Rows::Approvals => (approval_row::TABLE, approval_row::LASTING),
            Rows::Questions => ("questions", question_row::LASTING),
        };
        let cells = row.cells.iter().filter(|(name, _)| lasting.contains(&name.as_str()));
        let lasting = TableRow { rowid: row.rowid, cells: cells.cloned().collect() };
        let bits = fingerprint(format!("{}:{:016x}", self.hive, lasting.fingerprint()).as_bytes());
        format!("hyperhive.{table}.{}.{bits:016x}", row.rowid)
    }

    /// The message that a row answers, if it is an earlier one of the same file.
    fn replied_to(&mut self, row: &TableRow) -> Result<Option<MessageId>, ImportError> {
        let cell = row.cell("in_reply_to");
        if cell.is_null() {
            return Ok(None);
        }
        let number = String::from_utf8_lossy(&cell.bytes()).trim().parse::<i64>().ok();
        let earlier = number.filter(|number| *number < row.rowid);
        let there = earlier.filter(|number| self.rowids.binary_search(number).is_ok());
        if let Some(number) = there {
            let page = self.table.page(self.database, &[number])?;
            let mut unsaid = Tally::default();
            // Whatever is to be said of that row was said when it was read.
            std::mem::swap(self.tally, &mut unsaid);
            let left = self.kept.len();
            let replied = page.first().map(|row| self.row(row));
            self.kept.truncate(left);
            std::mem::swap(self.tally, &mut unsaid);
            if let Some(Ok(Taken::Message(message))) = replied {
                return Ok(Some(message.id));
            }
        }
        let what = "in_reply_to: names no earlier message that was taken, left out";
        self.tally.remark(self.table.name, row.line(), what);
        Ok(None)
    }
}
