//! The log: one line for each request and for what the server does by itself, to whoever runs it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ah_model::{Approval, Receipt, TokenId};

use crate::limits::LOG_PATH_BYTES_MAX;

/// Takes the lines. It is called on the way of every answer, so it must not wait.
pub type LogSink = Arc<dyn Fn(&LogLine<'_>) + Send + Sync>;

/// What is said of a request. Secrets travel in headers and queries, and neither is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// The request's id, as its answer has it.
    pub request_id: &'a str,
    /// Its method.
    pub method: &'a str,
    /// Its path, without the query.
    pub path: &'a str,
    /// The status of its answer.
    pub status: u16,
    /// How long its answer took to begin.
    pub took: Duration,
    /// Whose token it came with, if it was a good one.
    pub token: Option<&'a TokenId>,
    /// Why it was refused: the code of the problem.
    pub code: Option<&'a str>,
}

impl fmt::Display for LogLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request_id, method, path, status, took, token, code } = self;
        let ms = took.as_secs_f64() * 1_000.0;
        let (path, cut) = match path.len() > LOG_PATH_BYTES_MAX {
            true => (&path[..path.floor_char_boundary(LOG_PATH_BYTES_MAX)], "…"),
            false => (*path, ""),
        };
        write!(f, "{method} {path}{cut} {status} {ms:.1}ms request={request_id}")?;
        if let Some(token) = token {
            write!(f, " token={token}")?;
        }
        code.map_or(Ok(()), |code| write!(f, " code={code}"))
    }
}

/// Takes the lines about what the server does by itself. It must not wait either.
pub type JobSink = Arc<dyn Fn(&JobLine<'_>) + Send + Sync>;

/// What the server did by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobLine<'a> {
    /// What an approval allows was done, or was tried.
    CarriedOut(&'a Approval),
    /// What was too old is gone.
    Removed {
        /// What that was.
        receipt: &'a Receipt,
        /// How much space was given back to the file system.
        bytes: u64,
    },
    /// Something was left as it is.
    Skipped {
        /// In which job.
        job: &'a str,
        /// What, and why.
        reason: &'a str,
    },
    /// It could not be done now.
    Failed {
        /// Which job.
        job: &'a str,
        /// Why.
        reason: &'a str,
    },
}

impl fmt::Display for JobLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CarriedOut(approval) => {
                let Approval { id, kind, agent, problem, .. } = approval;
                write!(f, "carry-out {kind} of {agent} approval={id}")?;
                problem.as_ref().map_or(Ok(()), |problem| write!(f, " problem={problem:?}"))
            }
            Self::Removed { receipt, bytes } => {
                write!(f, "retention")?;
                for (class, amount) in &receipt.removed.0 {
                    write!(f, " {class}={}", amount.rows)?;
                }
                write!(f, " reclaimed={bytes} receipt={}", receipt.id)
            }
            Self::Skipped { job, reason } => write!(f, "{job} skipped: {reason}"),
            Self::Failed { job, reason } => write!(f, "{job} failed: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ah_model::{Amount, NewApproval, ReceiptKind, Tally, Timestamp};

    use super::*;

    #[test]
    fn a_line_says_what_the_server_did_by_itself() {
        let mut removed = Tally::default();
        removed.add("messages", Amount { rows: 3, bytes: 30 });
        removed.add("changes", Amount { rows: 2, bytes: 0 });
        let receipt = Receipt {
            id: "r1".parse().unwrap(),
            kind: ReceiptKind::Retention,
            subject: None,
            started_at: Timestamp::EPOCH,
            finished_at: Some(Timestamp::EPOCH),
            removed,
        };
        let line = JobLine::Removed { receipt: &receipt, bytes: 4096 };
        assert_eq!(line.to_string(), "retention changes=2 messages=3 reclaimed=4096 receipt=r1");
        let (new, id) = (NewApproval::new("mira", "spawn"), "a1".parse().unwrap());
        let mut approval = Approval::requested(&new, id, 1, Timestamp::EPOCH);
        let line = JobLine::CarriedOut(&approval).to_string();
        assert_eq!(line, "carry-out spawn of mira approval=a1");
        approval.problem = Some("no room".to_owned());
        let line = JobLine::CarriedOut(&approval).to_string();
        assert_eq!(line, "carry-out spawn of mira approval=a1 problem=\"no room\"");
        let line = JobLine::Failed { job: "retention", reason: "the store is busy" };
        assert_eq!(line.to_string(), "retention failed: the store is busy");
    }

    #[test]
    fn a_line_says_what_was_asked_by_whom_and_how_it_went() {
        let token: TokenId = "t1".parse().unwrap();
        let line = LogLine {
            request_id: "r-1",
            method: "GET",
            path: "/api/v1/sessions",
            status: 403,
            took: Duration::from_micros(1_250),
            token: Some(&token),
            code: Some("forbidden"),
        };
        let text = "GET /api/v1/sessions 403 1.2ms request=r-1 token=t1 code=forbidden";
        assert_eq!(line.to_string(), text);
        let long = format!("/{}", "é".repeat(LOG_PATH_BYTES_MAX));
        let line = LogLine { path: &long, token: None, code: None, ..line };
        assert!(line.to_string().len() < LOG_PATH_BYTES_MAX + 100);
        assert!(line.to_string().ends_with("… 403 1.2ms request=r-1"));
    }
}
