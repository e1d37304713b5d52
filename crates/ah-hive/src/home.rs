//! Homes of agents: `agents/<name>/{config,claude,state}` and `applied/<name>`, all 0700.
//!
//! A home is looked at on every use: each directory from the state directory down must be ours, 0700
//! and no link. Names are checked again here, whoever checked them before.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ah_model::Agent;

use crate::HostError;
use crate::git::Git;
use crate::place::{self, Dir, missing, refused};

/// Homes, by name.
const AGENTS: &str = "agents";
/// Configurations in force, by name. Its lock orders making and wiping of homes.
const APPLIED: &str = "applied";
/// What purged agents left, until it is gone.
const TRASH: &str = "trash";
/// Where live events are looked at. Its lock lets one sweep in.
const SWEEP: &str = "sweep";
/// Which programs run, by the names of their agents.
const RUNNING: &str = "running";
const CONFIG: &str = "config";
const STATE: &str = "state";
/// What a home consists of beside its repository.
const PLAIN: [&str; 2] = ["claude", STATE];
/// A repository that is being made; no agent can have that name.
const UNFINISHED: &str = ".unfinished";
/// Most homes of one machine.
const HOMES_MAX: usize = 100_000;

/// All homes below one state directory.
#[derive(Debug, Clone)]
pub struct Homes {
    root: PathBuf,
    git: Git,
}

impl Homes {
    /// The homes below `root`, the state directory.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), git: Git::default() }
    }

    /// The same, with another program for git than the one that is found.
    #[must_use]
    pub fn with_git(self, program: impl Into<PathBuf>) -> Self {
        Self { git: Git::new(program), ..self }
    }

    /// The state directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home of that name, looked at; an error where there is none.
    pub fn home(&self, name: &str) -> Result<Home, HostError> {
        self.find(name)?.ok_or_else(|| missing(&self.root.join(AGENTS).join(name)))
    }

    /// The home of that name, looked at, if there is one.
    pub fn find(&self, name: &str) -> Result<Option<Home>, HostError> {
        Agent::check_name(name)?;
        let Some(root) = Dir::root(&self.root)? else {
            return Ok(None);
        };
        let Some(agents) = root.child(AGENTS)? else {
            return Ok(None);
        };
        if agents.child(name)?.is_none() {
            return Ok(None);
        }
        let home = Home::of(&root, name);
        home.check()?;
        Ok(Some(home))
    }

    /// Makes the home of that name, or looks at the one that is there. It may be done by several at
    /// once, and again after it broke off: what is missing is added, what is there stays.
    pub fn create(&self, name: &str) -> Result<Home, HostError> {
        Agent::check_name(name)?;
        let root = Dir::make_root(&self.root)?;
        let (agents, applied) = (root.make(AGENTS)?, root.make(APPLIED)?);
        let _alone = applied.lock()?;
        for place in [&agents, &applied] {
            refuse_other_spelling(place, name)?;
        }
        let dir = agents.make(name)?;
        for plain in PLAIN {
            dir.make(plain)?;
        }
        self.make_repository(&applied, (&dir, CONFIG), name)?;
        self.make_repository(&applied, (&applied, name), "ah")?;
        let home = Home::of(&root, name);
        home.check()?;
        Ok(home)
    }

    /// A repository appears under its name when it is whole; one that is there stays as it is. It is
    /// made where no agent reaches.
    fn make_repository(
        &self,
        workshop: &Dir,
        (place, name): (&Dir, &str),
        user: &str,
    ) -> Result<(), HostError> {
        if place.child(name)?.is_some() {
            return Ok(());
        }
        crate::wipe::remove_whole(workshop, UNFINISHED)?;
        let unfinished = workshop.make(UNFINISHED)?;
        self.git.init(unfinished.path(), user)?;
        match workshop.rename(OsStr::new(UNFINISHED), place, name)? {
            true => Ok(()),
            false => Err(refused(&place.path().join(name), "somebody else made it meanwhile")),
        }
    }

    /// The names of all homes that are there, in order. Names that no agent can have are told apart.
    pub(crate) fn names(&self) -> Result<HomeNames, HostError> {
        let mut names = HomeNames::default();
        let Some(agents) = self.place(AGENTS)? else {
            return Ok(names);
        };
        for name in agents.names(HOMES_MAX)? {
            match name.to_str().filter(|name| Agent::check_name(name).is_ok()) {
                Some(name) => names.known.push(name.to_owned()),
                None => names.strange.push(place::shown(&name)),
            }
        }
        names.known.sort_unstable();
        names.strange.sort_unstable();
        Ok(names)
    }

    fn place(&self, name: &str) -> Result<Option<Dir>, HostError> {
        match Dir::root(&self.root)? {
            Some(root) => root.child(name),
            None => Ok(None),
        }
    }

    /// `agents`, if it is there.
    pub(crate) fn agents(&self) -> Result<Option<Dir>, HostError> {
        self.place(AGENTS)
    }

    /// `applied`, if it is there.
    pub(crate) fn applied(&self) -> Result<Option<Dir>, HostError> {
        self.place(APPLIED)
    }

    /// Where what was purged waits to be removed, if anything does.
    pub(crate) fn trash(&self) -> Result<Option<Dir>, HostError> {
        self.place(TRASH)
    }

    /// The same, made where there is none.
    pub(crate) fn make_trash(&self) -> Result<Dir, HostError> {
        Dir::make_root(&self.root)?.make(TRASH)
    }

    /// Where live events are looked at, out of reach of agents.
    pub(crate) fn make_sweep(&self) -> Result<Dir, HostError> {
        Dir::make_root(&self.root)?.make(SWEEP)
    }

    /// The program for repositories.
    pub(crate) fn git(&self) -> &Git {
        &self.git
    }
}

