//! The runs of this machine: each a program under its keeper, in a folder of its own.
//!
//! The folder is durable before anything begins, and stays until the executor has reported how the
//! run ended. An executor that comes again finds every run as it is: running, ended, or lost, and of
//! a lost one nothing runs any more when that is said. One process of a run at a time: a newer lease
//! ends what an older one left running before it begins anything.

mod beside;
mod output;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ah_model::{Invalid, Lease, MemberName, RawJson, RunId, SessionId, Timestamp};
use ah_process::{Lock, LockError};
use ah_store::Clock;
use serde_json::json;

pub use self::beside::StartBeside;
pub use self::output::Piece;
use self::output::Reader;
use self::watch::Keeper;
pub use super::folder::{Asked, End, Stream};
use super::folder::{Folder, Order};
use super::keep::control::Word;
use super::keep::{Begun, KEEP};
use super::outbox::Draft;
pub use super::parameters::Programs;
use super::parameters::{self, Hold, Known, Names, Task};
use super::program::{Key, ProgramId};
use crate::file::{self, FileError};
use crate::frame::{Happened, HeldState};

const LOCK: &str = "lock";
const RUNS: &str = "runs";
/// How long a run of an older lease may take to end when it is killed, and a keeper to do as told.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// How programs are run here.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The command that is our own program as a keeper, see [`keep`](super::keep).
    pub keeper: Vec<String>,
    /// Where programs run that are not told where.
    pub work: PathBuf,
    /// The programs that take prompts.
    pub programs: Programs,
    /// Where programs are looked for that are named without a path.
    pub search: Vec<PathBuf>,
    /// Variables of all programs besides the executor's own.
    pub environment: Vec<(String, String)>,
    /// Variables of the executor that no program gets: those that hold secrets.
    pub withheld: Vec<String>,
    /// Most bytes that are kept of each stream of a run.
    pub output_bytes_max: u64,
}

/// A run to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The lease it is begun under.
    pub lease: Lease,
    /// The session.
    pub session_id: SessionId,
    /// What it was queued with.
    pub parameters: RawJson,
    /// The member of a fleet that it is for.
    pub member: Option<MemberName>,
    /// Until when the store keeps it for this executor, in milliseconds since the machine began; its
    /// keeper ends the program then if it was not told more, see [`Host::prolong`].
    pub until_ms: Option<u64>,
}

/// A run that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    /// Just now, as that process.
    Now(u32),
    /// Before: the same again changes nothing.
    Before,
}

/// How a program stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Which.
    pub program: ProgramId,
    /// The session.
    pub session_id: SessionId,
    /// The member of a fleet that it is for.
    pub member: Option<MemberName>,
    /// Whether it only holds this executor for that member.
    pub is_hold: bool,
    /// Whether it was found begun by an executor before this one.
    pub has_begun: bool,
    /// Whether all that is to be said of it is reported, of one beside a run.
    pub is_told: bool,
    /// How it stands.
    pub state: HeldState,
}

/// A run that only holds this executor.
#[derive(Debug)]
pub(super) struct Holding {
    pub(super) directory: PathBuf,
    pub(super) hold: Hold,
    pub(super) session_id: SessionId,
    pub(super) member: Option<MemberName>,
    /// What sets its programs apart from all others of the machine.
    pub(super) mark: PathBuf,
    /// Variables of all programs besides the executor's own, and those that none gets.
    pub(super) environment: Vec<(String, String)>,
    pub(super) withheld: Vec<String>,
}

/// Why something cannot be done with a run.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another executor uses the directory.
    #[error("the runs in {} are kept by {holder}; one executor at a time", directory.display())]
    Used {
        /// The directory.
        directory: PathBuf,
        /// Who.
        holder: String,
    },
    /// Parameters that cannot be run.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A program that is not on this machine.
    #[error("the program {program:?} is not on this machine; it was looked for in {searched}")]
    ProgramMissing {
        /// What was looked for.
        program: String,
        /// Where.
        searched: String,
    },
    /// Nothing was begun.
    #[error("run {run} was not begun: {reason}")]
    NotBegun {
        /// The run.
        run: RunId,
        /// Why.
        reason: String,
    },
    /// A newer lease of the run was begun here.
    #[error("run {run} has epoch {newest} here, {epoch} is older")]
    Stale {
        /// The run.
        run: RunId,
        /// What was shown.
        epoch: u64,
        /// What it has.
        newest: u64,
    },
    /// There is no such run here.
    #[error("run {run} with epoch {epoch} is not here")]
    NotHeld {
        /// The run.
        run: RunId,
        /// What was shown.
        epoch: u64,
    },
    /// Its program has not ended.
    #[error("run {run} with epoch {epoch} has not ended")]
    Runs {
        /// The run.
        run: RunId,
        /// Its epoch.
        epoch: u64,
    },
    /// It has ended, or is being ended.
    #[error("run {run} is ending and cannot be paused or resumed")]
    Ending {
        /// The run.
        run: RunId,
    },
    /// Its keeper does not listen.
    #[error("the keeper of run {run} with epoch {epoch} does not listen")]
    Deaf {
        /// The run.
        run: RunId,
        /// Its epoch.
        epoch: u64,
    },
    /// A process of it does not end.
    #[error("process {process} of a lost run cannot be ended")]
    Left {
        /// The process.
        process: u32,
    },
}

