//! A harbor with something in it.

use std::sync::Arc;

use ah_conformance::{Harness, ModelHarness, TestClock};
use ah_model::{
    Agent, Approval, NewAgent, NewApproval, NewEvent, NewMessage, NewQuestion, NewRepo, NewSession,
    Party, Question, RawJson, Receive, Release, Session, SessionId, SessionStatus, StatusChange,
    Vcs,
};
use ah_store::{Capabilities, Clock, Store, block_on};

use crate::seat::Seat;

pub(crate) struct World {
    harness: ModelHarness,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { harness: ModelHarness::new(Capabilities { workspaces: true }, 7) }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.harness.store()
    }

    pub(crate) fn clock(&self) -> &TestClock {
        self.harness.clock()
    }

    pub(crate) fn seat(&self, who: &str, columns: u16, rows: u16) -> Seat {
        Seat::new(self.store(), self.clock(), who, (columns, rows))
    }

    pub(crate) fn agent(&self, name: &str) -> Agent {
        let agent = NewAgent {
            model: Some("large".to_owned()),
            id: Some(format!("agent-{name}").parse().unwrap()),
            ..NewAgent::new(name, new_session(&format!("of-{name}")))
        };
        block_on(self.store().create_agent(agent)).unwrap()
    }

    pub(crate) fn session(&self, id: &str, title: &str) -> Session {
        let session = NewSession { title: Some(title.to_owned()), ..new_session(id) };
        let session = block_on(self.store().create_session(session)).unwrap();
        self.clock().advance_ms(1_000);
        session
    }

    pub(crate) fn child(&self, id: &str, parent: &str) {
        let session = NewSession { parent: Some(parent.parse().unwrap()), ..new_session(id) };
        block_on(self.store().create_session(session)).unwrap();
    }

    pub(crate) fn append(&self, id: &str, kind: &str, data: &str) {
        let data = RawJson::parse("data", data, 1 << 20).unwrap();
        let event =
            NewEvent { kind: kind.to_owned(), data, dedup_key: None, ts: Some(self.clock().now()) };
        let id: SessionId = id.parse().unwrap();
        block_on(self.store().append_events(id, vec![event])).unwrap();
    }

    pub(crate) fn end(&self, id: &str, to: SessionStatus) {
        let change = StatusChange { to, exit: ah_model::Exit::default() };
        block_on(self.store().set_session_status(id.parse().unwrap(), change)).unwrap();
    }

    pub(crate) fn approval(&self, agent: &str, kind: &str, reason: &str) -> Approval {
        let id = Some(format!("approval-{kind}").parse().unwrap());
        let reason = Some(reason.to_owned());
        let new = NewApproval { id, reason, ..NewApproval::new(agent, kind) };
        block_on(self.store().request_approval(new)).unwrap()
    }

    pub(crate) fn question(&self, from: &str, text: &str, options: &[&str]) -> NewQuestion {
        NewQuestion {
            id: Some(format!("question-of-{from}").parse().unwrap()),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            ..NewQuestion::new(Party::Agent(from.to_owned()), Party::Operator, text)
        }
    }

    pub(crate) fn ask(&self, question: NewQuestion) -> Question {
        block_on(self.store().ask_question(question)).unwrap()
    }

    /// Mail that is given up after too many tries.
    pub(crate) fn dead_letter(&self, to: &str, body: &str) {
        let store = self.store();
        let party = Party::Agent(to.to_owned());
        let id = Some(format!("mail-to-{to}").parse().unwrap());
        let new = NewMessage { id, ..NewMessage::new(Party::Operator, party.clone(), body) };
        block_on(store.send_message(new)).unwrap();
        for _ in 0..ah_model::limits::MESSAGE_ATTEMPTS_MAX {
            let taken = block_on(store.receive_messages(Receive::next(party.clone(), "t", 60_000)));
            let Some(message) = taken.unwrap().messages.pop() else { return };
            let hold = ah_model::Hold { id: message.id, delivery: Some(message.deliveries) };
            let note = Some("too hard".to_owned());
            let release = Release { hold, delay_ms: 0, note, counts: true };
            block_on(store.release_message(release)).unwrap();
        }
    }

    /// Everything that can need somebody.
    pub(crate) fn busy() -> Self {
        let world = Self::new();
        world.agent("alice");
        world.agent("bob");
        world.approval("bob", "deploy", "the tests pass and the release is tagged");
        world.clock().advance_ms(61_000);
        let hurried =
            world.question("alice", "What shall the new pier be called?", &["North", "South"]);
        world.ask(NewQuestion { ttl_ms: Some(90_000), ..hurried });
        world.dead_letter("bob", "please look at the light");
        world.session("broken", "repair the crane");
        world.end("broken", SessionStatus::Failed);
        world
    }
}

fn new_session(id: &str) -> NewSession {
    let repo = NewRepo {
        vcs: Vcs::Git,
        root_path: Some("/srv/pier".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    NewSession {
        id: Some(id.parse().unwrap()),
        ..NewSession::new(repo, "codex@1".parse().unwrap())
    }
}
