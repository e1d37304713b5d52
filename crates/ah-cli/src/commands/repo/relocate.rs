use std::path::{Path, PathBuf};

use ah_model::{Earnest, Relocated, Relocation};
use ah_store::{Kind, Store, StoreError, block_on};

use super::resolve;
use crate::app::App;
use crate::detect::fingerprint::{PATIENCE, fingerprint};
use crate::error::{CommandError, Exit};
use crate::{detect, environment, whereabouts};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where it was: a path, also of a directory above several repositories, or a repository's number
    #[arg(value_name = "OLD")]
    old: String,
    /// Where it is now
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Also when OLD is still there, or NEW is another repository
    #[arg(long)]
    force: bool,
    /// Also rename Claude Code's directories of transcripts, so that it finds them from NEW
    #[arg(long)]
    claude: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let new = existing(&app.current_dir()?.join(&args.new))?;
    let from = old_path(app, &*store, &args.old, &new)?;
    let to = text(&new)?;
    if from == to {
        return print(app, args, &Relocated::default());
    }
    if !args.force {
        refuse_two_directories(&from, &new)?;
        refuse_another_repository(&*store, &from, &new)?;
    }
    let host = environment::hostname();
    let mut relocation = Relocation { from, to, host, earnest: Earnest::Plan };
    let plan = block_on(store.relocate(relocation.clone()))?;
    if plan == Relocated::default() {
        let message = format!("nothing is known at or below {}", relocation.from);
        return Err(CommandError::new(Exit::NotFound, message)
            .hint("`ah repo list` shows where repositories are"));
    }
    for step in &plan.repos {
        if let Some(other) = step.joined {
            let (id, to) = (step.id, &step.to);
            app.output.talk(&format!("repository {other}, known at {to}, is joined with {id}"));
        }
    }
    if args.dry_run {
        return print(app, args, &plan);
    }
    relocation.earnest = Earnest::Change;
    let done = block_on(store.relocate(relocation.clone()))?;
    for step in &done.repos {
        mark(&*store, Path::new(&step.to))?;
    }
    if args.claude {
        rename_transcripts(app, &relocation, &done)?;
    }
    print(app, args, &done)
}

fn print(app: &App, args: &Args, done: &Relocated) -> Result<(), CommandError> {
    app.output.result(done, |done| {
        let line = |step: &ah_model::RepoMove| {
            format!("repository {}: {} -> {}\n", step.id, step.from, step.to)
        };
        let lines: String = done.repos.iter().map(line).collect();
        let verb = if args.dry_run { "would move" } else { "moved" };
        let Relocated { repos, sessions, tasks, drafts } = done;
        let repos = repos.len();
        format!(
            "{lines}{verb}: {repos} repositories, {sessions} sessions, {tasks} tasks, {drafts} drafts\n"
        )
    })
}

/// The path that OLD names, as the store has it. When nothing is there any more but something was,
/// it is where that is now.
fn old_path(app: &App, store: &dyn Store, old: &str, new: &Path) -> Result<String, CommandError> {
    let path = app.current_dir()?.join(old);
    if !path.exists() && old.parse::<i64>().is_ok() {
        let id = resolve(app, store, old)?;
        let id = id.ok_or_else(|| StoreError::not_found(Kind::Repo, old))?;
        return block_on(store.repo(id))?.found.root_path.ok_or_else(|| {
            let message = format!("repository {id} is known by its remote alone");
            CommandError::new(Exit::Conflict, message)
        });
    }
    // A link that was left behind leads to the new place: what was recorded is its own path.
    let is_link = path.canonicalize().is_ok_and(|real| real == new);
    let real = match path.file_name() {
        Some(name) if is_link => real_path(path.parent().unwrap_or(&path)).join(name),
        Some(_) | None => real_path(&path),
    };
    let old = text(&real)?;
    let plan = Relocation { from: old.clone(), to: text(new)?, host: None, earnest: Earnest::Plan };
    if old == plan.to || block_on(store.relocate(plan))? != Relocated::default() {
        return Ok(old);
    }
    let was = block_on(store.repo_at(old.clone()))?;
    let former = match &was {
        Some(repo) => block_on(store.repo_paths(repo.id))?,
        None => Vec::new(),
    };
    let is_former = former.iter().any(|was| was.path == old);
    Ok(was.filter(|_| is_former).and_then(|repo| repo.found.root_path).unwrap_or(old))
}

