//! The executor's core alone: what it says to an access point that a test plays.

use ah_access::executor::ProgramId;
use ah_access::executor::core::Process;
use ah_access::executor::core::{
    Agent, AgentOptions, Input, Output, Restored, RestoredRun, Said, Stream,
};
use ah_access::frame::{
    Ack, ConnectionConfig, Frame, HeartbeatAck, Hello, Report, ReportAck, ReportItem,
    ReportRefusal, ReportRefusalReason,
};
use ah_access::moment::Moment;
use ah_model::{Ended, Exit, Lease, Offer, RawJson, RunOutcome, Timestamp};

use crate::desk::executor;
use crate::outbox::draft;

struct Played {
    agent: Agent,
    now_ms: u64,
    dial: u64,
}

fn options() -> AgentOptions {
    AgentOptions {
        executor_id: executor("a"),
        software: "test".to_owned(),
        identity_provider: "files".to_owned(),
        offer: Offer::default(),
        machine: None,
        details: RawJson::null(),
        capacity: 2,
        retry_ms: 100,
        retry_max_ms: 1_000,
        greeting_ms: 1_000,
        unsure_ms: 60_000,
        seed: 1,
    }
}

fn restored(through: u64, last_seq: u64, runs: Vec<RestoredRun>) -> Restored {
    Restored { outbox: "o1".parse().unwrap(), base: 0, through, last_seq, runs }
}

impl Played {
    fn new(restored: Restored) -> Self {
        let now = Moment { ms: 0, wall: Timestamp::EPOCH };
        Self { agent: Agent::new(options(), restored, now), now_ms: 0, dial: 0 }
    }

    fn tell(&mut self, input: Input) -> Vec<Output> {
        let now = Moment { ms: self.now_ms, wall: Timestamp::EPOCH };
        self.agent.on(now, input)
    }

    fn frame(&mut self, stream: Stream, frame: impl Into<Frame>) -> Vec<Output> {
        let (dial, frame) = (self.dial, frame.into());
        self.tell(Input::Frame { dial, stream, frame })
    }

    /// Lets it dial; its greeting.
    fn greeting(&mut self) -> Hello {
        self.dial += 1;
        let dialled = self.tell(Input::Tick);
        let is_it = |output: &Output| matches!(output, Output::Dial { dial } if *dial == self.dial);
        assert!(dialled.iter().any(is_it), "{dialled:?}");
        let said = self.tell(Input::Dialled { dial: self.dial });
        let hello = sent(&said, |frame| match frame {
            Frame::Hello(hello) => Some((**hello).clone()),
            _ => None,
        });
        hello.unwrap()
    }

    fn ack(&mut self, reported_seq: u64) -> Vec<Output> {
        let config = ConnectionConfig {
            heartbeat_ms: 1_000,
            heartbeats_missed_max: 5,
            lease_ms: 10_000,
            requests_max: 8,
            reports_max: 2,
        };
        let ack = Ack {
            protocol: 1,
            server_id: "harbor".to_owned(),
            epoch: 1,
            now: Timestamp::EPOCH,
            config,
            reported_seq,
            lost: Vec::new(),
        };
        self.frame(Stream::Control, ack)
    }
}

fn sent<T>(outputs: &[Output], find: impl Fn(&Frame) -> Option<T>) -> Option<T> {
    outputs.iter().find_map(|output| match output {
        Output::Send { frame, .. } => find(frame),
        _ => None,
    })
}

fn items(numbers: &[u64]) -> Vec<ReportItem> {
    let number = |seq: &u64| draft(usize::try_from(*seq).unwrap(), 1).numbered(*seq);
    numbers.iter().map(number).collect()
}