/// What is called when a run has ended.
pub type Tell = Box<dyn Fn(&Lease) + Send + Sync>;

/// The runs of this machine.
#[derive(Debug)]
pub struct Host {
    inner: Arc<Inner>,
    damaged: Vec<(PathBuf, String)>,
    _lock: Lock,
}

struct Inner {
    runs_directory: PathBuf,
    options: HostOptions,
    clock: Arc<dyn Clock>,
    tell: Tell,
    runs: Mutex<BTreeMap<Key, Run>>,
    changed: Condvar,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("runs_directory", &self.runs_directory)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
struct Run {
    session_id: SessionId,
    member: Option<MemberName>,
    is_hold: bool,
    has_begun: bool,
    folder: Folder,
    stage: Stage,
    output: Arc<Mutex<Reader>>,
}

#[derive(Debug, Clone)]
enum Stage {
    Starting,
    Running,
    Ended(End),
}

impl Host {
    /// Takes over the runs in `directory` for `holder`. `tell` hears of every run that ends from here
    /// on; those that have ended already are among the [`Self::runs`].
    pub fn open(
        directory: &Path,
        options: HostOptions,
        clock: Arc<dyn Clock>,
        holder: &str,
        tell: Tell,
    ) -> Result<Self, HostError> {
        file::make_private_dir(directory)?;
        let lock = directory.join(LOCK);
        let lock = Lock::take(&lock, holder).map_err(|error| match error {
            LockError::Held { holder } => {
                HostError::Used { directory: directory.to_owned(), holder }
            }
            LockError::File { operation, source } => FileError::io(operation, &lock, source).into(),
        })?;
        let runs_directory = directory.join(RUNS);
        file::make_private_dir(&runs_directory)?;
        let (runs, changed) = (Mutex::default(), Condvar::new());
        let inner = Arc::new(Inner { runs_directory, options, clock, tell, runs, changed });
        let damaged = inner.adopt()?;
        Ok(Self { inner, damaged, _lock: lock })
    }

    /// Folders of runs that could not be read, and why. They are left as they are.
    pub fn damaged(&self) -> &[(PathBuf, String)] {
        &self.damaged
    }

    /// Every run that is here and not forgotten.
    pub fn runs(&self) -> Vec<Standing> {
        let runs = self.inner.runs();
        let own = runs.iter().filter(|((_, _, dispatch), _)| dispatch.is_none());
        own.map(|(key, run)| run.standing(key)).collect()
    }

    /// How a program stands that is here and not forgotten.
    pub fn standing(&self, program: impl Into<ProgramId>) -> Option<Standing> {
        let key = program.into().key();
        self.inner.runs().get(&key).map(|run| run.standing(&key))
    }

    /// How a program ended, if it has.
    pub fn end(&self, program: impl Into<ProgramId>) -> Option<End> {
        match self.inner.run(&program.into()).ok()?.stage {
            Stage::Ended(end) => Some(end),
            Stage::Starting | Stage::Running => None,
        }
    }

    /// Begins a run. The same lease again changes nothing; an older one is refused; a newer one ends
    /// what the older began first.
    pub fn launch(&self, start: &Start) -> Result<Started, HostError> {
        let inner = &self.inner;
        let (order, stdin) = inner.order(start)?;
        let folder = Folder::of(&inner.runs_directory, &start.lease);
        let runs = inner.end_older(&start.lease)?;
        let Some(runs) = runs else { return Ok(Started::Before) };
        inner.begin(&order, stdin.as_deref(), &folder, runs)
    }

