//! Runs of a machine, with real programs under real keepers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ah_access::executor::host::{
    Asked, End, Host, HostError, HostOptions, Programs, Standing, Start, Started, Stream, Tell,
};
use ah_access::frame::{Happened, HeldState};
use ah_model::{Lease, RawJson, RunOutcome, Timestamp};
use ah_process::Process;
use ah_store::SystemClock;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::worker::{Task, start as start_worker};

/// How long anything is awaited that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// The command of a keeper: the example, which is built with the tests.
pub(crate) fn keeper() -> Vec<String> {
    let tests = std::env::current_exe().unwrap();
    let keeper = tests.parent().unwrap().parent().unwrap().join("examples/keeper");
    assert!(keeper.is_file(), "{} is not built", keeper.display());
    vec![keeper.into_os_string().into_string().unwrap()]
}

pub(crate) fn options(directory: &Path, keeper: Vec<String>) -> HostOptions {
    HostOptions {
        keeper,
        work: directory.parent().unwrap().to_owned(),
        programs: Programs::default(),
        search: ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from).to_vec(),
        environment: vec![("OF_ALL".to_owned(), "yes".to_owned())],
        withheld: vec!["HOME".to_owned()],
        output_bytes_max: 1024 * 1024,
    }
}

pub(crate) fn open(directory: &Path, keeper: Vec<String>, tell: Tell) -> Result<Host, HostError> {
    let options = options(directory, keeper);
    Host::open(directory, options, Arc::new(SystemClock), "a test", tell)
}

pub(crate) fn start(run: &str, epoch: u64, parameters: &Value) -> Start {
    let session_id = "s1".parse().unwrap();
    let parameters = RawJson::of(parameters).unwrap();
    Start { lease: lease(run, epoch), session_id, parameters, member: None, until_ms: None }
}

/// Milliseconds since the machine began.
pub(crate) fn since_boot_ms() -> u64 {
    u64::try_from(ah_process::since_boot().as_millis()).unwrap()
}

pub(crate) fn lease(run: &str, epoch: u64) -> Lease {
    Lease { run_id: run.parse().unwrap(), epoch }
}

pub(crate) fn shell(script: &str) -> Value {
    json!({ "argv": ["sh", "-c", script] })
}

/// A place for an executor's runs. What still runs of it ends with the test.
pub(crate) struct Machine {
    folder: TempDir,
    ended: Option<Receiver<Lease>>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), ended: None }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.folder.path().join("host")
    }

    /// Where programs work.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn host(&mut self) -> Host {
        let (told, ended) = channel();
        self.ended = Some(ended);
        let tell: Tell = Box::new(move |lease| drop(told.send(lease.clone())));
        open(&self.directory(), keeper(), tell).unwrap()
    }

    /// Waits until a run is said to have ended; how.
    pub(crate) fn end(&self, host: &Host, lease: &Lease) -> End {
        if let Some(end) = host.end(lease) {
            return end;
        }
        let ended = self.ended.as_ref().unwrap();
        while ended.recv_timeout(PATIENCE).unwrap() != *lease {}
        host.end(lease).unwrap()
    }

    /// Begins a run and waits for its end.
    pub(crate) fn run(&mut self, parameters: &Value) -> (Host, End) {
        let host = self.host();
        host.launch(&start("r1", 1, parameters)).unwrap();
        let end = self.end(&host, &lease("r1", 1));
        (host, end)
    }

    pub(crate) fn run_folder(&self, lease: &Lease) -> PathBuf {
        self.directory().join("runs").join(format!("{}-{}", lease.epoch, lease.run_id))
    }

    /// A file of a run's folder.
    pub(crate) fn read(&self, lease: &Lease, name: &str) -> Value {
        let text = fs::read(self.run_folder(lease).join(name)).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// All that live of a run's program.
    pub(crate) fn living(&self, lease: &Lease) -> Vec<Process> {
        let folder = self.run_folder(lease);
        let is_of = |one: &Process| one.has(&[("AH_RUN_FOLDER", folder.to_str().unwrap())]);
        ah_process::all().into_iter().filter(|one| one.lives && is_of(one)).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let Ok(folders) = fs::read_dir(self.directory().join("runs")) else { return };
        for folder in folders.map(|folder| folder.unwrap().path()) {
            let mark = [("AH_RUN_FOLDER", folder.to_str().unwrap())];
            let find = || {
                let all = ah_process::all().into_iter();
                all.filter(|one| one.lives && one.has(&mark)).collect::<Vec<_>>()
            };
            assert!(ah_process::end_all(find).is_ok());
        }
    }
}

