//! Fleets over real sockets, with real directories. The store is the oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ah_model::{
    Demands, Fence, FenceReport, FenceSaid, FenceStatus, Fleet, FleetChange, FleetDeed, FleetFiles,
    MemberName, NewFence, NewFleet, NewMember, NewStep, RunStatus, SessionId,
};
use ah_store::StoreError;
use serde_json::Value;

use crate::harbor::{Harbor, PATIENCE, Serving, executor_id, new_session};

const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];

fn session() -> SessionId {
    "ses-fleet".parse().unwrap()
}

fn name(node: &str) -> MemberName {
    node.parse().unwrap()
}

/// A harbor with three executors that each work on one run at a time.
struct Afloat {
    harbor: Harbor,
    address: String,
    point: Option<Serving>,
    executors: Vec<Option<Serving>>,
}

impl Afloat {
    fn new(harbor: Harbor) -> Self {
        let (point, _, address) = harbor.access_point("127.0.0.1:0");
        let executors = NODES.map(|node| {
            let afloat = harbor.executor_for(node, &address, 1);
            fs::create_dir(harbor.folder.path().join(node).join("files")).unwrap();
            Some(afloat)
        });
        Self { harbor, address, point: Some(point), executors: executors.into() }
    }

    /// The directory of the fleet on that machine.
    fn files(&self, node: &str) -> PathBuf {
        self.harbor.folder.path().join(node).join("files")
    }

    fn write(&self, node: &str, file: &str, text: &str) {
        fs::write(self.files(node).join(file), text).unwrap();
    }

    /// A fleet whose members are called as the machines that hold them, all at work.
    async fn form(&self, pull: &[&str]) -> Fleet {
        let member = |node: &str| NewMember {
            name: name(node),
            demands: Demands { executor_id: Some(executor_id(node)), ..Demands::default() },
        };
        self.form_of(NODES.iter().map(|node| member(node)).collect(), pull).await
    }

    async fn form_of(&self, members: Vec<NewMember>, pull: &[&str]) -> Fleet {
        let store = &self.harbor.store;
        store.create_session(new_session(&session())).await.unwrap();
        let files = FleetFiles {
            directory: Some("files".to_owned()),
            pull: pull.iter().map(|word| (*word).to_owned()).collect(),
            ignore: vec!["ignored".to_owned()],
        };
        let session_id = session();
        let new = NewFleet { session_id, members, leader: None, files, requested_by: None };
        let fleet = store.create_fleet(new).await.unwrap();
        for member in &fleet.members {
            self.harbor.until(&member.run_id, |run| run.status == RunStatus::Running).await;
        }
        fleet
    }

    async fn fence(&self, timeout_ms: u64, script: &str) -> Fence {
        let step = NewStep {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            env: [("STEP".to_owned(), "1".to_owned())].into(),
            on: Vec::new(),
            timeout_ms: None,
        };
        let (session_id, requested_by) = (session(), None);
        let new = NewFence { session_id, timeout_ms, step: Some(step), requested_by };
        self.harbor.store.start_fence(new).await.unwrap()
    }

