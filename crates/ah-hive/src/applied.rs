//! `applied/<name>`: the host's own copy of what an agent proposed and of what is in force.
//!
//! A repository with `main` checked out: the commit in force. A proposed commit is copied when it is
//! asked for and tagged `proposal/<approval>`, so that whatever the agent does to its own repository
//! later changes nothing. What became of it is tagged too. The tree is changed first and the branch
//! last; both can be done again.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ah_model::ApprovalId;

use crate::git::{Git, Output, Repository, TIME_MAX, failed, is_reference};
use crate::place::{Dir, Lock, is_directory, missing, refused};
use crate::{Home, HostError};

/// Where the commit in force is.
pub(crate) const BRANCH: &str = "refs/heads/main";
/// What must be a directory of the agent's repository itself.
const FOLDERS: [&str; 3] = [".git", ".git/objects", ".git/refs"];
/// What would make another repository's objects or references part of it.
const ELSEWHERE: [&str; 3] =
    [".git/commondir", ".git/objects/info/alternates", ".git/objects/info/http-alternates"];
/// Most files of a configuration.
const FILES_MAX: usize = 20_000;
/// Most bytes of all files of a configuration.
const FILES_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// What a call left that was killed; nothing takes so long.
const STALE: Duration = TIME_MAX.saturating_mul(2);

/// What became of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Proposal,
    Approved,
    Deployed,
    Denied,
    Failed,
    Withdrawn,
}

impl Mark {
    pub(crate) const ALL: [Self; 6] = [
        Self::Proposal,
        Self::Approved,
        Self::Deployed,
        Self::Denied,
        Self::Failed,
        Self::Withdrawn,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Proposal => "proposal",
            Self::Approved => "approved",
            Self::Deployed => "deployed",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// The tag's whole name. Ids may hold what names of tags may not.
    fn reference(self, id: &ApprovalId) -> String {
        let mut name = format!("refs/tags/{}/", self.word());
        for byte in id.as_str().bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(byte.into()),
                _ => name.push_str(&format!("%{byte:02x}")),
            }
        }
        name
    }
}

/// The id that a tag is named after.
fn id_of(name: &str) -> Option<ApprovalId> {
    let mut id = String::new();
    let mut rest = name;
    while let Some((plain, after)) = rest.split_once('%') {
        let code = u8::from_str_radix(after.get(..2)?, 16).ok()?;
        id.push_str(plain);
        id.push(char::from(code));
        rest = &after[2..];
    }
    id.push_str(rest);
    id.parse().ok()
}

/// How a commit stands to the one in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is in force.
    InForce,
    /// It goes on from the one in force, or nothing is.
    Next,
    /// The one in force goes on from it.
    Past,
    /// Neither goes on from the other.
    Apart,
}

/// The copy of one agent, while nobody else changes it.
pub(crate) struct Applied<'a> {
    git: &'a Git,
    home: &'a Home,
    dir: Dir,
    _lock: Lock,
}

impl<'a> Applied<'a> {
    /// Waits until it is ours.
    pub(crate) fn open(git: &'a Git, home: &'a Home) -> Result<Self, HostError> {
        let dir = home.open_applied()?.ok_or_else(|| missing(&home.applied))?;
        let lock = dir.lock()?;
        Ok(Self { git, home, dir, _lock: lock })
    }

