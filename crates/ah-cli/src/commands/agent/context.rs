use ah_model::{Agent, Context, limits, repairs};
use ah_store::{ContextLimit, block_on, session_context};

use super::{Named, Reach, session_of, view};
use crate::app::App;
use crate::error::CommandError;
use crate::output::{counted, put};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// A session of the agent; the active one when absent
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    reach: Reach,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let limit = args.reach.limit()?;
    let store = app.store()?;
    let agent = args.named.find(app, &*store)?;
    let session = session_of(app, &*store, &agent, args.session.as_deref())?;
    let context = block_on(session_context(&*store, session, limit))?;
    print_context(app, &context)?;
    if !app.output.is_json() {
        remarks(&agent, &context, &args.reach)?.iter().for_each(|remark| app.output.talk(remark));
    }
    Ok(())
}

/// Prints the messages of a context, or all of it as JSON.
pub(crate) fn print_context(app: &App, context: &Context) -> Result<(), CommandError> {
    if app.output.is_json() {
        return app.output.json(context);
    }
    app.output.stream(|out| {
        let mut separator = "";
        for message in &context.messages {
            put(out, &format!("{separator}{}", view::message(message)))?;
            separator = "\n";
        }
        Ok(())
    })
}

/// What the messages do not show, with the command that helps.
fn remarks(agent: &Agent, context: &Context, reach: &Reach) -> Result<Vec<String>, CommandError> {
    let name = &agent.name;
    let active = agent.active_session_id.as_ref() == Some(&context.session_id);
    let goes_on = active && agent.refuse_dead().is_ok();
    let mut remarks = Vec::new();
    if context.messages.is_empty() {
        let how = format!("; `ah agent say {name} TEXT` adds to it");
        let how = if goes_on { &how } else { "" };
        remarks.push(format!("session {} says nothing{how}", context.session_id));
    }
    remarks.extend(view::open(context));
    if goes_on && !repairs(context)?.is_empty() {
        // A repair that reads less would not find all of it.
        let records = reach.records.map(|count| format!(" --records {count}"));
        let records = records.unwrap_or_default();
        remarks.push(format!("`ah agent repair {name}{records}` closes what a crash left open"));
    }
    if context.unread > 0 {
        let unread = counted(context.unread, "record");
        remarks.push(format!(
            "not shown: {unread} without a meaning here; `ah agent history {name} --all` prints all"
        ));
    }
    if context.omitted > 0 {
        let how = further(name, context, reach.limit()?);
        remarks.push(format!("left out: {}; {how}", counted(context.omitted, "older record")));
    }
    Ok(remarks)
}

/// How to see records that are left out.
fn further(name: &str, context: &Context, limit: ContextLimit) -> String {
    let most = (context.records + context.omitted).min(limits::CONTEXT_RECORDS_MAX as u64);
    // When there are fewer than were asked for, it is their size that leaves the others out.
    let more = context.records == limit.records as u64 && most > context.records;
    match more {
        true => format!("`--records {most}` asks for more"),
        false => format!("`ah agent history {name} --all` prints all"),
    }
}
