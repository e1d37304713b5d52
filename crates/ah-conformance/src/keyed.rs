//! Keyed requests: what was done once is answered again, not done again.
//!
//! A key names a request, so the same key comes with the same request here and another request
//! with another fingerprint: a store that takes the fingerprint from the request itself agrees.

use std::fmt::Debug;
use std::future::Future;

use ah_model::limits::{REQUEST_KEY_BYTES_MAX, REQUEST_KEY_MS};
use ah_model::{
    HiveImport, HiveImported, Message, NewAgent, NewApproval, NewEvent, NewExecutor, NewQuestion,
    NewRun, NewToken, Receive, Received, RequestKey, RunClaim, RunEnd, Swept, TokenRole, Verdict,
};
use ah_store::{SessionFork, Store, StoreError, block_on};

use crate::Harness;
use crate::given::{
    agent_id, all, append, create, create_agent, draft_fields, everything, id, log, new_agent,
    new_session, new_task, note, race, refusal, renewal, reset,
};
use crate::given_hive::{agents, decide, destroy, mail, mail_of, next, next_of, party, send, sent};
use crate::given_run::{
    assert_refused, claim, claim_of, completed, finish, first_run, new_executor, queue, run_id,
    running, runs_of, start_of, sweep,
};
use crate::token::new_token;

/// The key `name` of a request that consists of `request`.
fn key(name: &str, request: &impl Debug) -> RequestKey {
    RequestKey::new(name, [format!("{request:?}").as_bytes()]).unwrap()
}

/// Does `request` under a key twice, and `other` under the same key once.
async fn check<R, T, F>(
    h: &dyn Harness,
    name: &str,
    (request, other): (R, R),
    call: impl Fn(Box<dyn Store>, R) -> F,
) -> T
where
    R: Debug + Clone,
    T: Debug + PartialEq,
    F: Future<Output = Result<T, StoreError>>,
{
    let view = |request: &R| h.store().keyed(key(name, request));
    let before = everything(h).await;
    let first = call(view(&request), request.clone()).await.unwrap();
    let done = everything(h).await;
    assert_ne!(done, before, "{name} does something");
    h.clock().advance_ms(3);
    let again = call(view(&request), request.clone()).await.unwrap();
    assert_eq!(again, first, "{name} gets the first answer");
    assert_eq!(everything(h).await, done, "{name} is done once");
    let refused = call(view(&other), other).await;
    assert_refused(h, &done, refused, "invalid idempotency key").await;
    first
}

pub async fn a_session_is_created_once_for_a_key(h: &mut dyn Harness) {
    let minted = |title: &str| {
        let mut new = new_session("unused");
        new.id = None;
        new.title = Some(title.to_owned());
        new
    };
    let requests = (minted("a"), minted("b"));
    let call = async |store: Box<dyn Store>, new| store.create_session(new).await;
    let made = check(h, "k1", requests, call).await;
    assert_eq!(h.store().session(made.id.clone()).await.unwrap(), made);
    append(h, made.id.as_str(), note("0")).await;

    let fork = |title: &str| SessionFork { title: Some(title.to_owned()), ..<_>::default() };
    let call = async |store: Box<dyn Store>, fork| store.fork_session(made.id.clone(), fork).await;
    let forked = check(h, "k2", (fork("a"), fork("b")), call).await;
    assert_ne!(forked.id, made.id);
}

pub async fn a_task_a_draft_and_its_launch_are_done_once_for_a_key(h: &mut dyn Harness) {
    let requests = (new_task("a"), new_task("b"));
    let call = async |store: Box<dyn Store>, task| store.create_task(task).await;
    let batch = check(h, "task", requests, call).await;
    assert_eq!(runs_of(h, batch.session_ids[0].as_str()).await.len(), 1);

    let requests = (draft_fields("a"), draft_fields("b"));
    let call = async |store: Box<dyn Store>, fields| store.save_draft(None, fields).await;
    let draft = check(h, "draft", requests, call).await;
    let requests = (new_task("c"), new_task("d"));
    let launch =
        async |store: Box<dyn Store>, task| store.launch_draft(draft.id.clone(), task).await;
    check(h, "launch", requests, launch).await;
    assert_eq!(h.store().list_drafts(all()).await.unwrap().items, []);
}

