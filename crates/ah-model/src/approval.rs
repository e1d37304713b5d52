//! Approvals: decisions that only the operator may take.
//!
//! Invariants: an approval is decided once; the same decision again changes nothing, another one is
//! refused. What an approval allows is carried out after it is decided, and noted.

use serde::{Deserialize, Serialize};

use crate::limits::{
    AGENT_JSON_BYTES_MAX, JSON_DEPTH_MAX, LABEL_BYTES_MAX, PROMPT_BYTES_MAX, SHORT_TEXT_BYTES_MAX,
};
use crate::text::{check_optional, check_text};
use crate::word::words;
use crate::{Agent, ApprovalId, Invalid, MessageKind, Notice, Party, RawJson, Timestamp};

/// Asks that a commit of an agent's configuration becomes the one in force.
pub const APPLY_COMMIT: &str = "apply_commit";
/// Asks for an agent: a new one, or a destroyed one with its kept state.
pub const SPAWN: &str = "spawn";
/// Why approvals of a destroyed agent failed.
pub const AGENT_DESTROYED: &str = "the agent was destroyed";

words!(
    /// Where an approval stands.
    ApprovalStatus, "approval status",
    {
        /// Waits for the operator.
        Pending = "pending",
        /// Allowed.
        Approved = "approved",
        /// Refused.
        Denied = "denied",
        /// Came to nothing.
        Failed = "failed",
        /// Taken back by who asked.
        Withdrawn = "withdrawn",
    }
);

/// An approval to ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewApproval {
    /// Its id; minted when absent.
    #[serde(default)]
    pub id: Option<ApprovalId>,
    /// The agent it is about, by name.
    #[cfg_attr(feature = "schema", schemars(with = "Party"))]
    pub agent: String,
    /// What is asked for: `apply_commit`, `spawn`, or any other word.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = 64), pattern("^[a-z][a-z0-9_-]*$"))
    )]
    pub kind: String,
    /// The commit as it was asked for: a branch, a tag, a hash.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub commit_ref: Option<String>,
    /// The exact commit that was copied and pinned; an `apply_commit` needs it.
    #[serde(default)]
    pub commit: Option<String>,
    /// Why, for the operator.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = PROMPT_BYTES_MAX)))]
    pub reason: Option<String>,
    /// What else there is to know; an object.
    #[serde(default = "RawJson::empty_object")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub details: RawJson,
}

impl NewApproval {
    /// A request with nothing else said.
    pub fn new(agent: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            id: None,
            agent: agent.into(),
            kind: kind.into(),
            commit_ref: None,
            commit: None,
            reason: None,
            details: RawJson::empty_object(),
        }
    }

    /// Refuses what cannot be stored, and an `apply_commit` of no exact commit.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_but_commit()?;
        match (&self.commit, self.kind == APPLY_COMMIT) {
            (None, true) => Err(Invalid::new("commit", "apply_commit needs an exact commit")),
            (Some(_), false) => Err(Invalid::new("commit", "only apply_commit has one")),
            _ => Ok(()),
        }
    }

    /// As [`Self::check`], before the commit is pinned.
    pub fn check_but_commit(&self) -> Result<(), Invalid> {
        Agent::check_name(&self.agent)?;
        check_kind(&self.kind)?;
        check_optional("commitRef", self.commit_ref.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        if self.commit_ref.is_some() && self.kind != APPLY_COMMIT {
            return Err(Invalid::new("commitRef", "only apply_commit has one"));
        }
        check_optional("reason", self.reason.as_deref(), PROMPT_BYTES_MAX)?;
        self.commit.as_deref().map_or(Ok(()), check_commit)?;
        let text = self.details.as_str();
        if !text.starts_with('{') || self.details.depth() > JSON_DEPTH_MAX {
            return Err(Invalid::new("details", "must be a JSON object, not nested too deep"));
        }
        check_text("details", text, AGENT_JSON_BYTES_MAX)
    }
}

