//! The outbox: nothing that was answered is lost, whatever ends the process.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_access::executor::outbox::{Cut, Draft, Outbox, OutboxError, OutboxOptions, Step};
use ah_access::frame::{Ended, Happened, ReportItem, ReportRefusal, ReportRefusalReason};
use ah_model::{Exit, RawJson, RunOutcome, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::worker::{Task, start, start_cramped};

const ALL: (usize, u64) = (usize::MAX, u64::MAX);

/// An event of about so many bytes.
pub(crate) fn draft(number: usize, bytes: usize) -> Draft {
    let data = RawJson::of(&json!({ "text": "x".repeat(bytes) })).unwrap();
    Draft {
        run_id: "r1".parse().unwrap(),
        epoch: 2,
        session_id: "s1".parse().unwrap(),
        dedup_key: format!("k{number}"),
        at: Timestamp::EPOCH,
        what: Happened::Event { kind: "output".to_owned(), data },
    }
}

fn ended(number: usize) -> Draft {
    let (outcome, exit) = (RunOutcome::Completed, Exit::default());
    let ended = Ended { outcome, error: None, result: None, idle: false, exit };
    Draft { what: Happened::Ended(ended), ..draft(number, 0) }
}

/// Files of a few items.
pub(crate) fn small() -> OutboxOptions {
    OutboxOptions { segment_bytes_max: 1_500, ..OutboxOptions::default() }
}

fn open_with(directory: &Path, options: OutboxOptions) -> (Outbox, Option<Cut>) {
    Outbox::open(directory, options, "a test", || "o1".parse().unwrap()).unwrap()
}

fn open(directory: &Path) -> Outbox {
    let (outbox, cut) = open_with(directory, small());
    assert_eq!(cut, None);
    outbox
}

fn refused(directory: &Path) -> OutboxError {
    Outbox::open(directory, small(), "a test", || "o2".parse().unwrap()).unwrap_err()
}

fn pending(outbox: &Outbox) -> Vec<ReportItem> {
    outbox.pending(0, ALL.0, ALL.1).unwrap()
}

fn seqs(outbox: &Outbox) -> Vec<u64> {
    pending(outbox).iter().map(|item| item.seq).collect()
}

fn temporary() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("outbox");
    (directory, path)
}

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
    found.sort();
    found
}

#[test]
fn items_are_there_again_with_their_numbers_when_it_is_opened_again() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    assert_eq!(outbox.append(vec![draft(1, 10), draft(2, 2_000)]).unwrap(), 1..=2);
    assert_eq!(outbox.append(vec![ended(3)]).unwrap(), 3..=3);
    let before = pending(&outbox);
    drop(outbox);
    let (again, _) = Outbox::open(&directory, small(), "a test", || "o2".parse().unwrap()).unwrap();
    assert_eq!(again.id().as_str(), "o1");
    assert_eq!(again.last_seq(), 3);
    assert_eq!(pending(&again), before);
    assert_eq!(before[0].dedup_key, "k1");
    assert_eq!(again.append(vec![draft(4, 1)]).unwrap(), 4..=4);
}

#[test]
fn what_is_forgotten_leaves_the_disk_and_its_numbers_are_not_given_again() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    for number in 1..=20 {
        outbox.append(vec![draft(number, 500)]).unwrap();
    }
    let many = files(&directory, "items").len();
    assert!(many > 5, "{many}");
    outbox.forget(13).unwrap();
    assert_eq!(seqs(&outbox), (14..=20).collect::<Vec<_>>());
    assert_eq!(files(&directory, "items").len(), many - 4);
    drop(outbox);
    let outbox = open(&directory);
    assert_eq!((outbox.forgotten(), seqs(&outbox)), (13, (14..=20).collect()));
    outbox.forget(20).unwrap();
    assert_eq!((outbox.pending_bytes(), seqs(&outbox)), (0, vec![]));
    drop(outbox);
    let outbox = open(&directory);
    assert_eq!((outbox.forgotten(), outbox.last_seq()), (20, 20));
    assert_eq!(outbox.append(vec![draft(21, 1)]).unwrap(), 21..=21);
    let error = outbox.forget(22).unwrap_err();
    assert!(matches!(error, OutboxError::Ahead { through: 22, last: 21 }), "{error}");
}