pub async fn a_workspace_is_created_once_for_a_key(h: &mut dyn Harness) {
    let call = async |store: Box<dyn Store>, name: &str| {
        store.create_workspace(name.to_owned(), None).await
    };
    if h.store().capabilities().workspaces {
        check(h, "k1", ("a", "b"), call).await;
        return;
    }
    let refused = call(h.store().keyed(key("k1", &"a")), "a").await;
    assert_eq!(refusal(refused), "unsupported Workspaces");
}

pub async fn an_agent_and_its_renewals_are_made_once_for_a_key(h: &mut dyn Harness) {
    let minted = |name: &str| NewAgent { id: None, ..new_agent(name) };
    let requests = (minted("mira"), minted("bob"));
    let call = async |store: Box<dyn Store>, new| store.create_agent(new).await;
    let agent = check(h, "agent", requests, call).await;
    assert_eq!(h.store().agent(agent.id.clone()).await.unwrap(), agent);

    let renewals = [renewal(reset("a"), "mira-2"), renewal(reset("b"), "mira-3")];
    let [one, two] = renewals.map(|mut renewal| {
        renewal.session_id = None;
        renewal
    });
    let call =
        async |store: Box<dyn Store>, renewal| store.renew_agent(agent.id.clone(), renewal).await;
    check(h, "renewal", (one, two), call).await;

    let requests = (vec![note("10")], vec![note("20")]);
    let call = async |store: Box<dyn Store>, events: Vec<NewEvent>| {
        store.append_to_agent(agent.id.clone(), None, events).await
    };
    check(h, "append", requests, call).await;
}

pub async fn events_are_appended_once_for_a_key(h: &mut dyn Harness) {
    create(h, "s1").await;
    let requests = || (vec![note("1.00"), note("2")], vec![note("3")]);
    let call = async |store: Box<dyn Store>, events: Vec<NewEvent>| {
        store.append_events(id("s1"), events).await
    };
    check(h, "k1", requests(), call).await;
    let call = async |store: Box<dyn Store>, events: Vec<NewEvent>| {
        store.append_events_after(id("s1"), 2, events).await
    };
    let appended = check(h, "k2", requests(), call).await;
    assert_eq!((appended.first_seq, appended.last_seq), (3, 4));
    assert_eq!(log(h, "s1").await.len(), 4);
}

pub async fn a_run_is_queued_claimed_and_told_of_once_for_a_key(h: &mut dyn Harness) {
    let minted = |name: &str| NewRun { id: None, ..first_run(name) };
    let call = async |store: Box<dyn Store>, new| store.create_run(new).await;
    let queued = check(h, "queue", (minted("s1"), minted("s2")), call).await;
    queue(h, first_run("s3")).await;

    let call = async |store: Box<dyn Store>, claim: RunClaim| store.claim_run(claim).await;
    let claimed = check(h, "claim", (claim_of("e1"), claim_of("e2")), call).await.unwrap();
    assert_eq!(claimed.id, queued.id);
    assert_eq!(claim(h, "e1").await.unwrap().id, run_id("run-s3"), "the next is still there");

    let requests = (vec![note("10")], vec![note("20")]);
    let call = async |store: Box<dyn Store>, events: Vec<NewEvent>| {
        store.append_to_run(claimed.lease(), events).await
    };
    check(h, "append", requests, call).await;
}

pub async fn a_claim_that_found_nothing_keeps_no_answer(h: &mut dyn Harness) {
    let claim = || h.store().keyed(key("k1", &"claim"));
    assert_eq!(claim().claim_run(claim_of("e1")).await.unwrap(), None);
    queue(h, first_run("s1")).await;
    let claimed = claim().claim_run(claim_of("e1")).await.unwrap();
    assert_eq!(claimed.as_ref().map(|run| &run.id), Some(&run_id("run-s1")));
    assert_eq!(claim().claim_run(claim_of("e1")).await.unwrap(), claimed);
}

