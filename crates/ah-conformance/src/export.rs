//! Export and import: the same bytes again, whole or not at all, and harmless when repeated.

use std::sync::Arc;
use std::thread;

use ah_model::{ExportedEvent, NewTask, Session, SessionFilter, SessionStatus, Task};
use ah_store::{
    ImportReport, Store, StoreError, block_on, check_export, export_session, import_session,
};

use crate::Harness;
use crate::given::{
    append, create, everything, id, kept, keyed, labels, listed, log, new_session, new_task, note,
    refusal, set_status,
};
use crate::harness::oracle;

async fn exported(store: &dyn Store, session: &str) -> String {
    let mut bytes = Vec::new();
    export_session(store, &id(session), &mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Proves that the document is whole, then imports it, as every caller does.
async fn import(store: &dyn Store, document: &str) -> Result<ImportReport, StoreError> {
    check_export(&mut document.as_bytes())?;
    import_session(store, &mut document.as_bytes(), &mut |_| ()).await
}

fn report(session: &str, imported: u64, present: u64) -> ImportReport {
    ImportReport { session_id: id(session), imported, present }
}

/// A session with a task, odd events, usage, labels and an end.
async fn lived(h: &dyn Harness) -> String {
    let task = NewTask {
        labels: labels(&[("team", "ü")]),
        branch: Some("b".to_owned()),
        ..new_task("Do ☃\nnow")
    };
    let batch = h.store().create_task(task).await.unwrap();
    let session = batch.session_ids[0].to_string();
    h.clock().advance_ms(10);
    set_status(h, &session, SessionStatus::Running).await;
    for event in [
        note(r#"{"usage":{"inputTokens":7},"n":1.00}"#),
        keyed(r#""\ud800\u0000""#, "k1"),
        note("123456789012345678901234567890"),
        keyed("null", "k2"),
    ] {
        h.clock().advance_ms(-3);
        append(h, &session, event).await;
    }
    h.store().pin_session(id(&session), true).await.unwrap();
    h.clock().advance_ms(1_000);
    set_status(h, &session, SessionStatus::Succeeded).await;
    session
}

pub async fn an_export_imported_again_exports_the_same_bytes(h: &mut dyn Harness) {
    let session = lived(h).await;
    let store = h.store();
    let document = exported(&*store, &session).await;
    let before = store.session(id(&session)).await.unwrap();
    assert_eq!(exported(&*store, &session).await, document, "the same state, the same bytes");

    store.delete_session(id(&session)).await.unwrap();
    h.clock().advance_ms(99_000);
    assert_eq!(import(&*store, &document).await.unwrap(), report(&session, 4, 0));
    h.reopen().await;
    let store = h.store();
    assert_eq!(store.session(id(&session)).await.unwrap(), before);
    assert_eq!(exported(&*store, &session).await, document);
}

pub async fn exports_travel_between_stores_unchanged(h: &mut dyn Harness) {
    let session = lived(h).await;
    let document = exported(&*h.store(), &session).await;
    let other = oracle(h.clock(), h.store().capabilities(), 99);
    h.clock().advance_ms(7);
    import(&*other, &document).await.unwrap();
    assert_eq!(exported(&*other, &session).await, document);

    h.store().delete_session(id(&session)).await.unwrap();
    import(&*h.store(), &exported(&*other, &session).await).await.unwrap();
    assert_eq!(exported(&*h.store(), &session).await, document);
}

pub async fn an_empty_session_is_exported_and_imported(h: &mut dyn Harness) {
    let made = create(h, "s1").await;
    let document = exported(&*h.store(), "s1").await;
    assert_eq!(document.lines().count(), 2);
    h.store().delete_session(id("s1")).await.unwrap();
    assert_eq!(import(&*h.store(), &document).await.unwrap(), report("s1", 0, 0));
    assert_eq!(h.store().session(id("s1")).await.unwrap(), made);
}

pub async fn importing_twice_changes_nothing(h: &mut dyn Harness) {
    let session = lived(h).await;
    let document = exported(&*h.store(), &session).await;
    let before = everything(h).await;
    h.clock().advance_ms(5_000);
    for _ in 0..2 {
        let done = import(&*h.store(), &document).await.unwrap();
        assert_eq!(done, report(&session, 0, 4));
    }
    assert_eq!(everything(h).await, before);
}

/// A session and its document after an import that crashed half way: the row, and two events.
async fn half_imported(h: &mut dyn Harness) -> (String, String) {
    let session = lived(h).await;
    let document = exported(&*h.store(), &session).await;
    let whole = log(h, &session).await;
    h.store().delete_session(id(&session)).await.unwrap();
    let header = check_export(&mut document.as_bytes()).unwrap();
    h.store().restore_session(header).await.unwrap();
    for event in &whole[..2] {
        append(h, &session, ExportedEvent::from(event.clone()).into()).await;
    }
    (session, document)
}

pub async fn an_import_cut_short_is_finished_by_the_next(h: &mut dyn Harness) {
    let (session, document) = half_imported(h).await;
    h.reopen().await;
    let done = import(&*h.store(), &document).await.unwrap();
    assert_eq!(done, report(&session, 2, 2));
    assert_eq!(exported(&*h.store(), &session).await, document);
}

pub async fn damaged_documents_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let session = lived(h).await;
    let document = exported(&*h.store(), &session).await;
    h.store().delete_session(id(&session)).await.unwrap();
    let before = everything(h).await;
    let lines: Vec<&str> = document.split_inclusive('\n').collect();
    let without = |index: usize| [&lines[..index], &lines[index + 1..]].concat().concat();
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    let mut damaged = vec![
        String::new(),
        "\n".to_owned(),
        "{}\n".to_owned(),
        without(0),
        without(2),
        without(lines.len() - 1),
        swapped.concat(),
        format!("{document}\n"),
        format!("{document}{}", lines[1]),
        document.replace("inputTokens", "inputTokenz"),
        document.replacen("Do ", "do ", 1),
        document.replacen("\"version\":1", "\"version\":2", 1),
        document.replace("{\"events\":4", "{\"events\":3"),
    ];
    // Every cut that is not at the end, and a changed byte in every line.
    damaged.extend(cuts(&document));
    for index in 0..lines.len() {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        lines[index] = lines[index].replacen(':', ": ", 1);
        damaged.push(lines.concat());
    }
    for bad in damaged {
        // A footer's own spelling is not under its digest; what it says is.
        if bad.replacen("{\"events\": ", "{\"events\":", 1) == document {
            continue;
        }
        let refused = refusal(import(&*h.store(), &bad).await);
        assert_eq!(refused, "invalid document", "{bad}");
    }
    assert_eq!(everything(h).await, before);
}

fn cuts(document: &str) -> Vec<String> {
    let ends = (0..document.len()).step_by(7);
    let ends = ends.filter(|end| document.is_char_boundary(*end));
    ends.chain([document.len() - 1]).map(|end| document[..end].to_owned()).collect()
}

pub async fn a_session_with_other_events_is_a_conflict_and_stays(h: &mut dyn Harness) {
    let session = lived(h).await;
    let document = exported(&*h.store(), &session).await;
    let mut header = check_export(&mut document.as_bytes()).unwrap();
    h.store().delete_session(id(&session)).await.unwrap();
    header.session.title = Some("another".to_owned());
    h.store().restore_session(header).await.unwrap();
    append(h, &session, note("\"another\"")).await;
    let before = everything(h).await;
    let refused = refusal(import(&*h.store(), &document).await);
    assert_eq!(refused, format!("conflict session {session}"));
    assert_eq!(everything(h).await, before);
}

pub async fn a_session_of_another_beginning_is_a_conflict_and_stays(h: &mut dyn Harness) {
    create(h, "s1").await;
    let document = exported(&*h.store(), "s1").await;
    h.store().delete_session(id("s1")).await.unwrap();
    h.clock().advance_ms(1);
    create(h, "s1").await;
    let before = everything(h).await;
    let refused = refusal(import(&*h.store(), &document).await);
    assert_eq!(refused, "conflict session s1");
    assert_eq!(everything(h).await, before);
}

pub async fn a_session_that_went_on_since_its_export_keeps_its_row(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("1")).await;
    let document = exported(&*h.store(), "s1").await;
    h.clock().advance_ms(1_000);
    append(h, "s1", note("2")).await;
    set_status(h, "s1", SessionStatus::Failed).await;
    h.store().rename_session(id("s1"), "later".to_owned()).await.unwrap();
    let before = everything(h).await;
    assert_eq!(import(&*h.store(), &document).await.unwrap(), report("s1", 0, 1));
    assert_eq!(everything(h).await, before);
}

pub async fn an_older_export_takes_nothing_back(h: &mut dyn Harness) {
    create(h, "s1").await;
    set_status(h, "s1", SessionStatus::Running).await;
    append(h, "s1", note("1")).await;
    let document = exported(&*h.store(), "s1").await;
    h.clock().advance_ms(1_000);
    set_status(h, "s1", SessionStatus::Succeeded).await;
    h.store().rename_session(id("s1"), "later".to_owned()).await.unwrap();
    h.store().pin_session(id("s1"), true).await.unwrap();
    let before = everything(h).await;
    assert_eq!(import(&*h.store(), &document).await.unwrap(), report("s1", 0, 1));
    assert_eq!(everything(h).await, before);
}

pub async fn an_import_into_a_log_that_went_another_way_is_a_conflict(h: &mut dyn Harness) {
    let (session, document) = half_imported(h).await;
    append(h, &session, note("\"live\"")).await;
    let before = everything(h).await;
    let refused = refusal(import(&*h.store(), &document).await);
    assert_eq!(refused, format!("conflict session {session}"));
    assert_eq!(everything(h).await, before);
}

/// A document of more events than are imported at once, of a session that is gone.
async fn long_document(h: &dyn Harness) -> String {
    create(h, "s1").await;
    h.store().append_events(id("s1"), vec![note("0"); 1_500]).await.unwrap();
    let document = exported(&*h.store(), "s1").await;
    h.store().delete_session(id("s1")).await.unwrap();
    document
}

/// Imports while somebody else does `work` after the header and before the first event.
async fn import_during<T: Send + 'static>(
    store: Arc<dyn Store>,
    document: &str,
    work: impl FnOnce(Arc<dyn Store>) -> T + Send + 'static,
) -> (Result<ImportReport, StoreError>, T) {
    let mut work = Some(work);
    let mut answer = None;
    let mut progress = |_| {
        if let Some(work) = work.take() {
            let store = store.clone();
            answer = Some(thread::spawn(move || work(store)).join().unwrap());
        }
    };
    let done = import_session(&*store, &mut document.as_bytes(), &mut progress).await;
    (done, answer.unwrap())
}

pub async fn an_append_during_an_import_ends_it_and_nothing_interleaves(h: &mut dyn Harness) {
    let document = long_document(h).await;
    let live = kept(h, "s1", 1, &note("\"live\""));
    let append = |store: Arc<dyn Store>| {
        block_on(store.append_events(id("s1"), vec![note("\"live\"")])).unwrap()
    };
    let (refused, _) = import_during(h.store(), &document, append).await;
    assert_eq!(refusal(refused), "conflict session s1");
    assert_eq!(log(h, "s1").await, [live]);
}

pub async fn of_two_imports_at_once_one_ends_and_nothing_is_doubled(h: &mut dyn Harness) {
    let document = long_document(h).await;
    let same = document.clone();
    let other = move |store: Arc<dyn Store>| block_on(import(&*store, &same)).unwrap();
    let (refused, done) = import_during(h.store(), &document, other).await;
    assert_eq!(refusal(refused), "conflict session s1");
    assert_eq!(done, report("s1", 1_500, 0));
    assert_eq!(exported(&*h.store(), "s1").await, document);
}

pub async fn more_tasks_than_a_page_are_exported_and_imported(h: &mut dyn Harness) {
    let batch = h.store().create_task(new_task("do it")).await.unwrap();
    let session = batch.session_ids[0].to_string();
    let document = exported(&*h.store(), &session).await;
    let mut header = check_export(&mut document.as_bytes()).unwrap();
    let numbered = |n: u32| Task { prompt: n.to_string(), ..header.tasks[0].clone() };
    header.tasks = (0..1_003).map(numbered).collect();
    h.store().delete_session(id(&session)).await.unwrap();
    h.store().restore_session(header.clone()).await.unwrap();

    let document = exported(&*h.store(), &session).await;
    assert!(check_export(&mut document.as_bytes()).unwrap() == header, "a task is missing");
    h.store().delete_session(id(&session)).await.unwrap();
    import(&*h.store(), &document).await.unwrap();
    assert_eq!(exported(&*h.store(), &session).await, document);
}

pub async fn more_events_than_a_page_are_exported_and_imported(h: &mut dyn Harness) {
    create(h, "s1").await;
    let batch: Vec<_> = (0..2_345).map(|n| keyed("0", &n.to_string())).collect();
    h.store().append_events(id("s1"), batch).await.unwrap();
    let document = exported(&*h.store(), "s1").await;
    assert_eq!(document.lines().count(), 2_347);
    h.store().delete_session(id("s1")).await.unwrap();
    assert_eq!(import(&*h.store(), &document).await.unwrap(), report("s1", 2_345, 0));
    assert_eq!(exported(&*h.store(), "s1").await, document);
}

pub async fn exporting_an_unknown_session_is_not_found(h: &mut dyn Harness) {
    let done = export_session(&*h.store(), &id("s1"), &mut Vec::new()).await;
    assert_eq!(refusal(done), "not-found session s1");
    assert_eq!(listed(h, SessionFilter::default()).await, Vec::<String>::new());
}

pub async fn a_child_is_imported_without_the_parent_it_lost(h: &mut dyn Harness) {
    create(h, "parent").await;
    let mut child = new_session("child");
    child.parent = Some(id("parent"));
    let made = h.store().create_session(child).await.unwrap();
    let document = exported(&*h.store(), "child").await;
    h.store().delete_session(id("child")).await.unwrap();
    import(&*h.store(), &document).await.unwrap();
    assert_eq!(h.store().session(id("child")).await.unwrap(), made);

    h.store().delete_session(id("child")).await.unwrap();
    h.store().delete_session(id("parent")).await.unwrap();
    import(&*h.store(), &document).await.unwrap();
    let orphan = Session { parent_session_id: None, ..made };
    assert_eq!(h.store().session(id("child")).await.unwrap(), orphan);
}