#[test]
fn an_access_point_that_has_more_than_ever_was_there_gets_another_outbox() {
    let mut played = Played::new(restored(3, 5, Vec::new()));
    let hello = played.greeting();
    assert_eq!((hello.outbox.id.as_str(), hello.outbox.last_seq), ("o1", 5));
    let outputs = played.ack(9);
    let said = outputs.iter().find_map(|output| match output {
        Output::Say(said) => Some(said.clone()),
        _ => None,
    });
    assert_eq!(said, Some(Said::OutboxRolledBack { kept: 9, last: 5 }));
    let outbox = outputs.iter().find_map(|output| match output {
        Output::BeginOutbox { outbox } => Some(outbox.clone()),
        _ => None,
    });
    let outbox = outbox.unwrap();
    assert_ne!(outbox, hello.outbox.id);
    assert!(!outputs.iter().any(|output| matches!(output, Output::Forget { .. })), "{outputs:?}");
    // Nobody is dialled before it is there, however long that takes.
    played.now_ms += 100_000;
    assert!(played.tell(Input::Tick).is_empty());

    let begun = played.tell(Input::OutboxBegun { outbox: outbox.clone(), base: 3 });
    assert!(matches!(begun[..], [Output::Dial { dial: 2 }]), "{begun:?}");
    played.dial = 2;
    let said = played.tell(Input::Dialled { dial: 2 });
    let hello = sent(&said, |frame| match frame {
        Frame::Hello(hello) => Some((**hello).clone()),
        _ => None,
    });
    // What is not reported is all that is in it.
    assert_eq!(hello.unwrap().outbox, ah_access::frame::Outbox { id: outbox.clone(), last_seq: 2 });
    let outputs = played.ack(0);
    assert!(outputs.iter().any(|output| matches!(output, Output::Read { after: 3 })));
    let outputs = played.tell(Input::Read { items: items(&[4, 5]) });
    let report = sent(&outputs, |frame| match frame {
        Frame::Report(report) => Some((**report).clone()),
        _ => None,
    });
    let Report { outbox_id, items } = report.unwrap();
    assert_eq!(outbox_id, outbox);
    let keys: Vec<_> = items.iter().map(|item| (item.seq, item.dedup_key.as_str())).collect();
    assert_eq!(keys, [(1, "k4"), (2, "k5")]);
    // Answers are in its numbers, too.
    let reason = ReportRefusalReason::StaleEpoch;
    let refused = vec![ReportRefusal { seq: 2, reason, detail: None }];
    let outputs = played.frame(Stream::Reports, ReportAck { outbox_id, through: 2, refused });
    let forgotten = outputs.iter().find_map(|output| match output {
        Output::Forget { through, refused } => Some((*through, refused[0].seq)),
        _ => None,
    });
    assert_eq!(forgotten, Some((5, 5)));
}

#[test]
fn an_access_point_that_has_all_of_an_outbox_gets_no_other() {
    let mut played = Played::new(restored(3, 5, Vec::new()));
    played.greeting();
    let outputs = played.ack(5);
    assert!(outputs.iter().any(|output| matches!(output, Output::Forget { through: 5, .. })));
    assert!(!outputs.iter().any(|output| matches!(output, Output::BeginOutbox { .. })));
}

fn found_again(is_hold: bool) -> RestoredRun {
    RestoredRun {
        run_id: "r1".parse().unwrap(),
        epoch: 2,
        session_id: "s1".parse().unwrap(),
        has_begun: false,
        process: Process::Started,
        end_seq: None,
        beside: Vec::new(),
        is_hold,
        member: None,
    }
}

#[test]
fn a_program_that_its_keeper_ended_with_the_lease_has_failed_and_a_member_is_only_lost() {
    for (is_hold, reports) in [(false, 2), (true, 0)] {
        let run = found_again(is_hold);
        let program = ProgramId::of_run(run.run_id.clone(), run.epoch);
        let mut played = Played::new(restored(0, 0, vec![run]));
        let how = Ended {
            outcome: RunOutcome::Failed,
            error: Some("away".to_owned()),
            result: None,
            idle: false,
            exit: Exit::default(),
        };
        let process = Process::Lapsed { ended: Box::new(how) };
        let outputs = played.tell(Input::Process { program, process });
        let count = |is_it: fn(&Output) -> bool| outputs.iter().filter(|one| is_it(one)).count();
        assert_eq!(count(|output| matches!(output, Output::Keep(_))), reports, "{outputs:?}");
        assert_eq!(count(|output| matches!(output, Output::Drop { .. })), usize::from(is_hold));
        assert_eq!(count(|output| matches!(output, Output::Say(Said::Fenced { .. }))), 1);
    }
}

#[test]
fn keepers_hear_with_every_answered_heartbeat_how_long_their_runs_are_held() {
    let run = found_again(false);
    let lease = Lease { run_id: run.run_id.clone(), epoch: 2 };
    let mut played = Played::new(restored(0, 0, vec![run]));
    played.greeting();
    played.ack(0);
    let prolonged = |outputs: &[Output]| {
        outputs.iter().find_map(|output| match output {
            Output::Prolong { leases, until_ms } => Some((leases.clone(), *until_ms)),
            _ => None,
        })
    };
    for beat in 1..=3 {
        let sent_ms = played.now_ms;
        played.now_ms += 100;
        let now = Timestamp::EPOCH;
        let answer = HeartbeatAck { beat, now, lease_left_ms: Some(10_000), lost: Vec::new() };
        let outputs = played.frame(Stream::Control, answer);
        assert_eq!(prolonged(&outputs), Some((vec![lease.clone()], sent_ms + 9_000)));
        played.now_ms = sent_ms + 1_000;
        assert_eq!(prolonged(&played.tell(Input::Tick)), None);
    }
}
