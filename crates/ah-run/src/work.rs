//! A worker: takes one run of this machine, runs its program, keeps the lease, and ends the run.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ah_model::{
    Exit, Lease, Origin, Run, RunEnd, RunId, RunOutcome, RunStatus, Session, SessionUpdate, limits,
};
use ah_process::Group;
use ah_store::{StoreError, block_on};
use serde_json::json;

use crate::child::{self, News, Start, Stream};
use crate::folder::{Ended, Folder, Order, RUN_ID};
use crate::local::{LEASE_MS, Plan};
use crate::record::{LogFile, Recorder};
use crate::{Local, RunError};

/// How often a worker looks whether its run is to stop, and at most waits with what it has to tell.
const LOOK: Duration = Duration::from_millis(400);
/// How often the lease is renewed.
const RENEW: Duration = Duration::from_millis(LEASE_MS / 3);
/// When a worker that cannot reach the store ends its program: the lease with a tenth left out, for
/// clocks that run unequally fast.
const SURE: Duration = Duration::from_millis(LEASE_MS - LEASE_MS / 10);
/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// How long the last lines are awaited of a program that has ended: what it started may hold its
/// pipes.
const DRAIN: Duration = Duration::from_secs(2);
/// Lines that wait to be taken in.
const NEWS_MAX: usize = 256;

/// Hears what a program writes, as it comes.
pub type Tell = Arc<dyn Fn(Show<'_>) + Send + Sync>;

/// Something for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show<'a> {
    /// The run is taken and its program begins.
    Begins,
    /// The program said this.
    Output(&'a str),
    /// The program complained.
    Errors(&'a str),
}

/// A word to a worker: the first asks its program to end, the next kills it.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<StopState>>);

#[derive(Default)]
struct StopState {
    said: u32,
    news: Option<SyncSender<News>>,
}

impl Stop {
    /// Says it.
    pub fn say(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.said += 1;
        if let Some(news) = &state.news {
            // A worker that has much to hear looks at the number soon.
            let _ = news.try_send(News::Stop);
        }
    }

    fn said(&self) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).said
    }

    fn rings(&self, news: SyncSender<News>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).news = Some(news);
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.said()).finish()
    }
}

/// How a run that was worked on ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The run as the store has it.
    pub run: Run,
    /// How the program ended.
    pub exit: Exit,
}

impl Local {
    /// Takes the run and works on it until it has ended. Called on a thread that lives as long as the
    /// program may.
    pub fn work(&self, id: &RunId, tell: &Tell, stop: &Stop) -> Result<Done, RunError> {
        let run = block_on(self.store().run(id.clone()))?;
        let session = block_on(self.store().session(run.session_id.clone()))?;
        let folder = self.folders.of(id);
        folder.make()?;
        let Some(_worker) = folder.worker()? else {
            let reason = "another process works on it".to_owned();
            return Err(RunError::NotTaken { run: id.clone(), reason });
        };
        folder.begins()?;
        let run = self.claim(&run).inspect_err(|_| folder.is_over())?;
        let started = self.start(&run, &session, &folder);
        let (plan, order, mut recorder) = match started {
            Ok(started) => started,
            Err(error) => {
                let end = RunEnd::failed(cut(&error.to_string()));
                // Who lost the run meanwhile has nothing to say of it.
                let _ = block_on(self.store().finish_run(run.lease(), end));
                folder.is_over();
                return Err(error);
            }
        };
        tell(Show::Begins);
        let log = LogFile::open(&folder, self.options.redaction)?;
        let (news, heard) = sync_channel(NEWS_MAX);
        stop.rings(news.clone());
        let begun = self.begin(&run, &session, plan, &news).and_then(|group| {
            folder.note_program(group.head()).inspect_err(|_| group.kill())?;
            Ok(group)
        });
        let ended = match begun {
            Ok(group) => {
                let watch = Watch::new(self, &order, &mut recorder, log, group, tell, stop);
                watch.run(&heard)
            }
            Err(error) => Finished::Ended(failed_to_start(&error)),
        };
        self.finish(&folder, &order, recorder, ended)
    }

