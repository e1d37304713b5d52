//! A database of version 11, the last in which a trigger looked for the blocks of every message.

use ah_model::{MessageFilter, NewMessage, PageRequest, Party};
use ah_store::{Messages, block_on};
use ah_store_sql::{SqlStore, Upgrade};

use crate::given::{OldDatabase, migrations};

const OLD: OldDatabase = OldDatabase {
    version: 11,
    sqlite: migrations!(
        "sqlite":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens",
        "6__hive",
        "7__message_blocks",
        "8__enrolled_executors",
        "9__fleets",
        "10__search",
        "11__spendings"
    ),
    postgres: migrations!(
        "postgres":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens",
        "6__hive",
        "7__message_blocks",
        "8__enrolled_executors",
        "9__fleets",
        "10__search",
        "11__spendings"
    ),
    rows: ROWS,
    check,
};

/// The same rows for both engines: a message.
const ROWS: &str = r"
    INSERT INTO messages (id, kind, sender, recipient, body, status, sent_at) VALUES
      ('019b7ca9-8f2e-7001-a2ee-000000000001', 'mail', 'operator', 'operator', 'old', 'queued',
        '2026-01-02T03:04:05.000Z');
    INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
      (11, 'spendings', 'of another time', '2026-01-02T03:04:05.000Z');";

fn check(store: &SqlStore, upgrade: &Upgrade) {
    let steps = ["12__known_blocks", "13__repo_fingerprints", "14__overviews"].map(str::to_owned);
    assert_eq!((upgrade.from, upgrade.steps.as_slice()), (11, steps.as_slice()));
    for body in ["new", "newer"] {
        let new = NewMessage::new(Party::Operator, Party::Operator, body);
        block_on(store.send_message(new)).unwrap();
    }
    let all = MessageFilter { to: Some(Party::Operator), ..MessageFilter::default() };
    let listed = block_on(store.list_messages(all, PageRequest::default())).unwrap().items;
    let bodies: Vec<_> = listed.into_iter().map(|message| message.body).collect();
    assert_eq!(bodies, ["newer", "new", "old"]);
    let violations = block_on(store.check()).unwrap().violations;
    // The fixture's checksum is not ours; nothing else is to be said.
    assert_eq!(violations.len(), 1, "{violations:?}");
}

#[test]
fn a_file_of_version_11_lists_its_mail_and_what_comes_then() {
    OLD.open_file();
}

#[test]
fn a_postgres_schema_of_version_11_lists_its_mail_and_what_comes_then() {
    OLD.open_schema();
}