fn check_kind(kind: &str) -> Result<(), Invalid> {
    let begins = kind.starts_with(|c: char| c.is_ascii_lowercase());
    let fits = kind.len() <= 64;
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if begins && fits && kind.chars().all(word) {
        return Ok(());
    }
    let reason = format!("{kind:?} is not 1 to 64 of a-z, 0-9, `_`, `-`, beginning with a letter");
    Err(Invalid::new("kind", reason))
}

fn check_commit(commit: &str) -> Result<(), Invalid> {
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if matches!(commit.len(), 40 | 64) && commit.chars().all(hex) {
        return Ok(());
    }
    Err(Invalid::new("commit", format!("{commit:?} is not a whole hash in lower case")))
}

/// An approval the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// Its place in the order of asking.
    pub number: u64,
    /// The agent it is about, by name.
    pub agent: String,
    /// What is asked for.
    pub kind: String,
    /// The commit as it was asked for.
    pub commit_ref: Option<String>,
    /// The exact commit that was copied and pinned.
    pub commit: Option<String>,
    /// Why, for the operator.
    pub reason: Option<String>,
    /// What else there is to know.
    pub details: RawJson,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// When it was decided.
    pub resolved_at: Option<Timestamp>,
    /// Who decided.
    pub resolved_by: Option<Party>,
    /// Which of the people, machines or tokens that was.
    pub resolver: Option<String>,
    /// Why it was decided so.
    pub note: Option<String>,
    /// When what it allows was done.
    pub carried_out_at: Option<Timestamp>,
    /// Why that has not worked yet.
    pub problem: Option<String>,
}

/// What would come into force, or came, with the commit of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDiff {
    /// The approval.
    pub approval_id: ApprovalId,
    /// The exact commit.
    pub commit: String,
    /// What it is compared with: what is in force while it is pending, later the commit before it;
    /// absent when there is none.
    pub base: Option<String>,
    /// The difference as git tells it; what is no UTF-8 is replaced.
    pub text: String,
    /// Whether the end of it is left out.
    pub is_cut: bool,
}

words!(
    /// How an approval is decided.
    Verdict, "verdict",
    {
        /// Allow it.
        Approved = "approved",
        /// Refuse it.
        Denied = "denied",
        /// It cannot be done.
        Failed = "failed",
        /// It is no longer wanted.
        Withdrawn = "withdrawn",
    }
);

impl Verdict {
    /// Where it leaves the approval.
    pub fn status(self) -> ApprovalStatus {
        match self {
            Self::Approved => ApprovalStatus::Approved,
            Self::Denied => ApprovalStatus::Denied,
            Self::Failed => ApprovalStatus::Failed,
            Self::Withdrawn => ApprovalStatus::Withdrawn,
        }
    }
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Decision {
    /// What is decided.
    pub verdict: Verdict,
    /// By whom. Agents only withdraw, and only what is about them.
    pub by: Party,
    /// Which of the people, machines or tokens that is.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = LABEL_BYTES_MAX)))]
    pub resolver: Option<String>,
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub note: Option<String>,
}

impl Decision {
    /// The operator's, with nothing else said.
    pub fn operator(verdict: Verdict) -> Self {
        Self { verdict, by: Party::Operator, resolver: None, note: None }
    }

    /// Refuses what cannot be stored, and a decision that is not the agent's to take.
    pub fn check(&self) -> Result<(), Invalid> {
        check_optional("note", self.note.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        check_optional("resolver", self.resolver.as_deref(), LABEL_BYTES_MAX)?;
        match (&self.by, self.verdict) {
            (Party::Operator, _) | (Party::Agent(_), Verdict::Withdrawn) => Ok(()),
            (Party::Agent(name), _) => {
                Err(Invalid::new("by", format!("agent {name} may only withdraw")))
            }
        }
    }
}

impl Approval {
    /// What `new` asks for.
    pub fn requested(new: &NewApproval, id: ApprovalId, number: u64, now: Timestamp) -> Self {
        Self {
            id,
            number,
            agent: new.agent.clone(),
            kind: new.kind.clone(),
            commit_ref: new.commit_ref.clone(),
            commit: new.commit.clone(),
            reason: new.reason.clone(),
            details: new.details.clone(),
            status: ApprovalStatus::Pending,
            requested_at: now,
            resolved_at: None,
            resolved_by: None,
            resolver: None,
            note: None,
            carried_out_at: None,
            problem: None,
        }
    }

