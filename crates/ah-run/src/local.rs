//! This machine as the executor of its own runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_model::{
    ExecutorId, Offer, Redaction, Run, RunClaim, RunId, RunParameters, Session, SessionId,
};
use ah_store::{Clock, Store, block_on};

use crate::kind::{AgentProgram, AgentPrograms};
use crate::place::{self, Place};
use crate::{Folders, RunError};

/// How long a lease lasts without a sign of life.
pub(crate) const LEASE_MS: u64 = 30_000;

/// What this machine has.
#[derive(Clone)]
pub struct LocalOptions {
    /// Where decisions are.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock + Send + Sync>,
    /// Where the program keeps its state.
    pub state: PathBuf,
    /// Who this machine is among executors.
    pub executor: ExecutorId,
    /// What the machine is called.
    pub hostname: Option<String>,
    /// What is run for agent kinds.
    pub programs: AgentPrograms,
    /// Where programs are looked for.
    pub search: Vec<PathBuf>,
    /// The command that is our own program as a runner.
    pub own: Vec<String>,
    /// Variables for programs besides those that this process has.
    pub environment: Vec<(String, String)>,
    /// Whether secrets are taken out of what programs write, before it is kept.
    pub redaction: Redaction,
    /// Where a session works now, if its directory is not there any more: repositories move.
    pub moved_to: fn(&dyn Store, &Session) -> Option<PathBuf>,
}

/// This machine as the executor of its own runs.
#[derive(Clone)]
pub struct Local {
    pub(crate) options: LocalOptions,
    pub(crate) folders: Folders,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("executor", &self.options.executor).finish_non_exhaustive()
    }
}

/// What is to be started.
pub(crate) struct Plan {
    pub(crate) kind: String,
    pub(crate) program: AgentProgram,
    pub(crate) place: Place,
    /// The tool's own id of the session, if it is known.
    pub(crate) external: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) input: Option<String>,
}

impl Local {
    /// A machine with these things.
    pub fn new(options: LocalOptions) -> Self {
        let folders = Folders::below(&options.state);
        Self { options, folders }
    }

    /// Who the machine with that state directory is: the id in its file, which is made with `random`
    /// if there is none.
    pub fn identify(
        state: &Path,
        hostname: Option<&str>,
        random: &[u8],
    ) -> Result<ExecutorId, RunError> {
        let folders = Folders::below(state);
        let token = folders.machine(&ah_model::to_hex(random))?;
        let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let host: String = hostname.unwrap_or("host").chars().filter(is_plain).take(64).collect();
        Ok(format!("local/{host}/{token}").parse()?)
    }

    /// Where decisions are.
    pub fn store(&self) -> &dyn Store {
        &*self.options.store
    }

    /// Where the program keeps its state.
    pub fn state(&self) -> &Path {
        &self.options.state
    }

    /// Who it is.
    pub fn executor(&self) -> &ExecutorId {
        &self.options.executor
    }

    /// The folders of its runs.
    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    /// Refuses a kind that nothing is run for, and one whose program is not there.
    pub fn check_kind(&self, kind: &str) -> Result<&AgentProgram, RunError> {
        let program = self.options.programs.of(kind)?;
        match self.is_found(program) {
            true => Ok(program),
            false => Err(RunError::ProgramMissing {
                kind: kind.to_owned(),
                program: program.command.first().cloned().unwrap_or_default(),
            }),
        }
    }

    /// The kinds whose programs are there.
    pub fn kinds(&self) -> Vec<String> {
        let all = self.options.programs.all();
        let found = all.filter(|(_, program)| self.is_found(program));
        found.map(|(kind, _)| kind.to_owned()).collect()
    }

    fn is_found(&self, program: &AgentProgram) -> bool {
        let name = program.command.first();
        name.is_some_and(|name| ah_process::is_found(name, &self.options.search))
    }

