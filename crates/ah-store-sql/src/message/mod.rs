//! Messages in SQL: `row` reads and writes the row, `block` finds a party's mail, `send` queues it, `receive` hands them out and
//! hears their holders, `settle` ends what others or time decided, `list` filters and pages.
//!
//! Rows are locked in one order everywhere: agents, approvals, questions, then messages by ascending
//! number. Who hands messages out or ends leases passes by what is locked and waits for nobody.

mod block;
mod list;
mod receive;
mod row;
mod send;
mod settle;

use std::slice;

use ah_model::{
    Hold, Message, MessageFilter, MessageId, NewMessage, Page, PageRequest, Party, Receive,
    Received, Release, check_holds, check_lease_ms,
};
use ah_store::{Messages, StoreError, check_receive};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::ids_with_prefix;
use crate::resources::Resources;
use crate::tx::Tx;

pub(crate) use self::block::Block;
pub(crate) use self::receive::is_receivable;
pub(crate) use self::row::{read_party, to_party};
pub(crate) use self::send::{import, post};
pub(crate) use self::settle::{DUE, lapse, lapsed};

/// What is still to be handled, as the index of it says.
const OPEN: &str = "acked_at IS NULL AND dead_at IS NULL";

#[async_trait]
impl Messages for SqlStore {
    async fn send_message(&self, message: NewMessage) -> Result<Vec<Message>, StoreError> {
        message.check()?;
        let message = self.clean(message);
        let send = move |tx: &mut dyn Tx, ctx: &Resources| {
            send::send(tx, ctx, &message.from, slice::from_ref(&message)).map(|(_, sent)| sent)
        };
        self.once_as_due(Option::is_some, send).await
    }

    async fn message(&self, id: MessageId) -> Result<Message, StoreError> {
        self.read_as_due(move |tx, _| row::get(tx, &id)).await
    }

    async fn message_ids_with_prefix(&self, prefix: String) -> Result<Vec<MessageId>, StoreError> {
        self.read(move |tx, _| ids_with_prefix(tx, "messages", &prefix)).await
    }

    async fn list_messages(
        &self,
        filter: MessageFilter,
        page: PageRequest,
    ) -> Result<Page<Message>, StoreError> {
        self.read_as_due(move |tx, _| list::list(tx, &filter, &page)).await
    }

    async fn receive_messages(&self, receive: Receive) -> Result<Received, StoreError> {
        check_receive(&receive)?;
        let receive = self.clean(receive);
        // Who only takes often finds nothing, and looking costs no write. A key that was used before
        // is asked about in any case.
        if receive.only_takes() && self.key.is_none() {
            let wanted = receive.clone();
            if !self.read_as_due(move |tx, ctx| receive::look(tx, ctx, &wanted)).await? {
                return Ok(Received::default());
            }
        }
        let some =
            |done: &Option<Received>| done.as_ref().is_some_and(|received| !received.is_empty());
        self.once_as_due(some, move |tx, ctx| receive::receive(tx, ctx, &receive)).await
    }

    async fn renew_message(&self, hold: Hold, lease_ms: u64) -> Result<Message, StoreError> {
        check_lease_ms(lease_ms)?;
        self.write_as_due(move |tx, ctx| receive::renew(tx, ctx, &hold, lease_ms)).await
    }

    async fn ack_messages(&self, holds: Vec<Hold>) -> Result<Vec<Message>, StoreError> {
        check_holds(&holds)?;
        self.write_as_due(move |tx, ctx| receive::ack(tx, ctx, &holds)).await
    }

    async fn release_message(&self, release: Release) -> Result<Message, StoreError> {
        release.check()?;
        let release = self.clean(release);
        self.write_as_due(move |tx, ctx| settle::release(tx, ctx, &release)).await
    }

    async fn requeue_message(&self, id: MessageId) -> Result<Message, StoreError> {
        self.write_as_due(move |tx, ctx| settle::requeue(tx, ctx, &id)).await
    }