    async fn until(&self, fence: &Fence, is_so: impl Fn(&Fence) -> bool) -> Fence {
        let look = async {
            loop {
                let fence = self.harbor.store.fence(fence.id.clone()).await.unwrap();
                if is_so(&fence) {
                    return fence;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(fence) => fence,
            Err(_) => panic!("{:?}", self.harbor.store.fence(fence.id.clone()).await),
        }
    }

    async fn over(&self, fence: &Fence) -> Fence {
        self.until(fence, |fence| !fence.status.is_open()).await
    }

    /// What the step of a fence wrote on each machine, once it has ended everywhere.
    async fn said(&self, fence: &Fence) -> Vec<(String, String)> {
        let runs = &fence.step.as_ref().unwrap().runs;
        for run in runs.values() {
            let run = self.harbor.ended(run).await;
            assert_eq!(run.status, RunStatus::Completed, "{run:?}");
        }
        let events = self.harbor.events_of(&session()).await;
        let logs = events.iter().filter(|(kind, _)| kind == "hostLog");
        let mut said: BTreeMap<String, String> = BTreeMap::new();
        for (_, data) in logs {
            said.entry(word(data, "member")).or_default().push_str(&word(data, "text"));
        }
        said.into_iter().collect()
    }

    async fn end(mut self) {
        for executor in self.executors.drain(..).flatten() {
            executor.stop().await;
        }
        self.point.take().unwrap().stop().await;
    }
}

fn word(data: &Value, key: &str) -> String {
    data[key].as_str().unwrap().to_owned()
}

fn everywhere(text: &str) -> Vec<(String, String)> {
    NODES.map(|node| (node.to_owned(), text.to_owned())).to_vec()
}

fn details(fence: &Fence) -> Vec<String> {
    fence.members.iter().filter_map(|member| member.detail.clone()).collect()
}

#[tokio::test]
async fn a_step_runs_on_all_when_all_have_the_same_files() {
    let afloat = Afloat::new(Harbor::new());
    for node in NODES {
        afloat.write(node, "a", "the same\n");
        afloat.write(node, "ignored", node);
    }
    let fleet = afloat.form(&[]).await;
    let fence = afloat.fence(30_000, "cat a; echo $STEP").await;
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Consistent, "{fence:?}");
    let snapshot = fence.snapshot.clone().unwrap();
    assert_eq!((snapshot.provider.as_str(), snapshot.files, snapshot.bytes), ("digest", 1, 9));
    assert_eq!(afloat.said(&fence).await, everywhere("the same\n1\n"));
    // The same holders, also of a second fence: nobody had to leave for the step.
    let again = afloat.fence(30_000, "true").await;
    assert_eq!(afloat.over(&again).await.status, FenceStatus::Consistent);
    for member in &fleet.members {
        let run = afloat.harbor.store.run(member.run_id.clone()).await.unwrap();
        assert_eq!((run.status, run.lease_epoch), (RunStatus::Running, 1));
    }
    let started = afloat.harbor.events_of(&session()).await.into_iter();
    let started = started.filter(|(kind, _)| kind == "hostStarted");
    let names: BTreeSet<String> = started.map(|(_, data)| word(&data, "member")).collect();
    assert_eq!(names, NODES.map(str::to_owned).into());
    afloat.end().await;
}

/// The processes of pulls that live.
fn pulling(afloat: &Afloat) -> usize {
    let root = format!("AH_PULL_FOLDER={}/", afloat.harbor.folder.path().display());
    let is_one = |one: &ah_process::Process| {
        let environment = fs::read(format!("/proc/{}/environ", one.id)).unwrap_or_default();
        one.lives && environment.split(|byte| *byte == 0).any(|it| it.starts_with(root.as_bytes()))
    };
    ah_process::all().iter().filter(|one| is_one(one)).count()
}

async fn until_pulling(afloat: &Afloat, is_enough: impl Fn(usize) -> bool) {
    let look = async {
        while !is_enough(pulling(afloat)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.unwrap();
}

#[tokio::test]
async fn a_pull_that_takes_too_long_is_ended_with_all_that_it_started() {
    let afloat = Afloat::new(Harbor::new());
    afloat.write("node-1", "a", "1");
    afloat.form(&["sh", "-c", "setsid sleep 600 & sleep 600"]).await;
    let fence = afloat.fence(6_000, "true").await;
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Timeout, "{fence:?}");
    let why = "the pull was still at work when the time was over";
    assert_eq!(details(&fence), [why, why]);
    assert_eq!(pulling(&afloat), 0);
    afloat.end().await;
}

#[tokio::test]
async fn what_a_fence_asked_for_is_taken_back_when_the_fence_is_given_up() {
    let afloat = Afloat::new(Harbor::new());
    afloat.write("node-1", "a", "1");
    afloat.form(&["sleep", "600"]).await;
    let fence = afloat.fence(600_000, "true").await;
    until_pulling(&afloat, |count| count == 2).await;
    let change = FleetChange { epoch: None, what: FleetDeed::Lead(name("node-2")) };
    afloat.harbor.store.change_fleet(session(), change).await.unwrap();
    assert_eq!(afloat.over(&fence).await.status, FenceStatus::Error);
    until_pulling(&afloat, |count| count == 0).await;
    afloat.end().await;
}

#[tokio::test]
async fn a_fleet_works_over_sqlite_as_well() {
    let afloat = Afloat::new(Harbor::on_sqlite());
    afloat.write("node-1", "a", "from the first\n");
    afloat.form(&["sh", "-c", "cp -a ../../$AH_LEADER/files/. ."]).await;
    let fence = afloat.fence(30_000, "cat a").await;
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Consistent, "{fence:?}");
    assert_eq!(afloat.said(&fence).await, everywhere("from the first\n"));
    afloat.harbor.store.end_fleet(session()).await.unwrap();
    for member in &fence.members {
        assert_eq!(afloat.harbor.ended(&member.run_id).await.status, RunStatus::Stopped);
    }
    afloat.end().await;
}

#[tokio::test]
async fn members_are_held_by_different_executors_and_end_with_their_fleet() {
    let afloat = Afloat::new(Harbor::new());
    let member = |node: &str| NewMember { name: name(node), demands: Demands::default() };
    let fleet = afloat.form_of(NODES.iter().map(|node| member(node)).collect(), &[]).await;
    let mut holders = BTreeSet::new();
    for member in &fleet.members {
        let run = afloat.harbor.store.run(member.run_id.clone()).await.unwrap();
        holders.insert(run.executor_id.unwrap());
    }
    assert_eq!(holders, NODES.map(executor_id).into());
    afloat.harbor.store.end_fleet(session()).await.unwrap();
    for member in &fleet.members {
        assert_eq!(afloat.harbor.ended(&member.run_id).await.status, RunStatus::Stopped);
    }
    afloat.end().await;
}

#[tokio::test]
async fn who_does_not_get_the_files_in_time_is_named_and_nothing_runs() {
    let afloat = Afloat::new(Harbor::new());
    for node in NODES {
        afloat.write(node, "a", "the same\n");
    }
    afloat.write("node-3", "more", "x");
    let fleet = afloat.form(&[]).await;
    let fence = afloat.fence(4_000, "true").await;
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Timeout);
    assert_eq!(fence.laggards().collect::<Vec<_>>(), [&name("node-3")]);
    assert_eq!(details(&fence), ["2 files of 10 bytes here, 1 of 9 at the leader"]);
    assert!(fence.step.unwrap().runs.is_empty());
    for member in &fleet.members {
        let run = afloat.harbor.store.run(member.run_id.clone()).await.unwrap();
        assert_eq!(run.status, RunStatus::Running, "a fence that failed ends nobody");
    }
    afloat.end().await;
}

