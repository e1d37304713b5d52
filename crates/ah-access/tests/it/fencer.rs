//! Whom the access point asks at a fence, and what of the answers the store hears.

use ah_access::frame::{FenceStep, Reply, ReplyCode};
use ah_access::moment::Moment;
use ah_access::point::{Answer, Deed, FenceAsk, Fencer, Key};
use ah_model::{
    Demands, Fence, FenceReport, FenceSaid, Fleet, FleetFiles, Lease, NewFence, NewFleet,
    NewMember, RawJson, RunId, Snapshot, Timestamp,
};
use ah_store::{Kind, StoreError};
use serde_json::json;

const MEMBERS: [&str; 3] = ["a", "b", "c"];
const FENCE_MS: u64 = 20_000;

fn run(name: &str) -> RunId {
    format!("run-{name}").parse().unwrap()
}

fn started(timeout_ms: u64) -> Fence {
    let member =
        |name: &str| NewMember { name: name.parse().unwrap(), demands: Demands::default() };
    let new = NewFleet {
        session_id: "s1".parse().unwrap(),
        members: MEMBERS.map(member).into(),
        leader: None,
        files: FleetFiles::default(),
        requested_by: None,
    };
    let fleet = Fleet::formed(new, &MEMBERS.map(run), 0, Timestamp::EPOCH).unwrap();
    let new = NewFence {
        session_id: "s1".parse().unwrap(),
        timeout_ms,
        step: None,
        requested_by: Some("eve".to_owned()),
    };
    Fence::started(new, "fence-1".parse().unwrap(), &fleet, Timestamp::EPOCH).unwrap()
}

fn snapshot() -> Snapshot {
    Snapshot { provider: "digest".to_owned(), name: "cafe".to_owned(), files: 2, bytes: 30 }
}

/// The fence after the leader has said what it has.
fn pulled() -> Fence {
    let mut fence = started(FENCE_MS);
    let what = FenceSaid::Snapshot(snapshot());
    assert!(fence.hear(&run("a"), None, &what, Timestamp::EPOCH).unwrap());
    fence
}

fn at(ms: u64) -> Moment {
    Moment { ms, wall: Timestamp::EPOCH.plus_ms(ms) }
}

fn key(name: &str) -> Key {
    ("fence-1".parse().unwrap(), run(name))
}

fn reply(code: ReplyCode, detail: Option<&str>, data: &serde_json::Value) -> Answer {
    let (request_id, data) = ("r1".parse().unwrap(), RawJson::of(data).unwrap());
    let detail = detail.map(str::to_owned);
    Answer::Reply { epoch: 4, reply: Reply { request_id, code, detail, data } }
}

fn done() -> Answer {
    reply(ReplyCode::Done, None, &json!(snapshot()))
}

/// Who is asked for what.
fn asked(deeds: &[Deed]) -> Vec<(RunId, FenceStep)> {
    let asks = deeds.iter().filter_map(|deed| match deed {
        Deed::Ask { key, what, .. } => Some((key.1.clone(), what.step)),
        Deed::TakeBack(_) | Deed::Report { .. } => None,
    });
    asks.collect()
}

fn reports(deeds: &[Deed]) -> Vec<FenceSaid> {
    let reports = deeds.iter().filter_map(|deed| match deed {
        Deed::Report { report, .. } => Some(report.what.clone()),
        Deed::TakeBack(_) | Deed::Ask { .. } => None,
    });
    reports.collect()
}

#[test]
fn the_leader_is_asked_first_and_its_answer_is_told_under_its_claim() {
    let mut fencer = Fencer::default();
    let ask = Deed::Ask {
        key: key("a"),
        actor: Some("eve".to_owned()),
        // What is left of the time is for the answer.
        deadline_ms: FENCE_MS - 1_000,
        what: Box::new(FenceAsk {
            fence_id: "fence-1".parse().unwrap(),
            step: FenceStep::Snapshot,
            snapshot: None,
            leader: "a".parse().unwrap(),
        }),
    };
    assert_eq!(fencer.looked(at(0), vec![started(FENCE_MS)]), [ask]);
    assert_eq!(fencer.looked(at(9_000), vec![started(FENCE_MS)]), [], "one at a time");
    let report = FenceReport {
        fence_id: "fence-1".parse().unwrap(),
        lease: Lease { run_id: run("a"), epoch: 4 },
        what: FenceSaid::Snapshot(snapshot()),
    };
    let deeds = fencer.answered(at(9_001), &key("a"), done());
    assert_eq!(deeds, [Deed::Report { key: key("a"), report }]);
    let deeds = fencer.reported(at(9_002), &key("a"), Ok(pulled()));
    assert_eq!(asked(&deeds), [(run("b"), FenceStep::Pull), (run("c"), FenceStep::Pull)]);
}