    /// Notes what is to be started, in the folder and in the store, before anything is.
    fn start(
        &self,
        run: &Run,
        session: &Session,
        folder: &Folder,
    ) -> Result<(Plan, Order, Recorder), RunError> {
        let plan = self.plan(run, session)?;
        let now = self.options.clock.now();
        let order = Order {
            lease: run.lease(),
            session_id: session.id.clone(),
            kind: plan.kind.clone(),
            stream: plan.program.stream.as_str().to_owned(),
            argv: plan.argv.clone(),
            directory: plan.place.directory.clone(),
            started_at: now,
        };
        folder.note_order(&order)?;
        let text = |path: &std::path::Path| Some(path.to_string_lossy().into_owned());
        let origin = plan.external.clone();
        let origin = origin.filter(|_| session.origin.is_none());
        let update = SessionUpdate {
            project_dir: text(&plan.place.directory),
            hostname: self.options.hostname.clone(),
            log_path: text(&folder.log()),
            workspace_path: plan.place.copy.as_deref().and_then(text),
            origin: origin.map(|external_id| Origin { source: plan.kind.clone(), external_id }),
            ..SessionUpdate::default()
        };
        block_on(self.store().bind_run(run.lease(), update))?;
        let mut recorder = Recorder::new(run.lease(), plan.program.stream);
        recorder.counted(session.usage);
        let data = json!({
            "executorId": self.options.executor,
            "hostname": self.options.hostname,
            "runId": run.id,
            "epoch": run.lease_epoch,
            "agent": plan.kind,
            "directory": plan.place.directory,
            "workingCopy": plan.place.copy,
            "workerPid": std::process::id(),
        });
        recorder.note("hostStarted", &data, "started", now);
        let told = ah_model::RunParameters::read(&run.parameters)?;
        recorder.prompt(&told.prompt, now);
        recorder.tell(self.store())?;
        Ok((plan, order, recorder))
    }

    fn begin(
        &self,
        run: &Run,
        session: &Session,
        plan: Plan,
        news: &SyncSender<News>,
    ) -> Result<Group, RunError> {
        let mut environment: Vec<(&str, String)> =
            self.options.environment.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        environment.push(("AH_SESSION_ID", session.id.to_string()));
        environment.push((RUN_ID, run.id.to_string()));
        if let Some(task) = self.task_of(session) {
            environment.push(("AH_TASK_ID", task.to_string()));
        }
        let start = Start {
            own: &self.options.own,
            argv: &plan.argv,
            directory: &plan.place.directory,
            environment,
            input: plan.input,
        };
        child::begin(start, news)
    }

    /// The task that the session does, if it does one.
    fn task_of(&self, session: &Session) -> Option<i64> {
        let filter = ah_model::TaskFilter { batch_id: None, session_id: Some(session.id.clone()) };
        let page = ah_model::PageRequest::default();
        let tasks = block_on(self.store().list_tasks(filter, page)).ok()?;
        tasks.items.first().and_then(|task| task.id)
    }

    /// Tells the store how it ended; what the program noted stays for who comes after, if it cannot.
    fn finish(
        &self,
        folder: &Folder,
        order: &Order,
        mut recorder: Recorder,
        ended: Finished,
    ) -> Result<Done, RunError> {
        let ended = match ended {
            Finished::Ended(ended) => ended,
            Finished::Lost(reason) => {
                folder.is_over();
                return Err(RunError::NotTaken { run: order.lease.run_id.clone(), reason });
            }
        };
        folder.note_exit(&ended)?;
        let now = self.options.clock.now();
        recorder.end(now);
        let data = json!({
            "runId": order.lease.run_id,
            "epoch": order.lease.epoch,
            "exit": ended.exit,
            "error": ended.error,
        });
        recorder.note("hostExited", &data, "exited", now);
        self.patiently(|| recorder.tell(self.store()))?;
        self.bind_external(order, recorder.external.take());
        let end =
            RunEnd { error: ended.error, exit: ended.exit.clone(), ..RunEnd::new(ended.outcome) };
        let finish = || block_on(self.store().finish_run(order.lease.clone(), end.clone()));
        let run = self.patiently(finish)?;
        folder.is_over();
        Ok(Done { run, exit: ended.exit })
    }