    /// Asks a program to end, and kills it after `grace`.
    pub fn stop(&self, program: impl Into<ProgramId>, grace: Duration) -> Result<(), HostError> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.inner.tell(&program.into(), Word::Stop(grace_ms)).map(drop)
    }

    /// Ends a program at once.
    pub fn kill(&self, program: impl Into<ProgramId>) -> Result<(), HostError> {
        self.inner.tell(&program.into(), Word::Kill).map(drop)
    }

    /// The store keeps these runs until then, in milliseconds since the machine began. A keeper of
    /// one of them, or of something beside it, that hears nothing more before ends its program.
    pub fn prolong(&self, leases: &[Lease], until_ms: u64) {
        for lease in leases {
            let all = self.inner.of_lease(lease);
            for (_, run) in all.iter().filter(|(_, run)| !matches!(run.stage, Stage::Ended(_))) {
                // One that does not listen yet has the time that it was begun with; a word that it
                // misses is followed by another.
                let _ = run.folder.tell(&Word::Until(until_ms).line());
            }
        }
    }

    /// Holds a program's processes still.
    pub fn pause(&self, program: impl Into<ProgramId>) -> Result<(), HostError> {
        let program = program.into();
        let run = self.inner.tell(&program, Word::Pause)?;
        self.await_state(&program, || run.folder.is_paused())
    }

    /// Lets a program's processes go on.
    pub fn resume(&self, program: impl Into<ProgramId>) -> Result<(), HostError> {
        let program = program.into();
        let run = self.inner.tell(&program, Word::Resume)?;
        self.await_state(&program, || !run.folder.is_paused())
    }