    async fn dismiss_notices(&self, to: Party, about: String) -> Result<u64, StoreError> {
        self.write_as_due(move |tx, ctx| settle::dismiss(tx, ctx, &to, &about)).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ah_conformance::{SeededIds, TestClock};
    use ah_model::{
        AgentId, Hold, MessageFilter, MessageKind, MessageStatus, NewAgent, NewMessage,
        NewQuestion, NewRepo, NewSession, PageLimit, PageRequest, Party, Question, Receive, Vcs,
    };
    use ah_store::{
        Agents, Capabilities, Ids, Messages, Questions, Retention, StoreError, block_on,
    };

    use crate::hive::is_due;
    use crate::resources::Resources;
    use crate::tx::{More, Param, Tx};
    use crate::{SqlStore, SqliteOptions, Upgrade};

    fn open_in(directory: &tempfile::TempDir, clock: &TestClock) -> (SqlStore, Upgrade) {
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let capabilities = Capabilities { workspaces: false };
        SqlStore::open_sqlite(options, capabilities, Arc::new(clock.clone()), ids).unwrap()
    }

    fn open() -> (tempfile::TempDir, SqlStore) {
        open_at(&TestClock::new())
    }

    fn open_at(clock: &TestClock) -> (tempfile::TempDir, SqlStore) {
        let directory = tempfile::tempdir().unwrap();
        let (store, _) = open_in(&directory, clock);
        create(&store, "mira");
        (directory, store)
    }

    fn create(store: &SqlStore, name: &str) -> AgentId {
        let root_path = Some("/r".to_owned());
        let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
        let session = NewSession::new(repo, "codex".parse().unwrap());
        block_on(store.create_agent(NewAgent::new(name, session))).unwrap().id
    }

    fn mira() -> Party {
        Party::Agent("mira".to_owned())
    }

    /// A transaction that has every statement explained instead of run.
    struct Explained<'a>(&'a mut dyn Tx, String);

    impl Tx for Explained<'_> {
        fn dialect(&self) -> crate::tx::Dialect {
            self.0.dialect()
        }

        fn lull(&mut self) -> Option<&mut crate::lull::Lull> {
            self.0.lull()
        }

