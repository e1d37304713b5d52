//! Whether an executor may take a run: one rule for who asks, who places and who claims.

use std::fmt;

use super::{Demands, Executor, ExecutorStatus, ExecutorVerb, Offer, allows};
use crate::{ExecutorId, Run};

/// Somebody who would take a run.
#[derive(Debug, Clone, Copy)]
pub struct Taker<'a> {
    /// Who.
    pub id: &'a ExecutorId,
    /// What it offers now.
    pub offer: &'a Offer,
    /// What is kept of it, if it is known.
    pub executor: Option<&'a Executor>,
}

/// Why an executor may not take a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyNot {
    /// The operator lets it take nothing.
    Status(ExecutorStatus),
    /// Its rules do not let this user launch anything.
    NotAllowed(Option<String>),
    /// It does not have what the run demands.
    Demand {
        /// The demand.
        name: &'static str,
        /// What is demanded.
        wanted: String,
    },
    /// It takes only runs that demand one of its tags.
    NoTagInCommon,
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "the executor is {status}"),
            Self::NotAllowed(Some(user)) => {
                write!(f, "the executor's rules do not let {user} launch runs")
            }
            Self::NotAllowed(None) => {
                f.write_str("the executor's rules name who may launch, and nobody is known to ask")
            }
            Self::Demand { name, wanted } => {
                write!(f, "the run demands {name} {wanted}, which the executor does not have")
            }
            Self::NoTagInCommon => {
                f.write_str("the executor takes only runs that demand one of its tags")
            }
        }
    }
}

/// Whether an enrolled executor that offers this may take `run`.
pub fn may_take(executor: &Executor, offer: &Offer, run: &Run) -> Result<(), WhyNot> {
    let taker = Taker { id: &executor.id, offer, executor: Some(executor) };
    taker.may_take(&run.demands, run.requested_by.as_deref())
}

impl Taker<'_> {
    /// Whether it may take a run that demands this, and was asked for by that user.
    pub fn may_take(&self, demands: &Demands, user: Option<&str>) -> Result<(), WhyNot> {
        if let Some(executor) = self.executor {
            if executor.status != ExecutorStatus::Active {
                return Err(WhyNot::Status(executor.status));
            }
            if !allows(&executor.authorization, user, ExecutorVerb::Launch) {
                return Err(WhyNot::NotAllowed(user.map(str::to_owned)));
            }
        }
        self.meets_offered(demands)?;
        self.meets_tags(demands)?;
        self.meets_labels(demands)?;
        self.meets_machine(demands)
    }

    fn meets_offered(&self, demands: &Demands) -> Result<(), WhyNot> {
        let id = demands.executor_id.as_ref().map(ExecutorId::as_str);
        met("executorId", id, |id| id == self.id.as_str())?;
        let offer = self.offer;
        for (name, wanted, has) in [
            ("hostname", &demands.hostname, &offer.hostname),
            ("projectDir", &demands.project_dir, &offer.project_dir),
            ("executorProfile", &demands.executor_profile, &offer.executor_profile),
            ("executorType", &demands.executor_type, &offer.executor_type),
        ] {
            met(name, wanted.as_deref(), |wanted| has.as_deref() == Some(wanted))?;
        }
        Ok(())
    }

    fn meets_tags(&self, demands: &Demands) -> Result<(), WhyNot> {
        let given = self.executor.map_or(&[][..], |executor| &executor.tags);
        let has = |tag: &String| self.offer.tags.contains(tag) || given.contains(tag);
        for tag in &demands.tags {
            met("tag", Some(tag.as_str()), |_| has(tag))?;
        }
        match self.offer.require_matching_tags && !demands.tags.iter().any(has) {
            true => Err(WhyNot::NoTagInCommon),
            false => Ok(()),
        }
    }

    fn meets_labels(&self, demands: &Demands) -> Result<(), WhyNot> {
        for (key, value) in &demands.labels.0 {
            let has = self.executor.and_then(|executor| executor.labels.0.get(key));
            if has != Some(value) {
                return Err(WhyNot::Demand { name: "label", wanted: format!("{key}={value}") });
            }
        }
        Ok(())
    }

    fn meets_machine(&self, demands: &Demands) -> Result<(), WhyNot> {
        let machine = self.executor.and_then(|executor| executor.machine.as_ref());
        let is = |holds: &dyn Fn(&super::Machine) -> bool| machine.is_some_and(holds);
        met("agent", demands.agent.as_deref(), |agent| {
            is(&|machine| machine.agents.iter().any(|has| has == agent))
        })?;
        met("os", demands.os.as_deref(), |os| is(&|machine| machine.is_os(os)))?;
        met("architecture", demands.architecture.as_deref(), |name| {
            is(&|machine| machine.is_architecture(name))
        })?;
        met("cpuCores", demands.cpu_cores, |cores| is(&|machine| machine.cpu_cores >= cores))?;
        met("memoryBytes", demands.memory_bytes, |bytes| {
            is(&|machine| machine.memory_bytes >= bytes)
        })
    }
}

