//! An access point and executors over real sockets, with real programs. The store is the oracle.

use std::path::Path;

use ah_access::frame::{Dispatch, RequestHead};
use ah_access::point::DispatchEnd;
use ah_model::{NewRun, RawJson, RunKind, RunStatus, SessionId};
use serde_json::json;

use crate::harbor::{Harbor, PATIENCE, Serving, kinds, logged, until_there};

#[tokio::test]
async fn a_run_is_carried_out_and_what_it_wrote_is_in_its_session() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let run = harbor.queue("1", "echo hello; echo trouble >&2; exit 3").await;
    let run = harbor.ended(&run).await;
    assert_eq!((run.status, run.lease_epoch), (RunStatus::Failed, 1));
    assert_eq!(run.error.as_deref(), Some("exit code 3"));
    let events = harbor.events(&run).await;
    assert_eq!(kinds(&events), ["hostStarted", "hostLog", "hostLog", "hostExited"]);
    let mut words: Vec<String> = logged(&events).lines().map(str::to_owned).collect();
    words.sort();
    assert_eq!(words, ["hello", "trouble"]);
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn many_runs_on_several_executors_all_end() {
    let harbor = Harbor::new();
    let (point, handle, address) = harbor.access_point("127.0.0.1:0");
    let nodes = ["node-1", "node-2", "node-3"];
    let executors: Vec<Serving> =
        nodes.iter().map(|node| harbor.executor(node, &address)).collect();
    let mut runs = Vec::new();
    for number in 0..24 {
        runs.push(harbor.queue(&number.to_string(), &format!("echo {number}")).await);
    }
    for (number, run) in runs.iter().enumerate() {
        let run = harbor.ended(run).await;
        assert_eq!(run.status, RunStatus::Completed);
        assert_eq!(logged(&harbor.events(&run).await), format!("{number}\n"));
    }
    let (counts, present) = handle.view().await.unwrap();
    assert_eq!(present.len(), nodes.len());
    assert_eq!((counts.launched, counts.stale, counts.broken), (24, 0, 0));
    for executor in executors {
        executor.stop().await;
    }
    point.stop().await;
}