pub async fn a_stop_is_asked_once_for_a_key(h: &mut dyn Harness) {
    running(h, "s1").await;
    running(h, "s2").await;
    let call = async |store: Box<dyn Store>, name: &str| store.stop_session(id(name)).await;
    check(h, "k1", ("s1", "s2"), call).await;
    let call = async |store: Box<dyn Store>, name: &str| store.stop_run(run_id(name)).await;
    check(h, "k2", ("run-s2", "run-s1"), call).await;
}

pub async fn a_token_and_an_executor_are_kept_once_for_a_key(h: &mut dyn Harness) {
    let admin = NewToken { role: TokenRole::Admin, ..new_token("t2") };
    let call = async |store: Box<dyn Store>, token| store.create_token(token).await;
    check(h, "token", (new_token("t1"), admin), call).await;

    let requests = (new_executor("e1"), new_executor("e2"));
    let call = async |store: Box<dyn Store>, new: NewExecutor| store.register_executor(new).await;
    let executor = check(h, "executor", requests, call).await;
    assert_eq!(executor.generation, 1);
}

pub async fn mail_is_sent_and_handed_out_once_for_a_key(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let requests = (mail("operator", "mira", "a"), mail("operator", "mira", "b"));
    let call = async |store: Box<dyn Store>, new| store.send_message(new).await;
    let sent = check(h, "send", requests, call).await;
    assert_eq!(mail_of(h, "mira").await, sent);
    send(h, mail("operator", "mira", "c")).await;
    let requests = (next_of("mira", "r1"), next_of("mira", "r2"));
    let call = async |store: Box<dyn Store>, receive| store.receive_messages(receive).await;
    let got = check(h, "receive", requests, call).await;
    assert_eq!(got.messages[0].id, sent[0].id);
    let left = next(h, "mira").await.unwrap();
    assert_eq!(left.body, "c", "the next is still there");
}

pub async fn a_receiver_that_got_nothing_is_given_no_answer_again(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let receive = || h.store().keyed(key("k1", &"receive"));
    assert_eq!(
        receive().receive_messages(next_of("mira", "r1")).await.unwrap(),
        Received::default()
    );
    send(h, mail("operator", "mira", "a")).await;
    let got = receive().receive_messages(next_of("mira", "r1")).await.unwrap();
    assert_eq!(got.messages.len(), 1);
    assert_eq!(receive().receive_messages(next_of("mira", "r1")).await.unwrap(), got);
}

pub async fn a_turn_is_done_once_for_a_key_though_nothing_came(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let turn =
        |text: &str| Receive { send: vec![mail("mira", "bob", text)], ..next_of("mira", "r1") };
    let call = async |store: Box<dyn Store>, turn| store.receive_messages(turn).await;
    let done = check(h, "turn", (turn("a"), turn("b")), call).await;
    assert_eq!(done.messages, []);
    assert_eq!(mail_of(h, "bob").await, done.sent);
}

pub async fn approvals_and_questions_are_asked_for_once_for_a_key(h: &mut dyn Harness) {
    agents(h, &["mira", "gone", "lost"]).await;
    let requests = (NewApproval::new("mira", "deploy"), NewApproval::new("mira", "delete"));
    let call = async |store: Box<dyn Store>, new| store.request_approval(new).await;
    check(h, "approval", requests, call).await;

    let question = |text: &str| NewQuestion::new(party("operator"), party("mira"), text);
    let call = async |store: Box<dyn Store>, new| store.ask_question(new).await;
    check(h, "question", (question("a"), question("b")), call).await;
    assert_eq!(mail_of(h, "mira").await.len(), 1);

    destroy(h, "gone").await;
    destroy(h, "lost").await;
    let call = async |store: Box<dyn Store>, name: &str| store.revive_agent(agent_id(name)).await;
    let asked = check(h, "revival", ("gone", "lost"), call).await;
    decide(h, asked.id.as_str(), Verdict::Denied).await;
    let again = h.store().keyed(key("revival", &"gone")).revive_agent(agent_id("gone")).await;
    assert_eq!(again.unwrap(), asked, "as it was answered then");
}

