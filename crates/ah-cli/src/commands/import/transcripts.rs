//! `ah import claude-code` and its siblings, `ah import --all`: the transcripts of coding agents.

use std::path::{Path, PathBuf};

use ah_import::{
    ImportError, Progress, TranscriptOptions, TranscriptReport, import_claude_code, import_codex,
    import_gemini, import_goose, import_opencode,
};
use ah_model::{NewRepo, Timestamp};
use ah_store::{Store, block_on};

use super::{HowArgs, progress, report, watch};
use crate::app::App;
use crate::detect::fingerprint::PATIENCE;
use crate::error::{CommandError, Exit};
use crate::when;
use crate::whereabouts::{self, Looking};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory of transcripts, or one of them; where the program keeps them when absent
    path: Option<PathBuf>,
    #[command(flatten)]
    which: WhichArgs,
}

/// Which transcripts, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct WhichArgs {
    /// Only files written to since: a span like 2h or 7d, or an RFC 3339 time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Stay, and bring in what is written from now on, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    pub(super) how: HowArgs,
}

/// A program whose transcripts can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    Goose,
}

impl Tool {
    const ALL: [Self; 5] =
        [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Opencode, Self::Goose];

    /// The variable that names a directory of the program, that directory below the home directory,
    /// and the transcripts in it.
    fn place(self) -> [&'static str; 3] {
        match self {
            Self::ClaudeCode => ["CLAUDE_CONFIG_DIR", ".claude", "projects"],
            Self::Codex => ["CODEX_HOME", ".codex", "sessions"],
            Self::Gemini => ["GEMINI_CLI_HOME", "", ".gemini/tmp"],
            Self::Opencode => ["XDG_DATA_HOME", ".local/share", "opencode"],
            Self::Goose => ["XDG_DATA_HOME", ".local/share", "goose/sessions"],
        }
    }

    /// Where it keeps its transcripts.
    fn directory(self, app: &App) -> Result<PathBuf, CommandError> {
        let [variable, below, transcripts] = self.place();
        Ok(app.environment.program_dir(Some(variable), below)?.join(transcripts))
    }

    pub(super) fn import(
        self,
        store: &dyn Store,
        root: &Path,
        options: &TranscriptOptions<'_>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<TranscriptReport, ImportError> {
        match self {
            Self::ClaudeCode => block_on(import_claude_code(store, root, options, progress)),
            Self::Codex => block_on(import_codex(store, root, options, progress)),
            Self::Gemini => block_on(import_gemini(store, root, options, progress)),
            Self::Opencode => block_on(import_opencode(store, root, options, progress)),
            Self::Goose => block_on(import_goose(store, root, options, progress)),
        }
    }
}

/// Imports the transcripts of one program.
pub(super) fn run(app: &App, args: &Args, tool: Tool) -> Result<(), CommandError> {
    let root = match &args.path {
        Some(path) => path.clone(),
        None => tool.directory(app)?,
    };
    if args.which.watch {
        if let Some(path) = &args.path {
            let unreadable = |source| ImportError::Unreadable { path: path.clone(), source };
            path.metadata().map_err(unreadable)?;
        }
        return watch::run(app, &args.which, &[(tool, root)]);
    }
    let done = args.which.import(app, &[(tool, root)])?;
    report::print_transcripts(app, &done, args.which.how.verbose)
}

/// Imports the transcripts of every program that has any here.
pub(super) fn run_all(app: &App, which: &WhichArgs) -> Result<(), CommandError> {
    if which.watch {
        let places = Tool::ALL.map(|tool| Ok((tool, tool.directory(app)?)));
        let places = places.into_iter().collect::<Result<Vec<_>, CommandError>>()?;
        return watch::run(app, which, &places);
    }
    let (mut found, mut looked) = (Vec::new(), Vec::new());
    for tool in Tool::ALL {
        let root = tool.directory(app)?;
        match root.is_dir() {
            true => found.push((tool, root)),
            false => looked.push(root.display().to_string()),
        }
    }
    if found.is_empty() {
        let message = format!("no transcripts found: there is no {}", looked.join(", no "));
        return Err(CommandError::new(Exit::NotFound, message)
            .hint("name where they are, such as `ah import claude-code PATH`"));
    }
    let done = which.import(app, &found)?;
    report::print_transcripts(app, &done, which.how.verbose)
}

impl WhichArgs {
    pub(super) fn options<'a>(
        &self,
        app: &App,
        repo_of: &'a (dyn Fn(&Path) -> NewRepo + Sync),
    ) -> Result<TranscriptOptions<'a>, CommandError> {
        let at = |text: &String| when::parse(text, app.now());
        let since: Option<Timestamp> = self.since.as_ref().map(at).transpose()?;
        Ok(TranscriptOptions { dry_run: self.how.dry_run, since, only: None, repo_of })
    }

    /// How the repository of a session is looked for.
    pub(super) fn looking(&self) -> Looking {
        match self.how.dry_run {
            true => Looking::Only,
            false => Looking::Records(PATIENCE),
        }
    }

    fn import(
        &self,
        app: &App,
        tools: &[(Tool, PathBuf)],
    ) -> Result<Vec<TranscriptReport>, CommandError> {
        let store = app.store()?;
        let repo_of = |dir: &Path| whereabouts::repo_of(&*store, dir, self.looking());
        let options = self.options(app, &repo_of)?;
        let mut reports = Vec::new();
        for (tool, root) in tools {
            let bar = progress::bar(app);
            let done = tool.import(&*store, root, &options, &mut |p| progress::show(&bar, p));
            bar.finish_and_clear();
            reports.push(done?);
        }
        Ok(reports)
    }
}
