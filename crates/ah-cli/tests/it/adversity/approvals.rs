//! A thousand approvals and eight operators who decide them all at once, each in another order.

use std::collections::BTreeMap;
use std::sync::Arc;

use ah_model::{
    Approval, ApprovalFilter, ApprovalId, Decision, HiveImport, NewApproval, PageLimit,
    PageRequest, Timestamp, Verdict,
};
use ah_store::{Capabilities, Ids, Store, StoreError, SystemClock, SystemIds, block_on};
use ah_store_sql::{PostgresOptions, SqlStore};

use super::ledger;
use super::server::Database;
use crate::support::Home;

const APPROVALS: u64 = 1_000;
const OPERATORS: u64 = 8;
/// No divisor of the number of approvals: the walks of the operators meet and part.
const STRIDE: u64 = 37;

fn id(number: u64) -> ApprovalId {
    format!("p{number}").parse().unwrap()
}

/// Asks for all of them.
fn ask(store: &dyn Store) {
    let approval = |number: u64| {
        let new = NewApproval::new("alice", "deploy");
        Approval::requested(&new, id(number), number, Timestamp::EPOCH)
    };
    let all: Vec<Approval> = (0..APPROVALS).map(approval).collect();
    for some in all.chunks(500) {
        let import = HiveImport { approvals: some.to_vec(), ..HiveImport::default() };
        block_on(store.import_hive(import)).unwrap();
    }
}

/// What an operator decides, always.
fn verdict(operator: u64) -> Verdict {
    if operator.is_multiple_of(2) { Verdict::Approved } else { Verdict::Denied }
}

/// One operator's decisions: which of them were its own.
fn decide(store: &dyn Store, operator: u64) -> Vec<u64> {
    let verdict = verdict(operator);
    let own = |step: &u64| {
        let number = (step * STRIDE + operator * 125) % APPROVALS;
        let resolver = Some(operator.to_string());
        let decision = Decision { resolver: resolver.clone(), ..Decision::operator(verdict) };
        match block_on(store.decide_approval(id(number), decision)) {
            Ok(decided) => decided.resolver == resolver,
            Err(StoreError::Conflict { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    };
    let decided = (0..APPROVALS).filter(own);
    decided.map(|step| (step * STRIDE + operator * 125) % APPROVALS).collect()
}

fn each_is_decided_once(open: impl Fn() -> Arc<dyn Store> + Sync) {
    ask(&*open());
    let decided: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let open = &open;
        let operator = |number| scope.spawn(move || decide(&*open(), number));
        let operators: Vec<_> = (0..OPERATORS).map(operator).collect();
        operators.into_iter().map(|operator| operator.join().unwrap()).collect()
    });
    let mut by = BTreeMap::new();
    for (operator, numbers) in decided.iter().enumerate() {
        for number in numbers {
            assert_eq!(by.insert(id(*number).to_string(), operator), None, "decided twice");
        }
    }
    assert_eq!(by.len() as u64, APPROVALS);
    let page = PageRequest { limit: PageLimit::MAX, cursor: None };
    let kept = block_on(open().list_approvals(ApprovalFilter::default(), page)).unwrap().items;
    assert_eq!(kept.len() as u64, APPROVALS);
    for approval in kept {
        let operator = by[approval.id.as_str()];
        assert_eq!(approval.resolver, Some(operator.to_string()), "as it was answered");
        assert_eq!(approval.status, verdict(operator as u64).status());
    }
}

#[test]
fn eight_operators_decide_a_thousand_approvals_once_each() {
    let home = Home::new();
    home.create_agent("alice");
    let path = home.database();
    each_is_decided_once(|| Arc::new(ledger::open(&path).unwrap()));
}

#[test]
fn eight_operators_decide_a_thousand_approvals_once_each_on_postgres() {
    let Some(database) = Database::new("operators") else { return };
    let home = Home::new();
    home.json(&["agent", "create", "alice", "--kind", "t", "--database-url", &database.url]);
    each_is_decided_once(|| {
        let ids = Ids::new(Box::new(SystemIds));
        let capabilities = Capabilities { workspaces: true };
        let options = PostgresOptions::new(&database.url);
        let opened = SqlStore::connect_postgres(options, capabilities, Arc::new(SystemClock), ids);
        Arc::new(opened.unwrap().0)
    });
}