    fn await_state(&self, program: &ProgramId, is_so: impl Fn() -> bool) -> Result<(), HostError> {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            let run = self.inner.run(program)?;
            let is_ending = run.folder.is_stopping() || matches!(run.stage, Stage::Ended(_));
            if is_ending || Instant::now() >= until {
                return Err(HostError::Ending { run: program.lease.run_id.clone() });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// What is to be known of a run that only holds this executor, to get and compare its files.
    pub(super) fn holding(&self, lease: &Lease) -> Result<Holding, HostError> {
        let folder = self.inner.run(&lease.into())?.folder;
        let Order { session_id, member, program, hold, environment, .. } = folder.order()?;
        let Some(hold) = hold else {
            let Lease { run_id, epoch } = lease.clone();
            return Err(HostError::NotHeld { run: run_id, epoch });
        };
        Ok(Holding {
            directory: program.directory,
            hold,
            session_id,
            member,
            mark: folder.path().to_owned(),
            environment,
            withheld: self.inner.options.withheld.clone(),
        })
    }

    /// The next piece of a program's output that is not taken; the same one until it is. `None` if
    /// there is none now, and for ever if the program had ended before.
    pub fn output(&self, program: impl Into<ProgramId>) -> Result<Option<Piece>, HostError> {
        let run = self.inner.run(&program.into())?;
        // Looked at before the files: of a run that has ended they are whole.
        let is_over = matches!(run.stage, Stage::Ended(_));
        let mut reader = run.output.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(reader.next(is_over)?)
    }

    /// The piece is kept elsewhere.
    pub fn taken(&self, program: impl Into<ProgramId>, piece: &Piece) -> Result<(), HostError> {
        let run = self.inner.run(&program.into())?;
        run.output.lock().unwrap_or_else(PoisonError::into_inner).taken(piece);
        Ok(())
    }

    /// Forgets a program that has ended, with its output; with that of a run, all that was beside it.
    pub fn forget(&self, program: impl Into<ProgramId>) -> Result<(), HostError> {
        let program = program.into();
        let run = self.inner.run(&program)?;
        let mut gone = vec![(program.key(), run.clone())];
        if program.dispatch.is_none() {
            gone = self.inner.of_lease(&program.lease);
        }
        if gone.iter().any(|(_, one)| !matches!(one.stage, Stage::Ended(_))) {
            let Lease { run_id, epoch } = program.lease;
            return Err(HostError::Runs { run: run_id, epoch });
        }
        run.folder.remove()?;
        let mut runs = self.inner.runs();
        gone.iter().for_each(|(key, _)| drop(runs.remove(key)));
        Ok(())
    }
}

/// What is said of a program beside a run names the request that started it, and what is said of a
/// run of a fleet its member.
pub(super) fn name_program(
    data: &mut serde_json::Value,
    program: &ProgramId,
    member: Option<&MemberName>,
) {
    let Some(object) = data.as_object_mut() else { return };
    if let Some(dispatch) = &program.dispatch {
        object.insert("dispatchId".to_owned(), json!(dispatch));
    }
    if let Some(member) = member {
        object.insert("member".to_owned(), json!(member));
    }
}

impl Standing {
    /// What it wrote, for the outbox.
    pub fn wrote(&self, piece: &Piece, at: Timestamp) -> Result<Draft, Invalid> {
        let (stream, offset) = (piece.stream.as_str(), piece.offset);
        let mut data = json!({ "stream": stream, "offset": offset, "text": piece.text });
        name_program(&mut data, &self.program, self.member.as_ref());
        let what = Happened::Event { kind: "hostLog".to_owned(), data: RawJson::of(&data)? };
        let dedup_key = format!("{}/{stream}/{offset}", self.program.prefix());
        Ok(Draft { dedup_key, ..Draft::of(&self.program, self.session_id.clone(), at, what) })
    }
}

impl Run {
    fn new(order: &Order, folder: &Folder, stage: Stage) -> Result<Self, FileError> {
        let output = Arc::new(Mutex::new(Reader::open(folder)?));
        let (session_id, folder) = (order.session_id.clone(), folder.clone());
        let (member, is_hold) =
            (order.member.clone(), order.member.is_some() && order.hold.is_some());
        Ok(Self { session_id, member, is_hold, has_begun: false, folder, stage, output })
    }

    fn standing(&self, key: &Key) -> Standing {
        Standing {
            program: key.clone().into(),
            session_id: self.session_id.clone(),
            member: self.member.clone(),
            is_hold: self.is_hold,
            has_begun: self.has_begun,
            is_told: self.folder.is_told(),
            state: self.state(),
        }
    }

    fn state(&self) -> HeldState {
        match self.stage {
            Stage::Ended(_) => HeldState::Ended,
            Stage::Starting => HeldState::Starting,
            Stage::Running if self.folder.is_stopping() => HeldState::Stopping,
            Stage::Running if self.folder.is_paused() => HeldState::Paused,
            Stage::Running => HeldState::Running,
        }
    }
}

impl Inner {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<Key, Run>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, program: &ProgramId) -> Result<Run, HostError> {
        let found = self.runs().get(&program.key()).cloned();
        let Lease { run_id, epoch } = program.lease.clone();
        found.ok_or(HostError::NotHeld { run: run_id, epoch })
    }

    /// The program of a run, and all that are beside it.
    fn of_lease(&self, lease: &Lease) -> Vec<(Key, Run)> {
        let runs = self.runs();
        let own = ProgramId::from(lease).key();
        let is_of = |key: &Key| key.0 == lease.run_id && key.1 == lease.epoch;
        let these = runs.range(own..).take_while(|(key, _)| is_of(key));
        these.map(|(key, run)| (key.clone(), run.clone())).collect()
    }

    /// Makes the folder of a program, and begins it under a keeper. `runs` is held until it is known.
    fn begin(
        self: &Arc<Self>,
        order: &Order,
        stdin: Option<&str>,
        folder: &Folder,
        mut runs: MutexGuard<'_, BTreeMap<Key, Run>>,
    ) -> Result<Started, HostError> {
        let program = order.program_id();
        folder.make(order, stdin)?;
        runs.insert(program.key(), Run::new(order, folder, Stage::Starting)?);
        drop(runs);
        let waits = watch::begin(self, &program, folder).map_err(|error| error.to_string());
        let begun = waits.and_then(|waits| {
            begin(folder, order, &self.options.withheld).map(|begun| (waits, begun))
        });
        match begun {
            Ok((waits, (process, keeper))) => {
                self.set(&program, Stage::Running);
                // It listens as long as it was told nothing.
                let _ = waits.send(Keeper::Ours(keeper));
                Ok(Started::Now(process))
            }
            Err(reason) => {
                self.runs().remove(&program.key());
                self.changed.notify_all();
                folder.remove()?;
                Err(HostError::NotBegun { run: program.lease.run_id, reason })
            }
        }
    }

    fn set(&self, program: &ProgramId, stage: Stage) {
        if let Some(run) = self.runs().get_mut(&program.key()) {
            run.stage = stage;
        }
        self.changed.notify_all();
    }

    /// Tells a run's keeper a word. One that has ended hears nothing, and needs to hear nothing; one
    /// that has just begun may not listen yet.
    fn tell(&self, program: &ProgramId, word: Word) -> Result<Run, HostError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let run = self.run(program)?;
            if matches!(run.stage, Stage::Ended(_)) || run.folder.tell(&word.line())? {
                return Ok(run);
            }
            if Instant::now() >= until {
                let Lease { run_id, epoch } = program.lease.clone();
                return Err(HostError::Deaf { run: run_id, epoch });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// What the keeper of a run is to do, and the program's input.
    fn order(&self, start: &Start) -> Result<(Order, Option<String>), HostError> {
        let Start { lease, session_id, parameters, member, until_ms } = start;
        let options = &self.options;
        let names = Names { session: session_id.as_str(), run: lease.run_id.as_str() };
        let HostOptions { programs, keeper, work, .. } = options;
        let known = Known { programs, keeper, work };
        let Task { program, stdin, hold } = parameters::read(parameters, known, names)?;
        self.check_found(&program.argv)?;
        let output_bytes_max = program.limits.output_bytes.unwrap_or(options.output_bytes_max);
        let order = Order {
            lease: lease.clone(),
            dispatch: None,
            session_id: session_id.clone(),
            member: member.clone(),
            program,
            hold,
            environment: options.environment.clone(),
            output_bytes_max: output_bytes_max.min(options.output_bytes_max),
            keeper: options.keeper.clone(),
            until_ms: *until_ms,
            timeout_ms: None,
        };
        Ok((order, stdin))
    }

    /// Refuses a program that is not on this machine.
    fn check_found(&self, argv: &[String]) -> Result<(), HostError> {
        let search = &self.options.search;
        let program = argv.first().cloned().unwrap_or_default();
        if ah_process::is_found(&program, search) {
            return Ok(());
        }
        let searched = search.iter().map(|dir| dir.display().to_string());
        let searched = searched.collect::<Vec<_>>().join(":");
        Err(HostError::ProgramMissing { program, searched })
    }

    /// Ends what older leases of the run left running. `None` if the lease is here already.
    fn end_older(
        &self,
        lease: &Lease,
    ) -> Result<Option<MutexGuard<'_, BTreeMap<Key, Run>>>, HostError> {
        let Lease { run_id, epoch } = lease.clone();
        let until = Instant::now() + PATIENCE;
        let mut runs = self.runs();
        loop {
            let of_run = || {
                let from = (run_id.clone(), 0, None);
                runs.range(from..).take_while(|((of, ..), _)| *of == run_id)
            };
            let newest = of_run().last().map(|((_, newest, _), _)| *newest);
            match newest {
                Some(newest) if newest == epoch => return Ok(None),
                Some(newest) if newest > epoch => {
                    return Err(HostError::Stale { run: run_id, epoch, newest });
                }
                Some(_) | None => {}
            }
            let running = of_run().find(|(_, run)| !matches!(run.stage, Stage::Ended(_)));
            let Some(((_, older, _), run)) = running else { return Ok(Some(runs)) };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(HostError::Runs { run: run_id, epoch: *older });
            }
            run.folder.tell(&Word::Kill.line())?;
            let waited = self.changed.wait_timeout(runs, left.min(Duration::from_millis(100)));
            runs = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Begins a keeper and hears of its program. The error says why there is none, and that nothing
/// runs.
fn begin(folder: &Folder, order: &Order, withheld: &[String]) -> Result<(u32, Child), String> {
    let mut keeper = spawn(folder, order, withheld)
        .map_err(|error| format!("cannot start the keeper {:?}: {error}", order.keeper.first()))?;
    let lines = keeper.stdout.take().map(|stdout| BufReader::new(stdout).lines());
    let lines = lines.into_iter().flatten().map_while(Result::ok);
    let begun = lines.filter_map(|line| serde_json::from_str(&line).ok()).next();
    match begun {
        Some(Begun::Started(process)) => Ok((process, keeper)),
        Some(Begun::Failed(reason)) => {
            // It has said so after everything, and ends.
            let _ = keeper.wait();
            Err(reason)
        }
        None => {
            let status = keeper.wait();
            let said = std::fs::read_to_string(folder.complaints()).unwrap_or_default();
            let status = status.map_or_else(|error| error.to_string(), |it| it.to_string());
            Err(format!("its keeper ended with {status}: {}", said.trim()))
        }
    }
}

fn spawn(folder: &Folder, order: &Order, withheld: &[String]) -> std::io::Result<Child> {
    let (name, rest) = order.keeper.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let complaints = File::create(folder.complaints())?;
    let mut command = Command::new(name);
    command.args(rest).arg(KEEP).arg(folder.path());
    for name in withheld {
        command.env_remove(name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(complaints).spawn()
}