#[test]
fn a_long_file_whose_items_are_all_forgotten_is_given_back() {
    let (_guard, directory) = temporary();
    let (outbox, _) = open_with(&directory, OutboxOptions::default());
    outbox.append(vec![draft(1, 1_000_000)]).unwrap();
    outbox.forget(1).unwrap();
    let left = files(&directory, "items");
    assert_eq!(left.len(), 1);
    assert!(fs::metadata(&left[0]).unwrap().len() < 100);
    drop(outbox);
    assert_eq!(open(&directory).last_seq(), 1);
}

#[test]
fn a_full_outbox_says_so_and_still_takes_the_end_of_a_run() {
    let (_guard, directory) = temporary();
    let (outbox, _) = open_with(&directory, OutboxOptions { bytes_max: 8_000, ..small() });
    let full = (1..).find_map(|number| outbox.append(vec![draft(number, 1_000)]).err()).unwrap();
    let OutboxError::Full { bytes, bytes_max, more } = full else { panic!("{full}") };
    assert!(bytes <= bytes_max && bytes + more > bytes_max, "{bytes} {more}");
    let held = outbox.last_seq();
    assert_eq!(*outbox.append(vec![ended(99)]).unwrap().end(), held + 1);
    // The reserve is bounded as well.
    let over = (0..100).find_map(|number| outbox.append(vec![ended(number)]).err()).unwrap();
    assert!(matches!(over, OutboxError::Full { .. }), "{over}");
    outbox.forget(held).unwrap();
    outbox.append(vec![draft(1, 1_000)]).unwrap();
}

#[test]
fn reports_are_bounded_by_items_and_by_bytes_and_hold_at_least_one() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    for number in 1..=9 {
        outbox.append(vec![draft(number, 600)]).unwrap();
    }
    let given = |after, items_max, bytes_max| {
        let items = outbox.pending(after, items_max, bytes_max).unwrap();
        items.iter().map(|item| item.seq).collect::<Vec<_>>()
    };
    assert_eq!(given(0, 4, u64::MAX), [1, 2, 3, 4]);
    assert_eq!(given(4, 2, u64::MAX), [5, 6]);
    assert_eq!(given(7, 100, u64::MAX), [8, 9]);
    assert!(given(9, 100, u64::MAX).is_empty());
    assert_eq!(given(2, 100, 0), [3]);
    let bytes = outbox.pending_bytes() / 9;
    assert_eq!(given(0, 100, bytes * 5), [1, 2, 3, 4, 5]);
    outbox.forget(3).unwrap();
    assert_eq!(given(0, 2, u64::MAX), [4, 5]);
}

#[test]
fn an_item_that_no_access_point_takes_is_refused_and_blocks_nothing() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    let nameless = Draft { dedup_key: String::new(), ..draft(1, 1) };
    let error = outbox.append(vec![draft(1, 1), nameless]).unwrap_err();
    assert!(matches!(&error, OutboxError::Invalid(it) if it.field == "items.dedupKey"), "{error}");
    let error = outbox.append(vec![draft(1, 17 * 1024 * 1024)]).unwrap_err();
    assert!(matches!(error, OutboxError::Invalid(_)), "{error}");
    assert!(matches!(outbox.append(vec![]).unwrap_err(), OutboxError::Invalid(_)));
    assert_eq!(outbox.append(vec![draft(1, 1)]).unwrap(), 1..=1);
}

