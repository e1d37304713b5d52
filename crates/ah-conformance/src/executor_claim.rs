//! Behaviours of claims by executors that are known, and of claims of one run.

use ah_model::{
    Demands, Enrolment, ExecutorChange, ExecutorRule, ExecutorVerb, Labels, Machine, NewRun, Offer,
    Run, RunClaim, RunStatus,
};

use crate::Harness;
use crate::given::{create, everything};
use crate::given_run::{
    at_work, child_run, claim, claim_of, completed, enrolment, executor_id, finish, first_run,
    idle, queue, run_id, runs_of, start_of,
};

async fn claim_one(h: &dyn Harness, executor: &str, run: &str) -> Option<Run> {
    let claim = RunClaim { run_id: Some(run_id(run)), ..claim_of(executor) };
    h.store().claim_run(claim).await.unwrap()
}

pub async fn a_run_is_claimed_by_its_name_past_those_that_wait_longer(h: &mut dyn Harness) {
    for name in ["s1", "s2", "s3"] {
        queue(h, first_run(name)).await;
    }
    let taken = claim_one(h, "e1", "run-s2").await.unwrap();
    assert_eq!((taken.id.as_str(), taken.status), ("run-s2", RunStatus::Claimed));
    assert_eq!(claim(h, "e1").await.unwrap().id, run_id("run-s1"), "the others keep their places");
}

pub async fn a_named_run_that_does_not_wait_or_fit_is_not_claimed(h: &mut dyn Harness) {
    at_work(h, first_run("held")).await;
    let host = Demands { hostname: Some("h".to_owned()), ..Demands::default() };
    queue(h, NewRun { demands: host, ..first_run("elsewhere") }).await;
    queue(h, first_run("other")).await;
    let before = everything(h).await;
    for run in ["run-held", "run-elsewhere", "nobody"] {
        assert_eq!(claim_one(h, "e2", run).await, None, "{run}");
    }
    assert_eq!(everything(h).await, before);
}

fn machine() -> Machine {
    Machine {
        os_name: "linux".to_owned(),
        os_version: "6".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_cores: 8,
        memory_bytes: 1_000,
        agents: vec!["claude".to_owned()],
        ..Machine::default()
    }
}

/// A demand, and whether the executor of the next behaviour meets it.
fn demands() -> Vec<(Demands, bool)> {
    let text = |text: &str| Some(text.to_owned());
    let nothing = Demands::default;
    let label = |pair: &str| Labels::from_pairs(&[pair.to_owned()]).unwrap();
    vec![
        (nothing(), true),
        (Demands { executor_id: Some(executor_id("e1")), ..nothing() }, true),
        (Demands { executor_id: Some(executor_id("e2")), ..nothing() }, false),
        (Demands { tags: vec!["offered".to_owned(), "given".to_owned()], ..nothing() }, true),
        (Demands { tags: vec!["offered".to_owned(), "other".to_owned()], ..nothing() }, false),
        (Demands { labels: label("region=eu"), ..nothing() }, true),
        (Demands { labels: label("region=us"), ..nothing() }, false),
        (Demands { agent: text("claude"), os: text("linux"), ..nothing() }, true),
        (Demands { agent: text("codex"), ..nothing() }, false),
        (Demands { os: text("macos"), ..nothing() }, false),
        (Demands { architecture: text("amd64"), cpu_cores: Some(8), ..nothing() }, true),
        (Demands { cpu_cores: Some(9), ..nothing() }, false),
        (Demands { memory_bytes: Some(1_000), ..nothing() }, true),
        (Demands { memory_bytes: Some(1_001), ..nothing() }, false),
    ]
}

pub async fn machine_labels_and_tags_of_an_enrolled_executor_meet_demands(h: &mut dyn Harness) {
    let enrolled = Enrolment { machine: Some(machine()), ..enrolment("e1") };
    h.store().enrol_executor(enrolled).await.unwrap();
    let given = ExecutorChange {
        set_labels: Labels::from_pairs(&["region=eu".to_owned()]).unwrap(),
        add_tags: vec!["given".to_owned()],
        ..ExecutorChange::default()
    };
    h.store().change_executor(executor_id("e1"), given, None).await.unwrap();
    let offer = Offer { tags: vec!["offered".to_owned()], ..Offer::default() };
    for (n, (demands, met)) in demands().into_iter().enumerate() {
        let run =
            queue(h, NewRun { demands: demands.clone(), ..first_run(&format!("s{n}")) }).await;
        let bare = RunClaim { offer: offer.clone(), ..claim_of("stranger") };
        let only_offers = n == 0;
        let got = h.store().claim_run(RunClaim { run_id: Some(run.id.clone()), ..bare }).await;
        assert_eq!(got.unwrap().is_some(), only_offers, "of a stranger nothing is known: {n}");
        if only_offers {
            continue;
        }
        let claim = RunClaim { offer: offer.clone(), ..claim_of("e1") };
        let got = h.store().claim_run(claim).await.unwrap();
        assert_eq!(got.map(|run| run.id), met.then(|| run.id.clone()), "{demands:?}");
        if !met {
            h.store().stop_run(run.id).await.unwrap();
        }
    }
}

fn for_user(session: &str, user: Option<&str>) -> NewRun {
    NewRun { requested_by: user.map(str::to_owned), ..first_run(session) }
}

pub async fn rules_decide_whose_runs_an_executor_takes(h: &mut dyn Harness) {
    h.store().enrol_executor(enrolment("e1")).await.unwrap();
    let rule = |user: &str, verbs: &[ExecutorVerb]| ExecutorRule {
        user: user.to_owned(),
        verbs: verbs.to_vec(),
    };
    let rules = vec![
        rule("ann", &[ExecutorVerb::Stop, ExecutorVerb::Launch]),
        rule("bob", &[ExecutorVerb::Stop]),
    ];
    let ruled = |rules| ExecutorChange { rules: Some(rules), ..ExecutorChange::default() };
    h.store().change_executor(executor_id("e1"), ruled(rules), None).await.unwrap();
    for (session, user) in [("s1", None), ("s2", Some("bob")), ("s3", Some("ann"))] {
        let run = queue(h, for_user(session, user)).await;
        assert_eq!(run.requested_by.as_deref(), user);
    }
    assert_eq!(claim(h, "e1").await.unwrap().id, run_id("run-s3"));
    assert_eq!(claim(h, "e1").await, None);
    h.reopen().await;
    assert_eq!(claim(h, "e1").await, None);
    h.store().change_executor(executor_id("e1"), ruled(vec![]), None).await.unwrap();
    assert_eq!(claim(h, "e1").await.unwrap().id, run_id("run-s1"), "no rule is no limit");
    assert_eq!(claim(h, "unknown").await.unwrap().id, run_id("run-s2"));
}

pub async fn a_callback_is_carried_for_who_asked_for_the_parents_last_run(h: &mut dyn Harness) {
    create(h, "p1").await;
    let asked = NewRun { requested_by: Some("ann".to_owned()), ..start_of("p1") };
    let first = at_work(h, asked).await;
    finish(h, &first, idle()).await;
    let child = NewRun { requested_by: Some("bob".to_owned()), ..child_run("c1", "p1") };
    let child = at_work(h, child).await;
    finish(h, &child, completed()).await;
    let runs = runs_of(h, "p1").await;
    let asked: Vec<_> = runs.iter().map(|run| run.requested_by.as_deref()).collect();
    assert_eq!(asked, [Some("ann"), Some("ann")]);
}
