//! What an executor does about programs beside its runs, without a machine.

use ah_access::executor::ProgramId;
use ah_access::executor::core::{
    Input, Output, Process, RestoredBeside, RestoredRun, Signal, Stream,
};
use ah_access::frame::{Dispatch, Frame, HeartbeatAck, Pause, PauseMode, Reply, Resume, Stop};
use ah_access::moment::Moment;
use ah_model::{Ended, Exit, Happened, Lease, RunOutcome, Timestamp};

use crate::fences::{NOW, Node, head};

fn dispatch(request: &str, run: &str) -> Dispatch {
    Dispatch {
        request: head(request),
        run_id: run.parse().unwrap(),
        epoch: 1,
        argv: vec!["make".to_owned()],
        env: [].into(),
        directory: None,
        timeout_ms: None,
    }
}

fn run(name: &str, beside: Vec<RestoredBeside>) -> RestoredRun {
    RestoredRun {
        run_id: name.parse().unwrap(),
        epoch: 1,
        session_id: "s1".parse().unwrap(),
        member: None,
        is_hold: false,
        has_begun: true,
        process: Process::Started,
        end_seq: None,
        beside,
    }
}

fn beside(request: &str, is_told: bool) -> RestoredBeside {
    RestoredBeside { dispatch: request.parse().unwrap(), has_begun: true, is_told }
}

fn own(run: &str) -> ProgramId {
    ProgramId::of_run(run.parse().unwrap(), 1)
}

fn program(run: &str, request: &str) -> ProgramId {
    ProgramId { dispatch: Some(request.parse().unwrap()), ..own(run) }
}

fn exited() -> Process {
    let (outcome, exit) = (RunOutcome::Completed, Exit { code: Some(0), ..Exit::default() });
    let ended = Ended { outcome, error: None, result: None, idle: false, exit };
    Process::Exited { ended: Box::new(ended) }
}

/// What is to be done, in words: heartbeats and dials left out.
fn words(outputs: &[Output]) -> Vec<String> {
    let named = |program: &ProgramId| match &program.dispatch {
        Some(dispatch) => dispatch.to_string(),
        None => program.lease.run_id.to_string(),
    };
    let word = |output: &Output| match output {
        Output::Send { frame: Frame::Reply(reply), .. } => {
            let Reply { request_id, code, detail, .. } = &**reply;
            let detail = detail.as_ref().map_or_else(String::new, |detail| format!(": {detail}"));
            Some(format!("reply {request_id} {}{detail}", code.as_str()))
        }
        Output::Dispatch { dispatch, .. } => Some(format!("start {}", dispatch.request.id)),
        Output::Signal { program, signal } => {
            let signal = match signal {
                Signal::Stop { .. } => "stop",
                Signal::Kill => "kill",
                Signal::Pause => "pause",
                Signal::Resume => "resume",
            };
            Some(format!("{signal} {}", named(program)))
        }
        Output::Keep(draft) => Some(format!("keep {}", draft.dedup_key)),
        Output::Watch { program } => Some(format!("watch {}", named(program))),
        Output::Told { program } => Some(format!("told {}", named(program))),
        Output::Drop { program } => Some(format!("drop {}", named(program))),
        _ => None,
    };
    outputs.iter().filter_map(word).collect()
}

/// A node with runs at work that are surely its own.
fn node(runs: Vec<RestoredRun>) -> Node {
    let (mut node, _) = Node::restored(runs);
    node.connect(1);
    let ack = HeartbeatAck {
        beat: 1,
        now: Timestamp::EPOCH,
        lease_left_ms: Some(10_000),
        lost: Vec::new(),
    };
    node.0.on(NOW, Input::Frame { dial: 1, stream: Stream::Control, frame: ack.into() });
    node
}

fn ask(node: &mut Node, frame: impl Into<Frame>) -> Vec<String> {
    let frame = frame.into();
    let stream = Stream::Request(frame.request_head().unwrap().id.clone());
    words(&node.0.on(NOW, Input::Frame { dial: 1, stream, frame }))
}

fn tell(node: &mut Node, program: ProgramId, process: Process) -> Vec<String> {
    words(&node.0.on(NOW, Input::Process { program, process }))
}