    /// Takes the run for this machine.
    pub(crate) fn claim(&self, run: &Run) -> Result<Run, RunError> {
        let claim = RunClaim {
            executor_id: self.options.executor.clone(),
            offer: Offer {
                hostname: self.options.hostname.clone(),
                // Whoever ran the session before may have had one: a person asks for it here.
                executor_profile: run.demands.executor_profile.clone(),
                ..Offer::default()
            },
            lease_ms: LEASE_MS,
            run_id: Some(run.id.clone()),
        };
        let taken = block_on(self.store().claim_run(claim))?;
        taken.ok_or_else(|| self.not_taken(&run.id))
    }

    fn not_taken(&self, id: &RunId) -> RunError {
        let reason = match block_on(self.store().run(id.clone())) {
            Ok(Run { status, executor_id: Some(holder), .. }) => {
                format!("it is {status}, held by {holder}")
            }
            Ok(Run { status, .. }) => format!("it is {status} and demands another executor"),
            Err(error) => error.to_string(),
        };
        RunError::NotTaken { run: id.clone(), reason }
    }

    /// What is to be started for `run`, whose working copy is made for it.
    pub(crate) fn plan(&self, run: &Run, session: &Session) -> Result<Plan, RunError> {
        let told = RunParameters::read(&run.parameters)?;
        let kind = told.agent.clone().unwrap_or_else(|| session.agent.name.clone());
        let program = self.check_kind(&kind)?.clone();
        let external = self.external(run, session, &kind, &program)?;
        let template = match run.kind {
            ah_model::RunKind::Start => &program.command,
            ah_model::RunKind::Resume if program.resume.is_empty() => {
                return Err(RunError::NoResume { kind });
            }
            ah_model::RunKind::Resume => &program.resume,
        };
        let values = [
            ("external", external.as_deref()),
            ("session", Some(session.id.as_str())),
            ("run", Some(run.id.as_str())),
            // Last: nothing in it is a placeholder.
            ("prompt", Some(told.prompt.as_str())),
        ];
        let argv = template.iter().map(|word| ah_process::fill(word, &values)).collect();
        let in_words = template.iter().any(|word| word.contains("{prompt}"));
        let input = (!in_words).then(|| told.prompt.clone());
        let place = place::prepare(&self.options, run, session, &told)?;
        Ok(Plan { kind, program, place, external, argv, input })
    }

    /// What the tool calls the session: what it said, or what we tell it at the start.
    fn external(
        &self,
        run: &Run,
        session: &Session,
        kind: &str,
        program: &AgentProgram,
    ) -> Result<Option<String>, RunError> {
        let origin = session.origin.as_ref().filter(|origin| origin.source == kind);
        if let Some(origin) = origin {
            return Ok(Some(origin.external_id.clone()));
        }
        match run.kind {
            ah_model::RunKind::Start => {
                Ok(program.takes_id().then(|| session.id.as_str().to_owned()))
            }
            ah_model::RunKind::Resume => {
                let needs = program.resume.iter().any(|word| word.contains("{external}"));
                match needs {
                    true => Err(no_external(&session.id, kind)),
                    false => Ok(None),
                }
            }
        }
    }

    /// Refuses to go on with a session before anything is queued: its program, its id there and its
    /// directory must be known.
    pub fn check_resume(&self, session: &Session, kind: &str) -> Result<(), RunError> {
        let program = self.check_kind(kind)?;
        if program.resume.is_empty() {
            return Err(RunError::NoResume { kind: kind.to_owned() });
        }
        let is_known = session.origin.as_ref().is_some_and(|origin| origin.source == kind);
        if !is_known && program.resume.iter().any(|word| word.contains("{external}")) {
            return Err(no_external(&session.id, kind));
        }
        place::directory(&self.options, session).map(drop)
    }
}

fn no_external(session: &SessionId, kind: &str) -> RunError {
    RunError::NoExternal { session: session.clone(), kind: kind.to_owned() }
}