#[test]
fn an_answer_becomes_what_the_store_hears_or_is_asked_for_again() {
    let timeout = |detail: &str| FenceSaid::Timeout { detail: Some(detail.to_owned()) };
    let error = |detail: &str| FenceSaid::Error { detail: detail.to_owned() };
    let null = json!(null);
    let other = Snapshot { name: "beef".to_owned(), ..snapshot() };
    for (answer, said) in [
        (done(), Some(FenceSaid::Consistent {})),
        (
            reply(ReplyCode::Done, None, &json!(other)),
            Some(error("its executor reached beef, which is another snapshot")),
        ),
        (
            reply(ReplyCode::Done, None, &json!({ "pid": 1 })),
            Some(error("its executor named no files: {\"pid\":1}")),
        ),
        (reply(ReplyCode::Expired, Some("12 files"), &null), Some(timeout("12 files"))),
        (reply(ReplyCode::Failed, Some("no rsync"), &null), Some(error("no rsync"))),
        (
            reply(ReplyCode::Unsupported, None, &null),
            Some(error("its executor cannot reach fences: its software is older than fences")),
        ),
        (reply(ReplyCode::Rejected, None, &null), None),
        (reply(ReplyCode::UnknownRun, None, &null), None),
        (reply(ReplyCode::StaleEpoch, None, &null), None),
        (reply(ReplyCode::Cancelled, None, &null), None),
        (Answer::NotHere, None),
        (Answer::Gone, None),
        (Answer::TimedOut, None),
    ] {
        let mut fencer = Fencer::default();
        fencer.looked(at(0), vec![pulled()]);
        let deeds = fencer.answered(at(1), &key("b"), answer.clone());
        assert_eq!(reports(&deeds), said.clone().into_iter().collect::<Vec<_>>(), "{answer:?}");
        assert_eq!(asked(&fencer.looked(at(500), vec![pulled()])), [], "{answer:?}");
        let again = asked(&fencer.looked(at(501), vec![pulled()]));
        let expected = if said.is_some() { vec![] } else { vec![(run("b"), FenceStep::Pull)] };
        assert_eq!(again, expected, "{answer:?}");
    }
}

#[test]
fn a_request_that_is_over_before_its_fence_is_made_again() {
    let hours = 3 * 60 * 60 * 1_000;
    let mut fencer = Fencer::default();
    let deeds = fencer.looked(at(0), vec![started(hours)]);
    assert!(matches!(&deeds[..], [Deed::Ask { deadline_ms: 3_600_000, .. }]), "{deeds:?}");
    let expired = || reply(ReplyCode::Expired, Some("it takes long"), &json!(null));
    assert_eq!(fencer.answered(at(3_600_000), &key("a"), expired()), []);
    let late = at(hours - 10);
    let deeds = fencer.looked(late, vec![started(hours)]);
    assert!(matches!(&deeds[..], [Deed::Ask { deadline_ms: 8, .. }]), "{deeds:?}");
    let said = FenceSaid::Timeout { detail: Some("it takes long".to_owned()) };
    assert_eq!(reports(&fencer.answered(late, &key("a"), expired())), [said]);
}

#[test]
fn what_is_over_is_taken_back_and_nobody_is_asked_after_the_deadline() {
    let mut fencer = Fencer::default();
    assert_eq!(asked(&fencer.looked(at(0), vec![pulled()])).len(), 2);
    assert!(fencer.is_at_work());
    let mut fence = pulled();
    fence.hear(&run("b"), None, &FenceSaid::Consistent {}, Timestamp::EPOCH).unwrap();
    assert_eq!(fencer.looked(at(1), vec![fence]), [Deed::TakeBack(key("b"))]);
    assert_eq!(fencer.looked(at(2), Vec::new()), [Deed::TakeBack(key("c"))]);
    assert_eq!(fencer.answered(at(3), &key("c"), done()), [], "it was not asked any more");
    assert!(!fencer.is_at_work());
    assert_eq!(fencer.looked(at(FENCE_MS), vec![pulled()]), [], "a sweep ends it");
}

#[test]
fn what_the_store_does_not_take_is_asked_for_again_as_long_as_it_is_awaited() {
    let mut fencer = Fencer::default();
    fencer.looked(at(0), vec![pulled()]);
    fencer.answered(at(1), &key("b"), done());
    let lost = StoreError::conflict(Kind::Run, run("b"), "is held by another".to_owned());
    assert_eq!(fencer.reported(at(2), &key("b"), Err(lost)), []);
    assert_eq!(asked(&fencer.looked(at(502), vec![pulled()])), [(run("b"), FenceStep::Pull)]);
}

#[test]
fn not_all_members_of_many_fences_are_asked_at_once() {
    let fence =
        |number: usize| Fence { id: format!("fence-{number}").parse().unwrap(), ..pulled() };
    let open: Vec<Fence> = (0..200).map(fence).collect();
    let mut fencer = Fencer::default();
    assert_eq!(asked(&fencer.looked(at(0), open.clone())).len(), 256);
    let key = ("fence-0".parse().unwrap(), run("b"));
    let deeds = fencer.answered(at(1), &key, Answer::NotHere);
    assert_eq!(asked(&deeds).len(), 1, "the next has its turn");
}
