//! Cuts the power again and again in a recorded run and looks at what is left.

use std::path::Path;

use ah_store::{Events, block_on};
use ah_store_sql::SqlStore;

use super::disk::write_tree;
use super::record::{Record, Step};
use super::recording::{Recording, Told, database};
use super::survival::Kept;
use crate::adversity::ledger::{self, Fault, Line, SESSION};
use crate::adversity::random::Random;

const PAGE: usize = 4096;
const SECTOR: usize = 512;
/// The writer of the event that proves that a database can be written.
const LATE_WRITER: u64 = 1_000;

/// What was found wrong, and in how many states it was looked for.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) states: usize,
    pub(super) lost: Vec<String>,
    pub(super) damaged: Vec<String>,
}

/// Cuts the power at `cuts` moments of the run, with four outcomes each.
pub(super) fn simulate(recording: &Recording, cuts: usize, random: &mut Random) -> Findings {
    let mut findings = Findings::default();
    let mut disk = recording.before.clone();
    let mut told = recording.told.clone();
    let mut done = 0;
    for cut in moments(&recording.records, cuts, random) {
        for (at, record) in recording.records.iter().enumerate().take(cut).skip(done) {
            disk.apply(at, record);
            told.hear(record, &recording.writers);
        }
        done = cut;
        let exception = *random.pick(&[Kept::AllButOne, Kept::OnlyOne]);
        for kept in [Kept::Durable, Kept::Everything, Kept::Any, exception] {
            let unit_bytes = *random.pick(&[PAGE, SECTOR]);
            let root = tempfile::tempdir().unwrap();
            write_tree(&disk.after_crash(kept, unit_bytes, random), root.path());
            let context = format!("cut before record {cut}, kept {kept:?} by {unit_bytes}");
            findings.note(check(root.path(), &told), &context);
        }
    }
    findings
}

impl Findings {
    fn note(&mut self, found: Result<(), Fault>, context: &str) {
        self.states += 1;
        match found {
            Ok(()) => {}
            Err(Fault::Lost(what)) => self.lost.push(format!("{context}: {what}")),
            Err(Fault::Damaged(what)) => self.damaged.push(format!("{context}: {what}")),
        }
    }

    #[track_caller]
    pub(super) fn assert_none(&self) {
        let found = (self.lost.first(), self.damaged.first());
        let (lost, damaged) = (self.lost.len(), self.damaged.len());
        assert_eq!(found, (None, None), "{lost} lost and {damaged} damaged of {}", self.states);
    }
}

/// Numbers of records before which the power is cut, ascending: a quarter after something was said
/// to the user, a quarter after a commit was written, a quarter after something else than a write,
/// the others anywhere and at the end.
fn moments(records: &[Record], count: usize, random: &mut Random) -> Vec<usize> {
    let after = |is_wanted: fn(&Step) -> bool| -> Vec<usize> {
        let numbered = (1..).zip(records);
        numbered.filter(|(_, record)| is_wanted(&record.step)).map(|(number, _)| number).collect()
    };
    let said = after(|step| matches!(step, Step::Output { .. }));
    // The page of a frame is written after its header.
    let commits: Vec<usize> = after(is_commit).into_iter().map(|number| number + 1).collect();
    let turns = after(|step| !matches!(step, Step::Write { .. }));
    let any = after(|_| true);
    let mut moments = vec![records.len()];
    while moments.len() < count {
        moments.extend([&said, &commits, &turns, &any].map(|kind| *random.pick(kind)));
    }
    moments.sort_unstable();
    moments.dedup();
    moments
}

/// Whether it is the header of a frame in the WAL that ends a transaction: 24 bytes, of which the
/// second four say how long the database is then.
fn is_commit(step: &Step) -> bool {
    matches!(step, Step::Write { bytes, .. } if bytes.len() == 24 && bytes[4..8] != [0; 4])
}

/// Proves that the program goes on from the state below `root` with everything it has promised.
fn check(root: &Path, told: &Told) -> Result<(), Fault> {
    let store = ledger::open(&database(root))?;
    match ledger::check(&store, SESSION, &told.acked) {
        // Nobody was told that there is a session.
        Err(Fault::Lost(_)) if !told.created => {}
        found => append_one(&store, found?)?,
    }
    check_backups(database(root).parent().unwrap())
}

fn append_one(store: &SqlStore, events: u64) -> Result<(), Fault> {
    let line = vec![Line::new(LATE_WRITER, 0, 10).event()];
    let answer = block_on(store.append_events(SESSION.parse().unwrap(), line))?;
    if answer.first_seq != events + 1 {
        return Err(Fault::Damaged(format!("event {} after {events}", answer.first_seq)));
    }
    Ok(())
}

/// A backup under its final name is whole.
fn check_backups(directory: &Path) -> Result<(), Fault> {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.contains(".backup-") && !name.contains(".partial") {
            let found = integrity(&path).unwrap_or_else(|error| error.to_string());
            if found != "ok 2" {
                return Err(Fault::Damaged(format!("backup {name}: {found}")));
            }
        }
    }
    Ok(())
}

fn integrity(path: &Path) -> rusqlite::Result<String> {
    #[expect(clippy::disallowed_methods, reason = "opening it by the store would upgrade it")]
    let connection = rusqlite::Connection::open(path)?;
    let sql = "SELECT integrity_check || ' ' || user_version \
               FROM pragma_integrity_check, pragma_user_version";
    connection.query_row(sql, [], |row| row.get(0))
}