/// A demand that is not made is met.
fn met<T: Copy + fmt::Display>(
    name: &'static str,
    wanted: Option<T>,
    holds: impl FnOnce(T) -> bool,
) -> Result<(), WhyNot> {
    match wanted {
        Some(wanted) if !holds(wanted) => Err(WhyNot::Demand { name, wanted: wanted.to_string() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{ExecutorRule, Machine, NewExecutor};
    use crate::{Labels, RawJson, Timestamp};

    fn executor() -> Executor {
        let (id, offer) = ("e".parse().unwrap(), Offer::default());
        let new = NewExecutor { id, offer, details: RawJson::null() };
        let machine = Machine {
            os_name: "linux".to_owned(),
            architecture: "x86_64".to_owned(),
            agents: vec!["claude".to_owned()],
            cpu_cores: 8,
            memory_bytes: 100,
            ..Machine::default()
        };
        Executor {
            machine: Some(machine),
            tags: vec!["gpu".to_owned()],
            labels: Labels::from_pairs(&["region=eu".to_owned()]).unwrap(),
            ..new.register(Timestamp::from_unix_ms(0))
        }
    }

    fn said(executor: &Executor, demands: Demands) -> String {
        let offer = Offer::default();
        let taker = Taker { id: &executor.id, offer: &offer, executor: Some(executor) };
        taker.may_take(&demands, Some("ann")).map_or_else(|why| why.to_string(), |()| String::new())
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn what_the_operator_and_the_machine_say_meets_demands_too() {
        let label = |pair: &str| Labels::from_pairs(&[pair.to_owned()]).unwrap();
        let all = Demands {
            executor_id: Some("e".parse().unwrap()),
            tags: vec!["gpu".to_owned()],
            labels: label("region=eu"),
            agent: text("claude"),
            os: text("Linux"),
            architecture: text("amd64"),
            cpu_cores: Some(8),
            memory_bytes: Some(100),
            ..Demands::default()
        };
        assert_eq!(said(&executor(), all.clone()), "");
        assert!(!Offer::default().meets(&all), "a bare offer has no machine");
        let less = [
            (Demands { executor_id: Some("f".parse().unwrap()), ..all.clone() }, "executorId f"),
            (Demands { tags: vec!["arm".to_owned()], ..all.clone() }, "tag arm"),
            (Demands { labels: label("region=us"), ..all.clone() }, "label region=us"),
            (Demands { agent: text("codex"), ..all.clone() }, "agent codex"),
            (Demands { os: text("macos"), ..all.clone() }, "os macos"),
            (Demands { architecture: text("arm64"), ..all.clone() }, "architecture arm64"),
            (Demands { cpu_cores: Some(9), ..all.clone() }, "cpuCores 9"),
            (Demands { memory_bytes: Some(101), ..all }, "memoryBytes 101"),
        ];
        for (demands, wanted) in less {
            let expected = format!("the run demands {wanted}, which the executor does not have");
            assert_eq!(said(&executor(), demands), expected);
        }
    }

    #[test]
    fn status_and_rules_come_before_demands() {
        let draining = Executor { status: ExecutorStatus::Draining, ..executor() };
        assert_eq!(said(&draining, Demands::default()), "the executor is draining");
        let bob = ExecutorRule { user: "bob".to_owned(), verbs: vec![ExecutorVerb::Launch] };
        let ruled = Executor { authorization: vec![bob], ..executor() };
        let expected = "the executor's rules do not let ann launch runs";
        assert_eq!(said(&ruled, Demands::default()), expected);
    }
}
