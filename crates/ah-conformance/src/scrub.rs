//! Scrubbing: what was stored with secrets is the same without them, and can be begun again.

use ah_model::{
    IndexState, NewApproval, NewEvent, NewQuestion, NewSession, PageLimit, Receipt, ReceiptKind,
    Redactions, Scrub, ScrubFinding, ScrubPlace, SearchQuery, limits,
};
use ah_store::{check_export, export_session, import_session};

use crate::Harness;
use crate::given::{
    all, append, create, draft_fields, everything, feed, id, json, log, new_session, new_task, note,
};
use crate::given_hive::{agents, mail, question_of, request};
use crate::secret::{MASKED, secret, with_secret};

/// More steps than any test takes.
const STEPS_MAX: usize = 200;

/// What all steps of a scrub did.
#[derive(Debug, Default, PartialEq, Eq)]
struct Done {
    changed: u64,
    found: Redactions,
    findings: Vec<ScrubFinding>,
    receipt: Option<Receipt>,
}

async fn scrub(h: &dyn Harness, mut scrub: Scrub) -> Done {
    let mut done = Done::default();
    for _ in 0..STEPS_MAX {
        let step = h.store().scrub_step(scrub.clone()).await.unwrap();
        assert!(step.rows <= limits::SCRUB_ROWS_MAX as u64, "{step:?}");
        done.changed += step.changed;
        done.found.add_all(&step.found);
        done.findings.extend(step.findings);
        done.receipt = step.receipt;
        match step.next {
            Some(next) => scrub.from = Some(next),
            None => return done,
        }
    }
    panic!("the scrub never ends");
}

fn tokens(count: u64) -> Redactions {
    let mut redactions = Redactions::default();
    redactions.add("github-token", count);
    redactions
}

fn prompt(text: &str) -> NewEvent {
    let data = json(&serde_json::to_string(&with_secret(text)).unwrap());
    NewEvent { kind: "user_message".to_owned(), data, dedup_key: None, ts: None }
}

