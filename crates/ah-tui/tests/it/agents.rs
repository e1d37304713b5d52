//! Agents: what they did, what waits for them, and changes that need a name typed.

use ah_model::{ApprovalStatus, NewMessage, Party};
use ah_store::block_on;
use ah_tui::Effect;

use crate::world::World;

#[test]
fn agents_are_listed_with_what_they_did_last() {
    let world = World::busy();
    world.append("of-alice", "user_message", r#"{"text":"find a name"}"#);
    world.append("of-alice", "assistant_message", r#"{"text":"I asked the operator"}"#);
    let to = Party::Agent("alice".to_owned());
    block_on(world.store().send_message(NewMessage::new(Party::Operator, to, "hello"))).unwrap();
    let mut seat = world.seat("ann", 100, 22);
    seat.keys("2");
    seat.shows("agents");
    world.append("of-alice", "assistant_message", r#"{"text":"it is the North Pier"}"#);
    seat.look();
    seat.says("it is the North Pier");
}

#[test]
fn a_model_is_changed_in_place() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 22);
    seat.keys("2m");
    seat.says("> large");
    seat.key(ah_tui::Key::Ctrl('u'));
    seat.keys("small\n");
    seat.says("alice runs on small from its next turn on");
    let agent = block_on(world.store().agent("agent-alice".parse().unwrap())).unwrap();
    assert_eq!(agent.model.as_deref(), Some("small"));
}

#[test]
fn an_agent_is_destroyed_and_revived_only_by_its_name() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 22);
    seat.keys("2D\n");
    seat.says("type alice to confirm");
    seat.keys("alic\n");
    seat.says("type alice to confirm");
    seat.keys("e\n");
    seat.says("alice is destroyed; what it left is kept");
    seat.look();
    seat.says("destroyed");
    seat.keys("R");
    seat.shows("revive");
    seat.keys("alice\n");
    seat.says("alice is back once its spawn is approved");
    seat.look();
    seat.keys("1");
    seat.says("spawn");
    let approvals = block_on(world.store().list_approvals(
        ah_model::ApprovalFilter { kind: Some("spawn".to_owned()), ..Default::default() },
        ah_model::PageRequest::default(),
    ));
    assert_eq!(approvals.unwrap().items[0].status, ApprovalStatus::Pending);
}

#[test]
fn many_agents_are_read_as_far_as_somebody_looks() {
    let world = World::new();
    for number in 0..450 {
        world.agent(&format!("a{number:03}"));
    }
    let mut seat = world.seat("ann", 80, 20);
    seat.keys("2");
    seat.says("a000");
    for _ in 0..70 {
        seat.key(ah_tui::Key::PageDown);
    }
    seat.says("a449");
    let pages = seat.done.iter().filter(|effect| matches!(effect, Effect::ReadAgents(_))).count();
    assert_eq!(pages, 3);
    // Turns are read of those in sight only.
    let turns = seat.done.iter().filter_map(|effect| match effect {
        Effect::ReadTurns(of) => Some(of.len()),
        _ => None,
    });
    assert!(turns.max().unwrap() < 20);
    seat.wait(1_000);
    seat.says("a449");
}
