use ah_import::HookTool;
use ah_model::{Agent, NewAgent, NewSession};
use ah_store::block_on;
use serde_json::json;

use super::WhoseArgs;
use super::settings::{Scope, Settings, hooks, quoted};
use crate::app::App;
use crate::error::{CommandError, Exit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    whose: WhoseArgs,
    /// Hand this agent's mail and late answers to it as additional context
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Make approvals of permission requests: you decide, with `ah approval`
    #[arg(long)]
    approvals: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let (tool, scope) = (args.whose.kind, args.whose.scope());
    let gates = matches!(tool, HookTool::ClaudeCode | HookTool::Codex);
    if args.approvals && !gates {
        let message = format!("{tool} asks no hook for permission");
        return Err(CommandError::new(Exit::Usage, message)
            .hint("`--approvals` works with claude-code and codex"));
    }
    let settings = Settings::of(app, tool, scope)?;
    let text = settings.read()?;
    let before = match &text {
        Some(text) if !text.trim().is_empty() => settings.without(text)?,
        _ => String::new(),
    };
    let wanted = hooks(tool, &program(scope)?, &words(app, args)?, args.approvals);
    let had = text.as_deref().filter(|text| !text.trim().is_empty());
    let had = had.map_or_else(|| Ok(Vec::new()), |text| settings.ours(text))?;
    let is_there = had.len() == wanted.len()
        && wanted.iter().all(|hook| {
            had.iter().any(|(event, handler)| event == hook.event && *handler == hook.handler())
        });
    let mut backup = None;
    if !is_there {
        let with = settings.with(&before, &wanted)?;
        if text.is_some() {
            backup = Some(settings.keep(&before)?.to_owned());
        } else {
            settings.forget();
        }
        // The agent may have written its settings meanwhile.
        if settings.read()? != text {
            return Err(settings.refused("was changed at the same time"));
        }
        settings.write(&with)?;
    }
    let answer = json!({
        "kind": tool.as_str(), "scope": scope, "file": settings.path, "changed": !is_there,
        "hooks": wanted.len(), "backup": backup,
    });
    app.output.result(&answer, |_| {
        let path = settings.path.display();
        let done = match is_there {
            true => format!("{path} has our {} hooks already", wanted.len()),
            false => format!("{path} has {} hooks of ours now", wanted.len()),
        };
        let kept = backup.as_ref().map_or_else(String::new, |backup| {
            format!("\nwhat it was is kept in {}", backup.display())
        });
        let trust = match tool {
            HookTool::Codex => "\nCodex asks you to trust them when it starts next",
            HookTool::ClaudeCode | HookTool::Gemini | HookTool::Goose => "",
        };
        format!("{done}{kept}{trust}")
    })
}

/// What the command begins with: this program, but in settings that others share only its name.
fn program(scope: Scope) -> Result<String, CommandError> {
    if scope == Scope::Project {
        return Ok("ah".to_owned());
    }
    let failed = |reason: String| {
        CommandError::new(Exit::Failed, format!("cannot tell where this program is: {reason}"))
    };
    let path = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let path = path.to_str().ok_or_else(|| failed("its path is not UTF-8".to_owned()))?;
    Ok(quoted(path))
}

/// The words behind it; who they name must be there.
fn words(app: &App, args: &Args) -> Result<String, CommandError> {
    let mut words = String::new();
    if let Some(name) = &args.agent {
        Agent::check_name(name)?;
        app.agent(&*app.store()?, name)?;
        words = format!(" --agent {name}");
    }
    if args.approvals {
        words.push_str(" --approvals");
        if args.agent.is_none() {
            ensure_agent(app, args.whose.kind)?;
        }
    }
    Ok(words)
}

/// Approvals are about an agent: without a name it is one that is called as the program.
fn ensure_agent(app: &App, tool: HookTool) -> Result<(), CommandError> {
    let store = app.store()?;
    if block_on(store.agent_of_name(tool.as_str().to_owned()))?.is_some() {
        return Ok(());
    }
    let session = NewSession::new(app.repo_or_directory()?, tool.as_str().parse()?);
    let made = block_on(store.create_agent(NewAgent::new(tool.as_str(), session)))?;
    app.output.talk(&format!("made the agent {}, whom such approvals are about", made.name));
    Ok(())
}
