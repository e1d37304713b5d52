//! Chooses operations on agents.

use ah_model::{
    AgentFilter, AgentId, AgentImport, AgentType, AgentUpdate, Beginning, Cause, Lifecycle,
    Membership, NewAgent, NewSession, Order, RawJson, Renewal, SessionId, SessionImport,
};

use super::{Chooser, IDS, Operation};
use crate::given::{json, kind, repo};

const AGENT_IDS: [&str; 6] = ["a1", "a2", "a3", "A1", "a_", "a~b"];
const NAMES: [&str; 9] = ["mira", "MIRA", "bob", "x.1", "mira-2", "Zed_1", "0", "bo", "x-1"];
/// Names that are asked for; the first cannot be stored.
const ASKED: [&str; 8] = ["mi\0ra", "", "%", "_", "mIrA", "mira", "bob", "z"];
const OBJECTS: [&str; 5] = ["{}", r#"{"a":1.00}"#, r#"{"b":"\ud800\u0000","a":[]}"#, "{}", "0"];
const DESCRIPTORS: [&str; 5] = [
    r#"{"name":"x","id":"y","tag":"z"}"#,
    r#"{"type":"cron","id":"y"}"#,
    r#"{"id":"","name":""}"#,
    r#"{"name":"x","id":"y","more":1e1}"#,
    "[]",
];

impl Chooser<'_> {
    /// One flat table, the frequent first.
    pub(super) fn agent_operation(&mut self) -> Operation {
        use Operation as Op;
        match self.random.below(28) {
            0..=4 => Op::AppendToAgent(self.agent_id(), self.events()),
            5..=8 => Op::CreateAgent(Box::new(self.new_agent())),
            9..=13 => Op::RenewAgent(self.agent_id(), self.renewal()),
            14 | 15 => Op::UpdateAgent(self.agent_id(), self.agent_update()),
            16 | 17 => Op::SetAgentLifecycle(self.agent_id(), self.lifecycle()),
            18 | 19 => Op::AgentSessions(self.agent_id(), self.order(), self.start()),
            20 => Op::ListAgents(self.agent_filter(), self.start()),
            21 => match self.random.one_in(2) {
                true => Op::Agent(self.agent_id()),
                false => Op::AgentOfName(self.random.pick(&ASKED).to_owned()),
            },
            22 => match self.random.one_in(2) {
                true => Op::AgentOfOrigin(self.origin()),
                false => Op::AgentIdsWithPrefix(
                    self.random.pick(&["", "a", "A", "a_", "%", "a~b", "\0"]).to_owned(),
                ),
            },
            23 => Op::DeleteSession(self.agents_session()),
            _ => Op::ImportAgent(Box::new(self.agent_import())),
        }
    }

    pub(super) fn agent_id(&mut self) -> AgentId {
        if self.agents.is_empty() || self.random.one_in(6) {
            return self.random.pick(&AGENT_IDS).parse().unwrap();
        }
        // The dead refuse everything: they are asked seldom.
        let mut agents = self.agents.clone();
        agents.retain(|agent| agent.lifecycle != Lifecycle::Dead);
        match agents.is_empty() || self.random.one_in(8) {
            true => self.random.pick(&self.agents).id,
            false => self.random.pick(&agents).id,
        }
    }

    /// Mostly a session that some agent has.
    fn agents_session(&mut self) -> SessionId {
        let mut sessions = self.sessions.clone();
        sessions.retain(|session| session.of_agent.is_some());
        match sessions.is_empty() || self.random.one_in(5) {
            true => self.session_id(),
            false => self.random.pick(&sessions).id,
        }
    }

    /// A place that a session may have had; that of one that is there, or of none.
    pub(super) fn membership(&mut self) -> Membership {
        let causes = [Cause::Created, Cause::Reset, Cause::Compaction, Cause::Fork];
        Membership {
            id: self.agent_id(),
            number: self.random.pick(&[1, 1, 2, 3, 9]),
            cause: self.random.pick(&causes),
        }
    }

    fn order(&mut self) -> Order {
        self.random.pick(&[Order::Oldest, Order::Newest])
    }

    /// Seldom death, which ends it all.
    fn lifecycle(&mut self) -> Lifecycle {
        match self.random.one_in(20) {
            true => Lifecycle::Dead,
            false => self.random.pick(&[Lifecycle::Active, Lifecycle::Sleeping]),
        }
    }

    /// Most of the pool is an object; one is not and is refused.
    fn object(&mut self) -> RawJson {
        match self.random.one_in(12) {
            true => json(self.random.pick(&OBJECTS)),
            false => json(self.random.pick(&OBJECTS[..4])),
        }
    }

    fn descriptor(&mut self) -> Option<RawJson> {
        self.random.one_in(6).then(|| json(self.random.pick(&DESCRIPTORS)))
    }

    fn agent_type(&mut self) -> AgentType {
        let words = ["permanent", "permanent", "cron", "system", "other", "other-2", "user"];
        AgentType::of(self.random.pick(&words))
    }

    fn new_agent(&mut self) -> NewAgent {
        let session = match self.random.one_in(3) {
            true => self.new_session(),
            // What sessions are refused for comes up often enough by itself.
            false => NewSession::new(repo("/r/1"), kind("codex")),
        };
        NewAgent {
            id: self.random.one_in(2).then(|| self.random.pick(&AGENT_IDS).parse().unwrap()),
            name: self.random.pick(&NAMES).to_owned(),
            agent_type: self.agent_type(),
            descriptor: self.descriptor(),
            permissions: self.object(),
            tokens: json(self.random.pick(&["null", "0", r#"{"size":{"input":1.0}}"#])),
            stats: self.object(),
            metadata: self.object(),
            model: self.maybe_text(),
            protected: self.random.one_in(8),
            origin: self.random.one_in(4).then(|| self.origin()),
            session,
        }
    }

    fn agent_update(&mut self) -> AgentUpdate {
        let revision = self.random.pick(&[1, 2, 3]);
        AgentUpdate {
            descriptor: self.descriptor(),
            permissions: self.random.one_in(3).then(|| self.object()),
            tokens: self.random.one_in(3).then(|| json("null")),
            stats: self.random.one_in(3).then(|| self.object()),
            metadata: self.random.one_in(3).then(|| self.object()),
            model: self.maybe_text(),
            protected: self.random.one_in(4).then(|| self.random.one_in(4)),
            expected_revision: self.random.one_in(3).then_some(revision),
        }
    }

    fn agent_filter(&mut self) -> AgentFilter {
        let mut filter = AgentFilter::default();
        for _ in 0..self.random.below(3) {
            match self.random.below(4) {
                0 => filter.lifecycles.push(self.random.pick(&Lifecycle::ALL)),
                1 => filter.agent_type = Some(self.agent_type()),
                2 => filter.kind = Some(self.agent().name),
                _ => filter.name = Some(self.random.pick(&ASKED).to_owned()),
            }
        }
        filter
    }

    fn renewal(&mut self) -> Renewal {
        let at_seq = self.random.below(4);
        let how = match self.random.below(6) {
            0 => Beginning::Compaction { summary: self.text() },
            1..=3 => Beginning::Fork {
                session: self.random.one_in(2).then(|| self.agents_session()),
                at_seq: self.random.one_in(3).then_some(at_seq),
            },
            _ => Beginning::Reset { message: self.maybe_text() },
        };
        let expected_seq = self.random.below(3);
        Renewal {
            how,
            session_id: self.random.one_in(4).then(|| self.random.pick(&IDS).parse().unwrap()),
            inference_session_id: self.maybe_text(),
            expected_session: self.random.one_in(6).then(|| self.agents_session()),
            expected_seq: self.random.one_in(6).then_some(expected_seq),
        }
    }

    fn agent_import(&mut self) -> AgentImport {
        let mut agent = self.new_agent();
        agent.origin = (!self.random.one_in(20)).then(|| self.origin());
        let count = self.random.pick(&[1, 1, 2, 3]);
        AgentImport {
            agent,
            lifecycle: self.lifecycle(),
            created_at: self.time(),
            updated_at: self.time(),
            sessions: (0..count).map(|_| self.session_import()).collect(),
        }
    }

    /// External ids that sessions of nobody have too, but seldom.
    fn session_import(&mut self) -> SessionImport {
        let count = self.random.below(3);
        let has_ended = self.random.one_in(3);
        SessionImport {
            external_id: self.random.pick(&["e1", "e2", "e3", "e4", "1"]).to_owned(),
            cause: self.membership().cause,
            reset_message: self.maybe_text(),
            inference_session_id: self.maybe_text(),
            created_at: self.time(),
            ended_at: has_ended.then(|| self.time()),
            events: (0..count).map(|_| self.event()).collect(),
        }
    }
}
