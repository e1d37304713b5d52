//! Who is woken by which run.

use ah_model::{
    NewExecutor, NewRepo, NewRun, NewSession, Offer, RawJson, RunKind, Session, Timestamp, Vcs,
};
use ah_store::block_on;

use super::*;

fn claim(executor: &str, tags: &[&str]) -> RunClaim {
    let tags = tags.iter().map(ToString::to_string).collect();
    let offer = Offer { tags, ..Offer::default() };
    RunClaim { executor_id: executor.parse().unwrap(), offer, lease_ms: 1_000, run_id: None }
}

fn run(id: &str, tags: &[&str]) -> Run {
    let root_path = Some("/r".to_owned());
    let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
    let new = NewSession::new(repo, "codex".parse().unwrap());
    let session = Session::created(new, "s".parse().unwrap(), 1, Timestamp::EPOCH);
    let mut new = NewRun::new(session.id.clone(), RunKind::Start, RawJson::null());
    new.demands.tags = tags.iter().map(ToString::to_string).collect();
    Run::queued(new, id.parse().unwrap(), &session, Timestamp::EPOCH)
}

fn has_chance(place: &Place) -> bool {
    place.claims.lock().waiters[&place.number].due.is_some()
}

fn woken(place: &Place) -> Try {
    block_on(place.woken()).ok().unwrap()
}

#[test]
fn a_run_wakes_the_one_who_waits_longest_of_those_who_may_take_it() {
    let claims = Arc::new(Claims::default());
    let [plain, first, second] = [
        claims.enter(&claim("a", &[])),
        claims.enter(&claim("b", &["gpu"])),
        claims.enter(&claim("c", &["gpu"])),
    ];
    claims.queued(&run("r1", &["gpu"]));
    assert_eq!([&plain, &first, &second].map(has_chance), [false, true, false]);
    claims.queued(&run("r2", &["gpu"]));
    assert_eq!([&plain, &first, &second].map(has_chance), [false, true, true]);
    claims.queued(&run("r3", &[]));
    assert_eq!([&plain, &first, &second].map(has_chance), [true, true, true]);
}

#[test]
fn what_the_operator_says_of_an_executor_decides_whom_a_run_wakes() {
    let claims = Arc::new(Claims::default());
    let [first, second] = ["a", "b"].map(|id| {
        let place = claims.enter(&claim(id, &[]));
        let new = NewExecutor {
            id: id.parse().unwrap(),
            offer: Offer::default(),
            details: RawJson::null(),
        };
        place.know(Some(Executor { tags: vec![id.to_owned()], ..new.register(Timestamp::EPOCH) }));
        place
    });
    claims.queued(&run("r1", &["b"]));
    assert_eq!([&first, &second].map(has_chance), [false, true]);
    let named = RunClaim { run_id: Some("r3".parse().unwrap()), ..claim("c", &[]) };
    let named = claims.enter(&named);
    claims.queued(&run("r2", &[]));
    assert_eq!([&first, &named].map(has_chance), [true, false]);
    claims.queued(&run("r3", &[]));
    assert!(has_chance(&named), "it waits for this one alone");
}

#[test]
fn a_run_that_somebody_has_wakes_nobody() {
    let claims = Arc::new(Claims::default());
    let place = claims.enter(&claim("a", &[]));
    let mut taken = run("r", &[]);
    taken.claim(&claim("b", &[]), Timestamp::EPOCH);
    claims.queued(&taken);
    assert!(!has_chance(&place));
}

#[test]
fn who_leaves_hands_its_chance_on() {
    let claims = Arc::new(Claims::default());
    let (first, second) = (claims.enter(&claim("a", &[])), claims.enter(&claim("b", &[])));
    claims.queued(&run("r", &[]));
    drop(first);
    assert!(has_chance(&second));
}

#[test]
fn who_leaves_during_its_try_hands_it_on() {
    let claims = Arc::new(Claims::default());
    let (first, second) = (claims.enter(&claim("a", &[])), claims.enter(&claim("b", &[])));
    claims.queued(&run("r", &[]));
    let attempt = woken(&first);
    drop(first);
    assert!(!has_chance(&second));
    drop(attempt);
    assert!(has_chance(&second));
}

#[test]
fn who_gets_another_run_hands_its_chance_on_and_who_gets_none_does_not() {
    let claims = Arc::new(Claims::default());
    for (claimed, handed_on) in [(Some("other"), true), (Some("r"), false), (None, false)] {
        let (first, second) = (claims.enter(&claim("a", &[])), claims.enter(&claim("b", &[])));
        claims.queued(&run("r", &[]));
        let attempt = woken(&first);
        drop(first);
        attempt.answered(claimed.map(|id| run(id, &[])).as_ref());
        assert_eq!(has_chance(&second), handed_on, "{claimed:?}");
    }
}

#[test]
fn a_run_that_comes_during_a_try_is_tried_for_next() {
    let claims = Arc::new(Claims::default());
    let place = claims.enter(&claim("a", &[]));
    claims.queued(&run("r1", &[]));
    let attempt = woken(&place);
    claims.queued(&run("r2", &[]));
    attempt.answered(None);
    assert!(has_chance(&place));
}

#[test]
fn an_executor_that_is_asked_for_something_else_is_told() {
    let claims = Arc::new(Claims::default());
    let (told, other) = (claims.enter(&claim("a", &[])), claims.enter(&claim("b", &[])));
    claims.tell(&"a".parse().unwrap());
    assert!(block_on(told.woken()).is_err());
    claims.wake_all();
    assert!(block_on(other.woken()).is_ok());
}
