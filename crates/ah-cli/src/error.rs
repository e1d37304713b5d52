//! What went wrong, for people and for programs: an exit code, a message, and the next command.

use std::fmt;
use std::io::ErrorKind;

use ah_access::ca::CaError;
use ah_access::identity::FileError;
use ah_bundle::BundleError;
use ah_hive::HostError;
use ah_hive::resident::ResidentError;
use ah_import::ImportError;
use ah_snapshot::SnapshotError;
use ah_store::{Kind, Problem, StoreError};

use crate::config::ConfigError;
use crate::detect::DetectError;
use crate::environment::EnvironmentError;
use crate::output::broken_pipe;

/// Exit codes, as the documentation lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    NotAllowed = 5,
    Unreachable = 6,
    Configuration = 7,
    NoRepository = 8,
    Store = 9,
    InputNeeded = 10,
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    pub(crate) problem: Box<Problem>,
    pub(crate) hints: Vec<String>,
    /// How a program of the user's ended that the command was to run: passed on, nothing is said.
    pub(crate) passed_on: Option<u8>,
}

impl CommandError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let (code, title, status) = match exit {
            Exit::Failed => ("failed", "the command failed", 500),
            Exit::Usage => ("invalid", "a value must be corrected", 422),
            Exit::NotFound => ("not-found", "not found", 404),
            Exit::Conflict => ("conflict", "not possible in this state", 409),
            Exit::NotAllowed => ("forbidden", "not allowed", 403),
            Exit::Unreachable => ("unreachable", "the remote server cannot be reached", 503),
            Exit::Configuration => ("configuration", "the configuration must be corrected", 500),
            Exit::NoRepository => ("no-repository", "no repository was found", 404),
            Exit::Store => ("store", "the store cannot be used", 500),
            Exit::InputNeeded => ("input-needed", "input is needed", 400),
        };
        let problem = Box::new(Problem::new(code, title, status, message));
        Self { exit, problem, hints: Vec::new(), passed_on: None }
    }

    /// The exit code of a program that the command was to run.
    pub(crate) fn passed_on(code: u8) -> Self {
        let passed_on = Some(code);
        Self { passed_on, ..Self::new(Exit::Failed, format!("the program ended with {code}")) }
    }

    /// Adds what the user may try next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// An operation on a file of the user's that did not work.
    pub(crate) fn file(operation: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::new(Exit::Failed, format!("cannot {operation} {}: {error}", path.display()))
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.detail)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::NotFound { .. } => Exit::NotFound,
            StoreError::Conflict { .. } | StoreError::Unsupported { .. } => Exit::Conflict,
            StoreError::Invalid(_) => Exit::Usage,
            StoreError::Unauthorized | StoreError::Forbidden { .. } => Exit::NotAllowed,
            StoreError::Busy { .. } | StoreError::Newer { .. } | StoreError::Corrupt { .. } => {
                Exit::Store
            }
            StoreError::Unreachable { .. } => Exit::Unreachable,
            StoreError::Backend { .. } => Exit::Failed,
        };
        let hints = hints(&error);
        Self { exit, problem: Box::new(Problem::from(&error)), hints, passed_on: None }
    }
}

fn hints(error: &StoreError) -> Vec<String> {
    let fixed: &[&str] = match error {
        StoreError::NotFound { kind, .. } => match kind {
            Kind::Agent => &["`ah agent list` shows the agents there are"],
            Kind::AgentKind => &["`ah agent kinds list` shows the kinds there are"],
            Kind::Session => &["`ah session list` shows the sessions there are"],
            Kind::Task => &["`ah task list` shows the tasks there are"],
            Kind::Draft => &["`ah draft list` shows the drafts there are"],
            Kind::Repo => &["`ah repo list` shows the repositories there are"],
            Kind::Key => &["`ah kv list --scope S` shows the keys of a scope"],
            Kind::Workspace => &["`ah workspace create NAME` makes one"],
            Kind::Run => &["`ah run list` shows the runs there are"],
            Kind::Executor => &["`ah executor list` shows the executors there are"],
            Kind::Fence => &["`ah fleet fences SESSION` shows the fences of a session"],
            Kind::Fleet => &[
                "`ah fleet list` shows the fleets there are",
                "`ah fleet create SESSION --member NAME` forms one",
            ],
            Kind::Token => &["`ah token list` shows the tokens there are"],
            Kind::Message => &["`ah message list` shows the messages there are"],
            Kind::Approval => &["`ah approval list` shows the approvals there are"],
            Kind::Question => &["`ah question list` shows the questions there are"],
            Kind::Receipt => &["`ah retention receipts` shows the receipts there are"],
        },
        StoreError::Conflict { kind: Kind::Agent, id, .. } => {
            return vec![format!("`ah agent show {id}` shows how it stands now")];
        }
        StoreError::Unsupported { .. } => &[
            "workspaces live on a server: leave `--workspace` out, or use one's database with `--database-url`",
        ],
        StoreError::Busy { .. } => &[
            "another program is writing to the database; try again, or raise store.busy-timeout-ms",
        ],
        StoreError::Newer { .. } => {
            &["update `ah` to the version that wrote the database; nothing was changed"]
        }
        StoreError::Corrupt { .. } => &[
            "`ah db path` says where the database is; nothing was changed",
            "`ah db restore FILE` puts a backup in its place and keeps the damaged file",
        ],
        StoreError::Unreachable { source, .. } if source.to_string().contains("certificate") => &[
            "`ah config set tls.ca-file FILE` names an authority to trust besides the public ones",
            "a certificate that signed itself must not say that it is an authority (CA:FALSE)",
        ],
        StoreError::Unreachable { .. } => &[
            "`ah config explain remote-server` and `ah config explain store.database-url` say where \
             the address comes from",
        ],
        StoreError::Unauthorized => &[
            "`ah login SERVER` keeps a token for it; AH_TOKEN wins when it is set",
            "who runs the server makes one with `ah token create --role ROLE`",
        ],
        StoreError::Forbidden { reason: None } => {
            &["the token's role does not allow this; `ah token create --role ROLE` makes another"]
        }
        StoreError::Forbidden { reason: Some(_) }
        | StoreError::Conflict { .. }
        | StoreError::Invalid(_)
        | StoreError::Backend { .. } => &[],
    };
    fixed.iter().copied().map(str::to_owned).collect()
}