pub(crate) fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Takes all output that is there; what each stream said.
pub(crate) fn take_all(host: &Host, lease: &Lease) -> (String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    while let Some(piece) = host.output(lease).unwrap() {
        match piece.stream {
            Stream::Stdout => out.push_str(&piece.text),
            Stream::Stderr => err.push_str(&piece.text),
        }
        host.taken(lease, &piece).unwrap();
    }
    (out, err)
}

fn outcome(end: &End) -> (RunOutcome, Option<String>) {
    let ended = end.ended();
    (ended.outcome, ended.error)
}

#[test]
fn a_program_is_run_as_it_was_ordered_and_its_end_is_known() {
    let mut machine = Machine::new();
    fs::create_dir(machine.work("there")).unwrap();
    let script = "cat; echo $0 $A $OF_ALL $AH_RUN_ID $AH_RUN_EPOCH $AH_SESSION; pwd; \
                  echo oh >&2; exit 3";
    let (host, end) = machine.run(&json!({
        "argv": ["sh", "-c", script, "name"], "env": {"A": "1"}, "directory": "there",
        "stdin": "in\n",
    }));
    assert_eq!((end.code, end.signal, end.asked), (Some(3), None, None));
    assert_eq!(outcome(&end), (RunOutcome::Failed, Some("exit code 3".to_owned())));
    let there = machine.work("there").canonicalize().unwrap();
    let said = format!("in\nname 1 yes r1 1 s1\n{}\n", there.display());
    assert_eq!(take_all(&host, &lease("r1", 1)), (said, "oh\n".to_owned()));
    let lease = lease("r1", 1);
    let state = HeldState::Ended;
    let session_id = "s1".parse().unwrap();
    let standing = Standing {
        program: (&lease).into(),
        session_id,
        member: None,
        is_hold: false,
        has_begun: false,
        is_told: false,
        state,
    };
    assert_eq!(host.runs(), [standing]);
    host.forget(&lease).unwrap();
    assert!(host.runs().is_empty() && !machine.run_folder(&lease).exists());
    assert_eq!(host.end(&lease), None);
    assert!(matches!(host.output(&lease), Err(HostError::NotHeld { .. })));
}

#[test]
fn what_the_executor_withholds_no_program_gets() {
    assert!(std::env::vars_os().any(|(name, _)| name == "HOME"));
    let mut machine = Machine::new();
    let (host, _) = machine.run(&shell("echo ${HOME-none} ${PATH:+some}"));
    assert_eq!(take_all(&host, &lease("r1", 1)).0, "none some\n");
    let own = json!({ "argv": ["sh", "-c", "echo $HOME"], "env": { "HOME": "/given" } });
    host.launch(&start("r2", 1, &own)).unwrap();
    machine.end(&host, &lease("r2", 1));
    assert_eq!(take_all(&host, &lease("r2", 1)).0, "/given\n");
}

#[test]
fn a_program_that_ends_well_completes_its_run() {
    let (_, end) = Machine::new().run(&json!({ "argv": ["true"] }));
    assert_eq!((end.code, outcome(&end)), (Some(0), (RunOutcome::Completed, None)));
}

#[test]
fn the_signal_that_ended_a_program_is_known() {
    let (_, end) = Machine::new().run(&shell("kill -USR1 $$; sleep 600"));
    assert_eq!((end.code, end.signal), (None, Some(10)));
    assert_eq!(outcome(&end), (RunOutcome::Failed, Some("signal 10".to_owned())));
}

