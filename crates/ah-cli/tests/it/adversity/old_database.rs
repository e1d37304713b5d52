//! A database as the version before this program's first one left it.

use std::path::Path;

use ah_model::Appended;

use super::ledger::{Acked, Line, SESSION};

/// The writer of the events in it.
pub(super) const OLD_WRITER: u64 = 99;

const LINES: u64 = 40;

const TABLES: [&str; 2] = [
    include_str!("../../../../ah-store-sql/migrations/sqlite/1__base_tables.sql"),
    include_str!("../../../../ah-store-sql/migrations/sqlite/2__executor_tables.sql"),
];

const ROWS: &str = "
    INSERT INTO repos (id, vcs, root_path) VALUES (1, 'git', '/somewhere');
    INSERT INTO agents (id, name, version) VALUES (1, 'tester', 'latest');
    INSERT INTO runtimes (id, type) VALUES (1, 'local');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at)
        VALUES ('adversity', 1, 1, 1, 'running', '2024-01-02T03:04:05Z');
    PRAGMA user_version = 2;
";

/// Makes a version-2 database with one session at `path`; what it holds counts as acknowledged.
pub(super) fn create(path: &Path) -> Acked {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "written as an older program would")]
    let connection = rusqlite::Connection::open(path).unwrap();
    TABLES.iter().chain([&ROWS]).for_each(|sql| connection.execute_batch(sql).unwrap());
    let sql = "INSERT INTO events (session_id, type, data) VALUES (?1, 'line', ?2)";
    connection.execute_batch("BEGIN").unwrap();
    for line in 0..LINES {
        let payload = Line::new(OLD_WRITER, line, 500).payload();
        connection.execute(sql, (SESSION, payload)).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    acked()
}

fn acked() -> Acked {
    let mut acked = Acked::default();
    let session_id = SESSION.parse().unwrap();
    let all = Appended {
        session_id,
        first_seq: 1,
        last_seq: LINES,
        appended: LINES,
        duplicates: 0,
        redacted: ah_model::Redactions::default(),
    };
    acked.add(OLD_WRITER, &all);
    acked
}
