//! An access point without sockets, over the oracle: what it is told, and what it says.

use std::sync::Arc;

use ah_access::frame::{ConnectionConfig, Frame, Heartbeat, HeldRun, Hello, Load, Outbox};
use ah_access::moment::Moment;
use ah_access::point::{ConnectionId, Input, Output, Point, PointOptions, Stream, Work, perform};
use ah_conformance::{Harness, ModelHarness};
use ah_model::{ExecutorId, NewRepo, NewRun, NewSession, Offer, RawJson, Run, RunKind, Vcs};
use ah_store::{Capabilities, Clock, Store, block_on};

pub(crate) const HEARTBEAT_MS: u64 = 1_000;
pub(crate) const LEASE_MS: u64 = 12_000;

pub(crate) struct Desk {
    pub(crate) point: Point,
    pub(crate) store: Arc<dyn Store>,
    harness: ModelHarness,
    now_ms: u64,
}

/// What an access point did about something.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) frames: Vec<(ConnectionId, Stream, Frame)>,
    pub(crate) closed: Vec<(ConnectionId, &'static str)>,
    /// What the store was asked for, in words.
    pub(crate) work: Vec<String>,
}

impl Said {
    pub(crate) fn frame<T>(&self, pick: impl Fn(&Frame) -> Option<T>) -> T {
        self.frames.iter().find_map(|(_, _, frame)| pick(frame)).unwrap()
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        let harness = ModelHarness::new(Capabilities { workspaces: false }, 7);
        let options = PointOptions {
            server_id: "harbor".to_owned(),
            boot: [7; 6],
            connection: ConnectionConfig {
                heartbeat_ms: HEARTBEAT_MS,
                heartbeats_missed_max: 3,
                lease_ms: LEASE_MS,
                requests_max: 16,
                reports_max: 2,
            },
            hello_ms: 5_000,
            request_ms: 5_000,
            grace_ms: 2_000,
            look_ms: 5_000,
            audit_ms: 10_000,
        };
        Self { point: Point::new(options), store: harness.store(), harness, now_ms: 0 }
    }

    pub(crate) fn pass(&mut self, ms: u64) -> Said {
        self.now_ms += ms;
        self.harness.clock().advance_ms(i64::try_from(ms).unwrap());
        self.tell(Input::Tick)
    }

    /// Tells it, and does for it what it wants of the store.
    pub(crate) fn tell(&mut self, input: Input) -> Said {
        let mut said = Said::default();
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for output in self.point.on(self.now(), input) {
                match output {
                    Output::Send { connection, stream, frame } => {
                        said.frames.push((connection, stream, frame));
                    }
                    Output::Close { connection, word } => said.closed.push((connection, word)),
                    Output::Work(work) => inputs.push(self.work(work, &mut said)),
                    Output::DropRequest { .. } | Output::Answer { .. } => {}
                }
            }
        }
        said
    }

    /// Tells it, and lets the store do nothing.
    pub(crate) fn tell_only(&mut self, input: Input) -> Vec<Output> {
        self.point.on(self.now(), input)
    }

    fn work(&self, work: Work, said: &mut Said) -> Input {
        let words = format!("{work:?}");
        said.work.push(words.split([' ', '(', '{']).next().unwrap_or_default().to_owned());
        Input::Done(Box::new(block_on(perform(&*self.store, work))))
    }

    fn now(&self) -> Moment {
        Moment { ms: self.now_ms, wall: self.harness.clock().now() }
    }

    pub(crate) fn connect(&mut self, number: u64, node: &str) -> ConnectionId {
        let connection = ConnectionId(number);
        let identity = RawJson::null();
        self.tell(Input::Connected { connection, peer: executor(node), identity });
        connection
    }

    /// Connects an executor and lets it in.
    pub(crate) fn admit(&mut self, number: u64, node: &str) -> Said {
        let connection = self.connect(number, node);
        self.control(connection, hello(node))
    }

    pub(crate) fn control(&mut self, connection: ConnectionId, frame: impl Into<Frame>) -> Said {
        let frame = frame.into();
        self.tell(Input::Frame { connection, stream: Stream::Control, frame })
    }

    pub(crate) fn queue(&mut self, name: &str, change: impl FnOnce(&mut NewRun)) -> Run {
        let repo = NewRepo {
            vcs: Vcs::None,
            root_path: Some("/srv/harbor".to_owned()),
            remote_url: None,
            default_branch: None,
        };
        let session: ah_model::SessionId = format!("ses-{name}").parse().unwrap();
        let new = NewSession::new(repo, "codex".parse().unwrap());
        let mut run = NewRun {
            id: Some(format!("run-{name}").parse().unwrap()),
            session: Some(Box::new(NewSession { id: Some(session.clone()), ..new })),
            ..NewRun::new(session, RunKind::Start, RawJson::null())
        };
        change(&mut run);
        block_on(self.store.create_run(run)).unwrap()
    }
}

pub(crate) fn executor(node: &str) -> ExecutorId {
    format!("spiffe://example.org/ah/agent/{node}").parse().unwrap()
}

pub(crate) fn hello(node: &str) -> Hello {
    Hello {
        protocol: 1,
        executor_id: executor(node),
        software: "ah".to_owned(),
        identity_provider: "files".to_owned(),
        offer: Offer::default(),
        machine: None,
        details: RawJson::null(),
        capacity: 2,
        outbox: Outbox { id: format!("outbox-{node}").parse().unwrap(), last_seq: 0 },
        held: Vec::new(),
    }
}

pub(crate) fn beat(number: u64, held: Vec<HeldRun>) -> Heartbeat {
    Heartbeat {
        beat: number,
        sent_at: ah_model::Timestamp::EPOCH,
        uptime_ms: 1,
        load: Load::default(),
        held,
    }
}