#[tokio::test]
async fn a_pull_brings_the_files_of_whoever_leads() {
    let afloat = Afloat::new(Harbor::new());
    afloat.write("node-1", "a", "from the first\n");
    afloat.write("node-2", "a", "from the second\n");
    afloat.form(&["sh", "-c", "cp -a ../../$AH_LEADER/files/. ."]).await;
    let fence = afloat.fence(30_000, "cat a").await;
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Consistent, "{fence:?}");
    assert_eq!(afloat.said(&fence).await, everywhere("from the first\n"));
    afloat.write("node-2", "a", "of the second\n");
    let change = FleetChange { epoch: Some(1), what: FleetDeed::Lead(name("node-2")) };
    assert_eq!(afloat.harbor.store.change_fleet(session(), change).await.unwrap().epoch, 2);
    let fence = afloat.fence(30_000, "true").await;
    let fence = afloat.over(&fence).await;
    assert_eq!((fence.status, fence.epoch), (FenceStatus::Consistent, 2));
    for node in NODES {
        assert_eq!(fs::read_to_string(afloat.files(node).join("a")).unwrap(), "of the second\n");
    }
    afloat.end().await;
}

#[tokio::test]
async fn a_pull_that_fails_says_why() {
    let afloat = Afloat::new(Harbor::new());
    afloat.write("node-1", "a", "1");
    afloat.form(&["sh", "-c", "echo no route to $AH_LEADER >&2; exit 7"]).await;
    let fence = afloat.fence(30_000, "true").await;
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Error);
    let why = "the pull \"sh\" ended with exit status: 7: no route to node-1";
    assert_eq!(details(&fence), [why, why]);
    afloat.end().await;
}