#[test]
fn a_program_is_started_once_and_told_of_between_the_lines_of_its_run() {
    let mut node = node(vec![run("r1", Vec::new())]);
    assert_eq!(ask(&mut node, dispatch("q1", "r1")), ["start q1"]);
    assert_eq!(ask(&mut node, dispatch("q1", "r1")), [""; 0], "it is being started");
    let begun = ["reply q1 done", "keep r1/1/q1/hostStarted", "watch q1"];
    assert_eq!(tell(&mut node, program("r1", "q1"), Process::Started), begun);
    assert_eq!(ask(&mut node, dispatch("q1", "r1")), ["reply q1 done"]);
    let ended = ["keep r1/1/q1/hostExited", "told q1"];
    assert_eq!(tell(&mut node, program("r1", "q1"), exited()), ended);
    assert_eq!(ask(&mut node, dispatch("q1", "r1")), ["reply q1 done"]);
    assert_eq!(tell(&mut node, own("r1"), exited()), ["keep r1/1/hostExited", "keep r1/1/ended"]);
}

#[test]
fn a_program_that_cannot_be_started_is_told_to_who_asked_and_to_nobody_else() {
    let mut node = node(vec![run("r1", Vec::new())]);
    ask(&mut node, dispatch("q1", "r1"));
    let failed = Process::Failed { reason: "no such program".to_owned() };
    let told = tell(&mut node, program("r1", "q1"), failed);
    assert_eq!(told, ["reply q1 failed: no such program"]);
}

#[test]
fn a_run_is_over_when_all_that_was_started_beside_it_is() {
    let mut node = node(vec![run("r1", Vec::new())]);
    for request in ["q1", "q2"] {
        ask(&mut node, dispatch(request, "r1"));
        tell(&mut node, program("r1", request), Process::Started);
    }
    assert_eq!(tell(&mut node, own("r1"), exited()), ["stop q1", "stop q2"]);
    let refused = ask(&mut node, dispatch("q3", "r1"));
    assert_eq!(refused, ["reply q3 rejected: the run is ending"]);
    tell(&mut node, program("r1", "q2"), exited());
    let over = tell(&mut node, program("r1", "q1"), exited());
    let wanted = ["keep r1/1/q1/hostExited", "told q1", "keep r1/1/hostExited", "keep r1/1/ended"];
    assert_eq!(over, wanted);
}

#[test]
fn what_is_beside_a_run_is_stopped_paused_lost_and_fenced_with_it() {
    let mut node = node(vec![run("r1", vec![beside("q1", false), beside("q0", true)])]);
    let pause = Pause {
        request: head("p"),
        run_id: own("r1").lease.run_id,
        epoch: 1,
        mode: PauseMode::Suspend,
    };
    assert_eq!(ask(&mut node, pause), ["pause r1", "pause q1", "reply p done"]);
    let refused = ask(&mut node, dispatch("q2", "r1"));
    assert_eq!(refused, ["reply q2 rejected: the run is paused"]);
    let resume = Resume { request: head("c"), run_id: own("r1").lease.run_id, epoch: 1 };
    assert_eq!(ask(&mut node, resume), ["resume r1", "resume q1", "reply c done"]);
    let lapsed = node.0.on(Moment { ms: 9_011, ..NOW }, Input::Tick);
    assert_eq!(words(&lapsed), ["kill r1", "kill q1"]);

    let mut node = self::node(vec![run("r1", vec![beside("q1", false)])]);
    let stop = Stop {
        request: head("s"),
        run_id: own("r1").lease.run_id,
        epoch: 1,
        grace_ms: 1,
        reason: None,
    };
    assert_eq!(ask(&mut node, stop), ["stop r1", "stop q1", "reply s done"]);

    let mut node = self::node(vec![run("r1", vec![beside("q1", false)])]);
    let Lease { run_id, epoch } = own("r1").lease;
    node.0.on(Moment { ms: 1_100, ..NOW }, Input::Tick);
    let lost = vec![ah_access::frame::Held { run_id, epoch }];
    let ack = HeartbeatAck { beat: 2, now: Timestamp::EPOCH, lease_left_ms: None, lost };
    let (stream, frame) = (Stream::Control, ack.into());
    let outputs = node.0.on(NOW, Input::Frame { dial: 1, stream, frame });
    assert_eq!(words(&outputs), ["kill r1", "kill q1"]);
    assert_eq!(tell(&mut node, own("r1"), exited()), ["stop q1"]);
    assert_eq!(tell(&mut node, program("r1", "q1"), exited()), ["told q1", "drop r1"]);
}

