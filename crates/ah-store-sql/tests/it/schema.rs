//! The schema: snapshots of both engines, the two compared column by column, and the page that
//! describes it. `AH_UPDATE_DOCS=1` writes the files anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_conformance::SeededIds;
use ah_store::{Capabilities, Ids, SystemClock};
use ah_store_sql::{PostgresOptions, SqlStore, SqliteOptions};
use postgres::{Client, NoTls};
use rusqlite::Connection;

use crate::postgres::server_url;

/// Columns by table, in order: name, type, whether it may be empty.
type Tables = BTreeMap<String, Vec<(String, String, bool)>>;

const CAPABILITIES: Capabilities = Capabilities { workspaces: true };

/// Where PostgreSQL has an index instead.
const OF_SQLITE_ALONE: &[&str] = &["message_blocks"];
/// What SQLite's own table needs of another.
const COLUMN_OF_SQLITE_ALONE: (&str, &str) = ("messages", "in_blocks");
/// Where SQLite has a virtual table instead.
const OF_POSTGRES_ALONE: &[&str] = &["search_words"];

#[expect(clippy::disallowed_methods, reason = "tests look into the file directly")]
fn sqlite(directory: &Path) -> Connection {
    let path = directory.join("state.db");
    let ids = Ids::new(Box::new(SeededIds::new(1)));
    let options = SqliteOptions::new(&path);
    SqlStore::open_sqlite(options, CAPABILITIES, Arc::new(SystemClock), ids).unwrap();
    Connection::open(path).unwrap()
}

fn sqlite_tables(connection: &Connection) -> Tables {
    let sql = "SELECT t.name, c.name, c.type, c.\"notnull\" = 0 AND c.pk = 0 \
               FROM pragma_table_list t JOIN pragma_table_info(t.name) c \
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid";
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut tables = Tables::new();
    while let Some(row) = rows.next().unwrap() {
        let column = (row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap());
        tables.entry(row.get(0).unwrap()).or_default().push(column);
    }
    tables
}

fn postgres_tables(client: &mut Client, schema: &str) -> Tables {
    let sql = "SELECT table_name, column_name, data_type, is_nullable = 'YES' \
               FROM information_schema.columns WHERE table_schema = $1 \
               ORDER BY table_name COLLATE \"C\", ordinal_position";
    let mut tables = Tables::new();
    for row in client.query(sql, &[&schema]).unwrap() {
        let column = (row.get(1), row.get(2), row.get(3));
        tables.entry(row.get(0)).or_default().push(column);
    }
    tables
}

/// A schema made by the migrations, and its tables and indexes.
fn postgres_schema(url: &str, name: &str) -> (Tables, Vec<String>) {
    let schema = format!("{name}_{}", std::process::id());
    let ids = Ids::new(Box::new(SeededIds::new(1)));
    let options =
        PostgresOptions { schema: Some(schema.clone()), ..PostgresOptions::new(url.to_owned()) };
    SqlStore::connect_postgres(options, CAPABILITIES, Arc::new(SystemClock), ids).unwrap();
    let mut client = Client::connect(url, NoTls).unwrap();
    let tables = postgres_tables(&mut client, &schema);
    let indexes = "SELECT replace(indexdef, $1 || '.', '') FROM pg_indexes WHERE schemaname = $1 \
                   ORDER BY indexname COLLATE \"C\"";
    let indexes = client.query(indexes, &[&schema]).unwrap().iter().map(|row| row.get(0)).collect();
    client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
    (tables, indexes)
}

/// The meaning both engines must give a column.
fn meaning(sqlite: &str, postgres: &str) -> bool {
    matches!(
        (sqlite, postgres),
        ("TEXT", "text" | "jsonb" | "timestamp with time zone") | ("INTEGER", "bigint" | "boolean")
    )
}

#[test]
fn both_engines_have_the_same_tables_and_columns() {
    let Some(url) = server_url() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut ours = sqlite_tables(&sqlite(directory.path()));
    OF_SQLITE_ALONE.iter().for_each(|table| assert!(ours.remove(*table).is_some(), "{table}"));
    let (table, alone) = COLUMN_OF_SQLITE_ALONE;
    assert!(ours[table].iter().any(|column| column.0 == alone));
    ours.entry(table.to_owned()).and_modify(|columns| columns.retain(|column| column.0 != alone));
    let (mut theirs, _) = postgres_schema(&url, "compared");
    OF_POSTGRES_ALONE.iter().for_each(|table| assert!(theirs.remove(*table).is_some(), "{table}"));
    let names = |tables: &Tables| -> Vec<(String, Vec<(String, bool)>)> {
        let columns = |list: &Vec<(String, String, bool)>| {
            let mut columns: Vec<_> = list.iter().map(|c| (c.0.clone(), c.2)).collect();
            columns.sort();
            columns
        };
        tables.iter().map(|(table, list)| (table.clone(), columns(list))).collect()
    };
    assert_eq!(names(&ours), names(&theirs));
    for (table, columns) in &ours {
        for (column, kind, _) in columns {
            let other = theirs[table].iter().find(|other| other.0 == *column).unwrap();
            assert!(meaning(kind, &other.1), "{table}.{column}: {kind} and {}", other.1);
        }
    }
}

#[test]
fn the_sqlite_schema_is_the_checked_in_one() {
    let directory = tempfile::tempdir().unwrap();
    let connection = sqlite(directory.path());
    let sql = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' \
               ORDER BY tbl_name, type DESC, name";
    let mut statement = connection.prepare(sql).unwrap();
    let texts = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let text: String = texts.map(|text| text.unwrap() + ";\n\n").collect();
    checked_in("crates/ah-store-sql/schema/sqlite.sql", &text);
}

#[test]
fn the_postgres_schema_is_the_checked_in_one() {
    let Some(url) = server_url() else { return };
    let (tables, indexes) = postgres_schema(&url, "snapshot");
    let mut text = String::new();
    for (table, columns) in &tables {
        writeln!(text, "TABLE {table}").unwrap();
        for (name, kind, nullable) in columns {
            writeln!(text, "  {name} {kind}{}", if *nullable { "" } else { " NOT NULL" }).unwrap();
        }
    }
    text.extend(indexes.iter().map(|index| format!("{index}\n")));
    checked_in("crates/ah-store-sql/schema/postgres.sql", &text);
}

#[test]
fn the_page_about_the_schema_is_true() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = format!(
        "# Schema\n\nWritten by a test from the database itself; version {}. PostgreSQL has the \
         same tables and columns in its own types: times are `timestamptz`, flags `boolean`, \
         labels and models `jsonb`; event payloads are text on both, kept byte for byte.\n",
        ah_store_sql::SCHEMA_VERSION
    );
    for (table, columns) in sqlite_tables(&sqlite(directory.path())) {
        writeln!(text, "\n## {table}\n\n| column | type | may be empty |\n|---|---|---|").unwrap();
        for (name, kind, nullable) in columns {
            let empty = if nullable { "yes" } else { "no" };
            writeln!(text, "| `{name}` | {} | {empty} |", kind.to_lowercase()).unwrap();
        }
    }
    checked_in("docs/schema.md", &text);
}

/// Compares a generated text with the file that is checked in, or writes the file.
#[expect(clippy::disallowed_methods, reason = "a developer asks for new files this way")]
fn checked_in(path: &str, text: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file: PathBuf = root.join(path);
    if std::env::var("AH_UPDATE_DOCS").is_ok_and(|value| !value.is_empty()) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
    }
    let stands = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stands == text, "{path} is out of date; run the tests with AH_UPDATE_DOCS=1");
}