#[test]
fn refused_items_are_kept_in_a_file_of_their_own() {
    let (_guard, directory) = temporary();
    let options = OutboxOptions { refused_bytes_max: 200, ..small() };
    let (outbox, _) = open_with(&directory, options);
    outbox.append(vec![draft(1, 10), draft(2, 10)]).unwrap();
    let detail = Some("epoch 3 is newer".to_owned());
    let refusal = ReportRefusal { seq: 2, reason: ReportRefusalReason::StaleEpoch, detail };
    outbox.refuse(std::slice::from_ref(&refusal)).unwrap();
    let read = |name: &str| {
        let text = fs::read_to_string(directory.join(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let item = serde_json::to_value(&pending(&outbox)[1]).unwrap();
    let wanted = json!({
        "seq": 2, "reason": "stale-epoch", "detail": "epoch 3 is newer", "item": item,
    });
    assert_eq!(read("refused.jsonl"), std::slice::from_ref(&wanted));
    outbox.forget(2).unwrap();
    outbox.refuse(&[refusal]).unwrap();
    assert_eq!(read("refused.1.jsonl"), [wanted]);
    assert_eq!(read("refused.jsonl")[0]["item"], Value::Null);
}

#[test]
fn a_torn_tail_is_cut_wherever_it_is_torn_and_kept_beside() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    outbox.append(vec![draft(1, 10)]).unwrap();
    let whole = fs::metadata(&files(&directory, "items")[0]).unwrap().len();
    outbox.append(vec![draft(2, 10)]).unwrap();
    drop(outbox);
    let path = files(&directory, "items")[0].clone();
    let content = fs::read(&path).unwrap();
    let at = usize::try_from(whole).unwrap();
    let mut flipped = content.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let torn = (at + 1..content.len()).map(|length| content[..length].to_vec());
    for torn in torn.chain([flipped, [&content[..at], &[0xff; 40]].concat()]) {
        fs::write(&path, &torn).unwrap();
        let (outbox, cut) = open_with(&directory, small());
        let cut = cut.unwrap();
        assert_eq!((cut.next_seq, cut.bytes), (2, torn.len() as u64 - whole));
        assert_eq!(fs::read(&cut.kept).unwrap(), &torn[at..]);
        assert_eq!((outbox.last_seq(), seqs(&outbox)), (1, vec![1]));
        assert_eq!(outbox.append(vec![draft(3, 1)]).unwrap(), 2..=2);
        drop(outbox);
        assert_eq!(seqs(&open(&directory)), [1, 2]);
    }
}

#[test]
fn a_file_that_was_only_begun_is_begun_again() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    outbox.append(vec![draft(1, 10), draft(2, 2_000)]).unwrap();
    outbox.append(vec![draft(3, 1)]).unwrap();
    outbox.forget(2).unwrap();
    drop(outbox);
    for begun in ["", "ahou"] {
        let newest = files(&directory, "items").last().unwrap().clone();
        fs::write(&newest, begun).unwrap();
        let (outbox, cut) = open_with(&directory, small());
        assert_eq!(cut.unwrap().next_seq, 3);
        assert_eq!(outbox.append(vec![draft(3, 1)]).unwrap(), 3..=3);
    }
}

#[test]
fn damage_that_no_crash_explains_is_not_passed_over() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    for number in 1..=9 {
        outbox.append(vec![draft(number, 500)]).unwrap();
    }
    drop(outbox);
    let all = files(&directory, "items");
    let is_damaged = |path: &Path| {
        let error = refused(&directory);
        assert!(error.to_string().contains("move its directory away"), "{error}");
        matches!(error, OutboxError::Damaged { path: other, .. } if other == path)
    };
    let (middle, content) = (&all[1], fs::read(&all[1]).unwrap());
    let mut flipped = content.clone();
    flipped[300] ^= 1;
    fs::write(middle, flipped).unwrap();
    assert!(is_damaged(middle));
    fs::remove_file(middle).unwrap();
    assert!(is_damaged(&all[2]));
    fs::write(middle, content).unwrap();
    let newest = all.last().unwrap();
    let content = fs::read(newest).unwrap();
    fs::write(newest, "another thing").unwrap();
    assert!(is_damaged(newest));
    fs::write(newest, content).unwrap();
    assert_eq!(seqs(&open(&directory)).len(), 9);
    // Numbers that were given must not be given again.
    all.iter().for_each(|path| fs::remove_file(path).unwrap());
    assert!(is_damaged(&directory.join("id.json")));
}

#[test]
fn what_is_damaged_while_it_is_open_is_not_given_out() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    outbox.append(vec![draft(1, 100)]).unwrap();
    let path = &files(&directory, "items")[0];
    let mut content = fs::read(path).unwrap();
    content[100] ^= 1;
    fs::write(path, content).unwrap();
    let error = outbox.pending(0, 1, 0).unwrap_err();
    assert!(matches!(error, OutboxError::Damaged { offset: 8, .. }), "{error}");
}