    /// Tries again what a store that is busy or away does not take, as long as the lease may last.
    fn patiently<T>(
        &self,
        mut work: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let until = Instant::now() + SURE;
        loop {
            match work() {
                Err(error) if is_passing(&error) && Instant::now() < until => {
                    std::thread::sleep(LOOK);
                }
                done => return done,
            }
        }
    }
}

/// Whether the same may work a little later.
fn is_passing(error: &StoreError) -> bool {
    matches!(error, StoreError::Busy { .. } | StoreError::Unreachable { .. })
}

fn failed_to_start(error: &RunError) -> Ended {
    let why = cut(&error.to_string());
    let exit = Exit { reason: Some(why.clone()), ..Exit::default() };
    Ended { outcome: RunOutcome::Failed, error: Some(why), exit }
}

fn cut(text: &str) -> String {
    text.chars().take(limits::SHORT_TEXT_BYTES_MAX / 4).collect()
}

/// What came of a program.
enum Finished {
    Ended(Ended),
    /// The run is somebody else's.
    Lost(String),
}

/// Why a program is being ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Asked,
    Killed,
}

/// A program at work.
struct Watch<'a> {
    local: &'a Local,
    lease: Lease,
    recorder: &'a mut Recorder,
    order: &'a Order,
    log: LogFile,
    group: Group,
    tell: &'a Tell,
    stop: &'a Stop,
    /// Streams that are open.
    open: u8,
    exited: Option<io::Result<ExitStatus>>,
    ending: Option<Ending>,
    /// When it is killed, or its last lines are no longer awaited.
    until: Option<Instant>,
    looked: Instant,
    /// When the store was last asked with success to keep the lease.
    renewed: Instant,
    bound: bool,
}

impl<'a> Watch<'a> {
    fn new(
        local: &'a Local,
        order: &'a Order,
        recorder: &'a mut Recorder,
        log: LogFile,
        group: Group,
        tell: &'a Tell,
        stop: &'a Stop,
    ) -> Self {
        let now = Instant::now();
        Self {
            local,
            lease: order.lease.clone(),
            recorder,
            order,
            log,
            group,
            tell,
            stop,
            open: 2,
            exited: None,
            ending: None,
            until: None,
            looked: now,
            renewed: now,
            bound: false,
        }
    }

    fn run(mut self, heard: &Receiver<News>) -> Finished {
        while self.exited.is_none() || self.open > 0 {
            match self.next(heard) {
                Some(News::Line(stream, line)) => self.line(stream, &line),
                Some(News::Closed) => self.open = self.open.saturating_sub(1),
                Some(News::Exited(status)) => {
                    self.exited = Some(status);
                    self.until = Some(Instant::now() + DRAIN);
                }
                Some(News::Stop) | None => {}
            }
            match self.until {
                // Somebody else holds its pipes: nobody waits for that.
                Some(until) if self.exited.is_some() && Instant::now() >= until => break,
                Some(until) if self.exited.is_none() && Instant::now() >= until => self.kill(),
                _ => {}
            }
            self.heed();
            if let Err(reason) = self.keep() {
                self.group.kill();
                return Finished::Lost(reason);
            }
        }
        Finished::Ended(self.ended())
    }

    /// The next thing that happens, or nothing for a while. A program whose words the store does not
    /// take waits.
    fn next(&self, heard: &Receiver<News>) -> Option<News> {
        if self.recorder.is_full() {
            std::thread::sleep(LOOK);
            return None;
        }
        heard.recv_timeout(LOOK).ok()
    }

