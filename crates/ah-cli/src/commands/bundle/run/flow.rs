//! Restore, derive or refine: what is there decides.

use std::ffi::OsString;
use std::time::Duration;

use ah_bundle::json::Value;
use ah_bundle::{
    Bundle, BundleError, Damage, Loaded, Redacted, Refinement, Saved, Snapshot, StateDir,
};
use serde::Serialize;

use super::super::place::Identity;
use super::super::view;
use super::{answer, command, openai};
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::Output;

/// Version of the document that a pre-stage is given.
const INPUT_VERSION: &str = "1";

/// One run.
pub(crate) struct Request {
    pub(crate) dir: StateDir,
    pub(crate) identity: Identity,
    /// The manifest of the tools.
    pub(crate) tools: Option<Value>,
    /// What the run is about.
    pub(crate) prompt: Option<String>,
    /// What is to be different from what is there.
    pub(crate) refine: Option<String>,
    pub(crate) prestage: Option<Prestage>,
    pub(crate) timeout: Duration,
}

/// Who makes bundles.
pub(crate) enum Prestage {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// The model itself.
    OpenAi(KeyUse),
}

/// Where the key of a model's server is, and to whom it is shown.
pub(crate) struct KeyUse {
    /// The first of these variables that is set holds it.
    pub(crate) variables: Vec<String>,
    /// It may be sent unencrypted to another machine.
    pub(crate) insecure: bool,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Done {
    Restored,
    Derived,
    Refined,
}

#[derive(Debug, Serialize)]
struct Answer {
    action: Done,
    #[serde(flatten)]
    snapshot: Snapshot,
    redacted: Vec<Redacted>,
    damage: Vec<Damage>,
    notes: Vec<String>,
}

/// What a pre-stage reads.
#[derive(Debug, Serialize)]
pub(super) struct Input<'a> {
    version: &'static str,
    action: &'static str,
    pub(super) model_id: &'a str,
    pub(super) base_url: &'a str,
    toolset_hash: &'a str,
    scope_key: &'a str,
    tools: Option<&'a Value>,
    prompt: Option<&'a str>,
    refine_text: Option<&'a str>,
    bundle: Option<&'a Bundle>,
}

impl Input<'_> {
    pub(super) fn encode(&self) -> Result<String, CommandError> {
        serde_json::to_string(self)
            .map_err(|error| CommandError::new(Exit::Failed, error.to_string()))
    }
}

/// Restores, derives or refines, and prints the bundle.
pub(crate) fn perform(app: &App, output: Output, request: &Request) -> Result<(), CommandError> {
    if request.refine.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(CommandError::new(Exit::Usage, "the text to refine with is blank")
            .hint("say what is to be different: `--refine-text TEXT` or `--refine-file FILE`"));
    }
    let (dir, scope) = (request.dir.path().display(), &request.identity.scope);
    output.debug(&format!("state directory {dir}, scope {scope}"));
    let current = standing(request)?;
    let answer = match (current, &request.refine, &request.prestage) {
        (Some(loaded), None, _) => restored(request, loaded),
        (Some(_), Some(text), None) => {
            let refinement = Refinement { text: text.clone(), settings: Vec::new() };
            let saved = request.dir.refine(&request.identity.scope, &refinement, app.now())?;
            saved_as(Done::Refined, saved)
        }
        (current, _, Some(prestage)) => made(app, request, prestage, current)?,
        (None, _, None) => return Err(nothing_to_run(request)),
    };
    let Answer { action, snapshot, .. } = &answer;
    view::tell_damage(output, &request.dir, &answer.damage, &snapshot.name);
    view::tell_redacted(output, &answer.redacted);
    if !output.is_json() {
        let action = match action {
            Done::Restored => "restored",
            Done::Derived => "derived and saved",
            Done::Refined => "refined and saved",
        };
        output.talk(&format!("{} {action}", snapshot.name));
        answer.notes.iter().for_each(|note| output.talk(&format!("warning: {note}")));
    }
    view::bundle(output, &answer, snapshot)
}

/// What the scope stands at, if it stands anywhere.
fn standing(request: &Request) -> Result<Option<Loaded>, CommandError> {
    match request.dir.load(&request.identity.scope) {
        Ok(loaded) => Ok(Some(loaded)),
        Err(BundleError::NoState { .. } | BundleError::NothingForScope { .. }) => Ok(None),
        // To make a new one in silence would hide that something was lost.
        Err(error @ BundleError::AllDamaged { .. }) => {
            let place = request.dir.path().display();
            Err(CommandError::from(error).hint(format!(
                "`ah bundle quarantine --state-dir {place}` puts them aside, the next run begins anew"
            )))
        }
        Err(error) => Err(error.into()),
    }
}

fn restored(request: &Request, Loaded { snapshot, damage }: Loaded) -> Answer {
    // A scope that was named may hold what another model was given.
    let (model, asked) = (&snapshot.bundle.model_id, &request.identity.model_id);
    let notes = match model.trim() == asked.trim() {
        true => Vec::new(),
        false => vec![format!("it was made for the model {model:?}, not for {asked:?}")],
    };
    Answer { action: Done::Restored, snapshot, redacted: Vec::new(), damage, notes }
}

fn saved_as(action: Done, saved: Saved) -> Answer {
    let Saved { snapshot, redacted, damage } = saved;
    Answer { action, snapshot, redacted, damage, notes: Vec::new() }
}

/// Has the pre-stage make a bundle and saves it.
fn made(
    app: &App,
    request: &Request,
    prestage: &Prestage,
    current: Option<Loaded>,
) -> Result<Answer, CommandError> {
    let Request { dir, identity, .. } = request;
    let current = current.map(|loaded| loaded.snapshot);
    let (action, done) = match current {
        Some(_) => ("refine", Done::Refined),
        None => ("derive", Done::Derived),
    };
    let input = Input {
        version: INPUT_VERSION,
        action,
        model_id: &identity.model_id,
        base_url: &identity.base_url,
        toolset_hash: &identity.toolset_hash,
        scope_key: &identity.scope,
        tools: request.tools.as_ref(),
        prompt: request.prompt.as_deref(),
        refine_text: request.refine.as_deref(),
        bundle: current.as_ref().map(|snapshot| &snapshot.bundle),
    };
    let said = match prestage {
        Prestage::Command(command) => command::run(command, &input.encode()?, request.timeout)?,
        Prestage::OpenAi(key) => openai::run(app, key, input, request.timeout)?,
    };
    let (parent, current) = current.map(|snapshot| (snapshot.sha, snapshot.bundle)).unzip();
    let bundle = answer::bundle(identity, current, &said)?;
    let saved = dir.save(bundle, app.now())?;
    let mut answer = saved_as(done, saved);
    let linked = &answer.snapshot.bundle.prev_sha;
    if *linked != parent.unwrap_or_default() {
        answer.notes.push(format!(
            "another process saved {linked} meanwhile, which the pre-stage did not see; \
             `ah bundle log --state-dir {} --scope {}` shows both",
            dir.path().display(),
            identity.scope
        ));
    }
    Ok(answer)
}

fn nothing_to_run(request: &Request) -> CommandError {
    let Identity { scope, .. } = &request.identity;
    let place = request.dir.path().display();
    let message = format!("{place} holds no bundle of scope {scope}, and no pre-stage is given");
    CommandError::new(Exit::NotFound, message)
        .hint("give a command after `--`, or `--prestage openai`")
        .hint(format!("`ah bundle save --state-dir {place}` saves one by hand"))
}
