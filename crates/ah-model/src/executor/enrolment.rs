//! An executor that proved who it is.

use serde::{Deserialize, Serialize};

use super::{Executor, ExecutorEvent, ExecutorRecord, ExecutorStatus, Machine, NewExecutor, Offer};
use crate::limits::{EXECUTOR_JSON_BYTES_MAX, LABEL_BYTES_MAX};
use crate::text::check_filled;
use crate::{ExecutorId, Invalid, Labels, RawJson, Timestamp};

/// An executor to enrol; the same id again replaces what it said of itself, and nothing of what the
/// operator said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Enrolment {
    /// Its id, as its certificate says.
    pub id: ExecutorId,
    /// Where its identity comes from: files, exec, vault or spiffe.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = LABEL_BYTES_MAX), pattern(r"\S")))]
    pub identity_provider: String,
    /// What is known of its identity: the certificate's serial number, end and names.
    #[serde(default = "RawJson::null")]
    pub identity: RawJson,
    /// What it offers.
    #[serde(default)]
    pub offer: Offer,
    /// What else it says of itself.
    #[serde(default = "RawJson::null")]
    pub details: RawJson,
    /// Its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// How many runs it works on at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
}

impl Enrolment {
    /// Refuses parts that break their own rule.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("identityProvider", &self.identity_provider, LABEL_BYTES_MAX)?;
        let bytes = self.identity.as_str().len();
        if bytes > EXECUTOR_JSON_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {EXECUTOR_JSON_BYTES_MAX} are allowed");
            return Err(Invalid::new("identity", reason));
        }
        self.machine.as_ref().map_or(Ok(()), Machine::check)?;
        let (id, offer) = (self.id.clone(), self.offer.clone());
        NewExecutor { id, offer, details: self.details.clone() }.check()
    }

    /// The executor that it makes of the one that is `known`, and what is to be recorded of it. One
    /// that may not connect is refused.
    pub fn enrol(
        self,
        known: Option<&Executor>,
        now: Timestamp,
    ) -> Result<(Executor, Option<ExecutorRecord>), String> {
        let Some(known) = known else {
            let executor = self.first(now);
            let provider = EnrolledBy { identity_provider: &executor.identity_provider };
            let data = RawJson::of(&provider).map_err(|invalid| invalid.to_string())?;
            return Ok((executor, Some((ExecutorEvent::ENROLLED, data))));
        };
        known.check_connect()?;
        let changed = self.changed(known);
        let executor = Executor {
            offer: self.offer,
            details: self.details,
            identity_provider: self.identity_provider,
            identity: self.identity,
            machine: self.machine,
            capacity: self.capacity,
            ..known.registered_again(now)
        };
        if changed.is_empty() {
            return Ok((executor, None));
        }
        let data = RawJson::of(&Changed { changed }).map_err(|invalid| invalid.to_string())?;
        Ok((executor, Some((ExecutorEvent::RE_ENROLLED, data))))
    }

    fn first(self, now: Timestamp) -> Executor {
        let new = NewExecutor { id: self.id, offer: self.offer, details: self.details };
        Executor {
            identity_provider: self.identity_provider,
            identity: self.identity,
            machine: self.machine,
            capacity: self.capacity,
            ..new.register(now)
        }
    }

    /// The names of the parts that are not what they were.
    fn changed(&self, known: &Executor) -> Vec<&'static str> {
        let parts = [
            ("identityProvider", self.identity_provider != known.identity_provider),
            ("identity", self.identity != known.identity),
            ("offer", self.offer != known.offer),
            ("details", self.details != known.details),
            ("machine", self.machine != known.machine),
            ("capacity", self.capacity != known.capacity),
        ];
        parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EnrolledBy<'a> {
    identity_provider: &'a str,
}

#[derive(Serialize)]
struct Changed {
    changed: Vec<&'static str>,
}

/// Where the identity of an executor comes from that only registered, with a token.
pub const TOKEN_PROVIDER: &str = "token";

impl NewExecutor {
    /// The executor that it makes, if none of that id is known.
    pub fn register(self, now: Timestamp) -> Executor {
        Executor {
            id: self.id,
            offer: self.offer,
            details: self.details,
            identity_provider: TOKEN_PROVIDER.to_owned(),
            identity: RawJson::null(),
            friendly_name: None,
            owner: None,
            machine: None,
            labels: Labels::default(),
            tags: Vec::new(),
            authorization: Vec::new(),
            status: ExecutorStatus::Active,
            capacity: None,
            generation: 1,
            created_at: now,
            registered_at: now,
            seen_at: now,
            removal_requested_at: None,
        }
    }

    /// The executor that it makes of the one that is `known`. One that may not connect is refused.
    pub fn register_again(self, known: &Executor, now: Timestamp) -> Result<Executor, String> {
        known.check_connect()?;
        let (offer, details) = (self.offer, self.details);
        Ok(Executor { offer, details, ..known.registered_again(now) })
    }
}

impl Executor {
    /// Refuses one that the operator keeps out.
    pub fn check_connect(&self) -> Result<(), String> {
        match self.status.may_connect() {
            true => Ok(()),
            false => Err(format!("is {}", self.status)),
        }
    }

    /// Refuses to forget one that is revoked: it could enrol again.
    pub fn check_remove(&self) -> Result<(), String> {
        match self.status {
            ExecutorStatus::Revoked => Err("is revoked and stays on record".to_owned()),
            _ => Ok(()),
        }
    }

    fn registered_again(&self, now: Timestamp) -> Self {
        Self {
            generation: self.generation + 1,
            registered_at: now,
            seen_at: now,
            removal_requested_at: None,
            ..self.clone()
        }
    }
}