        fn execute(&mut self, _: &str, _: &[Param<'_>]) -> Result<u64, ah_store::StoreError> {
            Ok(0)
        }

        fn query(
            &mut self,
            sql: &str,
            params: &[Param<'_>],
            _: &mut dyn FnMut(&dyn crate::tx::Row) -> Result<More, ah_store::StoreError>,
        ) -> Result<(), ah_store::StoreError> {
            self.0.query(&format!("EXPLAIN QUERY PLAN {sql}"), params, &mut |row| {
                self.1.push_str(&row.text(3)?);
                self.1.push('\n');
                Ok(More::Yes)
            })
        }

        fn insert_numbered(
            &mut self,
            _: &str,
            _: &[Param<'_>],
        ) -> Result<u64, ah_store::StoreError> {
            Ok(0)
        }

        fn insert_rows(
            &mut self,
            _: &'static str,
            _: &'static [crate::tx::Column],
            _: &mut dyn Iterator<Item = Vec<Param<'_>>>,
        ) -> Result<(), ah_store::StoreError> {
            Ok(())
        }
    }

    /// How SQLite goes about what `work` asks.
    fn plan(
        store: &SqlStore,
        work: impl Fn(&mut dyn Tx) -> Result<(), ah_store::StoreError> + Send + 'static,
    ) -> String {
        let explain = move |tx: &mut dyn Tx, _: &crate::resources::Resources| {
            let mut explained = Explained(tx, String::new());
            work(&mut explained)?;
            Ok(explained.1)
        };
        block_on(store.read(explain)).unwrap()
    }

    #[test]
    fn what_is_handed_out_and_listed_is_found_by_its_index() {
        let (_directory, store) = open();
        let now = ah_model::Timestamp::EPOCH;
        let received = plan(&store, move |tx| super::is_receivable(tx, &mira(), now).map(drop));
        assert!(received.contains("USING INDEX messages_open (<expr>=?)"), "{received}");
        let due = plan(&store, move |tx| {
            let sql = format!("SELECT number FROM messages WHERE {}", super::DUE);
            tx.query(&sql, &[now.into()], &mut |_| Ok(More::Yes))
        });
        assert!(due.contains("INDEX messages_leases (lease_expires_at"), "{due}");
        let soonest = plan(&store, |tx| crate::lull::begin(tx).map(drop));
        for index in ["messages_leases", "questions_deadlines"] {
            assert!(soonest.contains(&format!("COVERING INDEX {index}")), "{soonest}");
        }
        assert!(!soonest.contains("TEMP B-TREE"), "{soonest}");
        let listed = |filter: MessageFilter| {
            plan(&store, move |tx| {
                super::list::list(tx, &filter, &PageRequest::default()).map(drop)
            })
        };
        let (open, dead) = (MessageStatus::Queued, MessageStatus::Dead);
        for (filter, index) in [
            (MessageFilter { to: Some(mira()), ..MessageFilter::default() }, "message_blocks "),
            (MessageFilter { from: Some(mira()), ..MessageFilter::default() }, "message_blocks "),
            (
                MessageFilter {
                    to: Some(mira()),
                    statuses: vec![open, MessageStatus::Leased],
                    ..MessageFilter::default()
                },
                "messages_open ",
            ),
            (MessageFilter { statuses: vec![dead], ..MessageFilter::default() }, "messages_dead "),
        ] {
            let plan = listed(filter.clone());
            assert!(plan.contains(index), "{filter:?}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{filter:?}: {plan}");
        }
    }

    fn statements(store: &SqlStore, sql: &'static [&'static str]) {
        let all = move |tx: &mut dyn Tx, _: &crate::resources::Resources| {
            sql.iter().try_for_each(|sql| tx.execute(sql, &[]).map(drop))
        };
        block_on(store.write(all)).unwrap();
    }

    /// The bodies of a whole list, read three at a time.
    fn listed(store: &SqlStore, filter: &MessageFilter) -> Vec<String> {
        let (mut bodies, mut page) =
            (Vec::new(), PageRequest { limit: PageLimit::at_most(3), cursor: None });
        loop {
            let list = block_on(store.list_messages(filter.clone(), page.clone())).unwrap();
            bodies.extend(list.items.into_iter().map(|message| message.body));
            let Some(next) = list.next_cursor else { return bodies };
            page.cursor = Some(next);
        }
    }

    fn blocks(store: &SqlStore) -> Vec<(String, i64)> {
        let sql = "SELECT party, block FROM message_blocks ORDER BY block, party";
        let read = move |tx: &mut dyn Tx, _: &crate::resources::Resources| {
            crate::tx::query_all(tx, sql, &[], |row| Ok((row.text(0)?, row.int(1)?)))
        };
        block_on(store.read(read)).unwrap()
    }

    #[test]
    fn a_list_goes_from_block_to_block_and_an_empty_block_is_forgotten() {
        let (_directory, store) = open();
        let send = |from: Party, to: Party, number: usize| {
            block_on(store.send_message(NewMessage::new(from, to, format!("{number}")))).unwrap();
        };
        (0..5).for_each(|number| send(Party::Operator, mira(), number));
        // The rest comes three blocks later, over the edge between two.
        statements(&store, &["UPDATE sqlite_sequence SET seq = 4090 WHERE name = 'messages'"]);
        (5..10).for_each(|number| send(Party::Operator, mira(), number));
        (10..15).for_each(|number| send(mira(), Party::Operator, number));

        let texts = |numbers: std::ops::Range<usize>| -> Vec<String> {
            numbers.rev().map(|number| number.to_string()).collect()
        };
        let of = |party: &str| Some(party.parse::<Party>().unwrap());
        let all = MessageFilter { party: of("MIRA"), ..MessageFilter::default() };
        let got = MessageFilter { to: of("mira"), ..MessageFilter::default() };
        let wrote = MessageFilter { from: of("Mira"), ..MessageFilter::default() };
        assert_eq!(listed(&store, &all), texts(0..15));
        assert_eq!(listed(&store, &got), texts(0..10));
        assert_eq!(listed(&store, &wrote), texts(10..15));
        let open = MessageFilter { statuses: vec![MessageStatus::Queued], ..wrote };
        assert_eq!(listed(&store, &open), texts(10..15));

        let of_block = |block: i64| ["mira", "operator"].map(|party| (party.to_owned(), block));
        assert_eq!(blocks(&store), [of_block(0), of_block(3), of_block(4)].concat());
        statements(&store, &["DELETE FROM messages WHERE number IN (1, 2, 3, 4, 4092)"]);
        assert_eq!(blocks(&store), [of_block(0), of_block(3), of_block(4)].concat());
        statements(&store, &["DELETE FROM messages WHERE number = 5"]);
        assert_eq!(blocks(&store), [of_block(3), of_block(4)].concat());
    }

    #[test]
    fn an_entry_of_a_block_that_a_write_made_and_did_not_keep_is_made_again() {
        let (_directory, store) = open();
        let undone = |tx: &mut dyn Tx, ctx: &Resources| -> Result<(), StoreError> {
            let lost = NewMessage::new(Party::Operator, mira(), "lost");
            super::send::send(tx, ctx, &Party::Operator, &[lost])?;
            Err(StoreError::backend("test", "refused"))
        };
        block_on(store.write(undone)).unwrap_err();
        assert_eq!(blocks(&store), []);
        write_to(&store, "mira").unwrap();
        assert_eq!(blocks(&store), [("mira".to_owned(), 0), ("operator".to_owned(), 0)]);
    }

    #[test]
    fn the_newest_block_keeps_its_entries_when_another_process_empties_it() {
        let clock = TestClock::new();
        let (directory, store) = open_at(&clock);
        let (other, _) = open_in(&directory, &clock);
        write_to(&store, "mira").unwrap();
        statements(&other, &["DELETE FROM messages"]);
        write_to(&store, "mira").unwrap();
        assert_eq!(blocks(&store), [("mira".to_owned(), 0), ("operator".to_owned(), 0)]);
        let got = MessageFilter { to: Some(mira()), ..MessageFilter::default() };
        assert_eq!(listed(&store, &got), ["hello"]);
    }

    #[test]
    fn mail_from_before_there_were_blocks_is_listed_by_them() {
        let (directory, store) = open();
        for to in [mira(), Party::Operator] {
            let new = NewMessage::new(Party::Operator, to, "kept");
            block_on(store.send_message(new)).unwrap();
        }
        statements(
            &store,
            &[
                "DROP TRIGGER events_gone",
                "DROP TABLE search_gone",
                "DROP TABLE search_index",
                "DROP TABLE search_words",
                "DROP TRIGGER messages_into_block",
                "DROP TRIGGER messages_out_of_block",
                "DROP TABLE message_blocks",
                "ALTER TABLE messages DROP COLUMN in_blocks",
                "CREATE INDEX messages_to ON messages(lower(recipient), number)",
                "CREATE INDEX messages_from ON messages(lower(sender), number)",
                "ALTER TABLE executors DROP COLUMN status",
                "ALTER TABLE executors DROP COLUMN capacity",
                "ALTER TABLE runs DROP COLUMN requested_by",
                "DROP TABLE outboxes",
                "DROP TABLE fences",
                "DROP TABLE fleets",
                "DROP INDEX runs_live",
                "ALTER TABLE runs DROP COLUMN member",
                "CREATE UNIQUE INDEX runs_live ON runs(session_id) \
                 WHERE status IN ('pending', 'claimed', 'running', 'stopping')",
                "DROP INDEX sessions_live",
                "DROP TABLE spendings",
                "DROP TABLE repo_paths",
                "DROP INDEX repos_fingerprint",
                "ALTER TABLE repos DROP COLUMN fingerprint",
                "ALTER TABLE repos DROP COLUMN remote_key",
                "ALTER TABLE repos DROP COLUMN host",
                "ALTER TABLE repos DROP COLUMN moved_at",
                "DELETE FROM schema_migrations WHERE version >= 7",
                "PRAGMA user_version = 6",
            ],
        );
        drop(store);
        let (store, upgrade) = open_in(&directory, &TestClock::new());
        assert_eq!(
            (upgrade.from, upgrade.steps.as_slice()),
            (
                6,
                &[
                    "7__message_blocks",
                    "8__enrolled_executors",
                    "9__fleets",
                    "10__search",
                    "11__spendings",
                    "12__known_blocks",
                    "13__repo_fingerprints",
                    "14__overviews"
                ]
                .map(str::to_owned)[..]
            )
        );
        assert_eq!(blocks(&store), [("mira".to_owned(), 0), ("operator".to_owned(), 0)]);
        let all = MessageFilter { party: Some(Party::Operator), ..MessageFilter::default() };
        assert_eq!(listed(&store, &all), ["kept", "kept"]);
    }

    /// Whether something is due before `add`, a millisecond before what it adds ends, and then, all
    /// in the transaction that adds it.
    fn due_around(
        ms: i64,
        add: impl Fn(&mut dyn Tx, &Resources) -> Result<(), StoreError> + Send + 'static,
    ) -> [bool; 3] {
        let clock = TestClock::new();
        let (_directory, store) = open_at(&clock);
        let new = NewMessage::new(Party::Operator, mira(), "for later");
        block_on(store.send_message(new)).unwrap();
        let look = move |tx: &mut dyn Tx, ctx: &Resources| {
            let before = is_due(tx, ctx)?;
            add(tx, ctx)?;
            clock.advance_ms(ms - 1);
            let nearly = is_due(tx, ctx)?;
            clock.advance_ms(1);
            Ok([before, nearly, is_due(tx, ctx)?])
        };
        block_on(store.write(look)).unwrap()
    }

    #[test]
    fn what_one_write_of_a_batch_adds_is_due_in_time_for_the_next() {
        let leased = due_around(1_000, |tx, ctx| {
            let next = Receive::next(mira(), "test", 1_000);
            super::receive::receive(tx, ctx, &next).map(drop)
        });
        assert_eq!(leased, [false, false, true]);
        let renewed = due_around(2_000, |tx, ctx| {
            let next = Receive::next(mira(), "test", 60_000);
            let held = super::receive::receive(tx, ctx, &next)?.messages.remove(0);
            let hold = Hold { id: held.id, delivery: Some(held.deliveries) };
            super::receive::renew(tx, ctx, &hold, 2_000).map(drop)
        });
        assert_eq!(renewed, [false, false, true]);
        let asked = due_around(5, |tx, ctx| {
            let new = NewQuestion::new(mira(), Party::Operator, "which?");
            let new = NewQuestion { ttl_ms: Some(5), ..new };
            let id = ctx.ids.question(ctx.now())?;
            crate::question::import(tx, ctx, Question::asked(&new, id, 0, ctx.now())).map(drop)
        });
        assert_eq!(asked, [false, false, true]);
    }

    /// Writes to that name: how it is spelt.
    fn write_to(store: &SqlStore, name: &str) -> Result<String, StoreError> {
        let new = NewMessage::new(Party::Operator, Party::Agent(name.to_owned()), "hello");
        Ok(block_on(store.send_message(new))?.remove(0).to.to_string())
    }

    #[test]
    fn a_name_that_was_known_is_what_another_process_made_of_it() {
        let clock = TestClock::new();
        let (directory, store) = open_at(&clock);
        let (other, _) = open_in(&directory, &clock);
        let nora = create(&store, "nora");
        for _ in 0..2 {
            assert_eq!(write_to(&store, "NORA").unwrap(), "nora");
        }
        block_on(other.destroy_agent(nora.clone())).unwrap();
        assert!(matches!(write_to(&store, "nora"), Err(StoreError::Conflict { .. })));
        while block_on(other.purge_step(nora.clone())).unwrap().more {}
        assert!(matches!(write_to(&store, "nora"), Err(StoreError::NotFound { .. })));
        create(&other, "Nora");
        assert_eq!(write_to(&store, "nora").unwrap(), "Nora");
    }

    #[test]
    fn a_name_that_a_write_made_and_did_not_keep_is_not_known() {
        let (_directory, store) = open();
        for _ in 0..2 {
            write_to(&store, "mira").unwrap();
        }
        let undone = |tx: &mut dyn Tx, _: &Resources| -> Result<(), StoreError> {
            let renamed = "UPDATE agent_instances SET name = 'Zoe' WHERE name = 'mira'";
            tx.execute(renamed, &[])?;
            crate::names::forget(tx);
            let zoe = Party::Agent("zoe".to_owned());
            crate::party::resolve(tx, &[&zoe], crate::party::Standing::Living)?;
            Err(StoreError::backend("test", "refused"))
        };
        block_on(store.write(undone)).unwrap_err();
        assert!(matches!(write_to(&store, "zoe"), Err(StoreError::NotFound { .. })));
        assert_eq!(write_to(&store, "Mira").unwrap(), "mira");
    }

    #[test]
    fn a_lease_that_another_program_wrote_is_over_when_sql_says_so() {
        let (_directory, store) = open();
        let new = NewMessage::new(Party::Operator, mira(), "odd");
        block_on(store.send_message(new)).unwrap();
        // It is 03:04:05.678 on that day; texts are compared as they stand.
        for (lease, due) in [
            ("2026-01-02T03:04:05.678Z", true),
            ("2026-01-02T03:04:05.679Z", false),
            ("2026-01-02 23:00:00", true),
            ("2026-01-02T09:00:00+09:00", false),
            ("soon", false),
            ("", true),
        ] {
            let look = move |tx: &mut dyn Tx, ctx: &Resources| {
                tx.execute("UPDATE messages SET lease_expires_at = $1", &[lease.into()])?;
                is_due(tx, ctx)
            };
            assert_eq!(block_on(store.write(look)).unwrap(), due, "{lease:?}");
        }
    }

    #[test]
    fn one_odd_row_hides_no_other_message_and_is_named_by_the_check() {
        let (_directory, store) = open();
        for text in ["odd", "sound"] {
            let new = NewMessage::new(Party::Operator, mira(), text);
            block_on(store.send_message(new)).unwrap();
        }
        let asked = NewQuestion::new(mira(), Party::Operator, "which?");
        block_on(store.ask_question(asked)).unwrap();
        let odd = &[
            "UPDATE messages SET kind = 'rumour', status = 'lost', sender = 'a/b', \
             sent_at = 'soon' WHERE body = 'odd'",
            "UPDATE questions SET status = 'moot', options = 'none'",
        ];
        statements(&store, odd);

        let list = block_on(store.list_messages(MessageFilter::default(), PageRequest::default()));
        let messages = list.unwrap().items;
        let bodies: Vec<_> = messages.iter().map(|message| message.body.as_str()).collect();
        assert_eq!(bodies, ["sound", "odd"]);
        let odd = &messages[1];
        assert_eq!((odd.kind, odd.status), (MessageKind::Mail, MessageStatus::Dead));
        assert_eq!(odd.from, Party::Agent("a/b".to_owned()));
        let rules: Vec<_> = block_on(store.check()).unwrap().violations;
        let rules: Vec<_> = rules.iter().map(|violation| violation.rule).collect();
        let named = [
            "what approvals, questions and receipts hold is JSON",
            "times and numbers of messages, approvals, questions and receipts are such",
            "both parties of a message have an entry of its block",
            "a message has a kind and a status of the state machine",
            "a question has a status of the state machine, and an end exactly when it is over",
        ];
        assert_eq!(rules, named);
    }
}
