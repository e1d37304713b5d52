//! Agents that are destroyed and brought back: tombstones, failed approvals, revivals.

use std::slice;

use ah_model::{
    AGENT_DESTROYED, Agent, AgentFilter, AgentUpdate, Approval, ApprovalStatus, Cause, Decision,
    Exit, Lifecycle, Membership, NewAgent, NewApproval, Party, RunStatus, SPAWN, Session,
    SessionStatus, Verdict,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{
    agent, agent_id, all, create_agent, everything, full_agent, log, new_agent, note, race,
    refusal, renewal, reset, sessions_of, set_lifecycle, set_status, tell,
};
use crate::given_hive::{
    agents, answer, approval, approvals, ask, decide, destroy, mail, mail_of, notice, question,
    question_of, requested, send, sent, told,
};
use crate::given_run::{assert_refused, claim, queue, runs_of, session, start, start_of};

pub async fn a_destroyed_agent_leaves_a_tombstone(h: &mut dyn Harness) {
    for (name, status) in [("ran", SessionStatus::Succeeded), ("idle", SessionStatus::Cancelled)] {
        create_agent(h, name).await;
        if name == "ran" {
            tell(h, name, note("0")).await;
        }
        let before = agent(h, name).await;
        let active = session(h, &format!("{name}-1")).await;
        h.clock().advance_ms(70);
        let now = h.clock().now();
        let destroyed = Agent {
            lifecycle: Lifecycle::Dead,
            destroyed_at: Some(now),
            revision: before.revision + 1,
            updated_at: now,
            ..before
        };
        assert_eq!(destroy(h, name).await, destroyed);
        let ended = Session {
            status,
            ended_at: Some(now),
            exit: Exit { reason: Some("retired".to_owned()), ..Exit::default() },
            last_activity_at: now,
            ..active
        };
        h.clock().advance_ms(70);
        h.reopen().await;
        assert_eq!(agent(h, name).await, destroyed);
        assert_eq!(session(h, &format!("{name}-1")).await, ended);
        let done = everything(h).await;
        assert_eq!(destroy(h, name).await, destroyed, "twice is once");
        assert_eq!(everything(h).await, done);
    }
}

pub async fn all_that_a_destroyed_agent_had_is_kept(h: &mut dyn Harness) {
    let made = h.store().create_agent(full_agent("Full")).await.unwrap();
    agents(h, &["bob"]).await;
    h.store().append_to_agent(made.id.clone(), None, vec![note("1")]).await.unwrap();
    sent(h, "bob", "full", "m1").await;
    sent(h, "full", "bob", "m2").await;
    let before = h.store().agent(made.id.clone()).await.unwrap();
    let kept = h.store().destroy_agent(made.id.clone()).await.unwrap();
    let expected = Agent {
        lifecycle: Lifecycle::Dead,
        destroyed_at: Some(h.clock().now()),
        revision: before.revision + 1,
        ..before
    };
    assert_eq!(kept, expected);
    assert_eq!(log(h, "Full-1").await.len(), 1);
    assert_eq!((mail_of(h, "Full").await.len(), mail_of(h, "bob").await.len()), (1, 1));
    let listed = h.store().list_agents(AgentFilter::default(), all()).await.unwrap().items;
    assert!(listed.contains(&kept));
    // The name stays taken.
    let refused = h.store().create_agent(new_agent("FULL")).await;
    assert_eq!(refusal(refused), "conflict agent FULL");
    for refused in [
        h.store().update_agent(made.id.clone(), AgentUpdate::default()).await.map(drop),
        h.store().renew_agent(made.id.clone(), renewal(reset("x"), "s2")).await.map(drop),
        h.store().append_to_agent(made.id.clone(), None, vec![note("2")]).await.map(drop),
        h.store().set_agent_lifecycle(made.id.clone(), Lifecycle::Active).await.map(drop),
    ] {
        assert_eq!(refusal(refused), "conflict agent Full");
    }
}

pub async fn a_retired_agent_can_be_destroyed_and_keeps_its_end(h: &mut dyn Harness) {
    agents(h, &["a", "b"]).await;
    set_lifecycle(h, "a", Lifecycle::Dead).await;
    set_status(h, "b-1", SessionStatus::Failed).await;
    let ended = [session(h, "a-1").await, session(h, "b-1").await];
    h.clock().advance_ms(70);
    let destroyed = destroy(h, "a").await;
    assert_eq!(destroyed.destroyed_at, Some(h.clock().now()));
    destroy(h, "b").await;
    assert_eq!([session(h, "a-1").await, session(h, "b-1").await], ended);
}

pub async fn the_live_run_of_a_destroyed_agent_is_stopped(h: &mut dyn Harness) {
    agents(h, &["a", "b"]).await;
    queue(h, start_of("a-1")).await;
    destroy(h, "a").await;
    assert_eq!(runs_of(h, "a-1").await[0].status, RunStatus::Stopped, "nobody had taken it");
    queue(h, start_of("b-1")).await;
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    destroy(h, "b").await;
    assert_eq!(runs_of(h, "b-1").await[0].status, RunStatus::Stopping);
    assert_eq!(session(h, "b-1").await.status, SessionStatus::Succeeded);
}

pub async fn the_pending_approvals_of_a_destroyed_agent_fail(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    let pending = requested(h, "p1", "mira", "deploy").await;
    requested(h, "p2", "mira", "deploy").await;
    let decided = decide(h, "p2", Verdict::Approved).await;
    let bobs = requested(h, "p3", "bob", "deploy").await;
    h.clock().advance_ms(10);
    let told_before = told(h, "Mira").await;
    destroy(h, "Mira").await;
    let failed = Approval {
        status: ApprovalStatus::Failed,
        resolved_at: Some(h.clock().now()),
        resolved_by: Some(Party::Operator),
        note: Some(AGENT_DESTROYED.to_owned()),
        ..pending
    };
    assert_eq!(approvals(h).await, [failed, decided, bobs]);
    assert_eq!(told(h, "Mira").await, told_before, "it is not told");
}

pub async fn a_protected_agent_is_not_destroyed(h: &mut dyn Harness) {
    let manager = NewAgent { protected: true, ..new_agent("boss") };
    let made = h.store().create_agent(manager).await.unwrap();
    assert!(made.protected);
    requested(h, "p1", "boss", "deploy").await;
    let before = everything(h).await;
    for refused in [
        h.store().destroy_agent(agent_id("boss")).await.map(drop),
        h.store().set_agent_lifecycle(agent_id("boss"), Lifecycle::Dead).await.map(drop),
        h.store().purge_step(agent_id("boss")).await.map(drop),
        h.store().revive_agent(agent_id("boss")).await.map(drop),
    ] {
        assert_refused(h, &before, refused, "conflict agent boss").await;
    }
    let refused = h.store().destroy_agent(agent_id("boss")).await.unwrap_err();
    assert_eq!(refused.to_string(), "agent boss: is protected");
    // It may still sleep, and is destroyed once nobody protects it.
    set_lifecycle(h, "boss", Lifecycle::Sleeping).await;
    let update = AgentUpdate { protected: Some(false), ..AgentUpdate::default() };
    let plain = h.store().update_agent(agent_id("boss"), update).await.unwrap();
    assert!(!plain.protected);
    destroy(h, "boss").await;
    agents(h, &["plain"]).await;
    let update = AgentUpdate { protected: Some(true), ..AgentUpdate::default() };
    h.store().update_agent(agent_id("plain"), update).await.unwrap();
    h.reopen().await;
    let refused = h.store().destroy_agent(agent_id("plain")).await;
    assert_eq!(refusal(refused), "conflict agent plain");
}

pub async fn a_revival_is_asked_for_once_and_decided_by_the_operator(h: &mut dyn Harness) {
    agents(h, &["Mira", "alive"]).await;
    set_lifecycle(h, "alive", Lifecycle::Sleeping).await;
    destroy(h, "Mira").await;
    let asked = h.store().revive_agent(agent_id("Mira")).await.unwrap();
    let expected = (ApprovalStatus::Pending, SPAWN, "Mira");
    assert_eq!((asked.status, asked.kind.as_str(), asked.agent.as_str()), expected);
    assert_eq!(approvals(h).await, slice::from_ref(&asked));
    let before = everything(h).await;
    h.clock().advance_ms(10);
    assert_eq!(h.store().revive_agent(agent_id("Mira")).await.unwrap(), asked);
    assert_eq!(requested(h, "p1", "mira", SPAWN).await, asked, "it is the same wish");
    assert_eq!(everything(h).await, before);
    let refused = h.store().revive_agent(agent_id("alive")).await;
    assert_refused(h, &before, refused, "conflict agent alive").await;
    let refused = h.store().revive_agent(agent_id("nobody")).await;
    assert_eq!(refusal(refused), "not-found agent nobody");
    let refused = h.store().destroy_agent(agent_id("nobody")).await;
    assert_eq!(refusal(refused), "not-found agent nobody");
    decide(h, asked.id.as_str(), Verdict::Denied).await;
    assert_eq!(agent(h, "Mira").await.lifecycle, Lifecycle::Dead, "that was refused");
    let again = h.store().revive_agent(agent_id("Mira")).await.unwrap();
    assert_ne!(again.id, asked.id, "so it may be asked for again");
    // Its own withdrawal is heard, though it is dead.
    let by =
        Decision { by: Party::Agent("mira".to_owned()), ..Decision::operator(Verdict::Withdrawn) };
    let withdrawn = h.store().decide_approval(again.id, by).await.unwrap();
    assert_eq!(withdrawn.status, ApprovalStatus::Withdrawn);
}

pub async fn an_approved_revival_brings_the_agent_back_with_what_it_left(h: &mut dyn Harness) {
    let new = NewAgent { id: Some(agent_id("mira")), ..full_agent("mira") };
    h.store().create_agent(new).await.unwrap();
    tell(h, "mira", note(r#"{"usage":{"input_tokens":3}}"#)).await;
    let destroyed = destroy(h, "mira").await;
    let last = session(h, "mira-1").await;
    let asked = h.store().revive_agent(agent_id("mira")).await.unwrap();
    h.clock().advance_ms(50);
    let now = h.clock().now();
    let done = decide(h, asked.id.as_str(), Verdict::Approved).await;
    let carried_out = Approval {
        status: ApprovalStatus::Approved,
        resolved_at: Some(now),
        resolved_by: Some(Party::Operator),
        carried_out_at: Some(now),
        ..asked
    };
    assert_eq!(done, carried_out);
    h.reopen().await;
    assert_eq!(approval(h, done.id.as_str()).await, carried_out);
    let revived = agent(h, "mira").await;
    let sessions = sessions_of(h, "mira").await;
    let [first, second] = sessions.try_into().unwrap();
    assert_eq!(first, last, "what had ended stays as it ended");
    let expected = Agent {
        lifecycle: Lifecycle::Active,
        destroyed_at: None,
        active_session_id: Some(second.id.clone()),
        session_count: 2,
        revision: destroyed.revision + 2,
        updated_at: now,
        ..destroyed
    };
    assert_eq!(revived, expected);
    let place = Membership { id: agent_id("mira"), number: 2, cause: Cause::Revival };
    let begun = Session::created(last.successor(), second.id.clone(), last.repo_id.unwrap(), now);
    assert_eq!(second, Session { of_agent: Some(place), ..begun });
    let body = format!("spawn ({}) approved", done.id);
    let decision = notice("decision", "operator", body, done.id.as_str());
    assert_eq!(told(h, "mira").await, [decision]);
    // It lives on as any other.
    assert_eq!(tell(h, "mira", note("0")).await, second.id);
    send(h, mail("mira", "operator", "here I am")).await;
    let again = decide(h, done.id.as_str(), Verdict::Approved).await;
    assert_eq!(again, carried_out, "saying it again begins nothing");
    assert_eq!(sessions_of(h, "mira").await.len(), 2);
}

pub async fn a_revived_agent_can_be_destroyed_again(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for round in 1..4 {
        destroy(h, "mira").await;
        let asked = h.store().revive_agent(agent_id("mira")).await.unwrap();
        decide(h, asked.id.as_str(), Verdict::Approved).await;
        let sessions = sessions_of(h, "mira").await;
        assert_eq!(sessions.len(), round + 1);
        let last = sessions.last().unwrap();
        assert_eq!(last.of_agent.as_ref().unwrap().cause, Cause::Revival);
        assert_eq!(agent(h, "mira").await.active_session_id, Some(last.id.clone()));
        assert_eq!(sessions[round - 1].status, SessionStatus::Cancelled);
    }
    let reason = Some("retired".to_owned());
    assert_eq!(session(h, "mira-1").await.exit.reason, reason);
}

pub async fn a_destroyed_agents_wish_to_come_back_fails_with_nothing_else(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    requested(h, "p0", "newcomer", SPAWN).await;
    create_agent(h, "newcomer").await;
    destroy(h, "newcomer").await;
    let spawn = approval(h, "p0").await;
    assert_eq!(spawn.status, ApprovalStatus::Failed, "its spawn was pending too");
    assert_eq!(spawn.note.as_deref(), Some(AGENT_DESTROYED));
    let asked = h.store().revive_agent(agent_id("newcomer")).await.unwrap();
    assert_ne!(asked.id.as_str(), "p0");
    destroy(h, "newcomer").await;
    assert_eq!(approval(h, asked.id.as_str()).await, asked, "it was destroyed before");
}

pub async fn questions_and_mail_outlive_the_agent(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    ask(h, question_of("q1", "mira", "bob")).await;
    ask(h, question_of("q2", "bob", "mira")).await;
    let [one, two] = [question(h, "q1").await, question(h, "q2").await];
    destroy(h, "mira").await;
    assert_eq!([question(h, "q1").await, question(h, "q2").await], [one, two]);
    answer(h, "q1", "bob", "yes").await;
    assert_eq!(told(h, "mira").await.len(), 2, "asked and answered");
}

pub async fn of_racing_destructions_and_revivals_each_happens_once(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let tombs = race(h, 6, |store, _| block_on(store.destroy_agent(agent_id("mira"))).unwrap());
    assert!(tombs.iter().all(|tomb| *tomb == tombs[0]));
    let asked = race(h, 6, |store, _| block_on(store.revive_agent(agent_id("mira"))).unwrap());
    assert!(asked.iter().all(|approval| *approval == asked[0]));
    let id = asked[0].id.clone();
    let decided = race(h, 6, move |store, _| {
        let decision = Decision::operator(Verdict::Approved);
        block_on(store.decide_approval(id.clone(), decision)).unwrap()
    });
    assert!(decided.iter().all(|approval| *approval == decided[0]));
    assert_eq!(sessions_of(h, "mira").await.len(), 2, "it came back once");
    assert_eq!(agent(h, "mira").await.session_count, 2);
}

/// Approvals that wait for a decision, by kind.
async fn pending(h: &dyn Harness) -> Vec<String> {
    let all = approvals(h).await.into_iter();
    let pending = all.filter(|approval| approval.status == ApprovalStatus::Pending);
    pending.map(|approval| format!("{} {}", approval.agent, approval.kind)).collect()
}

pub async fn nothing_is_asked_for_an_agent_beside_its_end_or_its_return(h: &mut dyn Harness) {
    const ROUNDS: u64 = 25;
    for round in 0..ROUNDS {
        let name = format!("a{round}");
        agents(h, &[&name]).await;
        let of_race = name.clone();
        race(h, 4, move |store, thread| match thread {
            0 => block_on(store.destroy_agent(agent_id(&of_race))).map(drop).unwrap(),
            _ => match block_on(store.request_approval(NewApproval::new(&of_race, "deploy"))) {
                Ok(_) => {}
                refused => assert_eq!(refusal(refused), format!("conflict agent {of_race}")),
            },
        });
        assert_eq!(pending(h).await, [""; 0], "all that was asked before it went has failed");
        let asked = h.store().revive_agent(agent_id(&name)).await.unwrap().id;
        let of_race = name.clone();
        race(h, 4, move |store, thread| match thread {
            0 => {
                let approved = Decision::operator(Verdict::Approved);
                block_on(store.decide_approval(asked.clone(), approved)).map(drop).unwrap();
            }
            _ => match block_on(store.revive_agent(agent_id(&of_race))) {
                Ok(same) => assert_eq!(same.id, asked),
                refused => assert_eq!(refusal(refused), format!("conflict agent {of_race}")),
            },
        });
        assert_eq!(pending(h).await, [""; 0], "nobody waits for one that is back");
    }
}
