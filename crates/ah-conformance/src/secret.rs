//! Secrets: none reaches a store, whichever way it comes, and nothing else is changed.

use ah_model::{
    AgentUpdate, Appended, Beginning, Decision, Exit, NewApproval, NewEvent, NewQuestion, NewRun,
    NewSession, Receive, Redactions, Release, RequestKey, RunEnd, RunOutcome, SessionDetails,
    SessionStatus, StatusChange, Verdict,
};
use ah_store::SessionFork;

use crate::Harness;
use crate::given::{
    append, create, create_agent, draft_fields, everything, id, json, keyed, log, new_agent,
    new_session, new_task, note, renewal,
};
use crate::given_hive::{
    agents, answer_of, approval_id, hold, mail, next_of, party, question, question_id, question_of,
    request,
};
use crate::given_run::{at_work, child_run, finish, start_of};

/// A token as GitHub gives them out; put together here so that nobody takes it for a real one.
pub(crate) fn secret() -> String {
    format!("ghp_{}", "a1B2c3D4e5".repeat(4))
}

/// What is kept of it.
pub(crate) const MASKED: &str = "ghp_[redacted:github-token]";

/// `text` with the secret in it.
pub(crate) fn with_secret(text: &str) -> String {
    text.replace('*', &secret())
}

fn masked(text: &str) -> String {
    text.replace('*', MASKED)
}

/// Whether the secret is nowhere, and its mask so many times.
async fn assert_masked(h: &dyn Harness, masks: usize) {
    let all = everything(h).await;
    assert!(!all.contains(&secret()), "{all}");
    assert_eq!(all.matches(MASKED).count(), masks, "{all}");
}

fn one() -> Redactions {
    Redactions([("github-token".to_owned(), 1)].into())
}

pub async fn an_event_is_kept_without_its_secrets_and_the_answer_counts_them(h: &mut dyn Harness) {
    create(h, "s").await;
    let text = r#"{"b":1.00,"a":["é","use *"],"url":"https://u:hunter22@host/x"}"#;
    let event = note(&with_secret(text));
    let appended = h.store().append_events(id("s"), vec![event]).await.unwrap();
    let rules = [("github-token".to_owned(), 1), ("url-credentials".to_owned(), 1)];
    let redacted = Redactions(rules.into());
    let (first_seq, last_seq) = (1, 1);
    let session_id = id("s");
    let expected =
        Appended { session_id, first_seq, last_seq, appended: 1, duplicates: 0, redacted };
    assert_eq!(appended, expected);
    h.reopen().await;
    let kept = masked(text).replace("hunter22", "[redacted:url-credentials]");
    assert_eq!(log(h, "s").await[0].data.as_str(), kept);
}