impl From<ah_model::Invalid> for CommandError {
    fn from(error: ah_model::Invalid) -> Self {
        StoreError::from(error).into()
    }
}

impl From<ResidentError> for CommandError {
    fn from(error: ResidentError) -> Self {
        let (exit, hint) = match error {
            ResidentError::Store(error) => return error.into(),
            ResidentError::Host(error) => return error.into(),
            ResidentError::File { operation, path, source } => {
                return Self::file(operation, &path, &source);
            }
            ResidentError::Held { .. } => {
                (Exit::Conflict, "`ah up` runs resident agents; an agent has one loop on a machine")
            }
            ResidentError::Left { .. } => (
                Exit::Conflict,
                "end it, or start the machine again: two must not do the same work",
            ),
            ResidentError::NotActive { .. } => (Exit::Conflict, "`ah agent wake NAME` wakes it"),
            ResidentError::NoProgram { .. } | ResidentError::ProgramMissing { .. } => (
                Exit::Configuration,
                "a `[[program]]` table of the configuration says what is run for a kind; \
                 `ah config explain program` shows those there are",
            ),
            ResidentError::Script { .. } => {
                (Exit::Usage, "`--script FILE` names another; docs/resident.md says what is in one")
            }
            ResidentError::NoHomes | ResidentError::Thread(_) | ResidentError::Panicked => {
                return Self::new(Exit::Failed, with_causes(&error));
            }
        };
        Self::new(exit, error.to_string()).hint(hint)
    }
}

impl From<HostError> for CommandError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Store(error) => error.into(),
            HostError::Unsafe { .. } => Self::new(Exit::NotAllowed, error.to_string())
                .hint("what agents have must be yours alone: directories 0700, no symbolic links")
                .hint("nothing was repaired or changed; move it away, or correct it"),
            HostError::File { operation, path, source } => Self::file(operation, &path, &source),
            HostError::Git { .. } => Self::new(Exit::Failed, error.to_string()),
        }
    }
}

impl From<CaError> for CommandError {
    fn from(error: CaError) -> Self {
        let (exit, hint) = match error {
            CaError::Invalid(error) => return error.into(),
            CaError::Random(error) => return error.into(),
            CaError::File(FileError::Unsafe { .. }) => {
                (Exit::NotAllowed, "nothing was repaired or changed")
            }
            CaError::File(FileError::Exists { .. }) => {
                (Exit::Conflict, "`--out DIR` names another directory")
            }
            CaError::File(FileError::Io { .. } | FileError::TooLong { .. })
            | CaError::Make { .. } => return Self::new(Exit::Failed, error.to_string()),
            CaError::Exists { .. } => (Exit::Conflict, "`ah ca show` shows it"),
            CaError::Missing { .. } => {
                (Exit::NotFound, "`ah ca init --trust-domain DOMAIN` makes one")
            }
            CaError::NotFound { .. } => (Exit::NotFound, "`ah ca list` shows what was issued"),
            CaError::Damaged { .. } => (Exit::Store, "restore its directory from a backup"),
            CaError::Over { .. } => (
                Exit::Conflict,
                "move its directory away (`ah ca show` names it), then `ah ca init`",
            ),
        };
        Self::new(exit, error.to_string()).hint(hint)
    }
}

