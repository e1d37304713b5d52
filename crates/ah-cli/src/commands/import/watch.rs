//! `ah import … --watch`: transcripts are brought in as they are written.
//!
//! Files are looked at several times a second; only those that were written to are read. What an
//! import cannot do now, because the store is busy or a program is at work in its database, is tried
//! again. Nothing is kept here that the next start would need: how far a file was read is in the
//! store, and every event has a key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ah_import::{ImportError, Stamp, TranscriptOptions, TranscriptReport, transcript_files};
use ah_store::{Store, StoreError};

use super::report;
use super::transcripts::{Tool, WhichArgs};
use crate::app::App;
use crate::error::CommandError;
use crate::whereabouts;

/// How long a look waits for the next one. Looks at many files wait longer, so many times what they
/// took, but a line that is written comes within a second.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
const LOOK_AGAIN_MAX: Duration = Duration::from_millis(700);
const LOOKS_SHARE: u32 = 10;
/// Longest wait before what failed is tried again.
const TRY_AGAIN_MAX: Duration = Duration::from_secs(5);

/// Follows the transcripts of `tools`, each at its place, until the process is ended.
pub(super) fn run(
    app: &App,
    which: &WhichArgs,
    tools: &[(Tool, PathBuf)],
) -> Result<(), CommandError> {
    let store = app.store()?;
    let repo_of = |dir: &Path| whereabouts::repo_of(&*store, dir, which.looking());
    let options = which.options(app, &repo_of)?;
    let places = tools.iter().map(|(tool, root)| Followed::new(*tool, root));
    let mut places: Vec<_> = places.collect();
    let shown: Vec<_> = tools.iter().map(|(_, root)| root.display().to_string()).collect();
    app.output.talk(&format!("following {}; Ctrl-C ends it", shown.join(", ")));
    loop {
        for place in &mut places {
            if let Some(report) = place.look(app, &*store, &options)? {
                report::print_followed(app, &report, which.how.verbose)?;
            }
        }
        let looked: Duration = places.iter().map(|place| place.looked).sum();
        thread::sleep((looked * LOOKS_SHARE).clamp(LOOK_AGAIN, LOOK_AGAIN_MAX));
    }
}

/// The transcripts of one program.
struct Followed<'a> {
    tool: Tool,
    root: &'a Path,
    /// The files as they were when they were last read.
    seen: BTreeMap<PathBuf, Stamp>,
    /// How long the last look took.
    looked: Duration,
    failure: Option<Failure>,
}

/// An import that failed and is tried again.
struct Failure {
    what: String,
    wait: Duration,
    until: Instant,
}

impl<'a> Followed<'a> {
    fn new(tool: Tool, root: &'a Path) -> Self {
        Self { tool, root, seen: BTreeMap::new(), looked: Duration::ZERO, failure: None }
    }

    /// Reads what was written to since the last look.
    fn look(
        &mut self,
        app: &App,
        store: &dyn Store,
        options: &TranscriptOptions<'_>,
    ) -> Result<Option<TranscriptReport>, CommandError> {
        if self.failure.as_ref().is_some_and(|failure| failure.until > Instant::now()) {
            return Ok(None);
        }
        let began = Instant::now();
        let files = transcript_files(self.root);
        self.looked = began.elapsed();
        let changed = |(path, stamp): &(&PathBuf, &Stamp)| self.seen.get(*path) != Some(*stamp);
        let only: BTreeSet<PathBuf> =
            files.iter().filter(changed).map(|(path, _)| path.clone()).collect();
        if only.is_empty() {
            // A file that is gone is another one when it comes back.
            self.seen.retain(|path, _| files.contains_key(path));
            return Ok(None);
        }
        let options = TranscriptOptions { only: Some(&only), ..*options };
        match self.tool.import(store, self.root, &options, &mut |_| {}) {
            Ok(report) => {
                self.seen = files;
                self.failure = None;
                Ok(Some(report))
            }
            Err(error) if passes(&error) => {
                self.fail(app, &error);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits longer after each failure, and says each once.
    fn fail(&mut self, app: &App, error: &ImportError) {
        let what = error.to_string();
        let before = self.failure.take().filter(|failure| failure.what == what);
        let wait = match before {
            Some(failure) => (failure.wait * 2).min(TRY_AGAIN_MAX),
            None => {
                app.output.talk(&format!("{what}; trying again"));
                LOOK_AGAIN
            }
        };
        self.failure = Some(Failure { what, wait, until: Instant::now() + wait });
    }
}

/// Whether an import may succeed later without anybody's help.
fn passes(error: &ImportError) -> bool {
    match error {
        ImportError::Store(error) => {
            matches!(error, StoreError::Busy { .. } | StoreError::Unreachable { .. })
        }
        ImportError::Unreadable { .. } | ImportError::NotTranscriptDatabase { .. } => true,
        ImportError::NotADirectory { .. }
        | ImportError::NoAgents { .. }
        | ImportError::NotDaycareDatabase { .. }
        | ImportError::NotCoordinatorDatabase { .. }
        | ImportError::NotHyperhiveDatabase { .. } => false,
    }
}
