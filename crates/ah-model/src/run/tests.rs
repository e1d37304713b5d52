use proptest::prelude::*;

use super::*;
use crate::{AgentKindRef, NewRepo};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

fn session() -> Session {
    let agent: AgentKindRef = "claude-code".parse().unwrap();
    let repo = NewRepo {
        vcs: crate::Vcs::None,
        root_path: Some("/w".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    let mut session =
        Session::created(NewSession::new(repo, agent), "s1".parse().unwrap(), 1, at(0));
    session.details.hostname = Some("h".to_owned());
    session.details.executor_profile = Some("p".to_owned());
    session.details.project_dir = Some("/d".to_owned());
    session
}

fn run() -> Run {
    let new = NewRun {
        timeout_ms: Some(5_000),
        ..NewRun::new("s1".parse().unwrap(), RunKind::Start, RawJson::null())
    };
    Run::queued(new, "r1".parse().unwrap(), &session(), at(0))
}

fn claim() -> RunClaim {
    RunClaim {
        executor_id: "e".parse().unwrap(),
        offer: Offer::default(),
        lease_ms: 10_000,
        run_id: None,
    }
}

fn claimed() -> Run {
    let mut run = run();
    run.claim(&claim(), at(1));
    run
}

fn started() -> Run {
    let mut run = claimed();
    run.start(&run.lease(), at(2)).unwrap();
    run
}

#[test]
fn a_resume_demands_the_host_and_profile_of_before_but_not_the_directory() {
    let new = NewRun::new("s1".parse().unwrap(), RunKind::Resume, RawJson::null());
    let demands = Run::queued(new, "r1".parse().unwrap(), &session(), at(0)).demands;
    assert_eq!(demands.hostname.as_deref(), Some("h"));
    assert_eq!(demands.executor_profile.as_deref(), Some("p"));
    assert_eq!(demands.project_dir, None);
    assert!(run().demands.is_empty(), "a start demands only what was said");
}

#[test]
fn an_older_epoch_moves_nothing() {
    let mut run = started();
    let old = run.lease();
    assert_eq!(run.due(at(10_001)), run.lost(), "the lease is over");
    run.requeue(at(10_001));
    assert!(run.renew(&old, 1_000, at(10_002)).is_err(), "nobody holds it");
    run.claim(&claim(), at(10_003));
    let before = run.clone();
    let end = RunEnd::new(RunOutcome::Completed);
    assert!(run.start(&old, at(10_004)).is_err());
    assert!(run.renew(&old, 1_000, at(10_004)).is_err());
    assert!(run.finish(&old, &end, at(10_004)).is_err());
    assert_eq!(run, before);
}

#[test]
fn a_lease_that_is_over_stays_good_until_it_is_swept() {
    let mut run = started();
    run.renew(&run.lease(), 1_000, at(60_000)).unwrap();
    assert_eq!(run.due(at(60_500)), Due::Nothing);
}

#[test]
fn an_end_may_be_said_twice_but_not_otherwise() {
    let mut run = started();
    let end = RunEnd::new(RunOutcome::Completed);
    assert_eq!(run.finish(&run.lease(), &end, at(3)), Ok(true));
    let ended = run.clone();
    assert_eq!(run.finish(&run.lease(), &end, at(4)), Ok(false));
    assert!(run.finish(&run.lease(), &RunEnd::failed("no"), at(5)).is_err());
    assert!(run.start(&run.lease(), at(5)).is_err());
    assert!(run.stop(at(5)).is_err());
    assert_eq!(run, ended);
}

#[test]
fn time_requeues_claims_and_fails_what_had_begun() {
    assert_eq!(run().due(at(4_999)), Due::Nothing);
    assert!(matches!(run().due(at(5_000)), Due::End(end) if end.outcome == RunOutcome::Failed));
    assert_eq!(claimed().due(at(10_000)), Due::Nothing);
    assert_eq!(claimed().due(at(10_001)), Due::Requeue);
    assert!(
        matches!(started().due(at(10_001)), Due::End(end) if end.error.as_deref() == Some(LOST))
    );
    let again = Run { requeue: true, ..started() };
    assert_eq!(again.due(at(10_001)), Due::Requeue);
    let mut stopping = started();
    assert_eq!(stopping.stop(at(3)), Ok(false));
    let due = stopping.due(at(10_001));
    assert!(matches!(due, Due::End(end) if end.outcome == RunOutcome::Stopped));
    let often = Run { lease_epoch: RUN_CLAIMS_MAX, ..claimed() };
    assert!(matches!(often.due(at(10_001)), Due::End(end) if end.outcome == RunOutcome::Failed));
}

#[test]
fn one_that_is_stopped_between_claim_and_start_tells_its_holder() {
    let mut run = claimed();
    assert_eq!(run.stop(at(2)), Ok(false));
    run.start(&run.lease(), at(3)).unwrap();
    assert_eq!((run.status, run.started_at), (RunStatus::Stopping, Some(at(3))));
    assert_eq!(run.finish(&run.lease(), &RunEnd::new(RunOutcome::Stopped), at(4)), Ok(true));
}

/// A step that anybody may try.
fn step(run: &mut Run, choice: u8, epoch: u64, now: Timestamp) {
    let lease = Lease { run_id: run.id.clone(), epoch };
    match choice {
        0 if run.status == RunStatus::Pending => run.claim(&claim(), now),
        1 => drop(run.start(&lease, now)),
        2 => drop(run.renew(&lease, 2_000, now)),
        3 => drop(run.finish(&lease, &RunEnd::new(RunOutcome::Completed), now)),
        4 => drop(run.finish(&lease, &RunEnd::failed("x"), now)),
        5 => drop(run.stop(now)),
        _ => match run.due(now) {
            Due::Nothing => {}
            Due::Requeue => run.requeue(now),
            Due::End(end) => run.end(&end, now),
        },
    }
}

proptest! {
    #[test]
    fn no_walk_leaves_an_end_or_lets_an_epoch_fall(
        steps in proptest::collection::vec((0_u8..8, 0_u64..4, 0_i64..6_000), 1..40),
    ) {
        let (mut run, mut now) = (run(), 0);
        for (choice, epoch, ms) in steps {
            now += ms;
            let before = run.clone();
            step(&mut run, choice, epoch, at(now));
            prop_assert!(run.lease_epoch >= before.lease_epoch);
            prop_assert!(before.status.is_live() || run == before, "an end is an end");
            prop_assert_eq!(run.status.is_live(), run.ended_at.is_none());
            let held = matches!(
                run.status,
                RunStatus::Claimed | RunStatus::Running | RunStatus::Stopping
            );
            prop_assert_eq!(held, run.lease_expires_at.is_some());
        }
    }
}