impl From<ImportError> for CommandError {
    fn from(error: ImportError) -> Self {
        let (exit, hint) = match error {
            ImportError::Store(error) => return error.into(),
            ImportError::Unreadable { .. } => (
                Exit::Failed,
                "name what is there: `ah import claude-code PATH`, `ah import codex PATH`, \
                 `ah import gemini PATH`, `ah import opencode PATH`, `ah import goose PATH`, \
                 `ah import daycare DIR`, `ah import daycare-db FILE`, \
                 `ah import coordinator FILE` or `ah import hyperhive FILE…`",
            ),
            ImportError::NotADirectory { .. } | ImportError::NoAgents { .. } => {
                (Exit::Usage, "a Daycare with a database: `ah import daycare-db FILE`")
            }
            ImportError::NotDaycareDatabase { .. } => {
                (Exit::Usage, "a Daycare without a database: `ah import daycare DIR`")
            }
            ImportError::NotCoordinatorDatabase { .. } => {
                (Exit::Usage, "its file is `.agent-orchestrator/observability.db` as a rule")
            }
            ImportError::NotTranscriptDatabase { .. } => (
                Exit::Usage,
                "their files are `~/.local/share/opencode/opencode.db` and \
                 `~/.local/share/goose/sessions/sessions.db` as a rule; run it again if the program \
                 was at work",
            ),
            ImportError::NotHyperhiveDatabase { .. } => (
                Exit::Usage,
                "its files are `broker.sqlite` and `agents/<name>/state/hyperhive-events.sqlite`; \
                 `--agent NAME` says whose events are elsewhere",
            ),
        };
        Self::new(exit, with_causes(&error)).hint(hint)
    }
}

impl From<BundleError> for CommandError {
    fn from(error: BundleError) -> Self {
        // Its messages name the next command themselves.
        let exit = match error {
            BundleError::Invalid(error) => return error.into(),
            BundleError::File { source, .. } if source.kind() == ErrorKind::BrokenPipe => {
                return broken_pipe();
            }
            BundleError::NoState { .. }
            | BundleError::NothingForScope { .. }
            | BundleError::NoSnapshot { .. } => Exit::NotFound,
            BundleError::UnsafeDirectory { .. } => Exit::NotAllowed,
            BundleError::AllDamaged { .. } | BundleError::Damaged { .. } => Exit::Store,
            BundleError::Refused(_) | BundleError::BadExport { .. } => Exit::Usage,
            BundleError::File { .. } => Exit::Failed,
        };
        Self::new(exit, with_causes(&error))
    }
}

impl From<SnapshotError> for CommandError {
    fn from(error: SnapshotError) -> Self {
        let (exit, hint) = match &error {
            SnapshotError::Unusable { .. } | SnapshotError::NoProvider { .. } => {
                (Exit::Conflict, "`ah snapshot providers` says for each why not")
            }
            SnapshotError::Unsupported { .. } => {
                (Exit::Conflict, "`ah snapshot restore ID --to DIR` writes the files elsewhere")
            }
            SnapshotError::Gone { .. } => {
                (Exit::NotFound, "`ah snapshot list` shows which ones are still there")
            }
            SnapshotError::Exists { .. } => {
                (Exit::Conflict, "name a directory that is not there yet with `--to DIR`")
            }
            SnapshotError::WouldBeLost { .. } => (
                Exit::Conflict,
                "nothing was changed; move them away, or restore with `--to DIR` instead",
            ),
            SnapshotError::NotKept { .. }
            | SnapshotError::Program { .. }
            | SnapshotError::File { .. } => return Self::new(Exit::Failed, with_causes(&error)),
        };
        Self::new(exit, error.to_string()).hint(hint)
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::UnknownKey { .. } | ConfigError::UnknownKeyIn { .. } => {
                "`ah config explain` lists every key"
            }
            ConfigError::UnfitValue { .. } => "`ah config explain KEY` says what it is for",
            ConfigError::UnknownServer { .. } => "`ah config explain server` shows the servers",
            ConfigError::Enforced { .. } => "`ah config explain KEY` shows every layer",
            ConfigError::Syntax { .. }
            | ConfigError::Mismatch { .. }
            | ConfigError::NotATable { .. }
            | ConfigError::Misplaced { .. }
            | ConfigError::Missing { .. }
            | ConfigError::Unreadable { .. }
            | ConfigError::TooLarge { .. }
            | ConfigError::NoFile { .. }
            | ConfigError::Unwritable { .. }
            | ConfigError::Environment(_) => "`ah config path` lists the files that count",
        };
        Self::new(Exit::Configuration, with_causes(&error)).hint(hint)
    }
}

impl From<EnvironmentError> for CommandError {
    fn from(error: EnvironmentError) -> Self {
        Self::new(Exit::Configuration, error.to_string())
            .hint("set AH_HOME to the directory that shall hold the database")
    }
}

impl From<DetectError> for CommandError {
    fn from(error: DetectError) -> Self {
        Self::new(Exit::NoRepository, with_causes(&error))
            .hint("go into a repository, or name one with `--repo PATH`")
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