#[test]
fn another_outbox_goes_on_with_what_is_not_forgotten() {
    let (_guard, directory) = temporary();
    let outbox = open(&directory);
    for number in 1..=5 {
        outbox.append(vec![draft(number, 500)]).unwrap();
    }
    outbox.forget(3).unwrap();
    assert_eq!((outbox.base(), outbox.begin_another("o9".parse().unwrap()).unwrap()), (0, 3));
    let seqs: Vec<u64> = pending(&outbox).iter().map(|item| item.seq).collect();
    assert_eq!(seqs, [4, 5]);
    drop(outbox);
    // What is forgotten is noted without a sync: even without it nothing from before comes back.
    fs::remove_file(directory.join("forgotten")).unwrap();
    let outbox = open(&directory);
    assert_eq!((outbox.id().as_str(), outbox.base(), outbox.forgotten()), ("o9", 3, 3));
    assert_eq!(*outbox.append(vec![draft(6, 10)]).unwrap().end(), 6);
}

#[test]
fn two_processes_do_not_use_one_outbox() {
    let (_guard, directory) = temporary();
    let mut worker = start(&directory, &Task::Hold);
    assert_eq!(worker.said().next().unwrap(), "open");
    let error = refused(&directory);
    assert!(matches!(&error, OutboxError::Held { holder, .. } if holder == "a worker"), "{error}");
    worker.kill();
    assert_eq!(open(&directory).id().as_str(), "worker");
}

#[test]
fn a_directory_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let (_guard, directory) = temporary();
    drop(open(&directory));
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    for path in files(&directory, "items") {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o750)).unwrap();
    assert!(refused(&directory).to_string().contains("chmod 700"));
}

#[test]
fn a_kill_at_any_step_loses_nothing_that_was_answered() {
    for step in 0..Step::ALL.len() {
        for time in 1..=4 {
            let (_guard, directory) = temporary();
            let mut worker = start(&directory, &Task::Walk { step, time });
            let said: Vec<String> = worker.said().collect();
            let was_killed = worker.ended().signal() == Some(9);
            assert!(was_killed || time > 1, "{:?}", Step::ALL[step]);
            let (outbox, cut) = open_with(&directory, small());
            let newest = |word: &str| {
                let numbers = said.iter().filter_map(|line| line.strip_prefix(word));
                numbers.map(|number| number.parse::<u64>().unwrap()).max().unwrap_or_default()
            };
            let what = format!("{:?} {time}: {said:?}", Step::ALL[step]);
            // A kill leaves all that was written in the system's hands.
            assert_eq!(cut, None, "{what}");
            let (last, forgotten) = (outbox.last_seq(), outbox.forgotten());
            assert!(last >= newest("appended "), "{what}");
            assert!(forgotten >= newest("forgot "), "{what}");
            assert_eq!(seqs(&outbox), (forgotten + 1..=last).collect::<Vec<_>>(), "{what}");
            let kept = fs::read_to_string(directory.join("refused.jsonl")).unwrap_or_default();
            for line in said.iter().filter_map(|line| line.strip_prefix("refused ")) {
                assert!(kept.contains(&format!("{{\"seq\":{line},")), "{what}: {kept}");
            }
            assert_eq!(outbox.append(vec![draft(0, 1)]).unwrap(), last + 1..=last + 1);
        }
    }
}

#[test]
fn a_kill_while_many_append_loses_nothing_that_was_answered() {
    let (_guard, directory) = temporary();
    let mut before = 0;
    for round in 1..=6 {
        let mut worker = start(&directory, &Task::Append { threads: 8 });
        let mut said = worker.said();
        let mut answered: Vec<u64> =
            said.by_ref().take(round * 40).map(|line| line.parse().unwrap()).collect();
        worker.kill();
        answered.extend(said.map(|line| line.parse::<u64>().unwrap()));
        answered.sort_unstable();
        assert_eq!(answered[0], before + 1);
        let (outbox, _) = open_with(&directory, small());
        assert!(outbox.last_seq() >= *answered.last().unwrap());
        assert_eq!(seqs(&outbox), (1..=outbox.last_seq()).collect::<Vec<_>>());
        before = outbox.last_seq();
    }
}

#[test]
fn an_append_that_the_disk_refuses_leaves_nothing_behind() {
    let (_guard, directory) = temporary();
    let mut worker = start_cramped(&directory, &Task::Fill { bytes: 3_000 }, 40);
    let said: Vec<String> = worker.said().collect();
    let (reason, answered) = said.split_last().unwrap();
    assert!(reason.contains("cannot write") && reason.contains("File too large"), "{reason}");
    let answered: Vec<u64> = answered.iter().map(|line| line.parse().unwrap()).collect();
    assert!(answered.len() >= 5, "{answered:?}");
    let outbox = open(&directory);
    assert_eq!(seqs(&outbox), answered);
}

