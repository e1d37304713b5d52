//! Runs of the program with everything they did to the disk and said to their users.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use super::disk::{Disk, read_tree};
use super::record::{Record, Step, parse};
use super::survival::Kept;
use crate::adversity::ledger::{Acked, SESSION};
use crate::adversity::random::Random;
use crate::adversity::shim::Shim;
use crate::adversity::worker;
use crate::support::{Home, piped};

/// A directory under observation.
pub(super) struct Recorder {
    shim: Shim,
    root: PathBuf,
    log: PathBuf,
    before: Disk,
    /// What the users knew before.
    told: Told,
    writers: HashMap<u32, u64>,
}

impl Recorder {
    /// Watches what happens in the home; what is there is durable.
    pub(super) fn new(home: &Home, told: Told) -> Self {
        // The state directory is below the root, so that its own name can be lost as well.
        let root = home.path().join("disk");
        let log = home.path().join("log");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(&log, "").unwrap();
        let before = Disk::of(&root);
        Self { shim: Shim::build(), root, log, before, told, writers: HashMap::new() }
    }

    /// Starts `command` with its three streams piped; what it appends counts as `writer`'s.
    pub(super) fn spawn(&mut self, command: &mut Command, writer: u64) -> Child {
        let command = self.shim.watch(piped(command), &self.root);
        let child = command.env("ADVERSITY_LOG", &self.log).spawn().unwrap();
        self.writers.insert(child.id(), writer);
        child
    }

    /// Ends the observation, and proves that it saw everything: the model's newest state is what
    /// is really there.
    pub(super) fn finish(self) -> Recording {
        let log = std::fs::read(&self.log).unwrap();
        let records = parse(&log, &self.root);
        let mut disk = self.before.clone();
        records.iter().enumerate().for_each(|(at, record)| disk.apply(at, record));
        let model = disk.after_crash(Kept::Everything, 4096, &mut Random::new(0));
        let real = read_tree(&self.root);
        assert_eq!(model.keys().collect::<Vec<_>>(), real.keys().collect::<Vec<_>>());
        for (path, contents) in &real {
            assert!(model[path] == *contents, "the shim missed a change of {}", path.display());
        }
        Recording { before: self.before, records, told: self.told, writers: self.writers }
    }
}

pub(super) struct Recording {
    pub(super) before: Disk,
    pub(super) records: Vec<Record>,
    pub(super) told: Told,
    pub(super) writers: HashMap<u32, u64>,
}

/// What the program has told its users.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) acked: Acked,
    /// That the session is there.
    pub(super) created: bool,
}

impl Told {
    /// Adds what a process of `writer` prints.
    pub(super) fn hear(&mut self, record: &Record, writers: &HashMap<u32, u64>) {
        let Step::Output { text } = &record.step else { return };
        // The program prints whole lines.
        for answer in worker::answers(text) {
            self.acked.add(writers[&record.process], &answer);
        }
        self.created |= text.contains(&format!("\"id\":\"{SESSION}\""));
    }
}

/// The database below a root, real or made.
pub(super) fn database(root: &Path) -> PathBuf {
    root.join("state").join("state.db")
}

/// The program on the database below the recorder's root.
pub(super) fn ah(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.ah(arguments);
    command.env("AH_HOME", home.path().join("disk").join("state"));
    command
}
