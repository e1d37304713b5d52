use ah_model::{Agent, Context, repairs};
use ah_store::{ContextLimit, block_on, session_context};

use super::{Named, session_of, view};
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
    /// How many of the newest records it is made of (1 to 100000); 2000 when absent
    #[arg(long, value_name = "N")]
    records: Option<usize>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let limit = args.records.map(ContextLimit::of_records).transpose()?.unwrap_or_default();
    let store = app.store()?;
    let agent = args.named.find(app, &store)?;
    let session = session_of(app, &store, &agent, args.session.as_deref())?;
    let context = block_on(session_context(&store, session, limit))?;
    if app.output.is_json() {
        return app.output.json(&context);
    }
    app.output.stream(|out| {
        let mut separator = "";
        for message in &context.messages {
            put(out, &format!("{separator}{}", view::message(message)))?;
            separator = "\n";
        }
        Ok(())
    })?;
    remarks(&agent, &context)?.iter().for_each(|remark| app.output.talk(remark));
    Ok(())
}

/// What the messages do not show, with the command that helps.
fn remarks(agent: &Agent, context: &Context) -> Result<Vec<String>, CommandError> {
    let name = &agent.name;
    let mut remarks = Vec::new();
    if context.messages.is_empty() {
        let session = &context.session_id;
        remarks
            .push(format!("session {session} says nothing; `ah agent say {name} TEXT` adds to it"));
    }
    for call in &context.pending_calls {
        remarks
            .push(format!("call {} of {} (event {}) has no answer", call.id, call.name, call.seq));
    }
    for rlm in &context.open_rlms {
        let resume = rlm.resume_seq.map(|seq| format!(", it can go on from event {seq}"));
        let (call, seq) = (&rlm.tool_call_id, rlm.seq);
        let resume = resume.unwrap_or_default();
        remarks.push(format!("the program of call {call} (event {seq}) has not ended{resume}"));
    }
    let active = agent.active_session_id.as_ref() == Some(&context.session_id);
    if active && !repairs(context)?.is_empty() {
        remarks.push(format!("`ah agent repair {name}` closes what a crash left open"));
    }
    if context.unread > 0 {
        let unread = counted(context.unread, "record");
        remarks.push(format!(
            "not shown: {unread} without a meaning here; `ah agent history {name}` prints all"
        ));
    }
    if context.omitted > 0 {
        let all = context.records + context.omitted;
        let omitted = counted(context.omitted, "older record");
        remarks.push(format!("left out: {omitted}; `--records {all}` asks for all"));
    }
    Ok(remarks)
}
