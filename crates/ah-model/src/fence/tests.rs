use proptest::prelude::*;

use super::*;
use crate::{FleetFiles, NewFleet, NewMember};

fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

const DEADLINE: i64 = 1_000;

fn fleet(members: usize) -> Fleet {
    let name = |n: usize| format!("m{n}").parse().unwrap();
    let new = NewFleet {
        session_id: "s".parse().unwrap(),
        members: (0..members)
            .map(|n| NewMember { name: name(n), demands: Demands::default() })
            .collect(),
        leader: None,
        files: FleetFiles::default(),
        requested_by: None,
    };
    let runs: Vec<RunId> = (0..members).map(|n| format!("r{n}").parse().unwrap()).collect();
    Fleet::formed(new, &runs, 0, at(0)).unwrap()
}

fn fence(fleet: &Fleet) -> Fence {
    let step = NewStep {
        argv: vec!["make".to_owned()],
        env: BTreeMap::new(),
        on: Vec::new(),
        timeout_ms: None,
    };
    let new = NewFence {
        session_id: "s".parse().unwrap(),
        timeout_ms: 1_000,
        step: Some(step),
        requested_by: None,
    };
    Fence::started(new, "f".parse().unwrap(), fleet, at(0)).unwrap()
}

fn snapshot(name: &str) -> FenceSaid {
    let (provider, name) = ("digest".to_owned(), name.to_owned());
    FenceSaid::Snapshot(Snapshot { provider, name, files: 0, bytes: 0 })
}

#[derive(Debug, Clone)]
enum Deed {
    Say(usize, FenceSaid),
    Expire,
    GiveUp,
}

fn deed() -> impl Strategy<Value = Deed> {
    let said = prop_oneof![
        3 => Just(snapshot("x")),
        1 => Just(snapshot("y")),
        6 => Just(FenceSaid::Consistent {}),
        1 => Just(FenceSaid::Timeout { detail: None }),
        1 => Just(FenceSaid::Error { detail: "no".to_owned() }),
    ];
    prop_oneof![
        20 => (0..4_usize, said).prop_map(|(who, what)| Deed::Say(who, what)),
        1 => Just(Deed::Expire),
        1 => Just(Deed::GiveUp),
    ]
}

fn apply(fence: &mut Fence, deed: &Deed, now: i64) -> Result<bool, String> {
    match deed {
        Deed::Say(who, what) => {
            let run = format!("r{who}").parse().unwrap();
            let executor = format!("e{who}").parse().unwrap();
            fence.hear(&run, Some(&executor), what, at(now))
        }
        Deed::Expire => Ok(fence.expire(at(now))),
        Deed::GiveUp => Ok(fence.give_up("because", at(now))),
    }
}

proptest! {
    #[test]
    fn a_fence_ends_once_keeps_what_was_said_and_has_runs_only_when_consistent(
        deeds in proptest::collection::vec((deed(), 0..1_500_i64), 0..30)
    ) {
        let fleet = fleet(3);
        let mut fence = fence(&fleet);
        for (deed, now) in deeds {
            let before = fence.clone();
            let moved = apply(&mut fence, &deed, now);
            prop_assert_eq!(moved == Ok(true), fence != before, "what is refused changes nothing");
            prop_assert!(before.status.is_open() || fence == before, "an end is an end");
            prop_assert_eq!(fence.status.is_open(), fence.ended_at.is_none());
            for (then, now) in before.members.iter().zip(&fence.members) {
                prop_assert!(then.outcome.is_none() || then == now, "what was said stays");
            }
            let all = fence.members.iter().all(|member| member.outcome == Some(FenceOutcome::Consistent));
            prop_assert_eq!(all, fence.status == FenceStatus::Consistent);
            prop_assert_eq!(fence.awaited().next().is_some(), fence.status.is_open());
            let runs = fence.step_runs(&fleet).unwrap();
            prop_assert_eq!(runs.len(), if all { 3 } else { 0 });
            for (name, run) in runs {
                let executor = fence.members.iter().find(|member| member.name == name);
                prop_assert_eq!(run.demands.executor_id, executor.unwrap().executor_id.clone());
            }
        }
    }
}

#[test]
fn a_fence_is_over_at_its_deadline_and_not_before() {
    let mut fence = fence(&fleet(2));
    assert!(!fence.expire(at(DEADLINE - 1)));
    assert!(fence.expire(at(DEADLINE)));
    assert_eq!(fence.status, FenceStatus::Timeout);
    assert_eq!(fence.laggards().count(), 2);
    assert!(!fence.expire(at(DEADLINE)));
}
