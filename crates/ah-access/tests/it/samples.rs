//! One frame of each kind, with every field that it may have.

use ah_access::frame::{
    Ack, Cancel, ConnectionConfig, Dispatch, Ended, Fence, FenceStep, Frame, Goodbye,
    GoodbyeReason, Happened, Heartbeat, HeartbeatAck, Held, HeldRun, HeldState, Hello, Launch,
    Load, Outbox, Pause, PauseMode, Progress, Refused, RefusedReason, Reply, ReplyCode, Report,
    ReportAck, ReportItem, ReportRefusal, ReportRefusalReason, RequestHead, Resume, Stop,
};
use ah_model::{Exit, Machine, Offer, RawJson, RunId, RunKind, RunOutcome, Timestamp};

const NOW: Timestamp = Timestamp::EPOCH;

pub(crate) fn all() -> Vec<Frame> {
    [control(), requests(), vec![reply(), progress(), report(), report_ack()]].concat()
}

fn control() -> Vec<Frame> {
    vec![
        hello(),
        ack(),
        heartbeat(),
        HeartbeatAck { beat: 7, now: NOW, lease_left_ms: Some(9_000), lost: vec![held()] }.into(),
        Goodbye {
            reason: GoodbyeReason::Rotation,
            detail: Some("a new certificate".to_owned()),
            retry_after_ms: Some(0),
        }
        .into(),
        Refused {
            reason: RefusedReason::Revoked,
            detail: "serial 5 was revoked".to_owned(),
            retry_after_ms: Some(60_000),
        }
        .into(),
    ]
}

fn machine() -> Machine {
    Machine {
        os_name: "linux".to_owned(),
        os_version: "6.1".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_cores: 8,
        memory_bytes: 1 << 34,
        storage_bytes: 1 << 40,
        gpus: Vec::new(),
        runtimes: vec!["bare".to_owned()],
        agents: vec!["codex".to_owned()],
        network_tier: None,
        ssh_endpoint: None,
    }
}

pub(crate) fn hello() -> Frame {
    Hello {
        machine: Some(machine()),
        protocol: 1,
        executor_id: "spiffe://example.org/ah/agent/node-1".parse().unwrap(),
        software: "ah 0.1.0".to_owned(),
        identity_provider: "files".to_owned(),
        offer: Offer { hostname: Some("node-1".to_owned()), ..Offer::default() },
        details: json(r#"{"cpuCores":8}"#),
        capacity: 4,
        outbox: Outbox { id: "o1".parse().unwrap(), last_seq: 12 },
        held: vec![held()],
    }
    .into()
}

fn ack() -> Frame {
    let config = ConnectionConfig {
        heartbeat_ms: 5_000,
        heartbeats_missed_max: 3,
        lease_ms: 30_000,
        requests_max: 64,
        reports_max: 1_024,
    };
    Ack {
        protocol: 1,
        server_id: "spiffe://example.org/ah/serve".to_owned(),
        epoch: 3,
        now: NOW,
        config,
        reported_seq: 11,
        lost: vec![held()],
    }
    .into()
}

pub(crate) fn heartbeat() -> Frame {
    let load = Load {
        cpu: Some(0.5),
        memory_free_bytes: Some(1 << 30),
        storage_free_bytes: Some(1 << 40),
    };
    let held = HeldRun { run_id: run(), epoch: 2, state: HeldState::Running };
    Heartbeat { beat: 7, sent_at: NOW, uptime_ms: 60_000, load, held: vec![held] }.into()
}

fn requests() -> Vec<Frame> {
    let request = head();
    let launch = Launch {
        request: request.clone(),
        run_id: run(),
        epoch: 2,
        lease_ms: 30_000,
        session_id: "s1".parse().unwrap(),
        kind: RunKind::Start,
        parameters: json(r#"{ "prompt": "say \u0041" }"#),
        member: Some("linux".parse().unwrap()),
    };
    let reason = Some("asked by the operator".to_owned());
    let cancel = Cancel { request: request.clone(), run_id: run(), epoch: 2, reason };
    let mode = PauseMode::Checkpoint;
    let pause = Pause { request: request.clone(), run_id: run(), epoch: 2, mode };
    let resume = Resume { request: request.clone(), run_id: run(), epoch: 2 };
    let dispatch = Dispatch {
        request: request.clone(),
        run_id: run(),
        epoch: 2,
        argv: vec!["cargo".to_owned(), "test".to_owned()],
        env: [("CI".to_owned(), "1".to_owned())].into(),
        directory: Some("crates".to_owned()),
        timeout_ms: Some(60_000),
    };
    let fence = Fence {
        request,
        run_id: run(),
        epoch: 2,
        fence_id: "f1".parse().unwrap(),
        step: FenceStep::Pull,
        snapshot: Some("deadbeef".to_owned()),
        files: Some(12),
        bytes: Some(3_400),
        leader: Some("alpha".parse().unwrap()),
    };
    vec![
        launch.into(),
        stop(),
        cancel.into(),
        pause.into(),
        resume.into(),
        dispatch.into(),
        fence.into(),
    ]
}

pub(crate) fn stop() -> Frame {
    let reason = Some("asked by the operator".to_owned());
    Stop { request: head(), run_id: run(), epoch: 2, grace_ms: 5_000, reason }.into()
}

fn reply() -> Frame {
    Reply {
        request_id: "r1".parse().unwrap(),
        code: ReplyCode::Failed,
        detail: Some("no such program".to_owned()),
        data: json(r#"{"pid":42}"#),
    }
    .into()
}

pub(crate) fn progress() -> Frame {
    let request_id = "r1".parse().unwrap();
    Progress { request_id, step: 1, detail: "cloning".to_owned() }.into()
}

pub(crate) fn report() -> Frame {
    let ended = Ended {
        outcome: RunOutcome::Failed,
        error: Some("it crashed".to_owned()),
        result: Some(json("null")),
        idle: false,
        exit: Exit { code: None, signal: Some(11), reason: Some("a fault".to_owned()) },
    };
    let event = Happened::Event { kind: "note".to_owned(), data: json("{\"a\":[1.00,-0]}") };
    let happened = [Happened::Started {}, event, Happened::Ended(ended)];
    let items = happened.into_iter().zip(12..).map(|(what, seq)| ReportItem {
        seq,
        run_id: run(),
        epoch: 2,
        session_id: "s1".parse().unwrap(),
        dedup_key: format!("o1/{seq}"),
        at: NOW,
        what,
    });
    Report { outbox_id: "o1".parse().unwrap(), items: items.collect() }.into()
}

fn report_ack() -> Frame {
    let reason = ReportRefusalReason::StaleEpoch;
    let refused = ReportRefusal { seq: 13, reason, detail: Some("epoch 3 holds it".to_owned()) };
    ReportAck { outbox_id: "o1".parse().unwrap(), through: 14, refused: vec![refused] }.into()
}

fn head() -> RequestHead {
    RequestHead {
        id: "r1".parse().unwrap(),
        deadline_ms: 10_000,
        actor: Some("operator".to_owned()),
        trace: Some("t1".to_owned()),
    }
}

fn held() -> Held {
    Held { run_id: run(), epoch: 2 }
}

fn run() -> RunId {
    "run-1".parse().unwrap()
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse("json", text, 1024).unwrap()
}
