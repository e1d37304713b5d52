//! Drafts: saved over, listed by id, launched or deleted once.

use ah_model::{Cursor, Draft, DraftFields, DraftId, limits};
use ah_store::Clock;

use crate::Harness;
use crate::given::{all, draft_fields, everything, from_cursor, new_task, paged, refusal};

fn draft_id(text: &str) -> DraftId {
    text.parse().unwrap()
}

pub async fn a_draft_is_saved_over_and_keeps_the_time_it_was_begun(h: &mut dyn Harness) {
    let store = h.store();
    let begun = h.clock().now();
    let first = store.save_draft(None, draft_fields("half a tho")).await.unwrap();
    let mut expected = Draft {
        id: first.id.clone(),
        fields: draft_fields("half a tho"),
        created_at: begun,
        updated_at: begun,
    };
    assert_eq!(first, expected);

    h.clock().advance_ms(5_000);
    expected.fields = DraftFields {
        description: String::new(),
        repository: "https://example.org/☃".to_owned(),
        branch: Some(String::new()),
        models: vec![],
    };
    expected.updated_at = h.clock().now();
    let saved = store.save_draft(Some(first.id.clone()), expected.fields.clone()).await;
    assert_eq!(saved.unwrap(), expected);
    h.reopen().await;
    assert_eq!(h.store().draft(first.id).await.unwrap(), expected);
    assert_eq!(h.store().list_drafts(all()).await.unwrap().items, [expected]);
}

pub async fn a_draft_of_a_given_id_is_made_when_absent(h: &mut dyn Harness) {
    let made = h.store().save_draft(Some(draft_id("mine")), draft_fields("x")).await.unwrap();
    assert_eq!(made.id, draft_id("mine"));
    assert_eq!(h.store().draft(draft_id("mine")).await.unwrap(), made);
    assert_eq!(refusal(h.store().draft(draft_id("Mine")).await), "not-found draft Mine");
}

pub async fn drafts_are_paged_by_id_in_the_order_they_were_begun(h: &mut dyn Harness) {
    let store = h.store();
    let mut saved = Vec::new();
    for step in 0..5 {
        // Back and forth: the order is that of the ids, which never go back.
        h.clock().advance_ms(if step % 2 == 0 { -10_000 } else { 3_000 });
        saved.push(store.save_draft(None, draft_fields("x")).await.unwrap());
    }
    for id in ["A", "Z", "_", "a", "z"] {
        saved.push(store.save_draft(Some(draft_id(id)), draft_fields("x")).await.unwrap());
    }
    for size in [1, 2, 3, 10] {
        assert_eq!(paged(size, |page| store.list_drafts(page)).await, saved, "size {size}");
    }
    let page = from_cursor(Cursor::Number(1));
    assert_eq!(refusal(store.list_drafts(page).await), "invalid cursor");
}

pub async fn a_deleted_draft_is_gone(h: &mut dyn Harness) {
    let store = h.store();
    let saved = store.save_draft(Some(draft_id("d")), draft_fields("x")).await.unwrap();
    store.delete_draft(saved.id).await.unwrap();
    assert_eq!(refusal(store.draft(draft_id("d")).await), "not-found draft d");
    assert_eq!(refusal(store.delete_draft(draft_id("d")).await), "not-found draft d");
}

pub async fn launching_a_draft_records_the_task_and_removes_the_draft(h: &mut dyn Harness) {
    let store = h.store();
    store.save_draft(Some(draft_id("d")), draft_fields("x")).await.unwrap();
    let batch = store.launch_draft(draft_id("d"), new_task("do it")).await.unwrap();
    assert_eq!(batch.tasks.len(), 1);
    assert_eq!(store.task(batch.tasks[0].id.unwrap()).await.unwrap(), batch.tasks[0]);
    assert_eq!(store.list_drafts(all()).await.unwrap().items, []);

    let before = everything(h).await;
    let again = store.launch_draft(draft_id("d"), new_task("do it")).await;
    assert_eq!(refusal(again), "not-found draft d");
    assert_eq!(everything(h).await, before, "a draft is sent once");
}

pub async fn a_launch_that_is_refused_keeps_the_draft(h: &mut dyn Harness) {
    let store = h.store();
    store.save_draft(Some(draft_id("d")), draft_fields("x")).await.unwrap();
    let mut elsewhere = new_task("do it");
    elsewhere.workspace = Some("nowhere".to_owned());
    let before = everything(h).await;
    let launched = store.launch_draft(draft_id("d"), elsewhere).await;
    let refused = refusal(launched);
    let known = ["not-found workspace nowhere", "unsupported Workspaces"];
    assert_eq!(refused, known[usize::from(!store.capabilities().workspaces)]);
    let launched = store.launch_draft(draft_id("d"), new_task(" ")).await;
    assert_eq!(refusal(launched), "invalid prompt");
    assert_eq!(everything(h).await, before);
}

pub async fn bad_drafts_are_refused_and_the_old_one_stays(h: &mut dyn Harness) {
    let store = h.store();
    let good = draft_fields("x");
    let saved = store.save_draft(Some(draft_id("d")), good.clone()).await.unwrap();
    let fields = |change: &dyn Fn(&mut DraftFields)| {
        let mut fields = good.clone();
        change(&mut fields);
        fields
    };
    let long = "x".repeat(limits::PROMPT_BYTES_MAX + 1);
    for (bad, field) in [
        (draft_fields("a\0"), "description"),
        (draft_fields(&long), "description"),
        (fields(&|f| f.repository.clear()), "repository"),
        (fields(&|f| f.branch = Some("\0".to_owned())), "branch"),
        (fields(&|f| f.models = vec!["a b".to_owned()]), "agent kind"),
        (fields(&|f| f.models = vec!["a".to_owned(); 33]), "models"),
    ] {
        let result = store.save_draft(Some(draft_id("d")), bad).await;
        assert_eq!(refusal(result), format!("invalid {field}"));
    }
    assert_eq!(store.list_drafts(all()).await.unwrap().items, [saved]);
}
