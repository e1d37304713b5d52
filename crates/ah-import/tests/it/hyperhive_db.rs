//! Databases as Hyperhive made them, and all that a store keeps of them.

use std::path::{Path, PathBuf};

use ah_conformance::block_on;
use ah_import::{HyperhiveOptions, HyperhiveReport, ImportError, ImportOptions, import_hyperhive};
use ah_model::{
    Approval, ApprovalFilter, Message, MessageFilter, PageLimit, PageRequest, Question,
    QuestionFilter, Timestamp,
};
use ah_store::Store;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{ignore, options as daycare_options};

/// The broker of the seed document, before questions had deadlines.
pub(crate) const SEED: &str = "
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, recipient TEXT NOT NULL,
    body TEXT NOT NULL, sent_at INTEGER NOT NULL, delivered_at INTEGER
);
CREATE TABLE approvals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, kind TEXT NOT NULL,
    commit_ref TEXT NOT NULL, requested_at INTEGER NOT NULL, status TEXT NOT NULL,
    resolved_at INTEGER, note TEXT
);
CREATE TABLE operator_questions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, asker TEXT NOT NULL, question TEXT NOT NULL,
    options_json TEXT NOT NULL, multi INTEGER NOT NULL DEFAULT 0, asked_at INTEGER NOT NULL,
    answered_at INTEGER, answer TEXT
);
";

/// The column that deadlines brought.
pub(crate) const DEADLINES: &str = "ALTER TABLE operator_questions ADD COLUMN deadline_at INTEGER;";

/// What came after the seed document.
pub(crate) const LATER: &str = "
ALTER TABLE messages ADD COLUMN acked_at INTEGER;
ALTER TABLE messages ADD COLUMN in_reply_to INTEGER;
ALTER TABLE approvals ADD COLUMN fetched_sha TEXT;
ALTER TABLE operator_questions ADD COLUMN target TEXT;
";

/// The live events of an agent.
pub(crate) const EVENTS: &str = "
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER NOT NULL, kind TEXT NOT NULL,
    payload_json TEXT NOT NULL
);
";

/// A time of the fixtures: so many seconds after this.
pub(crate) const T0: i64 = 1_777_600_000;

pub(crate) fn options() -> ImportOptions {
    let now = Timestamp::from_unix_ms((T0 + 1_000) * 1_000);
    ImportOptions { kind: "claude-code".parse().unwrap(), now, ..daycare_options() }
}

/// The state directory of a hive.
pub(crate) struct HiveDir(TempDir);

impl HiveDir {
    /// With a broker that `statements` make.
    pub(crate) fn new(statements: &str) -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        run(&dir.broker(), statements);
        dir
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn broker(&self) -> PathBuf {
        self.0.path().join("broker.sqlite")
    }

    /// Changes the broker.
    pub(crate) fn run(&self, statements: &str) {
        run(&self.broker(), statements);
    }

    /// The event file of an agent, which `statements` make or change.
    pub(crate) fn events(&self, agent: &str, statements: &str) -> PathBuf {
        let dir = self.0.path().join("agents").join(agent).join("state");
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("hyperhive-events.sqlite");
        run(&file, statements);
        file
    }

    pub(crate) fn import(&self, store: &dyn Store) -> HyperhiveReport {
        import(store, &[self.broker()]).unwrap()
    }

    pub(crate) fn dry_run(&self, store: &dyn Store) -> HyperhiveReport {
        let options = ImportOptions { dry_run: true, ..options() };
        let hive = HyperhiveOptions::default();
        block_on(import_hyperhive(store, &[self.broker()], &hive, &options, &mut ignore)).unwrap()
    }
}

pub(crate) fn import(store: &dyn Store, files: &[PathBuf]) -> Result<HyperhiveReport, ImportError> {
    import_as(store, files, &HyperhiveOptions::default())
}

pub(crate) fn import_as(
    store: &dyn Store,
    files: &[PathBuf],
    hive: &HyperhiveOptions,
) -> Result<HyperhiveReport, ImportError> {
    block_on(import_hyperhive(store, files, hive, &options(), &mut ignore))
}

#[expect(clippy::disallowed_methods, reason = "stands for Hyperhive")]
fn run(file: &Path, statements: &str) {
    let connection = Connection::open(file).unwrap();
    connection.execute_batch(statements).unwrap();
    connection.close().unwrap();
}

/// Everything of the hive that a store keeps, oldest first.
pub(crate) fn kept(store: &dyn Store) -> String {
    let mut lines: Vec<String> = messages(store).iter().map(of_message).collect();
    lines.extend(approvals(store).iter().map(of_approval));
    lines.extend(questions(store).iter().map(of_question));
    lines.join("\n")
}

pub(crate) fn messages(store: &dyn Store) -> Vec<Message> {
    let page = block_on(store.list_messages(MessageFilter::default(), whole())).unwrap();
    page.items.into_iter().rev().collect()
}

pub(crate) fn approvals(store: &dyn Store) -> Vec<Approval> {
    let page = block_on(store.list_approvals(ApprovalFilter::default(), whole())).unwrap();
    page.items.into_iter().rev().collect()
}

pub(crate) fn questions(store: &dyn Store) -> Vec<Question> {
    let page = block_on(store.list_questions(QuestionFilter::default(), whole())).unwrap();
    page.items.into_iter().rev().collect()
}

fn whole() -> PageRequest {
    PageRequest { limit: PageLimit::MAX, cursor: None }
}

fn of_message(message: &Message) -> String {
    let Message { from, to, body, status, deliveries, attempts, .. } = message;
    let times = [Some(message.sent_at), message.delivered_at, message.acked_at].map(shown);
    let reply = message
        .in_reply_to
        .as_ref()
        .map_or(String::new(), |id| format!(" re {}", row(id.as_str())));
    format!(
        "message {} {from}>{to} {body:?} {status} {deliveries}/{attempts} {}{reply}",
        row(message.id.as_str()),
        times.join(",")
    )
}

fn of_approval(approval: &Approval) -> String {
    let Approval { agent, kind, status, details, .. } = approval;
    let texts = [&approval.commit_ref, &approval.commit, &approval.note];
    let texts = texts.map(|text| text.as_deref().unwrap_or("-"));
    let times = [Some(approval.requested_at), approval.resolved_at, approval.carried_out_at];
    format!(
        "approval {} {agent} {kind} {status} {} {} {}",
        row(approval.id.as_str()),
        texts.join(" "),
        times.map(shown).join(","),
        details.as_str()
    )
}

fn of_question(question: &Question) -> String {
    let Question { from, to, text, options, multi, outcome, .. } = question;
    let given = question.answer.as_ref().or(question.late_answer.as_ref());
    let given = given.map_or(String::new(), |given| {
        format!(" {:?} by {} at {}", given.values, given.by, shown(Some(given.at)))
    });
    let times = [Some(question.asked_at), question.deadline_at, question.resolved_at];
    format!(
        "question {} {from}>{to} {text:?} {options:?} {multi} {outcome} {}{given}",
        row(question.id.as_str()),
        times.map(shown).join(",")
    )
}

fn shown(time: Option<Timestamp>) -> String {
    time.map_or("-".to_owned(), |time| (time.unix_ms() / 1_000 - T0).to_string())
}

/// The number of the row that an id was made of; what came about here has none.
fn row(id: &str) -> &str {
    let parts: Vec<&str> = id.split('.').collect();
    match parts[..] {
        ["hyperhive", _, number, _] => number,
        _ => "here",
    }
}
