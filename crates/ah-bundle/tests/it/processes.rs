//! Many processes at once, processes that are killed at any step, and a disk that is full.

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};

use ah_bundle::{BundleError, DryRun, Note, Step};

use crate::given::{Given, at, bundle};
use crate::worker::{self, Task};

const PROCESSES: usize = 8;
const SAVES: usize = 50;

#[test]
fn saves_of_many_processes_to_one_scope_make_one_chain() {
    let given = Given::nothing();
    run(&given, |_| Task::Save { scope: "one".to_owned(), count: SAVES });
    let report = given.dir().verify().unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.notes, []);
    let chains: Vec<(usize, usize)> =
        report.scopes.iter().map(|scope| (scope.snapshots, scope.chain)).collect();
    assert_eq!(chains, [(PROCESSES * SAVES, PROCESSES * SAVES)]);
    assert_eq!(given.dir().log("one").unwrap().entries.len(), PROCESSES * SAVES);
}

#[test]
fn saves_of_many_processes_to_many_scopes_make_a_chain_each() {
    let given = Given::nothing();
    run(&given, |process| Task::Save { scope: format!("scope {process}"), count: SAVES });
    let report = given.dir().verify().unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.notes, []);
    let chains: Vec<(usize, usize)> =
        report.scopes.iter().map(|scope| (scope.snapshots, scope.chain)).collect();
    assert_eq!(chains, [(SAVES, SAVES); PROCESSES]);
    for process in 0..PROCESSES {
        let loaded = given.dir().load(&format!("scope {process}")).unwrap();
        assert_eq!(loaded.damage, []);
        let prompt = loaded.snapshot.bundle.prompts.unwrap();
        assert_eq!(prompt.get("system").unwrap().as_str(), Some("number 49"));
    }
}

#[test]
fn refinements_of_many_processes_are_all_kept() {
    const LINES: usize = 10;
    let given = Given::nothing();
    given.dir().save(bundle("one", "first"), at(0)).unwrap();
    run(&given, |writer| Task::Refine { scope: "one".to_owned(), writer, count: LINES });
    let loaded = given.dir().load("one").unwrap();
    let prompts = loaded.snapshot.bundle.prompts.unwrap();
    let developer = prompts.get("developer").unwrap().as_str().unwrap().to_owned();
    let lines: BTreeSet<&str> = developer.split("\n\n").collect();
    assert_eq!(lines.len(), PROCESSES * LINES, "{developer}");
}

#[test]
fn a_writer_killed_at_any_step_leaves_a_head_that_loads() {
    // Without a spare, with one, with one that was only half put aside, and with two new pointers.
    for before in [["one", "other"], ["other", "one"], ["one", "one"]] {
        for number in 0..Step::ALL.len() {
            let given = Given::nothing();
            for scope in ["other", "one"].iter().chain(&before) {
                given.dir().save(bundle(scope, "first"), at(0)).unwrap();
            }
            killed_at(&given, number);
        }
    }
}

#[test]
fn a_writer_killed_at_any_step_after_a_prune_leaves_a_head_that_loads() {
    for number in 0..Step::ALL.len() {
        let given = Given::nothing();
        for scope in ["other", "one", "one", "one"] {
            given.dir().save(bundle(scope, "first"), at(0)).unwrap();
        }
        given.dir().prune(NonZeroUsize::MIN, DryRun::No).unwrap();
        killed_at(&given, number);
    }
}