#[tokio::test]
async fn an_access_point_that_dies_loses_nothing() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let (begun, go_on) = (harbor.folder.path().join("begun"), harbor.folder.path().join("go-on"));
    let script = format!(
        "echo before; touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo after",
        begun.display(),
        go_on.display()
    );
    let run = harbor.queue("1", &script).await;
    until_there(&begun).await;
    point.kill().await;
    std::fs::write(&go_on, "").unwrap();
    let point = harbor.access_point_again(&address).await;
    let run = harbor.ended(&run).await;
    assert_eq!((run.status, run.lease_epoch), (RunStatus::Completed, 1));
    assert_eq!(logged(&harbor.events(&run).await), "before\nafter\n");
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn an_executor_that_comes_again_finds_its_programs() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let (begun, go_on) = (harbor.folder.path().join("begun"), harbor.folder.path().join("go-on"));
    let script = format!(
        "echo before; touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo after; exit 5",
        begun.display(),
        go_on.display()
    );
    let run = harbor.queue("1", &script).await;
    until_there(&begun).await;
    executor.stop().await;
    std::fs::write(&go_on, "").unwrap();
    let executor = harbor.executor("node-1", &address);
    let run = harbor.ended(&run).await;
    assert_eq!((run.status, run.lease_epoch), (RunStatus::Failed, 1));
    assert_eq!(run.error.as_deref(), Some("exit code 5"));
    assert_eq!(logged(&harbor.events(&run).await), "before\nafter\n");
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn a_run_that_is_stopped_ends_and_says_so() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let run = harbor.queue("1", "exec sleep 600").await;
    harbor.until(&run, |run| run.status == RunStatus::Running).await;
    harbor.store.stop_run(run.clone()).await.unwrap();
    let run = harbor.ended(&run).await;
    assert_eq!(run.status, RunStatus::Stopped);
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn a_program_beside_a_run_is_started_once_over_two_executors_and_told_of_before_the_end() {
    let harbor = Harbor::new();
    let (point, handle, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let [go, end] = ["go", "end"].map(|name| harbor.folder.path().join(name));
    let wait = |file: &Path| format!("while [ ! -e {} ]; do sleep 0.01; done", file.display());
    let run = harbor.queue("1", &wait(&end)).await;
    harbor.until(&run, |run| run.status == RunStatus::Running).await;
    let ran = harbor.folder.path().join("ran");
    let script = format!("echo $AH_DISPATCH_ID >> {}; {}; exit 4", ran.display(), wait(&go));
    let dispatch = Dispatch {
        request: RequestHead {
            id: "q1".parse().unwrap(),
            deadline_ms: 5_000,
            actor: None,
            trace: None,
        },
        run_id: run.clone(),
        epoch: 1,
        argv: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        env: [].into(),
        directory: None,
        timeout_ms: None,
    };
    assert_eq!(handle.dispatch(dispatch.clone()).await, DispatchEnd::Begun);
    until_there(&ran).await;
    executor.stop().await;
    let executor = harbor.executor("node-1", &address);
    // It is sure of its run again after a heartbeat; what it knows needs no such thing.
    let again = async {
        while handle.dispatch(dispatch.clone()).await != DispatchEnd::Begun {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.unwrap();
    let stale = Dispatch { epoch: 7, ..dispatch.clone() };
    let stale = Dispatch {
        request: RequestHead { id: "q2".parse().unwrap(), ..dispatch.request.clone() },
        ..stale
    };
    let refused = DispatchEnd::Refused("stale-epoch: epoch 1 is held, not 7".to_owned());
    assert_eq!(handle.dispatch(stale).await, refused);
    let elsewhere = Dispatch { run_id: "other".parse().unwrap(), ..dispatch };
    assert_eq!(handle.dispatch(elsewhere).await, DispatchEnd::NotHere);
    std::fs::write(&go, "").unwrap();
    std::fs::write(&end, "").unwrap();
    let run = harbor.ended(&run).await;
    assert_eq!(run.status, RunStatus::Completed);
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "q1\n");
    let events = harbor.events(&run).await;
    let told: Vec<_> =
        events.iter().map(|(kind, data)| (kind.as_str(), &data["dispatchId"])).collect();
    let (own, beside) = (&serde_json::Value::Null, &json!("q1"));
    let wanted = [
        ("hostStarted", own),
        ("hostStarted", beside),
        ("hostExited", beside),
        ("hostExited", own),
    ];
    assert_eq!(told, wanted);
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_fails_the_run_in_words() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let session: SessionId = "ses-1".parse().unwrap();
    let first = harbor.queue("1", "true").await;
    harbor.ended(&first).await;
    let parameters = RawJson::of(&json!({ "argv": ["no-such-program"] })).unwrap();
    let new = NewRun::new(session, RunKind::Resume, parameters);
    let run = harbor.store.create_run(new).await.unwrap();
    let run = harbor.ended(&run.id).await;
    assert_eq!(run.status, RunStatus::Failed);
    assert!(run.error.as_deref().unwrap().contains("no-such-program"), "{:?}", run.error);
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn an_outbox_that_was_restored_from_an_older_state_loses_nothing_new() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let outbox = harbor.folder.path().join("node-1/outbox");
    let copied = harbor.folder.path().join("copied");
    for name in ["1", "2"] {
        let executor = harbor.executor("node-1", &address);
        let run = harbor.queue(name, &format!("echo {name}")).await;
        harbor.ended(&run).await;
        executor.stop().await;
        if name == "1" {
            copy(&outbox, &copied);
        }
    }
    std::fs::remove_dir_all(&outbox).unwrap();
    copy(&copied, &outbox);
    // Twice: the one that was begun then is found again.
    for name in ["3", "4"] {
        let executor = harbor.executor("node-1", &address);
        let run = harbor.queue(name, &format!("echo {name}")).await;
        let run = harbor.ended(&run).await;
        assert_eq!(run.status, RunStatus::Completed);
        let events = harbor.events(&run).await;
        assert_eq!(kinds(&events), ["hostStarted", "hostLog", "hostExited"]);
        assert_eq!(logged(&events), format!("{name}\n"));
        executor.stop().await;
    }
    point.stop().await;
}

/// The files of a directory that only its owner may read.
fn copy(from: &Path, to: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
