//! Whether an executor may connect and take runs, as the operator says.

use crate::word::words;

words!(
    /// What the operator lets an executor do.
    ExecutorStatus, "executor status", {
        /// It connects and takes runs.
        Active = "active",
        /// It ends what it has and takes nothing new.
        Draining = "draining",
        /// It may not connect until it is enabled.
        Disabled = "disabled",
        /// It may never connect again.
        Revoked = "revoked",
    }
);

impl ExecutorStatus {
    /// Whether it may connect.
    pub fn may_connect(self) -> bool {
        matches!(self, Self::Active | Self::Draining)
    }

    /// Goes to `to`, or says why not; `false` if it is there already.
    pub fn change(self, to: Self) -> Result<bool, String> {
        match (self, to) {
            (from, to) if from == to => Ok(false),
            (Self::Revoked, to) => Err(format!("is revoked for ever and cannot be {to}")),
            (Self::Disabled, Self::Draining) => {
                Err("is disabled and has nothing to drain; enable it first".to_owned())
            }
            _ => Ok(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ExecutorStatus::{Active, Disabled, Draining, Revoked};
    use super::*;

    #[test]
    fn what_is_revoked_stays_so_and_a_disabled_one_is_enabled_before_it_drains() {
        for from in ExecutorStatus::ALL.iter().copied() {
            for to in ExecutorStatus::ALL.iter().copied() {
                let expected = match (from, to) {
                    (from, to) if from == to => Some(false),
                    (Revoked, _) | (Disabled, Draining) => None,
                    (Active | Draining | Disabled, _) => Some(true),
                };
                assert_eq!(from.change(to).ok(), expected, "{from} to {to}");
            }
        }
        assert!(Active.may_connect() && Draining.may_connect());
    }
}