    /// Decides at `now`, or says why not. The same decision again changes nothing: then the answer
    /// is false.
    pub fn decide(&mut self, decision: &Decision, now: Timestamp) -> Result<bool, String> {
        if let Party::Agent(name) = &decision.by
            && !self.agent.eq_ignore_ascii_case(name)
        {
            return Err(format!("is about {}, not about {name}", self.agent));
        }
        let status = decision.verdict.status();
        if self.status == status {
            return Ok(false);
        }
        if self.status != ApprovalStatus::Pending {
            return Err(self.decided());
        }
        self.status = status;
        self.resolved_at = Some(now);
        self.resolved_by = Some(decision.by.clone());
        self.resolver.clone_from(&decision.resolver);
        self.note.clone_from(&decision.note);
        Ok(true)
    }

    /// That it was decided, and by whom.
    fn decided(&self) -> String {
        let by = self.resolved_by.as_ref().map_or("nobody", Party::as_str);
        let resolver = self.resolver.as_ref().map_or(String::new(), |who| format!(" ({who})"));
        format!("is already {} by {by}{resolver}", self.status)
    }

    /// Whether the host still has to do what it allows.
    pub fn is_to_be_carried_out(&self) -> bool {
        self.status == ApprovalStatus::Approved
            && self.carried_out_at.is_none()
            && matches!(self.kind.as_str(), APPLY_COMMIT | SPAWN)
    }

    /// Notes at `now` that what it allows was done, or why not yet.
    pub fn carried_out(&mut self, problem: Option<String>, now: Timestamp) -> Result<(), String> {
        if self.status != ApprovalStatus::Approved {
            return Err(format!("is {}, so there is nothing to carry out", self.status));
        }
        if self.carried_out_at.is_none() {
            self.carried_out_at = problem.is_none().then_some(now);
            self.problem = problem;
        }
        Ok(())
    }

    /// Refuses a reason of [`Self::carried_out`] that cannot be stored.
    pub fn check_problem(problem: Option<&str>) -> Result<(), Invalid> {
        check_optional("problem", problem, SHORT_TEXT_BYTES_MAX)
    }

    /// What the agent is told of a decision it did not take itself.
    pub fn decision_notice(&self) -> Option<Notice> {
        let by = self.resolved_by.clone().filter(|by| *by == Party::Operator)?;
        let note = self.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
        Some(Notice {
            kind: MessageKind::Decision,
            from: by,
            to: Party::Agent(self.agent.clone()),
            body: format!("{} ({}) {}{note}", self.kind, self.id, self.status),
            about: Some(self.id.to_string()),
        })
    }
}

/// Which approvals of a list; every part that is given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// In one of these; in any when empty.
    pub statuses: Vec<ApprovalStatus>,
    /// About this agent, by name.
    pub agent: Option<String>,
    /// Of this kind.
    pub kind: Option<String>,
    /// Only what [`Approval::is_to_be_carried_out`].
    pub to_carry_out: bool,
}

impl ApprovalFilter {
    /// Whether `approval` passes. Stores filter in their own way; this is what they must agree with.
    pub fn matches(&self, approval: &Approval) -> bool {
        (self.statuses.is_empty() || self.statuses.contains(&approval.status))
            && self.agent.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(&approval.agent))
            && self.kind.as_ref().is_none_or(|kind| *kind == approval.kind)
            && (!self.to_carry_out || approval.is_to_be_carried_out())
    }
}