pub async fn the_hive_of_elsewhere_is_brought_once_for_a_key(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let message = sent(h, "mira", "bob", "m1").await;
    let brings = |id: &str| HiveImport {
        messages: vec![Message { id: id.parse().unwrap(), ..message.clone() }],
        ..HiveImport::default()
    };
    let call = async |store: Box<dyn Store>, import| store.import_hive(import).await;
    let done = check(h, "import", (brings("m2"), brings("m3")), call).await;
    assert_eq!(done, HiveImported { created: 1, ..HiveImported::default() });
}

pub async fn a_request_is_answered_again_although_the_world_moved_on(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let batch = || vec![note("10")];
    let view = |name: &str| h.store().keyed(key(name, &name));
    let appended = view("append").append_to_run(run.lease(), batch()).await.unwrap();
    let made = view("create").create_session(new_session("s2")).await.unwrap();
    let stopping = view("stop").stop_run(run.id.clone()).await.unwrap();
    finish(h, &run, completed()).await;
    h.store().delete_session(id("s2")).await.unwrap();
    h.reopen().await;
    let before = everything(h).await;
    let view = |name: &str| h.store().keyed(key(name, &name));
    assert_eq!(view("append").append_to_run(run.lease(), batch()).await.unwrap(), appended);
    assert_eq!(view("create").create_session(new_session("s2")).await.unwrap(), made);
    assert_eq!(view("stop").stop_run(run.id.clone()).await.unwrap(), stopping);
    assert_eq!(everything(h).await, before);
}

pub async fn a_refused_request_keeps_no_answer(h: &mut dyn Harness) {
    let view = || h.store().keyed(key("k1", &"append to s1"));
    let append = async || view().append_events(id("s1"), vec![note("0")]).await;
    assert_eq!(refusal(append().await), "not-found session s1");
    create(h, "s1").await;
    assert_eq!(append().await.unwrap().appended, 1, "it is done now that it can be");
    assert_eq!(append().await.unwrap().appended, 1);
    assert_eq!(log(h, "s1").await.len(), 1);

    create(h, "s2").await;
    queue(h, start_of("s2")).await;
    let view = || h.store().keyed(key("k2", &"start s2"));
    let refused = view().create_run(start_of("s2")).await;
    assert_eq!(refusal(refused), "conflict session s2");
    // The key was not used up: another request may have it.
    let other = h.store().keyed(key("k2", &"create s3"));
    other.create_session(new_session("s3")).await.unwrap();
}

pub async fn different_keys_are_different_requests(h: &mut dyn Harness) {
    create(h, "s1").await;
    let batch = || vec![note("0")];
    for name in ["k1", "K1", "k-1", "k1/2?a=%20"] {
        let view = || h.store().keyed(key(name, &"append"));
        view().append_events(id("s1"), batch()).await.unwrap();
        view().append_events(id("s1"), batch()).await.unwrap();
    }
    assert_eq!(log(h, "s1").await.len(), 4);
    h.store().append_events(id("s1"), batch()).await.unwrap();
    assert_eq!(log(h, "s1").await.len(), 5, "the store itself has no key");
}

pub async fn the_longest_key_is_kept_and_told_from_its_neighbour(h: &mut dyn Harness) {
    create(h, "s1").await;
    let longest = "k".repeat(REQUEST_KEY_BYTES_MAX);
    let neighbour = format!("{}l", &longest[1..]);
    for (name, seq) in [(&longest, 1), (&neighbour, 2), (&longest, 1), (&neighbour, 2)] {
        let view = h.store().keyed(key(name, &"append"));
        let appended = view.append_events(id("s1"), vec![note("0")]).await.unwrap();
        assert_eq!(appended.first_seq, seq);
    }
}

pub async fn what_only_reads_or_moves_ignores_the_key(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let view = h.store().keyed(key("k1", &"any"));
    view.rename_session(id("s1"), "one".to_owned()).await.unwrap();
    let renamed = view.rename_session(id("s1"), "two".to_owned()).await.unwrap();
    assert_eq!(renamed.title.as_deref(), Some("two"));
    assert_eq!(view.session(id("s1")).await.unwrap(), renamed);
    assert_eq!(view.sweep_runs().await.unwrap(), Swept::default());
    assert_eq!(view.run(run.id.clone()).await.unwrap(), run);
}

