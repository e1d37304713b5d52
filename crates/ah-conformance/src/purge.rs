//! Purges: what belonged to a destroyed agent goes, with a receipt, and its name is free.

use std::slice;

use ah_model::limits::REMOVAL_ROWS_MAX;
use ah_model::{
    AgentFilter, Beginning, Lifecycle, NewEvent, NewToken, ReceiptKind, RemovalStep,
    RetentionRules, SPAWN, Tally, TokenRole, Verdict,
};
use ah_store::{Clock, SessionFork, block_on};

use crate::Harness;
use crate::given::{
    agent_id, all, create_agent, everything, id, listed, log, new_agent, note, race, refusal,
    renew, reset, sessions_of, set_lifecycle, tell,
};
use crate::given_hive::{
    agents, answer, approvals, ask, decide, destroy, mail_of, next, question_of, questions,
    requested, sent,
};
use crate::given_run::{assert_refused, claim, completed, finish, queue, session, start_of};
use crate::retention::tally;
use crate::token::new_token;

async fn step(h: &dyn Harness, name: &str) -> RemovalStep {
    h.store().purge_step(agent_id(name)).await.unwrap()
}

/// Does every step and returns what went.
async fn purge(h: &dyn Harness, name: &str) -> Tally {
    for _ in 0..100 {
        let done = step(h, name).await;
        if !done.more {
            assert_eq!(done.receipt.finished_at, Some(h.clock().now()));
            return done.receipt.removed;
        }
        assert_eq!(done.receipt.finished_at, None);
    }
    panic!("the steps do not end");
}

