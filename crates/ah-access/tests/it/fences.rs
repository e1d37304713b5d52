//! What an executor does about the fences that it is asked to reach, without a machine.

use ah_access::executor::ProgramId;
use ah_access::executor::core::{
    Agent, AgentOptions, Input, Output, Process, Restored, RestoredRun, Stream, Verdict,
};
use ah_access::frame::{
    Ack, ConnectionConfig, Fence, FenceStep, Frame, HeartbeatAck, Launch, Reply, ReplyCode,
    RequestHead, Stop,
};
use ah_access::moment::Moment;
use ah_model::{Offer, RawJson, RunKind, Timestamp};
use serde_json::json;

pub(crate) const NOW: Moment = Moment { ms: 10, wall: Timestamp::EPOCH };

pub(crate) fn head(id: &str) -> RequestHead {
    RequestHead { id: id.parse().unwrap(), deadline_ms: 5_000, actor: None, trace: None }
}

fn launch(request: &str, run: &str, parameters: &serde_json::Value) -> Launch {
    Launch {
        request: head(request),
        run_id: run.parse().unwrap(),
        epoch: 1,
        lease_ms: 10_000,
        session_id: "s1".parse().unwrap(),
        kind: RunKind::Start,
        parameters: RawJson::of(parameters).unwrap(),
        member: Some("alpha".parse().unwrap()),
    }
}

fn fence(request: &str, run: &str) -> Fence {
    Fence {
        request: head(request),
        run_id: run.parse().unwrap(),
        epoch: 1,
        fence_id: "f1".parse().unwrap(),
        step: FenceStep::Snapshot,
        snapshot: None,
        files: None,
        bytes: None,
        leader: None,
    }
}

/// What came of something: answers, and what is done about fences.
#[derive(Debug, Default, PartialEq, Eq)]
struct Did {
    replies: Vec<(String, ReplyCode)>,
    begun: Vec<String>,
    ended: Vec<String>,
}

pub(crate) struct Node(pub(crate) Agent);

impl Node {
    /// One that works on one run at a time, is connected, and holds these for members of fleets.
    pub(crate) fn new(holds: &[&str]) -> Self {
        let hold = |run: &&str| RestoredRun {
            run_id: run.parse().unwrap(),
            epoch: 1,
            session_id: "s1".parse().unwrap(),
            member: Some("alpha".parse().unwrap()),
            is_hold: true,
            has_begun: false,
            process: Process::Started,
            end_seq: None,
            beside: Vec::new(),
        };
        let (mut node, _) = Self::restored(holds.iter().map(hold).collect());
        node.connect(1);
        node
    }

    /// One that works on one run at a time and was killed with these; what it does first.
    pub(crate) fn restored(runs: Vec<RestoredRun>) -> (Self, Vec<Output>) {
        let options = AgentOptions {
            executor_id: "spiffe://example.org/ah/agent/a".parse().unwrap(),
            software: "ah".to_owned(),
            identity_provider: "files".to_owned(),
            offer: Offer::default(),
            machine: None,
            details: RawJson::null(),
            capacity: 1,
            retry_ms: 100,
            retry_max_ms: 100,
            greeting_ms: 1_000,
            unsure_ms: 10_000,
            seed: 1,
        };
        let outbox = "outbox-a".parse().unwrap();
        let restored = Restored { outbox, base: 0, through: 0, last_seq: 0, runs };
        let mut node = Self(Agent::new(options, restored, NOW));
        let did = node.0.on(NOW, Input::Tick);
        (node, did)
    }

    pub(crate) fn connect(&mut self, dial: u64) {
        self.0.on(NOW, Input::Dialled { dial });
        let config = ConnectionConfig {
            heartbeat_ms: 1_000,
            heartbeats_missed_max: 3,
            lease_ms: 10_000,
            requests_max: 64,
            reports_max: 4,
        };
        let ack = Ack {
            protocol: 1,
            server_id: "harbor".to_owned(),
            epoch: 1,
            now: Timestamp::EPOCH,
            config,
            reported_seq: 0,
            lost: Vec::new(),
        };
        let (stream, frame) = (Stream::Control, ack.into());
        self.0.on(NOW, Input::Frame { dial, stream, frame });
        assert!(self.0.is_connected());
    }

    fn tell(&mut self, input: Input) -> Did {
        let mut did = Did::default();
        for output in self.0.on(NOW, input) {
            match output {
                Output::Send { frame: Frame::Reply(reply), .. } => {
                    let Reply { request_id, code, .. } = *reply;
                    did.replies.push((request_id.to_string(), code));
                }
                Output::Fence(fence) => did.begun.push(fence.request.id.to_string()),
                Output::Unfence { request } => did.ended.push(request.to_string()),
                _ => {}
            }
        }
        did
    }

    fn ask(&mut self, frame: impl Into<Frame>) -> Did {
        let frame = frame.into();
        let stream = Stream::Request(frame.request_head().unwrap().id.clone());
        self.tell(Input::Frame { dial: 1, stream, frame })
    }

    fn reach(&mut self, request: &str) -> Did {
        let verdict = Verdict { code: ReplyCode::Done, detail: None, data: RawJson::null() };
        let request = request.parse().unwrap();
        self.tell(Input::Fenced { request, verdict: Box::new(verdict) })
    }
}

fn replied(request: &str, code: ReplyCode) -> Did {
    Did { replies: vec![(request.to_owned(), code)], ..Did::default() }
}

fn begun(request: &str) -> Did {
    Did { begun: vec![request.to_owned()], ..Did::default() }
}