#[tokio::test]
async fn what_keeps_the_files_the_same_may_take_its_time_and_an_access_point_may_die_meanwhile() {
    let mut afloat = Afloat::new(Harbor::new());
    afloat.write("node-1", "a", "at last\n");
    afloat.form(&[]).await;
    let fence = afloat.fence(60_000, "cat a").await;
    afloat.until(&fence, |fence| fence.status == FenceStatus::Pull).await;
    afloat.point.take().unwrap().kill().await;
    afloat.write("node-2", "a", "at last\n");
    afloat.write("node-3", "a", "at last\n");
    afloat.point = Some(afloat.harbor.access_point_again(&afloat.address).await);
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Consistent, "{fence:?}");
    assert_eq!(afloat.said(&fence).await, everywhere("at last\n"));
    afloat.end().await;
}

#[tokio::test]
async fn an_executor_that_comes_again_still_holds_its_member() {
    let mut afloat = Afloat::new(Harbor::new());
    let fleet = afloat.form(&[]).await;
    afloat.executors[2].take().unwrap().stop().await;
    afloat.executors[2] = Some(afloat.harbor.executor_for("node-3", &afloat.address, 1));
    let fence = afloat.fence(30_000, "echo $STEP").await;
    let fence = afloat.over(&fence).await;
    assert_eq!(fence.status, FenceStatus::Consistent, "{fence:?}");
    assert_eq!(afloat.said(&fence).await, everywhere("1\n"));
    let run = afloat.harbor.store.run(fleet.members[2].run_id.clone()).await.unwrap();
    assert_eq!((run.status, run.lease_epoch), (RunStatus::Running, 1));
    afloat.harbor.store.end_fleet(session()).await.unwrap();
    afloat.harbor.ended(&run.id).await;
    let exits = afloat.harbor.events_of(&session()).await.into_iter();
    let mut exits =
        exits.filter(|(kind, data)| kind == "hostExited" && data["runId"] == run.id.as_str());
    assert_eq!(word(&exits.next().unwrap().1, "member"), "node-3", "it is known after a restart");
    afloat.end().await;
}

#[tokio::test]
async fn a_lost_leader_is_followed_by_another_and_says_nothing_more() {
    let mut afloat = Afloat::new(Harbor::with_lease(2_000));
    let fleet = afloat.form(&[]).await;
    let before = afloat.harbor.store.run(fleet.members[0].run_id.clone()).await.unwrap();
    afloat.executors[0].take().unwrap().kill().await;
    let store = std::sync::Arc::clone(&afloat.harbor.store);
    let look = async {
        loop {
            // A server does this all the time.
            store.sweep_runs().await.unwrap();
            let fleet = store.fleet(session()).await.unwrap();
            if fleet.epoch == 2 {
                return fleet;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let fleet = tokio::time::timeout(PATIENCE, look).await.unwrap();
    assert_eq!(fleet.leader, name("node-2"));
    let fence = afloat.fence(3_000, "true").await;
    let what = FenceSaid::Error { detail: "I lead".to_owned() };
    let report = FenceReport { fence_id: fence.id.clone(), lease: before.lease(), what };
    let refused = store.report_fence(report).await.unwrap_err();
    assert!(matches!(refused, StoreError::Conflict { .. }), "{refused:?}");
    let fence = afloat.over(&fence).await;
    assert_eq!((fence.status, fence.leader.clone()), (FenceStatus::Timeout, name("node-2")));
    assert_eq!(fence.laggards().collect::<Vec<_>>(), [&name("node-1")]);
    // Without the lost one the others go on.
    let change = FleetChange { epoch: Some(2), what: FleetDeed::Remove(name("node-1")) };
    store.change_fleet(session(), change).await.unwrap();
    let fence = afloat.fence(30_000, "true").await;
    assert_eq!(afloat.over(&fence).await.status, FenceStatus::Consistent);
    afloat.end().await;
}