/// What stands where homes do.
#[derive(Debug, Default)]
pub(crate) struct HomeNames {
    /// Names of agents.
    pub(crate) known: Vec<String>,
    /// Others, as they can be shown.
    pub(crate) strange: Vec<String>,
}

/// Names are compared in any case, and some file systems do so too: two spellings would be one home.
fn refuse_other_spelling(place: &Dir, name: &str) -> Result<(), HostError> {
    let other = place.names(HOMES_MAX)?.into_iter().find(|other| {
        other != name && other.to_str().is_some_and(|other| other.eq_ignore_ascii_case(name))
    });
    match other {
        Some(other) => Err(refused(&place.path().join(other), format!("it is {name} as well"))),
        None => Ok(()),
    }
}

/// What one agent has on this machine.
#[derive(Debug, Clone)]
pub struct Home {
    /// `agents/<name>`.
    pub dir: PathBuf,
    /// `applied/<name>`: a repository with the configuration in force checked out.
    pub applied: PathBuf,
    root: PathBuf,
    name: String,
}

impl Home {
    fn of(root: &Dir, name: &str) -> Self {
        Self {
            dir: root.path().join(AGENTS).join(name),
            applied: root.path().join(APPLIED).join(name),
            root: root.path().to_owned(),
            name: name.to_owned(),
        }
    }

    /// The repository that the agent may change.
    pub fn config(&self) -> PathBuf {
        self.dir.join(CONFIG)
    }

    /// What its program keeps: settings, credentials.
    pub fn claude(&self) -> PathBuf {
        self.dir.join("claude")
    }

    /// What it keeps itself: notes, live events, the model file.
    pub fn state(&self) -> PathBuf {
        self.dir.join(STATE)
    }

    /// The file of its live events.
    pub fn events(&self) -> PathBuf {
        self.state().join(crate::live::FILE)
    }

    /// The agent's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Looks at every directory that is there. Parts may be missing: the agent may remove its own.
    fn check(&self) -> Result<(), HostError> {
        let dir = self.open()?;
        for part in PLAIN.into_iter().chain([CONFIG]) {
            dir.child(part)?;
        }
        self.open_applied().map(drop)
    }

    /// Where it is kept which programs run, out of reach of agents.
    pub(crate) fn make_running(&self) -> Result<Dir, HostError> {
        self.open_root()?.make(RUNNING)
    }

    fn open(&self) -> Result<Dir, HostError> {
        self.open_root()?.need(AGENTS)?.need(&self.name)
    }

    fn open_root(&self) -> Result<Dir, HostError> {
        Dir::root(&self.root)?.ok_or_else(|| missing(&self.root))
    }

    /// `state`, looked at.
    pub(crate) fn open_state(&self) -> Result<Dir, HostError> {
        self.open()?.need(STATE)
    }

    /// `config`, looked at.
    pub(crate) fn open_config(&self) -> Result<Dir, HostError> {
        self.open()?.need(CONFIG)
    }

    /// `applied/<name>`, looked at, if it is there.
    pub(crate) fn open_applied(&self) -> Result<Option<Dir>, HostError> {
        match self.open_root()?.child(APPLIED)? {
            Some(applied) => applied.child(&self.name),
            None => Ok(None),
        }
    }
}