#[test]
fn a_fence_is_reached_once_and_answered_alike_whenever_it_is_asked_for() {
    let mut node = Node::new(&["r1"]);
    assert_eq!(node.ask(fence("q1", "r1")), begun("q1"));
    assert_eq!(node.ask(fence("q1", "r1")), Did::default(), "it is at work");
    assert_eq!(node.reach("q1"), replied("q1", ReplyCode::Done));
    assert_eq!(node.ask(fence("q1", "r1")), replied("q1", ReplyCode::Done));
    assert_eq!(node.reach("q1"), Did::default());
}

#[test]
fn a_fence_is_given_up_when_its_stream_or_its_connection_is_gone() {
    let mut node = Node::new(&["r1"]);
    node.ask(fence("q1", "r1"));
    let ended = Did { ended: vec!["q1".to_owned()], ..Did::default() };
    let dropped = |dial| Input::RequestDropped { dial, request: "q1".parse().unwrap() };
    assert_eq!(node.tell(dropped(7)), Did::default(), "of another connection");
    assert_eq!(node.tell(dropped(1)), ended);
    assert_eq!(node.ask(fence("q1", "r1")), begun("q1"), "it was never answered");
    assert_eq!(node.tell(Input::Closed { dial: 1, retry_after_ms: None }), ended);
}

#[test]
fn a_newer_fence_of_a_run_takes_the_place_of_the_older() {
    let mut node = Node::new(&["r1", "r2"]);
    node.ask(fence("q1", "r1"));
    assert_eq!(node.ask(fence("q2", "r2")), begun("q2"));
    let did = node.ask(fence("q3", "r1"));
    let (ended, begun) = (vec!["q1".to_owned()], vec!["q3".to_owned()]);
    assert_eq!(did, Did { ended, begun, ..replied("q1", ReplyCode::Cancelled) });
    assert_eq!(node.reach("q1"), Did::default());
}

#[test]
fn a_fence_ends_with_its_run() {
    let mut node = Node::new(&["r1"]);
    node.ask(fence("q1", "r1"));
    let stop = Stop {
        request: head("q2"),
        run_id: "r1".parse().unwrap(),
        epoch: 1,
        grace_ms: 1,
        reason: None,
    };
    let did = node.ask(stop);
    let done = ("q2".to_owned(), ReplyCode::Done);
    let cancelled = ("q1".to_owned(), ReplyCode::Cancelled);
    let ended = vec!["q1".to_owned()];
    assert_eq!(did, Did { replies: vec![done, cancelled], ended, ..Did::default() });
}

#[test]
fn who_cannot_reach_a_fence_says_so_at_once() {
    let mut node = Node::new(&["r1"]);
    assert_eq!(node.ask(fence("q1", "other")), replied("q1", ReplyCode::UnknownRun));
    let stale = Fence { epoch: 2, ..fence("q2", "r1") };
    assert_eq!(node.ask(stale), replied("q2", ReplyCode::StaleEpoch));
    node.ask(launch("q3", "step", &json!({ "argv": ["true"] })));
    assert_eq!(node.ask(fence("q4", "step")), replied("q4", ReplyCode::Failed));
    node.ask(launch("q5", "r2", &json!({ "hold": {} })));
    let waits = node.ask(fence("q6", "r2"));
    assert_eq!(waits, replied("q6", ReplyCode::Rejected), "it has not begun to hold");
}

#[test]
fn fences_that_are_reached_at_once_are_bounded() {
    let runs: Vec<String> = (0..17).map(|number| format!("r{number}")).collect();
    let mut node = Node::new(&runs.iter().map(String::as_str).collect::<Vec<_>>());
    for run in &runs[..16] {
        assert_eq!(node.ask(fence(run, run)).begun.len(), 1);
    }
    assert_eq!(node.ask(fence("q", "r16")), replied("q", ReplyCode::Rejected));
}

#[test]
fn a_hold_takes_no_place_from_programs_and_needs_none() {
    let mut node = Node::new(&["r1", "r2"]);
    let program = json!({ "argv": ["true"] });
    assert_eq!(node.ask(launch("q1", "step", &program)), replied("q1", ReplyCode::Done));
    assert_eq!(node.ask(launch("q2", "more", &program)), replied("q2", ReplyCode::Rejected));
    let hold = launch("q3", "r3", &json!({ "hold": { "pull": [] } }));
    assert_eq!(node.ask(hold), replied("q3", ReplyCode::Done));
    let nobodys = Launch { member: None, ..launch("q4", "r4", &json!({ "hold": {} })) };
    assert_eq!(node.ask(nobodys), replied("q4", ReplyCode::Rejected), "it is no member's");
}

#[test]
fn what_is_said_of_a_members_run_names_the_member() {
    let mut node = Node::new(&[]);
    node.ask(launch("q1", "step", &json!({ "argv": ["true"] })));
    node.0.on(Moment { ms: 2_000, ..NOW }, Input::Tick);
    for beat in 1..=2 {
        let ack = HeartbeatAck {
            beat,
            now: Timestamp::EPOCH,
            lease_left_ms: Some(10_000),
            lost: Vec::new(),
        };
        node.tell(Input::Frame { dial: 1, stream: Stream::Control, frame: ack.into() });
    }
    let program = ProgramId::of_run("step".parse().unwrap(), 1);
    let outputs = node.0.on(NOW, Input::Process { program, process: Process::Started });
    let members: Vec<String> = outputs
        .iter()
        .filter_map(|output| match output {
            Output::Keep(draft) => match &draft.what {
                ah_model::Happened::Event { data, .. } => Some(data.as_str().to_owned()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(members.len(), 1);
    assert!(members[0].contains(r#""member":"alpha""#), "{members:?}");
}
