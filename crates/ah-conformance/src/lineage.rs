//! Lineage: forks stand on the session they came from, children outlive their parent.

use ah_model::{Fork, Session, SessionFilter};
use ah_store::{Clock, SessionFork, StoreError};

use crate::Harness;
use crate::given::{
    append, create, everything, full_session, id, listed, log, new_session, new_task, note, refusal,
};

async fn fork(h: &dyn Harness, at: Option<u64>, new_id: &str) -> Result<Session, StoreError> {
    let fork = SessionFork { at_seq: at, id: Some(id(new_id)), title: None };
    h.store().fork_session(id("s1"), fork).await
}

pub async fn a_fork_is_a_new_session_that_names_its_point(h: &mut dyn Harness) {
    h.store().create_session(full_session("s1")).await.unwrap();
    append(h, "s1", note("1")).await;
    append(h, "s1", note("2")).await;
    let old = h.store().session(id("s1")).await.unwrap();
    h.clock().advance_ms(1_000);
    for (at, name) in [(None, "f2"), (Some(0), "f0"), (Some(1), "f1")] {
        let (new, forked_from) = old.fork(at).unwrap();
        let repo_id = old.repo_id.unwrap();
        let expected = Session {
            forked_from: Some(forked_from),
            ..Session::created(new, id(name), repo_id, h.clock().now())
        };
        assert_eq!(fork(h, at, name).await.unwrap(), expected);
        assert_eq!(h.store().session(id(name)).await.unwrap(), expected);
        assert_eq!(log(h, name).await, [], "the shared log is not copied");
    }
    assert_eq!(h.store().session(id("s1")).await.unwrap(), old, "the old one stays as it was");
    assert_eq!(append(h, "f1", note("3")).await, 1);
}

pub async fn a_fork_takes_a_title_and_mints_its_id(h: &mut dyn Harness) {
    create(h, "s1").await;
    let titled = SessionFork { title: Some("mine".to_owned()), ..SessionFork::default() };
    let made = h.store().fork_session(id("s1"), titled).await.unwrap();
    let forked_from = Some(Fork { session_id: id("s1"), at_seq: 0 });
    assert_eq!((made.title.as_deref(), made.forked_from), (Some("mine"), forked_from));
    assert_eq!(h.store().session(made.id.clone()).await.unwrap().id, made.id);
}

pub async fn a_fork_past_the_end_or_onto_a_taken_id_is_refused(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("1")).await;
    let before = everything(h).await;
    assert_eq!(refusal(fork(h, Some(2), "f").await), "invalid fork point");
    assert_eq!(refusal(fork(h, Some(u64::MAX), "f").await), "invalid fork point");
    assert_eq!(refusal(fork(h, None, "s1").await), "conflict session s1");
    let bad_title = SessionFork { title: Some("\0".to_owned()), ..SessionFork::default() };
    let refused = refusal(h.store().fork_session(id("s1"), bad_title).await);
    assert_eq!(refused, "invalid title");
    assert_eq!(everything(h).await, before);
}

pub async fn a_deleted_session_takes_its_events_tasks_and_runs_with_it(h: &mut dyn Harness) {
    let store = h.store();
    create(h, "stays").await;
    append(h, "stays", note("1")).await;
    let batch = store.create_task(new_task("do it")).await.unwrap();
    let gone = batch.session_ids[0].clone();
    append(h, gone.as_str(), note("1")).await;
    store.delete_session(gone.clone()).await.unwrap();
    h.reopen().await;
    let store = h.store();
    let missing = format!("not-found session {gone}");
    assert_eq!(refusal(store.session(gone.clone()).await), missing);
    assert_eq!(refusal(store.events(gone.clone(), <_>::default()).await), missing);
    let task = batch.tasks[0].id.unwrap();
    assert_eq!(refusal(store.task(task).await), format!("not-found task {task}"));
    let run = &batch.run_ids[0];
    assert_eq!(refusal(store.run(run.clone()).await), format!("not-found run {run}"));
    assert_eq!(listed(h, SessionFilter::default()).await, ["stays"]);
    assert_eq!(log(h, "stays").await.len(), 1);

    // The id is free again, and its log begins anew.
    create(h, gone.as_str()).await;
    assert_eq!(append(h, gone.as_str(), note("1")).await, 1);
}

pub async fn a_session_that_forks_stand_on_cannot_be_deleted(h: &mut dyn Harness) {
    create(h, "s1").await;
    fork(h, None, "f").await.unwrap();
    let before = everything(h).await;
    let refused = h.store().delete_session(id("s1")).await;
    assert!(refused.as_ref().unwrap_err().to_string().contains("session f "), "the fork is named");
    assert_eq!(refusal(refused), "conflict session s1");
    assert_eq!(everything(h).await, before);
    h.store().delete_session(id("f")).await.unwrap();
    h.store().delete_session(id("s1")).await.unwrap();
}

pub async fn children_outlive_their_parent(h: &mut dyn Harness) {
    create(h, "parent").await;
    let mut new = new_session("child");
    new.parent = Some(id("parent"));
    let mut child = h.store().create_session(new).await.unwrap();
    assert_eq!(child.parent_session_id, Some(id("parent")));
    h.store().delete_session(id("parent")).await.unwrap();
    child.parent_session_id = None;
    assert_eq!(h.store().session(id("child")).await.unwrap(), child);
}