pub async fn all_that_belonged_to_a_purged_agent_is_gone(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    sent(h, "bob", "mira", "m1").await;
    sent(h, "operator", "mira", "m2").await;
    next(h, "mira").await.unwrap();
    let kept = sent(h, "mira", "bob", "m3").await;
    requested(h, "p1", "mira", "deploy").await;
    requested(h, "p2", "mira", "deploy").await;
    let bobs = requested(h, "p3", "bob", "deploy").await;
    ask(h, question_of("q1", "mira", "operator")).await;
    ask(h, question_of("q2", "bob", "mira")).await;
    let left = ask(h, question_of("q3", "bob", "operator")).await;
    let token = |id: &str, agent: &str| NewToken {
        role: TokenRole::Agent,
        agent: Some(agent.to_owned()),
        ..new_token(id)
    };
    for new in [token("t1", "mira"), token("t2", "MIRA"), token("t3", "bob"), new_token("t4")] {
        h.store().create_token(new).await.unwrap();
    }
    tell(h, "Mira", note(r#"{"a":1.00}"#)).await;
    renew(h, "Mira", reset("again"), "Mira-2").await;
    queue(h, start_of("Mira-2")).await;
    let run = claim(h, "e1").await.unwrap();
    finish(h, &run, completed()).await;
    destroy(h, "Mira").await;
    h.clock().advance_ms(10);
    let removed = purge(h, "Mira").await;
    let question_notice = "q2".len() as u64;
    let expected = tally(&[
        ("messages", 3, 4 + question_notice),
        ("approvals", 2, 0),
        ("questions", 2, 0),
        ("tokens", 2, 0),
        ("sessions", 2, 0),
        ("events", 1, 10),
        ("runs", 1, 0),
        ("agents", 1, 0),
    ]);
    assert_eq!(removed, expected);
    h.reopen().await;
    assert_eq!(refusal(h.store().agent(agent_id("Mira")).await), "not-found agent Mira");
    assert_eq!(h.store().agent_of_name("mira".to_owned()).await.unwrap(), None);
    assert_eq!(mail_of(h, "mira").await, []);
    assert_eq!(mail_of(h, "bob").await, [kept], "what it wrote to others is theirs");
    assert_eq!(approvals(h).await, [bobs]);
    assert_eq!(questions(h).await, [left]);
    let tokens = h.store().list_tokens(all()).await.unwrap().items;
    let tokens: Vec<_> = tokens.iter().map(|token| token.id.as_str()).collect();
    assert_eq!(tokens, ["t3", "t4"]);
    assert_eq!(listed(h, <_>::default()).await, ["bob-1"]);
    let runs = h.store().list_runs(<_>::default(), all()).await.unwrap().items;
    assert_eq!(runs, []);
}

pub async fn a_purge_leaves_a_receipt_and_a_free_name(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    destroy(h, "mira").await;
    h.clock().advance_ms(10);
    let done = step(h, "mira").await;
    assert!(!done.more);
    let receipt = &done.receipt;
    let now = h.clock().now();
    assert_eq!((receipt.kind, receipt.subject.as_deref()), (ReceiptKind::Purge, Some("mira")));
    assert_eq!((receipt.started_at, receipt.finished_at), (now, Some(now)));
    assert_eq!(receipt.removed, tally(&[("agents", 1, 0), ("sessions", 1, 0)]));
    assert_eq!(h.store().list_receipts(all()).await.unwrap().items, slice::from_ref(receipt));
    let refused = h.store().purge_step(agent_id("mira")).await;
    assert_eq!(refusal(refused), "not-found agent mira", "there is nothing left");
    // Another one may have its name, in any case, and even its id.
    let again = create_agent(h, "mira").await;
    assert_eq!((again.session_count, again.revision), (1, 1));
    assert_eq!(sessions_of(h, "mira").await.len(), 1);
    destroy(h, "mira").await;
    let second = step(h, "mira").await;
    assert_ne!(second.receipt.id, receipt.id);
    assert_eq!(h.store().list_receipts(all()).await.unwrap().items.len(), 2);
    h.store().create_agent(new_agent("MIRA")).await.unwrap();
}

pub async fn only_a_destroyed_agent_is_purged(h: &mut dyn Harness) {
    agents(h, &["active", "sleeping", "dead"]).await;
    set_lifecycle(h, "sleeping", Lifecycle::Sleeping).await;
    set_lifecycle(h, "dead", Lifecycle::Dead).await;
    let before = everything(h).await;
    for name in ["active", "sleeping", "dead"] {
        let refused = h.store().purge_step(agent_id(name)).await;
        assert_refused(h, &before, refused, &format!("conflict agent {name}")).await;
    }
    let refused = h.store().purge_step(agent_id("nobody")).await;
    assert_refused(h, &before, refused, "not-found agent nobody").await;
    assert_eq!(h.store().list_receipts(all()).await.unwrap().items, []);
}

pub async fn a_big_purge_goes_in_steps_and_the_agent_goes_last(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let batch = |count: usize| (0..count).map(|_| note("0")).collect::<Vec<NewEvent>>();
    let events = REMOVAL_ROWS_MAX + 300;
    for part in [batch(REMOVAL_ROWS_MAX), batch(300)] {
        h.store().append_to_agent(agent_id("mira"), None, part).await.unwrap();
    }
    renew(h, "mira", reset("again"), "mira-2").await;
    for n in 0..5 {
        sent(h, "operator", "mira", &format!("m{n}")).await;
    }
    destroy(h, "mira").await;
    let first = step(h, "mira").await;
    assert!(first.more);
    let rows = |tally: &Tally| tally.0.values().map(|amount| amount.rows).sum::<u64>();
    assert_eq!(rows(&first.receipt.removed), REMOVAL_ROWS_MAX as u64);
    assert_eq!(first.receipt.removed.rows("messages"), 5, "mail goes first");
    assert_eq!(first.receipt.removed.rows("agents"), 0);
    let tomb = h.store().agent(agent_id("mira")).await.unwrap();
    assert!(tomb.destroyed_at.is_some(), "it is still listed");
    let refused = h.store().create_agent(new_agent("mira")).await;
    assert_eq!(refusal(refused), "conflict agent mira", "and its name is taken");
    // Meanwhile removal by the rules has its own receipt.
    let other = h.store().retention_step(RetentionRules::KEEP).await.unwrap();
    assert_ne!(other.receipt.id, first.receipt.id);
    h.clock().advance_ms(10);
    h.reopen().await;
    let last = step(h, "mira").await;
    assert_eq!((last.more, last.receipt.id), (false, first.receipt.id));
    let expected = tally(&[
        ("messages", 5, 10),
        ("events", events as u64, events as u64),
        ("sessions", 2, 0),
        ("agents", 1, 0),
    ]);
    assert_eq!(last.receipt.removed, expected);
    assert_eq!(last.receipt.finished_at, Some(h.clock().now()));
    let agents = h.store().list_agents(AgentFilter::default(), all()).await.unwrap();
    assert_eq!(agents.items, []);
}

pub async fn sessions_that_others_stand_on_stay_and_are_nobodys(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    tell(h, "mira", note("1")).await;
    let fork = || Beginning::Fork { session: None, at_seq: None };
    renew(h, "mira", fork(), "mira-2").await;
    tell(h, "mira", note("2")).await;
    renew(h, "mira", fork(), "mira-3").await;
    renew(h, "mira", reset("again"), "mira-4").await;
    // Somebody else goes on from the second, which goes on from the first.
    let other = SessionFork { id: Some(id("other")), ..SessionFork::default() };
    h.store().fork_session(id("mira-2"), other).await.unwrap();
    destroy(h, "mira").await;
    let mut stems = [session(h, "mira-1").await, session(h, "mira-2").await];
    let removed = purge(h, "mira").await;
    assert_eq!(removed, tally(&[("sessions", 2, 0), ("agents", 1, 0)]));
    let mut left = listed(h, <_>::default()).await;
    left.sort();
    assert_eq!(left, ["mira-1", "mira-2", "other"]);
    for stem in &mut stems {
        assert!(stem.of_agent.take().is_some());
    }
    assert_eq!([session(h, "mira-1").await, session(h, "mira-2").await], stems);
    assert_eq!((log(h, "mira-1").await.len(), log(h, "mira-2").await.len()), (1, 1));
    // They are as any others now.
    let again = create_agent_named(h, "mira").await;
    assert_eq!(again, 1);
    h.store().delete_session(id("other")).await.unwrap();
    h.store().delete_session(id("mira-2")).await.unwrap();
    h.store().delete_session(id("mira-1")).await.unwrap();
}

/// A new agent of that name whose first session has an id of its own; how many it has.
async fn create_agent_named(h: &dyn Harness, name: &str) -> usize {
    let mut new = new_agent(name);
    new.session.id = Some(id("fresh"));
    h.store().create_agent(new).await.unwrap();
    sessions_of(h, name).await.len()
}

pub async fn a_purged_agent_cannot_come_back(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    ask(h, question_of("q1", "bob", "operator")).await;
    destroy(h, "mira").await;
    let asked = h.store().revive_agent(agent_id("mira")).await.unwrap();
    purge(h, "mira").await;
    let refused = h.store().revive_agent(agent_id("mira")).await;
    assert_eq!(refusal(refused), "not-found agent mira");
    let gone = h.store().approval(asked.id.clone()).await;
    assert_eq!(refusal(gone), format!("not-found approval {}", asked.id));
    let spawn = requested(h, "p1", "mira", SPAWN).await;
    let approved = decide(h, "p1", Verdict::Approved).await;
    assert!(approved.is_to_be_carried_out(), "as for anybody who never was");
    assert_ne!(spawn.id, asked.id);
    answer(h, "q1", "operator", "x").await;
    assert_eq!(mail_of(h, "bob").await.len(), 1);
}

pub async fn racing_purges_end_once(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for n in 0..20 {
        sent(h, "operator", "mira", &format!("m{n}")).await;
    }
    destroy(h, "mira").await;
    let answers = race(h, 4, |store, _| block_on(store.purge_step(agent_id("mira"))));
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost {
        assert_eq!(refusal(error), "not-found agent mira");
    }
    let receipts = h.store().list_receipts(all()).await.unwrap().items;
    assert_eq!(receipts.len(), 1);
    assert_eq!(receipts[0].removed.rows("messages"), 20);
}