#[test]
fn what_is_reported_of_a_run_has_keys_that_do_not_change() {
    let mut machine = Machine::new();
    let (host, _) = machine.run(&shell("echo one; echo two >&2"));
    let (standing, at) = (host.runs().remove(0), Timestamp::EPOCH);
    let piece = host.output(&standing.program).unwrap().unwrap();
    let wrote = standing.wrote(&piece, at).unwrap();
    assert_eq!(wrote.dedup_key, "r1/1/stdout/0");
    let Happened::Event { kind, data } = wrote.what else { panic!() };
    let data: Value = serde_json::from_str(data.as_str()).unwrap();
    assert_eq!(kind, "hostLog");
    assert_eq!(data, json!({ "stream": "stdout", "offset": 0, "text": "one\n" }));
}

#[test]
fn a_program_that_is_asked_to_stop_may_end_by_itself() {
    let mut machine = Machine::new();
    let host = machine.host();
    let lease = lease("r1", 1);
    let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    host.launch(&start("r1", 1, &shell(script))).unwrap();
    await_that("ready", || host.output(&lease).unwrap().is_some());
    host.stop(&lease, Duration::from_secs(600)).unwrap();
    let end = machine.end(&host, &lease);
    assert_eq!((end.code, end.asked), (Some(0), Some(Asked::Stop)));
    assert_eq!(outcome(&end), (RunOutcome::Completed, None));
    assert_eq!(take_all(&host, &lease).0, "ready\nbye\n");
}

#[test]
fn a_program_that_does_not_stop_is_killed_when_its_time_is_over() {
    let mut machine = Machine::new();
    let host = machine.host();
    let lease = lease("r1", 1);
    let script = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
    host.launch(&start("r1", 1, &shell(script))).unwrap();
    await_that("ready", || host.output(&lease).unwrap().is_some());
    host.stop(&lease, Duration::from_millis(50)).unwrap();
    let end = machine.end(&host, &lease);
    assert_eq!((end.signal, end.asked), (Some(9), Some(Asked::Stop)));
    assert_eq!(outcome(&end), (RunOutcome::Stopped, None));
    // Nobody is there to hear it, which is no error.
    host.stop(&lease, Duration::ZERO).unwrap();
    host.kill(&lease).unwrap();
}

/// A program with children in its group, in another session, and in another session without parent.
const FAMILY: &str = "sleep 600 & setsid sleep 600 & (setsid sleep 600 &) ; \
                      while [ ! -e $AH_RUN_FOLDER/go ]; do sleep 0.01; done";

#[test]
fn whatever_a_program_started_ends_with_it() {
    let mut machine = Machine::new();
    let host = machine.host();
    for (run, is_killed) in [("by-itself", false), ("killed", true)] {
        let lease = lease(run, 1);
        host.launch(&start(run, 1, &shell(FAMILY))).unwrap();
        // The keeper, the program, its children and the sleep of its loop.
        let sleeping = || {
            let all = machine.living(&lease).into_iter();
            let groups: std::collections::BTreeSet<u32> = all.map(|one| one.group).collect();
            groups.len() == 3
        };
        await_that("a family", sleeping);
        match is_killed {
            true => host.kill(&lease).unwrap(),
            false => fs::write(machine.run_folder(&lease).join("go"), "").unwrap(),
        }
        let end = machine.end(&host, &lease);
        let wanted = if is_killed { (None, Some(9)) } else { (Some(0), None) };
        assert_eq!((end.code, end.signal), wanted);
        assert_eq!(machine.living(&lease), []);
    }
}

