//! Tasks: what a person asked for. One row per session; `batch_id` joins those of one request.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{PROMPT_BYTES_MAX, SHORT_TEXT_BYTES_MAX, TASK_INSTANCES_MAX};
use crate::text::{check_filled, check_optional};
use crate::{
    AgentKindRef, BatchId, Demands, Execution, Invalid, Labels, NewRepo, NewRun, NewSession,
    RawJson, RunId, RunKind, RunParameters, RuntimeSpec, SessionDetails, SessionId, SessionStatus,
    Timestamp,
};

const TITLE_CHARS_MAX: usize = 80;

/// How the result should come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// As a pull request.
    Pr,
    /// As a branch.
    Branch,
    /// As a patch.
    Patch,
}

impl Delivery {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pr => "pr",
            Self::Branch => "branch",
            Self::Patch => "patch",
        }
    }
}

impl FromStr for Delivery {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "pr" => Ok(Self::Pr),
            "branch" => Ok(Self::Branch),
            "patch" => Ok(Self::Patch),
            _ => Err(Invalid::new("delivery", format!("{text:?} is none of pr, branch, patch"))),
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request to be recorded: a task, a `created` session and a pending run per agent and instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTask {
    /// What is asked for.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = PROMPT_BYTES_MAX), pattern(r"\S"))
    )]
    pub prompt: String,
    /// The agent kinds that shall do it.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = TASK_INSTANCES_MAX)))]
    pub agents: Vec<AgentKindRef>,
    /// How many sessions of each kind.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = TASK_INSTANCES_MAX)))]
    pub instances: u32,
    /// Where the work is.
    pub repo: NewRepo,
    /// Where the agents execute.
    #[serde(default)]
    pub runtime: RuntimeSpec,
    /// The workspace's name, on stores that have workspaces.
    #[serde(default)]
    pub workspace: Option<String>,
    /// The branch to work on.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub branch: Option<String>,
    /// How the result should come back.
    #[serde(default)]
    pub delivery: Option<Delivery>,
    /// Labels to find it by.
    #[serde(default)]
    pub labels: Labels,
    /// The directory the agents start in.
    #[serde(default)]
    pub project_dir: Option<String>,
    /// How its runs are carried out, where that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
}

/// One session for each agent, when nobody says.
fn one() -> u32 {
    1
}

impl NewTask {
    /// Refuses an empty prompt, no or too many sessions, and any part that breaks its own rule.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("prompt", &self.prompt, PROMPT_BYTES_MAX)?;
        let sessions = u64::from(self.instances) * self.agents.len() as u64;
        if sessions == 0 || sessions > u64::from(TASK_INSTANCES_MAX) {
            let reason = format!(
                "{} agents × {} instances are {sessions} sessions, 1 to {TASK_INSTANCES_MAX} are allowed",
                self.agents.len(),
                self.instances
            );
            return Err(Invalid::new("instances", reason));
        }
        check_optional("branch", self.branch.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        self.execution.as_ref().map_or(Ok(()), |execution| execution.demands.check())?;
        self.sessions().first().map_or(Ok(()), NewSession::check)?;
        self.agents.iter().try_for_each(AgentKindRef::check)
    }

    /// The sessions to create: `instances` of each agent, in the order given.
    pub fn sessions(&self) -> Vec<NewSession> {
        let instances = self.instances as usize;
        let kinds = self.agents.iter().flat_map(|kind| std::iter::repeat_n(kind, instances));
        kinds.map(|kind| self.session(kind)).collect()
    }

    /// The run that starts one of its sessions, which is of that kind.
    pub fn start(&self, session: SessionId, kind: &AgentKindRef) -> Result<NewRun, Invalid> {
        let mut told = RunParameters { prompt: self.prompt.clone(), ..RunParameters::default() };
        let mut demands = Demands::default();
        if let Some(Execution { demands: wanted, by_kind, working_copy, multiplexer }) =
            &self.execution
        {
            demands.clone_from(wanted);
            if *by_kind {
                demands.agent = Some(kind.name.clone());
            }
            told.agent = Some(kind.name.clone());
            (told.working_copy, told.multiplexer) = (*working_copy, *multiplexer);
            told.branch.clone_from(&self.branch);
        }
        let run = NewRun::new(session, RunKind::Start, RawJson::of(&told)?);
        Ok(NewRun { demands, ..run })
    }

    fn session(&self, kind: &AgentKindRef) -> NewSession {
        NewSession {
            runtime: self.runtime.clone(),
            workspace: self.workspace.clone(),
            title: Some(self.title()),
            labels: self.labels.clone(),
            details: SessionDetails {
                project_dir: self.project_dir.clone(),
                ..SessionDetails::default()
            },
            ..NewSession::new(self.repo.clone(), kind.clone())
        }
    }

    /// The first line of the prompt, cut to a length that fits a list.
    fn title(&self) -> String {
        let line = self.prompt.trim().lines().next().unwrap_or_default();
        if line.chars().count() <= TITLE_CHARS_MAX {
            return line.to_owned();
        }
        line.chars().take(TITLE_CHARS_MAX - 1).chain(['…']).collect()
    }
}

/// A task the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The store's number for it; absent in exports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// The session that does it.
    pub session_id: SessionId,
    /// Joins the tasks of one request.
    pub batch_id: BatchId,
    /// What is asked for.
    pub prompt: String,
    /// The branch to work on.
    pub branch: Option<String>,
    /// How the result should come back.
    pub delivery: Option<Delivery>,
    /// How many sessions the request started of each kind.
    pub instances: u32,
    /// Labels to find it by.
    pub labels: Labels,
    /// When it was asked.
    pub created_at: Timestamp,
    /// The kind that does it.
    pub agent: AgentKindRef,
    /// Where its session stands.
    pub status: SessionStatus,
}

impl Task {
    /// Refuses what [`NewTask::check`] would have refused of one task.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check_filled("prompt", &self.prompt, PROMPT_BYTES_MAX)?;
        check_optional("branch", self.branch.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        self.labels.check()
    }
}

/// What one request recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskBatch {
    /// The request: what joins its tasks.
    pub id: BatchId,
    /// One task per session.
    pub tasks: Vec<Task>,
    /// The sessions, in the order of the tasks.
    pub session_ids: Vec<SessionId>,
    /// The pending runs, in the order of the tasks.
    pub run_ids: Vec<RunId>,
}

/// Which tasks of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Of this request.
    pub batch_id: Option<BatchId>,
    /// Of this session.
    pub session_id: Option<SessionId>,
}