#[test]
fn a_killed_executor_says_again_what_it_may_not_have_kept_and_starts_nothing_again() {
    let runs = vec![run("r1", vec![beside("q0", true), beside("q1", false)])];
    let (_, did) = Node::restored(runs.clone());
    let said = [
        "keep r1/1/q1/hostStarted",
        "watch q1",
        "keep r1/1/started",
        "keep r1/1/hostStarted",
        "watch r1",
    ];
    assert_eq!(words(&did), said);
    let mut node = node(runs);
    for request in ["q0", "q1"] {
        assert_eq!(ask(&mut node, dispatch(request, "r1")), [format!("reply {request} done")]);
    }
}

#[test]
fn who_starts_nothing_says_why() {
    let mut node = node(vec![run("r1", vec![beside("q0", false)]), run("r2", Vec::new())]);
    let unknown = ask(&mut node, dispatch("q1", "other"));
    assert_eq!(unknown, ["reply q1 unknown-run: it is not held here"]);
    let stale = ask(&mut node, Dispatch { epoch: 2, ..dispatch("q2", "r1") });
    assert_eq!(stale, ["reply q2 stale-epoch: epoch 1 is held, not 2"]);
    let anothers = ask(&mut node, dispatch("q0", "r2"));
    let why = "the request is known here, for run r1 of epoch 1";
    assert_eq!(anothers, [format!("reply q0 rejected: {why}")]);
    let (mut unsure, _) = Node::restored(vec![run("r1", Vec::new())]);
    unsure.connect(1);
    let why = "the executor does not know whether the run is still its own";
    assert_eq!(ask(&mut unsure, dispatch("q1", "r1")), [format!("reply q1 rejected: {why}")]);
}

#[test]
fn programs_beside_runs_are_bounded() {
    let mut node = node(vec![run("r1", Vec::new())]);
    for number in 0..64 {
        let request = format!("q{number}");
        assert_eq!(ask(&mut node, dispatch(&request, "r1")), [format!("start {request}")]);
        tell(&mut node, program("r1", &request), Process::Started);
    }
    let full = ask(&mut node, dispatch("q64", "r1"));
    let why = "64 programs are at work beside runs here, which is the most";
    assert_eq!(full, [format!("reply q64 rejected: {why}")]);
    tell(&mut node, program("r1", "q7"), exited());
    assert_eq!(ask(&mut node, dispatch("q65", "r1")), ["start q65"]);
}

#[test]
fn of_programs_that_ended_only_the_newest_are_remembered() {
    let mut node = node(vec![run("r1", Vec::new())]);
    let mut dropped = Vec::new();
    for number in 0..1_026 {
        let request = format!("q{number}");
        ask(&mut node, dispatch(&request, "r1"));
        tell(&mut node, program("r1", &request), Process::Started);
        let did = tell(&mut node, program("r1", &request), exited());
        dropped.extend(did.into_iter().filter(|word| word.starts_with("drop")));
    }
    assert_eq!(dropped, ["drop q0", "drop q1"]);
}

#[test]
fn what_is_told_of_a_program_beside_a_run_names_its_request() {
    let mut node = node(vec![run("r1", Vec::new())]);
    ask(&mut node, dispatch("q1", "r1"));
    let mut outputs = Vec::new();
    for process in [Process::Started, exited()] {
        outputs
            .append(&mut node.0.on(NOW, Input::Process { program: program("r1", "q1"), process }));
    }
    let events: Vec<(String, serde_json::Value)> = outputs
        .iter()
        .filter_map(|output| match output {
            Output::Keep(draft) => match &draft.what {
                Happened::Event { kind, data } => Some((kind.clone(), data.read().unwrap())),
                Happened::Started {} | Happened::Ended(_) => None,
            },
            _ => None,
        })
        .collect();
    let [(started, first), (exited, last)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((started.as_str(), exited.as_str()), ("hostStarted", "hostExited"));
    assert_eq!((&first["dispatchId"], &first["runId"]), (&"q1".into(), &"r1".into()));
    assert_eq!((&last["dispatchId"], &last["exit"]["code"]), (&"q1".into(), &0.into()));
}
