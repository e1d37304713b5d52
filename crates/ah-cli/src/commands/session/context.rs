use ah_store::{block_on, session_context};

use crate::app::App;
use crate::commands::agent::{Reach, print_context, view};
use crate::error::CommandError;
use crate::output::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    #[command(flatten)]
    reach: Reach,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let limit = args.reach.limit()?;
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    let context = block_on(session_context(&*store, id, limit))?;
    print_context(app, &context)?;
    if !app.output.is_json() {
        let id = &context.session_id;
        view::open(&context).iter().for_each(|remark| app.output.talk(remark));
        let hidden = [(context.unread, "record"), (context.omitted, "older record")];
        for (count, what) in hidden.into_iter().filter(|(count, _)| *count > 0) {
            let how = format!("`ah session events {id}` prints all");
            app.output.talk(&format!("not shown: {}; {how}", counted(count, what)));
        }
    }
    Ok(())
}