pub async fn a_report_of_a_run_is_answered_again_not_heard_again(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let renew = h.store().keyed(key("k1", &"renew"));
    let first = renew.renew_run(run.lease(), 60_000).await.unwrap();
    h.clock().advance_ms(1_000);
    assert_eq!(renew.renew_run(run.lease(), 60_000).await.unwrap(), first);
    assert_eq!(h.store().run(run.id.clone()).await.unwrap(), first, "no longer than before");
    let finish = h.store().keyed(key("k2", &"finish"));
    let ended = finish.finish_run(run.lease(), completed()).await.unwrap();
    assert_eq!(finish.finish_run(run.lease(), completed()).await.unwrap(), ended);
    let other = h.store().keyed(key("k2", &"another"));
    let refused = other.finish_run(run.lease(), RunEnd::failed("no")).await;
    assert_eq!(refusal(refused), "invalid idempotency key");
}

pub async fn an_answer_is_kept_for_its_time(h: &mut dyn Harness) {
    create(h, "s1").await;
    let keep = i64::try_from(REQUEST_KEY_MS).unwrap();
    let append = async |h: &dyn Harness| {
        let view = h.store().keyed(key("k1", &"append"));
        view.append_events(id("s1"), vec![note("0")]).await.unwrap().first_seq
    };
    assert_eq!(append(h).await, 1);
    h.clock().advance_ms(keep - 1);
    assert_eq!(sweep(h).await, Swept::default());
    assert_eq!(append(h).await, 1, "it is kept");
    h.clock().advance_ms(2);
    sweep(h).await;
    assert_eq!(append(h).await, 2, "it was dropped");
    h.reopen().await;
    assert_eq!(append(h).await, 2);
}

pub async fn of_racing_requests_of_one_key_one_is_done(h: &mut dyn Harness) {
    for round in 0..5 {
        let made = race(h, 6, move |store, _| {
            let mut new = new_session("unused");
            new.id = None;
            let name = format!("k{round}");
            let view = store.keyed(key(&name, &"create"));
            block_on(view.create_session(new)).unwrap()
        });
        assert!(made.iter().all(|session| *session == made[0]), "{made:?}");
    }
    let sessions = h.store().list_sessions(<_>::default(), all()).await.unwrap();
    assert_eq!(sessions.items.len(), 5);
}

pub async fn of_racing_appends_of_one_key_one_is_done(h: &mut dyn Harness) {
    create(h, "s1").await;
    create_agent(h, "mira").await;
    for round in 0..5 {
        let made = race(h, 6, move |store, thread| {
            let name = format!("k{round}");
            let view = store.keyed(key(&name, &"append"));
            // Others append at the same time without a key.
            if thread % 3 == 0 {
                block_on(store.append_to_agent(agent_id("mira"), None, vec![note("1")])).unwrap();
            }
            block_on(view.append_events(id("s1"), vec![note("0")])).unwrap()
        });
        assert!(made.iter().all(|appended| *appended == made[0]), "{made:?}");
        assert_eq!(made[0].first_seq, round + 1);
    }
    assert_eq!(log(h, "s1").await.len(), 5);
    assert_eq!(log(h, "mira-1").await.len(), 10);
}

pub async fn of_racing_claims_of_one_key_one_is_done(h: &mut dyn Harness) {
    for n in 0..3 {
        queue(h, first_run(&format!("s{n}"))).await;
    }
    let got = race(h, 6, |store, _| {
        let view = store.keyed(key("k1", &"claim"));
        block_on(view.claim_run(claim_of("e1"))).unwrap().unwrap()
    });
    assert!(got.iter().all(|run| *run == got[0]), "{got:?}");
    let left = [claim(h, "e1").await.is_some(), claim(h, "e1").await.is_some()];
    assert_eq!((left, claim(h, "e1").await), ([true, true], None));
}