#[test]
fn a_run_is_paused_and_goes_on() {
    let mut machine = Machine::new();
    let host = machine.host();
    let lease = lease("r1", 1);
    let sleep = json!({ "argv": ["sleep", "600"] });
    let Started::Now(process) = host.launch(&start("r1", 1, &sleep)).unwrap() else { panic!() };
    let is_held = || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    };
    let state = || host.runs()[0].state;
    assert_eq!((state(), is_held()), (HeldState::Running, false));
    host.pause(&lease).unwrap();
    await_that("a pause", is_held);
    assert_eq!(state(), HeldState::Paused);
    host.resume(&lease).unwrap();
    await_that("going on", || !is_held());
    assert_eq!(state(), HeldState::Running);
    host.pause(&lease).unwrap();
    // One that is held still hears that it is to stop.
    host.stop(&lease, Duration::from_secs(600)).unwrap();
    let end = machine.end(&host, &lease);
    assert_eq!((end.signal, end.asked), (Some(15), Some(Asked::Stop)));
    assert!(matches!(host.pause(&lease), Err(HostError::Ending { .. })));
}

#[test]
fn output_over_the_limit_is_counted_said_and_holds_nobody_up() {
    let mut machine = Machine::new();
    let (host, end) = machine.run(&json!({
        "argv": ["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo short >&2; echo done"],
        "limits": { "outputBytes": 100_000 },
    }));
    assert_eq!(
        (end.code, end.stdout_dropped_bytes, end.stderr_dropped_bytes),
        (Some(0), 200_005, 0)
    );
    let reason = end.ended().exit.reason.unwrap();
    assert!(reason.contains("200005 bytes of stdout and 0 of stderr were not kept"), "{reason}");
    let (out, err) = take_all(&host, &lease("r1", 1));
    let notice = "\n[output beyond 100000 bytes is not kept]\n";
    assert_eq!(out, format!("{}{notice}", "x".repeat(100_000)));
    assert_eq!(err, "short\n");
}

#[test]
fn limits_of_an_order_hold_for_its_program_and_not_for_its_keeper() {
    let mut machine = Machine::new();
    let (host, end) = machine.run(&json!({
        "argv": ["sh", "-c", "ulimit -n; ulimit -v; ulimit -t; ulimit -f; grep processes /proc/self/limits"],
        "limits": {
            "openFiles": 33, "memoryBytes": 1_073_741_824, "cpuSeconds": 7, "fileBytes": 5120,
            "processes": 5000,
        },
    }));
    assert_eq!(end.code, Some(0));
    let out = take_all(&host, &lease("r1", 1)).0;
    let words: Vec<&str> = out.split_whitespace().take(8).collect();
    assert_eq!(words, ["33", "1048576", "7", "10", "Max", "processes", "5000", "5000"]);
    let spin = json!({
        "argv": ["sh", "-c", "while :; do :; done"], "limits": { "cpuSeconds": 1 },
    });
    host.launch(&start("spin", 1, &spin)).unwrap();
    let end = machine.end(&host, &lease("spin", 1));
    assert!(matches!(end.signal, Some(9 | 24)), "{end:?}");
}

#[test]
fn what_cannot_be_run_leaves_nothing_behind() {
    let mut machine = Machine::new();
    let host = machine.host();
    let refused = |parameters: &Value| host.launch(&start("r1", 1, parameters)).unwrap_err();
    let missing = refused(&json!({ "argv": ["no-such-program"] }));
    let HostError::ProgramMissing { program, searched } = missing else { panic!("{missing}") };
    assert_eq!(
        (program.as_str(), searched.as_str()),
        ("no-such-program", "/usr/local/bin:/usr/bin:/bin")
    );
    assert!(matches!(refused(&json!({})), HostError::Invalid(_)));
    assert!(host.runs().is_empty());
    assert_eq!(fs::read_dir(machine.directory().join("runs")).unwrap().count(), 0);
}

#[test]
fn a_program_that_cannot_begin_says_why() {
    let mut machine = Machine::new();
    let file = machine.work("text");
    fs::write(&file, "no program").unwrap();
    let (_, end) = machine.run(&json!({ "argv": [file] }));
    let (outcome, error) = outcome(&end);
    assert_eq!((outcome, end.code), (RunOutcome::Failed, None));
    let error = error.unwrap();
    assert!(error.contains("cannot run") && error.contains("Permission denied"), "{error}");
}