/// Kills a writer at that step of a save to the scope `one`, and writes on.
fn killed_at(given: &Given, number: usize) {
    let step = Step::ALL[number];
    let first = given.dir().load("one").unwrap().snapshot;
    let other = given.dir().load("other").unwrap().snapshot;
    let task = Task::Save { scope: "one".to_owned(), count: 1 };
    let mut command = worker::killed_at(given.path(), &task, number);
    let killed = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed), Some(9), "{step:?}");

    let loaded = given.dir().load("one").unwrap();
    assert_eq!(loaded.damage, [], "{step:?}");
    let is_new = loaded.snapshot.bundle.prev_sha == first.sha;
    let named = [Step::HeadNamed, Step::LatestNamed, Step::NamesSynced, Step::Done];
    assert_eq!(is_new, named.contains(&step), "{step:?}");
    assert!(is_new || loaded.snapshot == first, "{step:?}");
    assert_eq!(given.dir().load("other").unwrap().snapshot, other, "{step:?}");
    let report = given.dir().verify().unwrap();
    assert!(report.ok, "{step:?}: {report:?}");
    assert_eq!(report.foreign, Vec::<String>::new(), "{step:?}");

    // The next writers are not held up, link to the head and clear up.
    let mut parent = loaded.snapshot.sha;
    for next in 0..4 {
        let saved = given.dir().save(bundle("one", "next"), at(next)).unwrap().snapshot;
        assert_eq!(saved.bundle.prev_sha, parent, "{step:?}");
        parent = saved.sha;
        assert!(given.names().iter().all(|name| !name.starts_with(".tmp")), "{step:?}");
        assert_eq!(given.dir().load("other").unwrap().snapshot, other, "{step:?}");
    }
    let report = given.dir().verify().unwrap();
    assert!(report.ok, "{step:?}: {report:?}");
    // Only a snapshot whose head was never written is nobody's.
    let orphans = report.notes.iter().filter(|note| matches!(note, Note::Orphan { .. })).count();
    assert_eq!(orphans, usize::from(step == Step::SnapshotNamed), "{step:?}");
}

#[test]
fn a_writer_that_fails_at_any_step_leaves_a_head_that_loads() {
    fn full_at<const STEP: usize>(step: Step) -> io::Result<()> {
        match step == Step::ALL[STEP] {
            true => Err(io::Error::from(io::ErrorKind::StorageFull)),
            false => Ok(()),
        }
    }
    let steps = [
        full_at::<0>,
        full_at::<1>,
        full_at::<2>,
        full_at::<3>,
        full_at::<4>,
        full_at::<5>,
        full_at::<6>,
        full_at::<7>,
        full_at::<8>,
    ];
    for full in steps {
        let given = Given::nothing();
        for first in 0..3 {
            given.dir().save(bundle("one", "first"), at(first)).unwrap();
        }
        let failed = given.dir().with_steps(full).save(bundle("one", "second"), at(1));
        let Err(BundleError::File { source, .. }) = failed else { panic!("{failed:?}") };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(given.dir().load("one").unwrap().damage, []);
        assert!(given.dir().verify().unwrap().ok);
        given.dir().save(bundle("one", "third"), at(2)).unwrap();
        assert!(given.dir().verify().unwrap().ok);
    }
}

/// The system refuses to let any file grow beyond some size, in the middle of a write.
#[test]
fn a_disk_without_space_for_a_snapshot_changes_nothing() {
    let given = Given::nothing();
    let first = given.dir().save(bundle("one", "first"), at(0)).unwrap().snapshot;
    let before = given.files();
    let task = Task::SaveLarge { scope: "one".to_owned(), bytes: 1_000_000 };
    let worker = worker::command(given.path(), &task);
    let mut limited = Command::new("sh");
    // 64 blocks of 512 or 1,024 bytes; the signal for it would end the process.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]);
    limited.arg(worker.get_program()).args(worker.get_args());
    limited.envs(worker.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("FileTooLarge"), "{said}");
    assert_eq!(given.dir().load("one").unwrap().snapshot, first);
    let mut after = given.files();
    after.retain(|name, _| !name.starts_with(".tmp") && !name.starts_with(".spare"));
    assert_eq!(after, before);
    given.dir().save(bundle("one", "second"), at(1)).unwrap();
    assert!(given.names().iter().all(|name| !name.starts_with(".tmp")));
}

/// Starts a worker for each task, all at once, and waits for them.
fn run(given: &Given, task: impl Fn(usize) -> Task) {
    let start = |process| {
        let mut command = worker::command(given.path(), &task(process));
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let workers: Vec<_> = (0..PROCESSES).map(start).collect();
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
}
