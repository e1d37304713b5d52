//! Agents that an approval makes or brings back, and the model they run on.

use std::fs;

use ah_hive::HostError;
use ah_model::{ApprovalStatus, Decision, Lifecycle, NewApproval, Origin, RawJson, SPAWN, Verdict};
use ah_store::{StoreError, block_on};

use crate::commits::{Given, new_agent};
use crate::given::{json, unsafe_reason};

fn spawn_of(name: &str) -> NewApproval {
    let agent = serde_json::to_string(&new_agent(name)).unwrap();
    let details: RawJson = json(&format!("{{\"agent\":{agent}}}"));
    NewApproval { details, ..NewApproval::new(name, SPAWN) }
}

fn approve() -> Decision {
    Decision::operator(Verdict::Approved)
}

#[test]
fn an_approved_spawn_makes_the_agent_and_its_home() {
    let given = Given::new();
    let asked = given.host.request_approval(spawn_of("bob")).unwrap();
    assert!(block_on(given.host.store().agent_of_name("bob".to_owned())).unwrap().is_none());
    let done = given.host.decide(asked.id.clone(), approve()).unwrap();
    assert!(done.carried_out_at.is_some(), "{done:?}");
    let bob = block_on(given.host.store().agent_of_name("bob".to_owned())).unwrap().unwrap();
    let origin = Origin { source: "approval".to_owned(), external_id: asked.id.to_string() };
    assert_eq!(bob.origin, Some(origin));
    assert!(given.state.homes().home("bob").unwrap().config().is_dir());
    assert_eq!(given.host.decide(asked.id, approve()).unwrap(), done);
}

#[test]
fn a_crash_after_the_decision_or_after_the_agent_is_made_good_later() {
    for agent_is_made in [false, true] {
        let given = Given::new();
        let store = given.host.store();
        let asked = given.host.request_approval(spawn_of("bob")).unwrap();
        block_on(store.decide_approval(asked.id.clone(), approve())).unwrap();
        if agent_is_made {
            let origin =
                Origin { source: "approval".to_owned(), external_id: asked.id.to_string() };
            let agent = ah_model::NewAgent { origin: Some(origin), ..new_agent("bob") };
            block_on(store.create_agent(agent)).unwrap();
        }
        let done = given.host.carry_out_due().unwrap();
        assert!(done.len() == 1 && done[0].carried_out_at.is_some(), "{done:?}");
        assert!(given.state.homes().find("bob").unwrap().is_some());
        assert_eq!(given.host.carry_out_due().unwrap(), vec![]);
    }
}

#[test]
fn a_name_that_was_taken_meanwhile_is_a_problem_and_not_a_second_agent() {
    let given = Given::new();
    let asked = given.host.request_approval(spawn_of("bob")).unwrap();
    block_on(given.host.store().decide_approval(asked.id, approve())).unwrap();
    let other = block_on(given.host.store().create_agent(new_agent("Bob"))).unwrap();
    let done = given.host.carry_out_due().unwrap();
    assert_eq!(done[0].carried_out_at, None);
    assert!(done[0].problem.is_some());
    let bob = block_on(given.host.store().agent_of_name("bob".to_owned())).unwrap();
    assert_eq!(bob.map(|bob| bob.id), Some(other.id));
}

#[test]
fn a_spawn_that_says_nothing_of_the_agent_is_refused() {
    let given = Given::new();
    for details in ["{}", r#"{"agent":{}}"#, r#"{"agent":null}"#] {
        let new = NewApproval { details: json(details), ..NewApproval::new("bob", SPAWN) };
        let error = given.host.request_approval(new).unwrap_err();
        assert!(matches!(error, HostError::Store(StoreError::Invalid(_))), "{details}: {error:?}");
    }
    let other = NewApproval { agent: "carol".to_owned(), ..spawn_of("bob") };
    assert!(given.host.request_approval(other).unwrap_err().to_string().contains("not of carol"));
    // Asked for past the host, it fails when it is decided.
    let asked = block_on(given.host.store().request_approval(NewApproval::new("bob", SPAWN)));
    let failed = given.host.decide(asked.unwrap().id, approve()).unwrap();
    assert_eq!(failed.status, ApprovalStatus::Failed);
    assert!(failed.note.unwrap().contains("agent to create"));
}

#[test]
fn a_revived_agent_has_what_it_left() {
    let given = Given::new();
    fs::write(given.home.state().join("notes"), "remember").unwrap();
    given.host.set_model(given.agent.id.clone(), Some("opus")).unwrap();
    let store = given.host.store();
    block_on(store.destroy_agent(given.agent.id.clone())).unwrap();
    assert!(given.home.state().join("notes").exists(), "destruction keeps the home");
    fs::remove_dir(given.home.claude()).unwrap();
    let asked = block_on(store.revive_agent(given.agent.id.clone())).unwrap();
    let done = given.host.decide(asked.id, approve()).unwrap();
    assert!(done.carried_out_at.is_some());
    let alice = block_on(store.agent(given.agent.id.clone())).unwrap();
    assert_eq!(alice.lifecycle, Lifecycle::Active);
    assert_eq!(fs::read_to_string(given.home.state().join("notes")).unwrap(), "remember");
    assert_eq!(given.host.model(&alice).unwrap().as_deref(), Some("opus"));
    assert!(given.home.claude().is_dir(), "what was missing is there again");
}

#[test]
fn the_model_is_the_files_and_else_the_stores() {
    let given = Given::new();
    let store = given.host.store();
    let update = ah_model::AgentUpdate { model: Some("haiku".to_owned()), ..Default::default() };
    let alice = block_on(store.update_agent(given.agent.id.clone(), update)).unwrap();
    assert_eq!(given.host.model(&alice).unwrap().as_deref(), Some("haiku"));
    fs::write(given.home.state().join("model"), "sonnet\n").unwrap();
    assert_eq!(given.host.model(&alice).unwrap().as_deref(), Some("sonnet"));
    let alice = given.host.set_model(alice.id, Some("opus")).unwrap();
    assert_eq!(alice.model.as_deref(), Some("opus"));
    assert_eq!(given.home.model().unwrap().as_deref(), Some("opus"));
    let alice = given.host.set_model(alice.id, None).unwrap();
    assert_eq!((alice.model.clone(), given.host.model(&alice).unwrap()), (None, None));
    assert!(given.host.set_model(alice.id.clone(), Some("a\nb")).is_err());
    fs::write(given.home.state().join("model"), "a\nb\n").unwrap();
    unsafe_reason(given.host.model(&alice));
}

#[test]
fn an_agent_from_before_there_were_homes_gets_one_when_it_needs_it() {
    let given = Given::new();
    let bob = block_on(given.host.store().create_agent(new_agent("bob"))).unwrap();
    assert_eq!(given.host.model(&bob).unwrap(), None);
    given.host.set_model(bob.id, Some("opus")).unwrap();
    assert_eq!(given.state.homes().home("bob").unwrap().model().unwrap().as_deref(), Some("opus"));
}
