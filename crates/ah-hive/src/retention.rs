//! Retention of everything: the store's classes and the live events of all homes.

use ah_model::{Receipt, RetentionRules, Tally};
use ah_store::block_on;
use serde::Serialize;

use crate::live::{Action, Sweep, Told};
use crate::{Host, HostError};

/// The class of live events.
const LIVE_EVENTS: &str = "liveEvents";

/// How long live events are kept: first by age, then the newest of each agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveRules {
    /// Older ones go; none by age when absent.
    pub max_age_ms: Option<u64>,
    /// Of the rest so many stay; all when absent.
    pub newest: Option<u64>,
}

impl Default for LiveRules {
    /// Seven days, then the newest 2,000.
    fn default() -> Self {
        Self { max_age_ms: Some(7 * 24 * 60 * 60 * 1_000), newest: Some(2_000) }
    }
}

/// How long anything is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostRules {
    /// In the store.
    pub store: RetentionRules,
    /// In the homes.
    pub live: LiveRules,
}

/// What retention would do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostPlan {
    /// Rows and bytes by class; `liveEvents` are those of the homes.
    pub remove: Tally,
    /// Homes that would be skipped, and why.
    pub warnings: Vec<String>,
}

/// What retention did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRetained {
    /// What is gone.
    pub receipt: Receipt,
    /// Bytes given back to the file system.
    pub bytes_reclaimed: u64,
    /// Homes that were skipped, and why.
    pub warnings: Vec<String>,
}

impl Host {
    /// What retention would remove now.
    pub fn plan_retention(&self, rules: &HostRules) -> Result<HostPlan, HostError> {
        let mut remove = block_on(self.store.plan_retention(rules.store.clone()))?;
        let sweep = self.sweep_live(rules.live, Action::Plan, &mut |_| true);
        remove.add(LIVE_EVENTS, sweep.removed);
        Ok(HostPlan { remove, warnings: sweep.warnings })
    }

    /// Removes what the rules say, in bounded steps, and gives space back; tells after every step
    /// what is gone.
    pub fn run_retention(
        &self,
        rules: &HostRules,
        told: &mut dyn FnMut(&Receipt),
    ) -> Result<HostRetained, HostError> {
        self.run_retention_while(rules, &mut |receipt| {
            told(receipt);
            true
        })
    }

    /// As [`Self::run_retention`], as long as `goes_on` says so. What is left is for the next time,
    /// and so is the receipt.
    pub fn run_retention_while(
        &self,
        rules: &HostRules,
        goes_on: &mut dyn FnMut(&Receipt) -> bool,
    ) -> Result<HostRetained, HostError> {
        let purged = self.homes.as_ref().map_or(Ok(Vec::new()), |homes| self.finish_purges(homes));
        let mut warnings = purged.unwrap_or_else(|error| vec![crate::error::with_causes(&error)]);
        // The first step gives a receipt: nothing goes that is in none.
        let mut step = block_on(self.store.retention_step(rules.store.clone()))?;
        let sweep = self.sweep_into(&mut step.receipt, rules.live)?;
        warnings.extend(sweep.warnings);
        while goes_on(&step.receipt) && step.more {
            step = block_on(self.store.retention_step(rules.store.clone()))?;
        }
        let receipt = step.receipt;
        let reclaimed = self.reclaim(&mut || goes_on(&receipt))?;
        let bytes_reclaimed = sweep.bytes_reclaimed + reclaimed;
        Ok(HostRetained { receipt, bytes_reclaimed, warnings })
    }

    /// Removes live events; what went of a home is in the receipt before the next one is swept.
    fn sweep_into(&self, receipt: &mut Receipt, rules: LiveRules) -> Result<Sweep, HostError> {
        let mut failed = None;
        let sweep = self.sweep_live(rules, Action::Remove, &mut |removed| {
            let mut live = Tally::default();
            live.add(LIVE_EVENTS, removed);
            match block_on(self.store.add_to_receipt(receipt.id.clone(), live)) {
                Ok(told) => *receipt = told,
                Err(error) => failed = Some(error),
            }
            failed.is_none()
        });
        failed.map_or(Ok(sweep), |error| Err(error.into()))
    }

    fn reclaim(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<u64, HostError> {
        let mut bytes = 0;
        while goes_on() {
            let given = block_on(self.store.reclaim_space())?;
            bytes += given.bytes;
            if !given.more {
                break;
            }
        }
        Ok(bytes)
    }

    /// The homes' part. What is wrong with all of them is a warning, so that the store's part goes
    /// on.
    fn sweep_live(&self, rules: LiveRules, action: Action, told: Told<'_>) -> Sweep {
        let Some(homes) = &self.homes else {
            return Sweep::default();
        };
        homes.sweep_live(rules, self.clock.now(), action, told).unwrap_or_else(|error| {
            let warning = format!("live events skipped: {}", crate::error::with_causes(&error));
            Sweep { warnings: vec![warning], ..Sweep::default() }
        })
    }
}