#[test]
fn a_keeper_that_does_not_work_begins_nothing() {
    let machine = Machine::new();
    for (keeper, says) in [
        (vec!["/no/such/keeper".to_owned()], "No such file"),
        (vec!["sh".to_owned(), "-c".to_owned(), "echo no >&2; exit 5".to_owned()], "no"),
    ] {
        let host = open(&machine.directory(), keeper, Box::new(|_| {})).unwrap();
        let error = host.launch(&start("r1", 1, &shell("true"))).unwrap_err();
        assert!(matches!(error, HostError::NotBegun { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(host.runs().is_empty());
    }
}

#[test]
fn a_lease_begins_one_program_and_a_newer_one_ends_it_first() {
    let mut machine = Machine::new();
    let host = machine.host();
    let wait = shell("trap '' TERM; echo $AH_RUN_EPOCH; while :; do sleep 0.01; done");
    assert!(matches!(host.launch(&start("r1", 4, &wait)).unwrap(), Started::Now(_)));
    assert_eq!(host.launch(&start("r1", 4, &wait)).unwrap(), Started::Before);
    let stale = host.launch(&start("r1", 3, &wait)).unwrap_err();
    assert!(matches!(stale, HostError::Stale { epoch: 3, newest: 4, .. }), "{stale}");
    assert!(matches!(host.launch(&start("r1", 5, &wait)).unwrap(), Started::Now(_)));
    // Before the newer one begins, the older one has ended.
    let end = host.end(&lease("r1", 4)).unwrap();
    assert_eq!((end.signal, end.asked), (Some(9), Some(Asked::Kill)));
    assert_eq!(machine.living(&lease("r1", 4)), []);
    assert!(matches!(host.forget(&lease("r1", 5)), Err(HostError::Runs { .. })));
    host.forget(&lease("r1", 4)).unwrap();
    host.kill(&lease("r1", 5)).unwrap();
    machine.end(&host, &lease("r1", 5));
}

#[test]
fn two_executors_do_not_use_one_directory() {
    let machine = Machine::new();
    let task = Task::Launch { keeper: keeper(), runs: vec![("r1".to_owned(), 1, shell("true"))] };
    let mut worker = start_worker(&machine.directory(), &task);
    assert!(worker.said().next().unwrap().contains("Now("));
    let error = open(&machine.directory(), keeper(), Box::new(|_| {})).unwrap_err();
    assert!(matches!(&error, HostError::Used { holder, .. } if holder == "a test"), "{error}");
}

#[test]
fn the_same_piece_is_given_until_it_is_taken() {
    let mut machine = Machine::new();
    let host = machine.host();
    let lease = lease("r1", 1);
    let script =
        "echo one; while [ ! -e $AH_RUN_FOLDER/go ]; do sleep 0.01; done; echo two; echo no >&2";
    host.launch(&start("r1", 1, &shell(script))).unwrap();
    await_that("a line", || host.output(&lease).unwrap().is_some());
    let first = host.output(&lease).unwrap().unwrap();
    assert_eq!((first.offset, first.end, first.text.as_str()), (0, 4, "one\n"));
    fs::write(machine.run_folder(&lease).join("go"), "").unwrap();
    machine.end(&host, &lease);
    // More was written since; it is another piece.
    assert_eq!(host.output(&lease).unwrap().unwrap(), first);
    drop(host);
    let host = machine.host();
    assert_eq!(host.output(&lease).unwrap().unwrap(), first);
    host.taken(&lease, &first).unwrap();
    let second = host.output(&lease).unwrap().unwrap();
    assert_eq!((second.offset, second.text.as_str()), (4, "two\n"));
    host.taken(&lease, &second).unwrap();
    let third = host.output(&lease).unwrap().unwrap();
    assert_eq!((third.stream, third.offset, third.text.as_str()), (Stream::Stderr, 0, "no\n"));
    host.taken(&lease, &third).unwrap();
    assert_eq!(host.output(&lease).unwrap(), None);
    drop(host);
    // What was taken last may come once more, the same.
    let host = machine.host();
    assert_eq!(host.output(&lease).unwrap().unwrap(), third);
    host.taken(&lease, &third).unwrap();
    assert_eq!(host.output(&lease).unwrap(), None);
}