/// `path` without links and `..` as far as it is there; what is gone is taken by its words.
pub(super) fn real_path(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                real.pop();
            }
            other => {
                real.push(other);
                real = real.canonicalize().unwrap_or(real);
            }
        }
    }
    real
}

fn existing(path: &Path) -> Result<PathBuf, CommandError> {
    let real = path.canonicalize();
    let real = real.map_err(|error| {
        let message = format!("{} cannot be read: {error}", path.display());
        CommandError::new(Exit::NotFound, message).hint("NEW is where the directory is now")
    })?;
    match real.is_dir() {
        true => Ok(real),
        false => {
            let message = format!("{} is not a directory", real.display());
            Err(CommandError::new(Exit::Usage, message))
        }
    }
}

fn text(path: &Path) -> Result<String, CommandError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let message = format!("path {} is not valid UTF-8", path.display());
        CommandError::new(Exit::Usage, message)
    })
}

/// Two directories that are both there are two places.
fn refuse_two_directories(from: &str, new: &Path) -> Result<(), CommandError> {
    let real = Path::new(from).canonicalize();
    if real.is_ok_and(|real| real.is_dir() && real != new) {
        let message = format!("{from} is still there");
        return Err(CommandError::new(Exit::Conflict, message)
            .hint("move it first, or give `--force` if NEW is what counts"));
    }
    Ok(())
}

fn refuse_another_repository(
    store: &dyn Store,
    from: &str,
    new: &Path,
) -> Result<(), CommandError> {
    let known = block_on(store.repo_at(from.to_owned()))?;
    let known = known.filter(|repo| repo.found.root_path.as_deref() == Some(from));
    let Some(old) = known.and_then(|repo| repo.marks.fingerprint) else { return Ok(()) };
    let Some(found) = detect::detect(new)? else { return Ok(()) };
    match fingerprint(&found, PATIENCE) {
        Some(other) if other != old => {
            let new = new.display();
            let message = format!("{new} is another repository ({other}) than {from} was ({old})");
            Err(CommandError::new(Exit::Conflict, message)
                .hint("name where it is, or give `--force` if that is what you mean"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Notes what the repository at `root` is known by, so that it is known at its next move.
fn mark(store: &dyn Store, root: &Path) -> Result<(), CommandError> {
    let found = detect::detect(root).ok().flatten();
    if let Some(found) = found.filter(|found| found.root_path.as_deref() == root.to_str()) {
        whereabouts::record(store, &found, PATIENCE)?;
    }
    Ok(())
}

/// Renames the directories that Claude Code keeps transcripts in, which are called as the directory
/// it ran in. None is ever overwritten.
fn rename_transcripts(
    app: &App,
    relocation: &Relocation,
    done: &Relocated,
) -> Result<(), CommandError> {
    let projects = app.environment.program_dir(Some("CLAUDE_CONFIG_DIR"), ".claude")?;
    let projects = projects.join("projects");
    let mut pairs = vec![(relocation.from.clone(), relocation.to.clone())];
    pairs.extend(done.repos.iter().map(|step| (step.from.clone(), step.to.clone())));
    pairs.dedup();
    for (from, to) in pairs {
        let (old, new) = (projects.join(claude_name(&from)), projects.join(claude_name(&to)));
        if !old.is_dir() || old == new {
            continue;
        }
        if new.exists() {
            let (old, new) = (old.display(), new.display());
            app.output.talk(&format!("{old} was left: {new} is there already"));
            continue;
        }
        std::fs::rename(&old, &new).map_err(|error| CommandError::file("rename", &old, &error))?;
        app.output.talk(&format!("renamed {} to {}", old.display(), new.display()));
    }
    Ok(())
}

/// Claude Code's name for a directory: every character but letters and digits is a dash.
fn claude_name(path: &str) -> String {
    path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
