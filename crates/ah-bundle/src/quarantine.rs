//! Quarantine: damaged files are put aside under another name, and pointers lead to what is valid.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::disk::{Dir, Lock};
use crate::pointer::{LATEST, Pointer, head_name};
use crate::survey::{Entry, PointerFile, Survey};
use crate::{BundleError, Damage, DryRun, Problem, StateDir};

const SUFFIX: &str = ".quarantined";

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quarantined {
    /// Files that were put aside.
    pub moved: Vec<Moved>,
    /// Pointers that lead somewhere else now.
    pub repointed: Vec<Repointed>,
    /// Files that are whole but refused: `fix-permissions` is for them.
    pub left: Vec<Damage>,
}

/// A file that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// Its name before.
    pub from: String,
    /// Its name now.
    pub to: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// A pointer that leads somewhere else now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repointed {
    /// The name of the pointer.
    pub pointer: String,
    /// The snapshot it names now.
    pub to: String,
}

impl StateDir {
    /// Puts damaged files aside, never over another file, and leads heads and `latest.json` to what
    /// is valid.
    pub fn quarantine(&self, dry_run: DryRun) -> Result<Quarantined, BundleError> {
        let dir = self.open()?;
        let lock = match dry_run {
            DryRun::Yes => None,
            DryRun::No => Some(dir.lock()?),
        };
        let survey = Survey::take(&dir, self.bytes_max)?;
        let mut work = Work {
            dir: &dir,
            lock: lock.as_ref(),
            taken: dir.names()?.into_iter().collect(),
            done: Quarantined::default(),
        };
        work.pointers(&survey)?;
        work.snapshots(&survey)?;
        if lock.is_some() {
            dir.sync()?;
        }
        Ok(work.done)
    }
}

/// Without a lock nothing is done, only told.
struct Work<'a> {
    dir: &'a Dir,
    lock: Option<&'a Lock>,
    taken: BTreeSet<String>,
    done: Quarantined,
}

impl Work<'_> {
    /// Pointers first: while the damaged files are still there, nothing leads to them any more.
    fn pointers(&mut self, survey: &Survey) -> Result<(), BundleError> {
        for file in &survey.heads {
            let scope = survey.scopes().into_iter().find(|scope| head_name(scope) == file.name);
            let head = scope.and_then(|scope| survey.head_of(scope).head);
            self.pointer(survey, file, head)?;
        }
        if let Some(file) = &survey.latest {
            let heads = survey.scopes().into_iter().filter_map(|scope| survey.head_of(scope).head);
            let newest = heads.max_by(|one, other| one.age().cmp(&other.age()));
            self.pointer(survey, file, newest)?;
        }
        Ok(())
    }

    /// A pointer that is wrong, or names what is damaged, names `valid` from now on.
    fn pointer(
        &mut self,
        survey: &Survey,
        file: &PointerFile,
        valid: Option<&Entry>,
    ) -> Result<(), BundleError> {
        let target = file.said.as_ref().ok().and_then(|said| survey.entries.get(&said.path));
        let problem = survey.pointer_problem(file);
        let problem = problem.or_else(|| {
            let damaged = target.and_then(|target| target.problem.clone());
            damaged.filter(is_damage).map(|_| Problem::Missing)
        });
        let Some(problem) = problem else { return Ok(()) };
        if !is_damage(&problem) {
            self.done.left.push(Damage::new(&file.name, problem));
            return Ok(());
        }
        self.put_aside(&file.name, problem)?;
        let Some(valid) = valid else { return Ok(()) };
        let cut = file.said.as_ref().map(|said| said.cut.clone()).unwrap_or_default();
        let scope = Some(valid.scope.clone());
        let pointer = Pointer { path: valid.name.clone(), sha: valid.sha.clone(), scope, cut };
        let text = match file.name.as_str() {
            LATEST => pointer.encode_latest(),
            _ => pointer.encode_head(),
        };
        if let Some(lock) = self.lock {
            self.dir.replace(lock, &file.name, text.as_bytes())?;
        }
        let (pointer, to) = (file.name.clone(), valid.name.clone());
        self.done.repointed.push(Repointed { pointer, to });
        Ok(())
    }

    fn snapshots(&mut self, survey: &Survey) -> Result<(), BundleError> {
        for Damage { file, problem } in survey.damage() {
            if is_damage(&problem) {
                self.put_aside(&file, problem)?;
            } else {
                self.done.left.push(Damage { file, problem });
            }
        }
        Ok(())
    }

    fn put_aside(&mut self, name: &str, problem: Problem) -> Result<(), BundleError> {
        let to = self.free_name(name);
        if self.lock.is_some() {
            self.dir.rename(name, &to)?;
        }
        self.taken.insert(to.clone());
        self.done.moved.push(Moved { from: name.to_owned(), to, problem });
        Ok(())
    }

    fn free_name(&self, name: &str) -> String {
        let first = format!("{name}{SUFFIX}");
        let numbered = (1_u64..).map(|number| format!("{first}.{number}"));
        let mut names = std::iter::once(first.clone()).chain(numbered);
        names.find(|name| !self.taken.contains(name)).unwrap_or(first)
    }
}

/// Whether the file itself is bad. One that is only refused is good again once its owner and mode
/// are.
fn is_damage(problem: &Problem) -> bool {
    match problem {
        Problem::Missing
        | Problem::BadJson { .. }
        | Problem::WrongSha { .. }
        | Problem::BlankSha
        | Problem::WrongVersion { .. }
        | Problem::Invalid { .. }
        | Problem::PathTraversal { .. }
        | Problem::Symlink
        | Problem::NotAFile
        | Problem::TooLarge { .. }
        | Problem::WrongScope { .. } => true,
        Problem::Unreadable { .. } | Problem::ForeignOwner { .. } | Problem::UnsafeMode { .. } => {
            false
        }
    }
}