#[test]
fn many_callers_get_numbers_without_gaps() {
    let (_guard, directory) = temporary();
    let outbox = Arc::new(open(&directory));
    let callers = (0..8_usize).map(|caller| {
        let outbox = Arc::clone(&outbox);
        std::thread::spawn(move || {
            let append = |number| outbox.append(vec![draft(100 * caller + number, 50); 2]).unwrap();
            (0..25).map(append).collect::<Vec<_>>()
        })
    });
    let callers: Vec<_> = callers.collect();
    let given = callers.into_iter().flat_map(|caller| caller.join().unwrap());
    let mut given: Vec<u64> = given.flatten().collect();
    given.sort_unstable();
    assert_eq!(given, (1..=400).collect::<Vec<_>>());
    assert_eq!(seqs(&outbox), given);
}

/// What is done to an outbox.
#[derive(Debug, Clone)]
enum Deed {
    Append(Vec<usize>),
    Forget(u64),
    Pending(u64, usize, u64),
    Reopen,
    /// Opened again after a write that did not come to its end.
    Tear(Vec<u8>),
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => prop::collection::vec(0..900_usize, 1..4).prop_map(Deed::Append),
        2 => (0..60_u64).prop_map(Deed::Forget),
        2 => (0..60_u64, 0..9_usize, 0..4_000_u64).prop_map(|(a, b, c)| Deed::Pending(a, b, c)),
        1 => Just(Deed::Reopen),
        1 => prop::collection::vec(any::<u8>(), 1..40).prop_map(Deed::Tear),
    ]
}

/// What an outbox should be.
#[derive(Debug, Default)]
struct Model {
    items: Vec<Draft>,
    forgotten: u64,
}

impl Model {
    fn last(&self) -> u64 {
        self.items.len() as u64
    }

    fn check(&self, outbox: &Outbox) {
        assert_eq!((outbox.last_seq(), outbox.forgotten()), (self.last(), self.forgotten));
        let given = pending(outbox);
        let keys = given.iter().map(|item| (item.seq, item.dedup_key.clone(), item.what.clone()));
        let wanted = (1..).zip(&self.items).filter(|(seq, _)| *seq > self.forgotten);
        let wanted = wanted.map(|(seq, it)| (seq, it.dedup_key.clone(), it.what.clone()));
        assert_eq!(keys.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_outbox_does_as_its_model(deeds in prop::collection::vec(deed(), 1..40)) {
        let (_guard, directory) = temporary();
        let mut model = Model::default();
        let mut outbox = open(&directory);
        for deed in deeds {
            match deed {
                Deed::Append(sizes) => {
                    let numbered = sizes.iter().zip(model.items.len()..);
                    let drafts: Vec<Draft> =
                        numbered.map(|(bytes, number)| draft(number, *bytes)).collect();
                    let first = model.last() + 1;
                    model.items.extend(drafts.clone());
                    prop_assert_eq!(outbox.append(drafts).unwrap(), first..=model.last());
                }
                Deed::Forget(through) => {
                    prop_assert_eq!(outbox.forget(through).is_ok(), through <= model.last());
                    if through <= model.last() {
                        model.forgotten = model.forgotten.max(through);
                    }
                }
                Deed::Pending(after, items_max, bytes_max) => {
                    let given = outbox.pending(after, items_max, bytes_max).unwrap();
                    let first = after.max(model.forgotten) + 1;
                    let wanted = (first..=model.last()).take(given.len());
                    prop_assert!(given.len() <= items_max);
                    prop_assert_eq!(given.is_empty(), items_max == 0 || first > model.last());
                    prop_assert!(given.iter().map(|item| item.seq).eq(wanted));
                }
                Deed::Reopen => {
                    drop(outbox);
                    outbox = open(&directory);
                }
                Deed::Tear(bytes) => {
                    drop(outbox);
                    let newest = files(&directory, "items").pop().unwrap();
                    let content = [fs::read(&newest).unwrap(), bytes].concat();
                    fs::write(&newest, content).unwrap();
                    let (again, cut) = open_with(&directory, small());
                    prop_assert_eq!(cut.unwrap().next_seq, model.last() + 1);
                    outbox = again;
                }
            }
            model.check(&outbox);
        }
    }
}
