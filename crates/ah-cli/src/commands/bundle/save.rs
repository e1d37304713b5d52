use std::path::PathBuf;

use ah_bundle::json::Value;
use ah_bundle::{Bundle, Refinement, SNAPSHOT_BYTES_MAX, Setting, scope_key, toolset_hash};

use super::place::{Place, ScopeArgs, read_tools};
use super::view;
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::input::read_text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The bundle as JSON: a file, or stdin for `-`; none for what the flags say alone
    file: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Set a prompt; may be repeated
    #[arg(long = "prompt", value_name = "NAME=TEXT", value_parser = prompt)]
    prompts: Vec<(String, String)>,
    /// Set a value, as JSON or else as a text; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    settings: Vec<Setting>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let saved = dir.save(bundle(args)?, app.now())?;
    view::tell_damage(app.output, &dir, &saved.damage, &saved.snapshot.name);
    view::tell_redacted(app.output, &saved.redacted);
    app.output.result(&saved, |saved| format!("{} {}", saved.snapshot.name, saved.snapshot.sha))
}

/// What is to be saved: the file, and what the flags change of it.
fn bundle(args: &Args) -> Result<Bundle, CommandError> {
    let text = args.file.as_deref().map(|file| {
        read_text("bundle", file, usize::try_from(SNAPSHOT_BYTES_MAX).unwrap_or(usize::MAX))
    });
    let text = text.transpose()?.unwrap_or_else(|| "{}".to_owned());
    let mut bundle = Bundle::draft(text.as_bytes()).map_err(ah_bundle::BundleError::Refused)?;
    identify(&mut bundle, &args.scope)?;
    for (name, text) in &args.prompts {
        let prompts = bundle.prompts.get_or_insert_default();
        prompts.insert(name.clone(), Value::from(text.as_str()));
    }
    bundle.refine(&Refinement { text: String::new(), settings: args.settings.clone() })?;
    Ok(bundle)
}

/// Sets what the bundle is for. Its scope follows, unless somebody chose one.
fn identify(bundle: &mut Bundle, flags: &ScopeArgs) -> Result<(), CommandError> {
    let default =
        |bundle: &Bundle| scope_key(&bundle.model_id, &bundle.base_url, &bundle.toolset_hash);
    let follows = bundle.scope_key == default(bundle);
    if let Some(model) = &flags.model {
        bundle.model_id.clone_from(model);
    }
    if let Some(base_url) = &flags.base_url {
        bundle.base_url.clone_from(base_url);
    }
    if let Some(tools) = &flags.tools {
        bundle.toolset_hash = toolset_hash(read_tools(tools)?.as_bytes());
    }
    let missing = [("model", &bundle.model_id), ("base-url", &bundle.base_url)];
    if let Some((flag, _)) = missing.iter().find(|(_, value)| value.is_empty()) {
        return Err(CommandError::new(Exit::Usage, format!("the bundle has no {flag}"))
            .hint(format!("give it with `--{flag}`, or in the file")));
    }
    match &flags.scope {
        Some(scope) => bundle.scope_key.clone_from(scope),
        None if follows => bundle.scope_key = default(bundle),
        None => {}
    }
    if bundle.tool_version.is_empty() {
        bundle.tool_version = super::run::TOOL_VERSION.to_owned();
    }
    Ok(())
}

fn prompt(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, text)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), text.to_owned()))
        }
        _ => Err("write NAME=TEXT, such as developer=\"Be brief.\"".to_owned()),
    }
}