/// A secret in every noun, written by a store that keeps them.
async fn careless_past(h: &mut dyn Harness) {
    agents(h, &["alice", "bob"]).await;
    let store = h.careless();
    let title = Some(with_secret("title *"));
    store.create_session(NewSession { title, ..new_session("s") }).await.unwrap();
    let events = vec![prompt("use * now"), note("1"), note(&with_secret(r#"{"a":["*"],"b":"*"}"#))];
    store.append_events(id("s"), events).await.unwrap();
    store.create_task(new_task(&with_secret("do *"))).await.unwrap();
    store.save_draft(None, draft_fields(&with_secret("draft *"))).await.unwrap();
    store.send_message(mail("alice", "bob", &with_secret("mail *"))).await.unwrap();
    let reason = Some(with_secret("why *"));
    let approval = NewApproval { reason, ..request("a", "alice", "shell") };
    store.request_approval(approval).await.unwrap();
    let text = with_secret("what *");
    let question = NewQuestion { text, ..question_of("q", "alice", "operator") };
    store.ask_question(question).await.unwrap();
    assert!(everything(h).await.contains(&secret()));
}

pub async fn a_scrub_takes_the_secrets_out_of_every_noun(h: &mut dyn Harness) {
    careless_past(h).await;
    let before = everything(h).await;
    let done = scrub(h, Scrub::default()).await;
    assert_eq!(done.found.0.keys().collect::<Vec<_>>(), ["github-token"]);
    h.reopen().await;
    let after = everything(h).await;
    assert!(!after.contains(&secret()), "{after}");
    // All else is as it was, but for the receipts, which are the fourth part.
    let others = |text: &str| {
        let lines = text.lines().enumerate().filter(|(at, _)| *at != 3);
        lines.map(|(_, line)| line.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(others(&after), others(&before.replace(&secret(), MASKED)));
}

pub async fn a_scrub_leaves_a_receipt_by_place_and_rule(h: &mut dyn Harness) {
    create(h, "s").await;
    let events = vec![prompt("*"), note("2"), note(&with_secret(r#"["*","*"]"#))];
    h.careless().append_events(id("s"), events).await.unwrap();
    let done = scrub(h, Scrub::default()).await;
    assert_eq!((done.changed, &done.found), (2, &tokens(3)));
    let receipt = done.receipt.unwrap();
    let removed: Vec<_> = receipt.removed.0.iter().map(|(k, v)| (k.as_str(), v.rows)).collect();
    assert_eq!(removed, [("events", 2), ("secrets/github-token", 3)]);
    assert_eq!((receipt.kind, receipt.finished_at.is_some()), (ReceiptKind::Scrub, true));
    assert_eq!(h.store().list_receipts(all()).await.unwrap().items, [receipt]);
}

pub async fn a_second_scrub_finds_nothing(h: &mut dyn Harness) {
    careless_past(h).await;
    scrub(h, Scrub::default()).await;
    let again = scrub(h, Scrub::default()).await;
    assert_eq!((again.changed, again.found, again.findings), (0, Redactions::default(), vec![]));
    assert_eq!(again.receipt.unwrap().removed.0.len(), 0);
}

pub async fn a_dry_run_changes_nothing_and_tells_where(h: &mut dyn Harness) {
    create(h, "s").await;
    let event = note(&with_secret(r#"{"a":{"b":["x","* and *"]}}"#));
    h.careless().append_events(id("s"), vec![note("1"), event]).await.unwrap();
    let before = everything(h).await;
    let done = scrub(h, Scrub { dry_run: true, ..Scrub::default() }).await;
    let finding = ScrubFinding {
        place: ScrubPlace::Events,
        id: "s#2".to_owned(),
        path: Some("/data/a/b/1".to_owned()),
        rule: "github-token".to_owned(),
        count: 2,
    };
    let expected = Done { changed: 1, found: tokens(2), findings: vec![finding], receipt: None };
    assert_eq!(done, expected);
    assert_eq!(everything(h).await, before);
}

pub async fn a_scrub_of_one_session_or_since_a_time_leaves_the_rest(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    let store = h.careless();
    store.append_events(id("s1"), vec![prompt("*")]).await.unwrap();
    store.append_events(id("s2"), vec![prompt("old *")]).await.unwrap();
    h.clock().advance_ms(1_000);
    let since = Some(ah_store::Clock::now(h.clock()));
    store.append_events(id("s2"), vec![prompt("new *")]).await.unwrap();
    let done = scrub(h, Scrub { session_id: Some(id("s1")), ..Scrub::default() }).await;
    assert_eq!((done.changed, done.found), (1, tokens(1)));
    let done = scrub(h, Scrub { since, ..Scrub::default() }).await;
    assert_eq!((done.changed, done.found), (1, tokens(1)));
    let texts: Vec<_> = log(h, "s2").await.iter().map(|e| e.data.as_str().to_owned()).collect();
    assert_eq!(texts, [format!("\"old {}\"", secret()), format!("\"new {MASKED}\"")]);
}

pub async fn the_feed_tells_nothing_of_a_scrub(h: &mut dyn Harness) {
    create(h, "s").await;
    h.careless().append_events(id("s"), vec![prompt("*")]).await.unwrap();
    let before = feed(h).await;
    scrub(h, Scrub::default()).await;
    let after = feed(h).await;
    let masked = format!("{before:?}").replace(&secret(), MASKED);
    assert_eq!(format!("{after:?}"), masked);
}

pub async fn what_was_scrubbed_is_found_by_its_other_words_alone(h: &mut dyn Harness) {
    create(h, "s").await;
    let word = secret().to_lowercase();
    h.careless().append_events(id("s"), vec![prompt("deploy with * today")]).await.unwrap();
    while h.store().update_search_index(PageLimit::MAX).await.unwrap().state != IndexState::Done {}
    let found = async |typed: &str| {
        let query = SearchQuery::new(typed.parse().unwrap());
        h.store().search(query, all()).await.unwrap().items.len()
    };
    assert_eq!((found("deploy").await, found(&word).await), (1, 1));
    scrub(h, Scrub::default()).await;
    assert_eq!((found("deploy").await, found(&word).await), (1, 0));
    append(h, "s", prompt("deploy again")).await;
    while h.store().update_search_index(PageLimit::MAX).await.unwrap().state != IndexState::Done {}
    assert_eq!((found("deploy").await, found(&word).await), (2, 0));
}

pub async fn a_document_from_before_a_scrub_is_still_the_same_session(h: &mut dyn Harness) {
    create(h, "s").await;
    h.careless().append_events(id("s"), vec![prompt("*"), note("1")]).await.unwrap();
    let store = h.store();
    let mut document = Vec::new();
    export_session(&*store, &id("s"), &mut document).await.unwrap();
    scrub(h, Scrub::default()).await;
    check_export(&mut document.as_slice()).unwrap();
    let done = import_session(&*store, &mut document.as_slice(), &mut |_| ()).await.unwrap();
    assert_eq!((done.imported, done.present), (0, 2));
}
