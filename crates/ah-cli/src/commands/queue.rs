//! Tasks that wait for `ah up`: claimed one by one, a worker process each, which outlives the harbor.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ah_access::executor::detect::Detector;
use ah_model::{
    Enrolment, Machine, Offer, PageLimit, PageRequest, RawJson, Run, RunFilter, RunId,
    RunParameters, RunStatus,
};
use ah_run::Local;
use ah_store::{Store, StoreError, block_on};

use super::local::{self, Workers};
use super::pane;
use crate::app::App;
use crate::environment::hostname;
use crate::error::{CommandError, Exit};
use crate::output::Output;

/// How often it looks what waits.
const LOOK: Duration = Duration::from_secs(1);
/// How long a run rests that could not be taken.
const REST: Duration = Duration::from_secs(30);
/// Pages of runs that wait that are looked through.
const PAGES_MAX: usize = 20;
/// Where the identity of this machine comes from: its own state directory.
const PROVIDER: &str = "local";

/// The queue at work.
pub(crate) struct Queue {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Queue {
    /// Begins to take what waits, at most so many at once; nothing when that is none.
    pub(crate) fn start(
        app: &App,
        store: &Arc<dyn Store>,
        most: usize,
    ) -> Result<Option<Self>, CommandError> {
        if most == 0 {
            return Ok(None);
        }
        let local = local::machine(app, Arc::clone(store))?;
        local.reconcile().iter().for_each(|lost| app.output.talk(&local::sentence(lost)));
        let path = app.environment.var_os("PATH");
        let search: Vec<PathBuf> =
            path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
        let storage = app.environment.state_dir()?;
        let machine = Detector { root: PathBuf::from("/"), search, storage }.machine();
        let keep = Keep {
            local,
            workers: Workers::of(app)?,
            machine,
            most,
            output: app.output,
            enrolled: false,
            children: Vec::new(),
            tried: BTreeMap::new(),
        };
        let (stop, stopped) = channel();
        let builder = std::thread::Builder::new().name("ah-queue".to_owned());
        let thread = builder.spawn(move || keep.run(&stopped)).map_err(|error| {
            CommandError::new(Exit::Failed, format!("cannot look for tasks: {error}"))
        })?;
        Ok(Some(Self { stop, thread }))
    }

    /// Takes nothing more. What runs goes on.
    pub(crate) fn end(self) {
        drop(self.stop);
        // A panic has been told by then.
        let _ = self.thread.join();
    }
}

struct Keep {
    local: Local,
    workers: Workers,
    machine: Machine,
    most: usize,
    output: Output,
    /// Whether the store knows which agent kinds are here.
    enrolled: bool,
    children: Vec<Child>,
    tried: BTreeMap<RunId, Instant>,
}

impl Keep {
    fn run(mut self, stopped: &Receiver<()>) {
        loop {
            self.local.reconcile().iter().for_each(|lost| self.output.talk(&local::sentence(lost)));
            if let Err(error) = self.take() {
                self.output.talk(&format!("tasks that wait: {error}"));
            }
            let waited = stopped.recv_timeout(LOOK);
            if !matches!(waited, Err(std::sync::mpsc::RecvTimeoutError::Timeout)) {
                return;
            }
        }
    }

    /// Starts workers for what waits, oldest first.
    fn take(&mut self) -> Result<(), CommandError> {
        self.children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        self.tried.retain(|_, since| since.elapsed() < REST);
        let free = self.most.saturating_sub(self.children.len());
        if free == 0 {
            return Ok(());
        }
        let waiting = self.waiting()?;
        if !waiting.is_empty() && !self.enrolled {
            self.enrol()?;
        }
        for run in waiting.into_iter().take(free) {
            self.tried.insert(run.id.clone(), Instant::now());
            let told = RunParameters::read(&run.parameters).unwrap_or_default();
            self.output.talk(&format!("session {}: its task is taken", run.session_id));
            if let Some(multiplexer) = told.multiplexer {
                pane::open(&self.workers, &self.local, &run.id, multiplexer)?;
                continue;
            }
            let log = self.local.folders().of(&run.id).open_worker_log()?;
            let mut command = self.workers.command(&run.id);
            let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
            let child = child.map_err(|error| {
                CommandError::new(Exit::Failed, format!("no worker can be started: {error}"))
            })?;
            self.children.push(child);
        }
        Ok(())
    }

    /// The runs that demand an agent kind of this machine, oldest first.
    fn waiting(&self) -> Result<Vec<Run>, StoreError> {
        let filter = RunFilter { statuses: vec![RunStatus::Pending], ..RunFilter::default() };
        let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
        let kinds = self.local.kinds();
        let own = self.local.executor();
        let mut found = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = block_on(self.local.store().list_runs(filter.clone(), request.clone()))?;
            let is_ours = |run: &Run| {
                run.demands.agent.as_ref().is_some_and(|agent| kinds.contains(agent))
                    && run.demands.executor_id.as_ref().is_none_or(|id| id == own)
                    && run.member.is_none()
                    && !self.tried.contains_key(&run.id)
            };
            found.extend(page.items.into_iter().filter(is_ours));
            match page.next_cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => break,
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Says which agent kinds are here, so that their runs may be claimed.
    fn enrol(&mut self) -> Result<(), CommandError> {
        let enrolment = Enrolment {
            id: self.local.executor().clone(),
            identity_provider: PROVIDER.to_owned(),
            identity: RawJson::null(),
            offer: Offer { hostname: hostname(), ..Offer::default() },
            details: RawJson::null(),
            machine: Some(Machine { agents: self.local.kinds(), ..self.machine.clone() }),
            capacity: u32::try_from(self.most).ok(),
        };
        block_on(self.local.store().enrol_executor(enrolment))?;
        self.enrolled = true;
        Ok(())
    }
}