    fn here(&self) -> Repository<'_> {
        Repository { tree: self.dir.path() }
    }

    /// Proposals of which no tag says what became of them.
    pub(crate) fn unmarked(home: &Home) -> Result<Vec<ApprovalId>, HostError> {
        let Some(dir) = home.open_applied()? else {
            return Ok(Vec::new());
        };
        let names = |mark: Mark| {
            let place = dir.path().join(".git/refs/tags").join(mark.word());
            let entries = fs::read_dir(place).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
        };
        let decided: BTreeSet<String> =
            [Mark::Approved, Mark::Denied, Mark::Failed, Mark::Withdrawn]
                .into_iter()
                .flat_map(names)
                .collect();
        let open = names(Mark::Proposal).into_iter().filter(|name| !decided.contains(name));
        Ok(open.filter_map(|name| id_of(&name)).collect())
    }

    /// Whether there is a proposal of that id.
    pub(crate) fn is_pinned(&self, id: &ApprovalId) -> Result<bool, HostError> {
        Ok(self.marked(Mark::Proposal, id)?.is_some())
    }

    /// Copies the commit that the agent's repository calls `reference` and tags it. The answer is
    /// the exact commit.
    pub(crate) fn pin(&self, reference: &str, id: &ApprovalId) -> Result<String, HostError> {
        let config = self.home.open_config()?;
        check_repository(&config)?;
        let theirs = Repository { tree: config.path() };
        let commit = self.resolve(theirs, reference)?;
        if !self.has(self.here(), &commit)? {
            let known = match self.in_force()? {
                Some(known) if self.has(theirs, &known)? => Some(known),
                _ => None,
            };
            self.git.copy((theirs, self.here()), &commit, known.as_deref())?;
        }
        // Also what was there: a copy that broke off may have left a commit without its files.
        self.git.run(self.here(), &["rev-list", "--objects", "--quiet", &commit])?;
        self.check_files(&commit)?;
        self.mark(Mark::Proposal, id, &commit)?;
        Ok(commit)
    }

    fn resolve(&self, at: Repository<'_>, reference: &str) -> Result<String, HostError> {
        if !is_reference(reference) {
            return Err(ah_model::Invalid::new("commitRef", "is no name of a commit").into());
        }
        let wanted = format!("{reference}^{{commit}}");
        let args = ["rev-parse", "--quiet", "--verify", "--end-of-options", &wanted];
        let output = self.git.try_run(at, &args)?;
        let commit = output.line();
        let whole = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
        match output.status.success() && whole {
            true => Ok(commit),
            false => {
                let whose = self.home.name();
                let reason = format!(
                    "{reference:?} is no commit of {whose}'s configuration: commit there first"
                );
                Err(ah_model::Invalid::new("commitRef", reason).into())
            }
        }
    }

    fn has(&self, at: Repository<'_>, commit: &str) -> Result<bool, HostError> {
        let wanted = format!("{commit}^{{commit}}");
        Ok(self.git.try_run(at, &["cat-file", "-e", &wanted])?.status.success())
    }

    /// Refuses a tree that could fill the disk when it is checked out, or is not whole here.
    fn check_files(&self, commit: &str) -> Result<(), HostError> {
        let output =
            self.git.run(self.here(), &["ls-tree", "-r", "-l", "-z", "--full-tree", commit])?;
        let (mut files, mut bytes) = (0, 0_u64);
        for line in output.text.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let mut words = line.split_ascii_whitespace();
            let (kind, size) = (words.nth(1), words.nth(1));
            if kind != Some("blob") {
                return Err(failed("ls-tree", format!("{commit} holds a submodule: {line}")));
            }
            files += 1;
            bytes = bytes.saturating_add(size.and_then(|size| size.parse().ok()).unwrap_or(0));
        }
        if files > FILES_MAX || bytes > FILES_BYTES_MAX {
            let reason = format!(
                "{commit} has {files} files of {bytes} bytes, at most {FILES_MAX} of \
                 {FILES_BYTES_MAX} are taken"
            );
            return Err(failed("ls-tree", reason));
        }
        Ok(())
    }

    /// What was tagged so, if it was.
    pub(crate) fn marked(&self, mark: Mark, id: &ApprovalId) -> Result<Option<String>, HostError> {
        self.value(&mark.reference(id))
    }

    /// The commit in force, if there is one.
    pub(crate) fn in_force(&self) -> Result<Option<String>, HostError> {
        self.value(BRANCH)
    }

    fn value(&self, reference: &str) -> Result<Option<String>, HostError> {
        let output =
            self.git.try_run(self.here(), &["rev-parse", "--quiet", "--verify", reference])?;
        Ok(output.status.success().then(|| output.line()))
    }

    /// Tags a commit. Doing it again changes nothing; another commit is refused.
    pub(crate) fn mark(&self, mark: Mark, id: &ApprovalId, commit: &str) -> Result<(), HostError> {
        match self.marked(mark, id)? {
            Some(there) if there == commit => Ok(()),
            Some(there) => {
                let reason = format!("{} of {id} is {there}, not {commit}", mark.word());
                Err(failed("update-ref", reason))
            }
            None => self.update(&[&mark.reference(id), commit]).map(drop),
        }
    }

    /// Forgets a proposal that nobody knows of.
    pub(crate) fn unpin(&self, id: &ApprovalId) -> Result<(), HostError> {
        self.update(&["-d", &Mark::Proposal.reference(id)]).map(drop)
    }

    fn update(&self, args: &[&str]) -> Result<Output, HostError> {
        self.clear_stale();
        self.git.run(self.here(), &[&["update-ref"], args].concat())
    }

    /// How `commit` stands to what is in force.
    pub(crate) fn standing(&self, commit: &str) -> Result<Standing, HostError> {
        let Some(now) = self.in_force()? else {
            return Ok(Standing::Next);
        };
        if now == commit {
            return Ok(Standing::InForce);
        }
        if self.is_before(&now, commit)? {
            return Ok(Standing::Next);
        }
        match self.is_before(commit, &now)? {
            true => Ok(Standing::Past),
            false => Ok(Standing::Apart),
        }
    }

    fn is_before(&self, old: &str, new: &str) -> Result<bool, HostError> {
        let args = ["merge-base", "--is-ancestor", old, new];
        Ok(self.git.try_run(self.here(), &args)?.status.success())
    }

    /// Checks out `commit` and moves the branch to it.
    pub(crate) fn advance(&self, commit: &str) -> Result<(), HostError> {
        self.clear_stale();
        self.git.run(self.here(), &["read-tree", "--reset", "-u", commit])?;
        self.update(&[BRANCH, commit]).map(drop)
    }

    /// Removes what a call that was killed left: nobody else works here.
    fn clear_stale(&self) {
        let git = self.dir.path().join(".git");
        let tags = Mark::ALL.map(|mark| git.join("refs/tags").join(mark.word()));
        let places = [git.join("refs/heads"), git];
        for place in places.iter().chain(&tags) {
            clear_stale_in(place);
        }
    }
}

fn clear_stale_in(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let is_lock = Path::new(&entry.file_name()).extension() == Some(OsStr::new("lock"));
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = age.and_then(|modified| modified.elapsed().ok());
        if is_lock && age.is_some_and(|age| age > STALE) {
            // What cannot be removed is told by the call that it stands in the way of.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Refuses what is no repository of its own.
fn check_repository(config: &Dir) -> Result<(), HostError> {
    for folder in FOLDERS {
        let path = config.path().join(folder);
        match config.stat(OsStr::new(folder))? {
            Some(stat) if is_directory(&stat) => {}
            Some(_) => return Err(refused(&path, "it is no directory")),
            None => return Err(refused(&path, "it is missing, so there is no repository")),
        }
    }
    for elsewhere in ELSEWHERE {
        if config.stat(OsStr::new(elsewhere))?.is_some() {
            let reason = "it makes another repository part of this one";
            return Err(refused(&config.path().join(elsewhere), reason));
        }
    }
    Ok(())
}
