use std::sync::Arc;

use ah_conformance::{SeededIds, TestClock};
use ah_model::{IndexState, NewEvent, NewRepo, NewSession, PageLimit, RawJson, SearchQuery, Vcs};
use ah_store::{Capabilities, Events, Ids, Searches, Sessions, block_on};

use crate::tx::query_all;
use crate::{SqlStore, SqliteOptions};

fn open() -> (tempfile::TempDir, SqlStore) {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(directory.path().join("state.db"));
    let ids = Ids::new(Box::new(SeededIds::new(1)));
    let capabilities = Capabilities { workspaces: false };
    let clock = Arc::new(TestClock::new());
    let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
    (directory, store)
}

/// A session that says each of `texts`.
fn say(store: &SqlStore, session: &str, texts: &[&str]) {
    let root_path = Some("/r".to_owned());
    let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
    let mut new = NewSession::new(repo, "codex".parse().unwrap());
    new.id = Some(session.parse().unwrap());
    block_on(store.create_session(new)).unwrap();
    let event = |text: &&str| NewEvent {
        kind: "user_message".to_owned(),
        data: RawJson::of(text).unwrap(),
        dedup_key: None,
        ts: None,
    };
    let events = texts.iter().map(event).collect();
    block_on(store.append_events(session.parse().unwrap(), events)).unwrap();
}

fn update(store: &SqlStore) {
    let step = || block_on(store.update_search_index(PageLimit::MAX)).unwrap();
    for _ in 0..1_000 {
        if step().state == IndexState::Done {
            return;
        }
    }
    panic!("the index is never up to date");
}

fn found(store: &SqlStore, typed: &str) -> usize {
    let query = SearchQuery::new(typed.parse().unwrap());
    block_on(store.search(query, <_>::default())).unwrap().items.len()
}

/// How many rows of the index's own tables hold these bytes.
fn in_the_file(store: &SqlStore, word: &'static str) -> i64 {
    let sql = "SELECT count(*) FROM search_words_data \
               WHERE instr(block, CAST($1 AS BLOB)) > 0";
    let counted = move |tx: &mut dyn crate::tx::Tx, _: &crate::resources::Resources| {
        query_all(tx, sql, &[word.into()], |row| row.int(0))
    };
    block_on(store.read(counted)).unwrap()[0]
}

#[test]
fn words_of_what_was_deleted_leave_the_file_with_the_next_upkeep() {
    let (_directory, store) = open();
    say(&store, "kept", &["common word"; 50]);
    say(&store, "gone", &["quicksilver common"]);
    say(&store, "later", &["another word"; 50]);
    update(&store);
    assert_eq!((found(&store, "quicksilver"), in_the_file(&store, "uicksilver")), (1, 1));
    block_on(store.delete_session("gone".parse().unwrap())).unwrap();
    assert_eq!(found(&store, "quicksilver"), 0);
    update(&store);
    assert_eq!(in_the_file(&store, "uicksilver"), 0);
    assert_eq!((found(&store, "common"), found(&store, "another")), (50, 50));
    assert_eq!(block_on(store.check()).unwrap().violations, []);
}

#[test]
fn an_append_writes_nothing_of_the_index() {
    let (_directory, store) = open();
    say(&store, "s", &["word"]);
    assert_eq!(in_the_file(&store, "word"), 0);
    update(&store);
    assert_eq!(in_the_file(&store, "word"), 1);
}

#[test]
fn an_index_of_other_rules_is_made_anew() {
    let (_directory, store) = open();
    say(&store, "s", &["word"]);
    update(&store);
    let statements = [
        "INSERT INTO search_words(search_words) VALUES ('delete-all')",
        "UPDATE search_index SET rules = 0",
    ];
    for sql in statements {
        block_on(store.write(move |tx, _| tx.execute(sql, &[]))).unwrap();
    }
    assert_eq!(found(&store, "word"), 0);
    update(&store);
    assert_eq!(found(&store, "word"), 1);
}

#[test]
fn an_event_that_cannot_be_read_costs_its_own_reading() {
    let (_directory, store) = open();
    say(&store, "s", &["word", "word", "word"]);
    let odd = "UPDATE events SET ts = 'soon' WHERE seq = 2";
    block_on(store.write(move |tx, _| tx.execute(odd, &[]))).unwrap();
    update(&store);
    assert_eq!(found(&store, "word"), 2);
}

#[test]
fn a_row_of_the_index_without_an_event_is_named_by_the_check() {
    let (_directory, store) = open();
    say(&store, "s", &["word"]);
    let alone = "INSERT INTO search_words (rowid, words) VALUES (77, 'x')";
    block_on(store.write(move |tx, _| tx.execute(alone, &[]))).unwrap();
    let violations = block_on(store.check()).unwrap().violations;
    let subjects: Vec<_> = violations.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(subjects, ["search_words: event 77"]);
}