    fn line(&mut self, stream: Stream, line: &[u8]) {
        self.log.line(stream, line);
        for text in self.recorder.line(stream, line, self.local.options.clock.now()) {
            (self.tell)(match stream {
                Stream::Output => Show::Output(&text),
                Stream::Errors => Show::Errors(&text),
            });
        }
    }

    /// Hears the words of who started the worker.
    fn heed(&mut self) {
        match (self.stop.said(), self.ending) {
            (0, _) | (_, Some(Ending::Killed)) => {}
            (1, Some(Ending::Asked)) => {}
            (1, None) => self.ask(),
            (_, _) => self.kill(),
        }
    }

    fn ask(&mut self) {
        if self.exited.is_none() && self.ending.is_none() {
            self.group.ask();
            self.ending = Some(Ending::Asked);
            self.until = Some(Instant::now() + GRACE);
        }
    }

    fn kill(&mut self) {
        if self.exited.is_none() && self.ending != Some(Ending::Killed) {
            self.group.kill();
            self.ending = Some(Ending::Killed);
            self.until = None;
        }
    }

    /// Tells what there is, keeps the lease, looks whether a stop is wanted. The error says who has
    /// the run now.
    fn keep(&mut self) -> Result<(), String> {
        if self.looked.elapsed() < LOOK && !self.recorder.is_full() {
            return Ok(());
        }
        self.looked = Instant::now();
        let store = self.local.store();
        if self.recorder.is_waiting() {
            let told = self.recorder.tell(store);
            self.unless_passing(told)?;
        }
        if !self.bound && self.recorder.external.is_some() {
            self.bound = true;
            self.local.bind_external(self.order, self.recorder.external.clone());
        }
        let asked_at = Instant::now();
        let run = match self.renewed.elapsed() >= RENEW {
            true => block_on(store.renew_run(self.lease.clone(), LEASE_MS))
                .inspect(|_| self.renewed = asked_at),
            false => block_on(store.run(self.lease.run_id.clone())),
        };
        let Some(run) = self.unless_passing(run)? else { return Ok(()) };
        if run.lease_epoch != self.lease.epoch || !run.status.is_live() {
            return Err(format!("it is {}", run.status));
        }
        if run.status == RunStatus::Stopping {
            self.ask();
        }
        Ok(())
    }

    /// What the store answered, or nothing if it is away for a moment; it may be so only as long as
    /// the lease surely lasts.
    fn unless_passing<T>(&self, answer: Result<T, StoreError>) -> Result<Option<T>, String> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if is_passing(&error) && self.renewed.elapsed() < SURE => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn ended(self) -> Ended {
        let (code, signal) = match &self.exited {
            Some(Ok(status)) => (status.code().map(i64::from), signal(status)),
            Some(Err(_)) | None => (None, None),
        };
        let how = match (code, signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no end that is known".to_owned(),
        };
        let (outcome, error) = match (self.ending, code, &self.recorder.said) {
            (_, Some(0), None | Some(Ok(()))) => (RunOutcome::Completed, None),
            (Some(_), _, _) => (RunOutcome::Stopped, Some(format!("stopped: {how}"))),
            (None, _, Some(Err(reason))) => (RunOutcome::Failed, Some(reason.clone())),
            (None, _, _) => {
                let complaint = self.recorder.complaint.trim();
                let why = match complaint.is_empty() {
                    true => how,
                    false => format!("{how}: {complaint}"),
                };
                (RunOutcome::Failed, Some(why))
            }
        };
        let error = error.map(|why| cut(&why));
        let exit = Exit { code, signal, reason: error.clone() };
        Ended { outcome, error, exit }
    }
}

#[cfg(unix)]
fn signal(status: &ExitStatus) -> Option<i64> {
    std::os::unix::process::ExitStatusExt::signal(status).map(i64::from)
}

#[cfg(not(unix))]
fn signal(_status: &ExitStatus) -> Option<i64> {
    None
}