pub async fn the_same_event_with_a_secret_is_kept_once(h: &mut dyn Harness) {
    create(h, "s").await;
    let event = keyed(&with_secret(r#""*""#), "k");
    let store = h.store();
    let append = || store.append_events(id("s"), vec![event.clone()]);
    let (session_id, first_seq, last_seq) = (id("s"), 1, 1);
    let first =
        Appended { session_id, first_seq, last_seq, appended: 1, duplicates: 0, redacted: one() };
    assert_eq!(append().await.unwrap(), first);
    assert_eq!(append().await.unwrap(), Appended { appended: 0, duplicates: 1, ..first });
    let key = RequestKey { key: "r".to_owned(), fingerprint: "f".to_owned() };
    let keyed = store.keyed(key);
    let request = || keyed.append_events(id("s"), vec![event.clone()]);
    assert_eq!(request().await.unwrap(), request().await.unwrap());
    assert_eq!(log(h, "s").await.len(), 1);
}

pub async fn events_without_secrets_are_kept_byte_for_byte(h: &mut dyn Harness) {
    create(h, "s").await;
    let texts = [
        r#"{"sha":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","n":1.00}"#,
        r#"{"id":"0192f0c1-7e4b-7323-89b0-053f685835b5","usage":{"input_tokens":12,"token":3}}"#,
        r#"{"sessionId":"toolu_01ABCDEFGHIJKLMNOPQRSTUV","max_tokens":"4096","key":"Enter"}"#,
        r#"["\u0073k-","\ud800","a:b=c","--token","$TOKEN","Bearer $TOKEN",null,"",0.10,{}]"#,
        r#""password: see the vault; Basic auth; token count 12""#,
    ];
    for text in texts {
        append(h, "s", note(text)).await;
    }
    let kept: Vec<_> = log(h, "s").await.iter().map(|e| e.data.as_str().to_owned()).collect();
    assert_eq!(kept, texts);
}

pub async fn tasks_and_drafts_are_kept_without_secrets(h: &mut dyn Harness) {
    let prompt = with_secret("push with *");
    let batch = h.store().create_task(new_task(&prompt)).await.unwrap();
    assert_eq!(batch.tasks[0].prompt, masked("push with *"));
    let draft = h.store().save_draft(None, draft_fields(&prompt)).await.unwrap();
    assert_eq!(draft.fields.description, masked("push with *"));
    h.store().launch_draft(draft.id, new_task(&prompt)).await.unwrap();
    let all = everything(h).await;
    assert!(!all.contains(&secret()), "{all}");
    assert!(all.matches(MASKED).count() >= 4, "prompts and parameters of two: {all}");
}

pub async fn sessions_are_kept_without_secrets(h: &mut dyn Harness) {
    let text = with_secret("with *");
    let details = SessionDetails { reset_message: Some(text.clone()), ..SessionDetails::default() };
    let new = NewSession { title: Some(text.clone()), details, ..new_session("s") };
    let session = h.store().create_session(new).await.unwrap();
    assert_eq!(session.title, Some(masked("with *")));
    assert_eq!(session.details.reset_message, Some(masked("with *")));
    append(h, "s", note("1")).await;
    let fork = SessionFork { id: Some(id("f")), title: Some(text.clone()), at_seq: None };
    assert_eq!(h.store().fork_session(id("s"), fork).await.unwrap().title, Some(masked("with *")));
    let renamed = h.store().rename_session(id("s"), text.clone()).await.unwrap();
    assert_eq!(renamed.title, Some(masked("with *")));
    let exit = Exit { reason: Some(text), ..Exit::default() };
    let change = StatusChange { to: SessionStatus::Failed, exit };
    let failed = h.store().set_session_status(id("s"), change).await.unwrap();
    assert_eq!(failed.exit.reason, Some(masked("with *")));
    let all = everything(h).await;
    assert!(!all.contains(&secret()), "{all}");
}

pub async fn runs_and_what_they_report_are_kept_without_secrets(h: &mut dyn Harness) {
    create(h, "parent").await;
    create(h, "s").await;
    let parameters = json(&with_secret(r#"{"prompt":"use *"}"#));
    let run = at_work(h, NewRun { parameters, ..start_of("s") }).await;
    assert_eq!(run.parameters.as_str(), masked(r#"{"prompt":"use *"}"#));
    let event = note(&with_secret(r#"{"output":"*"}"#));
    let appended = h.store().append_to_run(run.lease(), vec![event]).await.unwrap();
    assert_eq!(appended.redacted, one());
    let result = Some(json(&with_secret(r#""*""#)));
    let error = Some(with_secret("401 for *"));
    let end = RunEnd { error, result, ..RunEnd::new(RunOutcome::Failed) };
    let run = finish(h, &run, end.clone()).await;
    assert_eq!(run.error, Some(masked("401 for *")));
    assert_eq!(run.result.unwrap().as_str(), masked(r#""*""#));
    let child = at_work(h, child_run("child", "parent")).await;
    finish(h, &child, end).await;
    let all = everything(h).await;
    assert!(!all.contains(&secret()), "{all}");
}

pub async fn messages_are_kept_without_secrets(h: &mut dyn Harness) {
    agents(h, &["alice", "bob"]).await;
    let body = with_secret("the key is *");
    let sent = h.store().send_message(mail("alice", "bob", &body)).await.unwrap();
    assert_eq!(sent[0].body, masked("the key is *"));
    let got = h.store().receive_messages(next_of("bob", "h")).await.unwrap();
    let note = Some(with_secret("not with *"));
    let release = Release { hold: hold(&got.messages[0]), delay_ms: 0, note, counts: true };
    let released = h.store().release_message(release).await.unwrap();
    assert_eq!(released.note, Some(masked("not with *")));
    let receive = Receive { send: vec![mail("bob", "alice", &body)], ..next_of("bob", "h") };
    h.store().receive_messages(receive).await.unwrap();
    assert_masked(h, 3).await;
}

pub async fn approvals_and_questions_are_kept_without_secrets(h: &mut dyn Harness) {
    agents(h, &["alice"]).await;
    let reason = Some(with_secret("so that * works"));
    let details = json(&with_secret(r#"{"command":"curl -H 'x: *'"}"#));
    let new = NewApproval { reason, details, ..request("a", "alice", "shell") };
    let approval = h.store().request_approval(new).await.unwrap();
    assert_eq!(approval.reason, Some(masked("so that * works")));
    let note = Some(with_secret("use * instead"));
    let decision = Decision { note, ..Decision::operator(Verdict::Denied) };
    for _ in 0..2 {
        let decided = h.store().decide_approval(approval_id("a"), decision.clone()).await.unwrap();
        assert_eq!(decided.note, Some(masked("use * instead")));
    }
    let options = vec![with_secret("take *"), "none".to_owned()];
    let text = with_secret("is * right?");
    let new = NewQuestion { text, options, ..question_of("q", "alice", "operator") };
    h.store().ask_question(new).await.unwrap();
    // The options were changed as the answer is: it is still one of them.
    let answer = answer_of("operator", &with_secret("take *"));
    h.store().answer_question(question_id("q"), answer).await.unwrap();
    assert_eq!(question(h, "q").await.answer.unwrap().values, [masked("take *")]);
    let all = everything(h).await;
    assert!(!all.contains(&secret()), "{all}");
    assert_eq!(party("alice"), question(h, "q").await.from);
}

pub async fn agents_are_kept_without_secrets(h: &mut dyn Harness) {
    let mut new = new_agent("alice");
    new.metadata = json(&with_secret(r#"{"mcp":{"env":"*"}}"#));
    let agent = h.store().create_agent(new).await.unwrap();
    assert_eq!(agent.metadata.as_str(), masked(r#"{"mcp":{"env":"*"}}"#));
    let stats = Some(json(&with_secret(r#"{"last":"*"}"#)));
    let update = AgentUpdate { stats, ..AgentUpdate::default() };
    let agent = h.store().update_agent(agent.id, update).await.unwrap();
    assert_eq!(agent.stats.as_str(), masked(r#"{"last":"*"}"#));
    let events = vec![note(&with_secret(r#""*""#))];
    let told = h.store().append_to_agent(agent.id.clone(), None, events).await.unwrap();
    assert_eq!(told.redacted, one());
    let summary = with_secret("it used *");
    let how = Beginning::Compaction { summary };
    h.store().renew_agent(agent.id, renewal(how, "alice-2")).await.unwrap();
    create_agent(h, "bob").await;
    let all = everything(h).await;
    assert!(!all.contains(&secret()), "{all}");
}

pub async fn what_agents_keep_for_themselves_is_left_alone(h: &mut dyn Harness) {
    let (scope, key) = ("user".to_owned(), "k".to_owned());
    let entry = ah_model::KvEntry { scope: scope.clone(), key: key.clone(), value: secret() };
    h.store().kv_set(entry.clone()).await.unwrap();
    assert_eq!(h.store().kv_get(scope, key).await.unwrap(), entry);
}

pub async fn keys_and_types_of_events_are_left_alone(h: &mut dyn Harness) {
    create(h, "s").await;
    let event = NewEvent { kind: secret(), dedup_key: Some(secret()), ..note("1") };
    append(h, "s", event).await;
    let kept = &log(h, "s").await[0];
    assert_eq!((&kept.kind, kept.dedup_key.as_ref()), (&secret(), Some(&secret())));
}
