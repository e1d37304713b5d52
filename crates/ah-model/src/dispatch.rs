//! Dispatches: programs that are started beside a run, on the executor that holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::{
    DISPATCH_BYTES_MAX, DISPATCH_TEXTS_MAX, LABEL_BYTES_MAX, RUN_TIMEOUT_MS_MAX,
    SHORT_TEXT_BYTES_MAX,
};
use crate::text::check_filled;
use crate::{ExecutorId, Invalid, RequestId, RunId};

/// A program to start beside a run. There is no shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewDispatch {
    /// Names it: the same again starts nothing. A fresh one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    /// The epoch of the claim that it is for; that of now when absent. Who asks again gives it, so
    /// that nothing is started on an executor that has the run since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The program and its arguments.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = DISPATCH_TEXTS_MAX)))]
    pub argv: Vec<String>,
    /// Variables it has besides those of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Its directory, below the run's; the run's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// How long it may run; as long as its run when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = RUN_TIMEOUT_MS_MAX)))]
    pub timeout_ms: Option<u64>,
    /// Who wants it; only an admin may speak for another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = LABEL_BYTES_MAX), pattern(r"\S"))
    )]
    pub requested_by: Option<String>,
}

impl NewDispatch {
    /// Of a program and its arguments.
    pub fn new(argv: Vec<String>) -> Self {
        Self {
            id: None,
            epoch: None,
            argv,
            env: BTreeMap::new(),
            directory: None,
            timeout_ms: None,
            requested_by: None,
        }
    }

    /// Refuses what no executor would start, or no access point could send.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("argv", self.argv.first().map_or("", String::as_str), SHORT_TEXT_BYTES_MAX)?;
        for (field, count) in [("argv", self.argv.len()), ("env", self.env.len())] {
            if count > DISPATCH_TEXTS_MAX {
                let reason = format!("{count} texts, at most {DISPATCH_TEXTS_MAX} are allowed");
                return Err(Invalid::new(field, reason));
            }
        }
        for name in self.env.keys() {
            check_filled("env", name, SHORT_TEXT_BYTES_MAX)?;
            if name.contains('=') {
                return Err(Invalid::new("env", format!("`=` in the name {name:?}")));
            }
        }
        let directory = self.directory.iter();
        let texts = self.argv.iter().chain(self.env.keys()).chain(self.env.values());
        if texts.chain(directory.clone()).any(|text| text.contains('\0')) {
            return Err(Invalid::new("argv", "holds a NUL byte, which no process takes"));
        }
        let bytes = serde_json::to_vec(&(&self.argv, &self.env)).map_or(0, |json| json.len());
        if bytes > DISPATCH_BYTES_MAX {
            let reason = format!("{bytes} bytes of JSON, at most {DISPATCH_BYTES_MAX} are allowed");
            return Err(Invalid::new("argv", reason));
        }
        if let Some(long) = directory.map(String::len).find(|bytes| *bytes > SHORT_TEXT_BYTES_MAX) {
            let reason = format!("{long} bytes, at most {SHORT_TEXT_BYTES_MAX} are allowed");
            return Err(Invalid::new("directory", reason));
        }
        if let Some(ms) = self.timeout_ms.filter(|ms| !(1..=RUN_TIMEOUT_MS_MAX).contains(ms)) {
            let reason = format!("{ms}, 1 to {RUN_TIMEOUT_MS_MAX} are allowed");
            return Err(Invalid::new("timeoutMs", reason));
        }
        self.requested_by
            .iter()
            .try_for_each(|user| check_filled("requestedBy", user, LABEL_BYTES_MAX))
    }
}

/// A program that was started beside a run. What it does is told by the session's events
/// `hostStarted`, `hostLog` and `hostExited` with its id as `dispatchId`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Dispatched {
    /// Names it.
    pub id: RequestId,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// Who holds the run.
    pub executor_id: ExecutorId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_executor_could_start_is_refused_by_name() {
        let new = || NewDispatch::new(vec!["true".to_owned()]);
        assert_eq!(new().check(), Ok(()));
        let env = |name: &str| BTreeMap::from([(name.to_owned(), String::new())]);
        let long = vec!["x".repeat(DISPATCH_BYTES_MAX)];
        for (field, bad) in [
            ("argv", NewDispatch::new(Vec::new())),
            ("argv", NewDispatch::new(vec![" ".to_owned()])),
            ("argv", NewDispatch::new(vec!["a".to_owned(), "\0".to_owned()])),
            ("argv", NewDispatch::new(vec!["a".to_owned(); DISPATCH_TEXTS_MAX + 1])),
            ("argv", NewDispatch { argv: [new().argv, long].concat(), ..new() }),
            ("env", NewDispatch { env: env("A=B"), ..new() }),
            ("env", NewDispatch { env: env(""), ..new() }),
            ("directory", NewDispatch { directory: Some("x".repeat(5_000)), ..new() }),
            ("timeoutMs", NewDispatch { timeout_ms: Some(0), ..new() }),
            ("requestedBy", NewDispatch { requested_by: Some(" ".to_owned()), ..new() }),
        ] {
            assert_eq!(bad.check().unwrap_err().field, field, "{bad:?}");
        }
    }
}
