use ah_model::{Executor, ExecutorChange, ExecutorRule, ExecutorVerb};
use ah_store::block_on;

use super::change::change;
use super::shown_rules;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
    /// Who; `*` is everybody
    #[arg(required_unless_present = "reset")]
    user: Option<String>,
    /// What they may do: launch, stop, pause, dispatch, fence; nothing takes their rule away
    #[arg(value_name = "VERB")]
    verbs: Vec<String>,
    /// Take all rules away: everybody may do everything
    #[arg(long, conflicts_with_all = ["user", "verbs"])]
    reset: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let rules = match &args.user {
        Some(user) => {
            let verbs = args.verbs.iter().map(|verb| verb.parse()).collect::<Result<_, _>>()?;
            let executor = block_on(app.store()?.executor(args.id.parse()?))?;
            with_rule(executor, user, verbs)
        }
        None => Vec::new(),
    };
    let wanted = ExecutorChange { rules: Some(rules), ..ExecutorChange::default() };
    change(app, &args.id, wanted, |executor| {
        format!("executor {}: {}", executor.id, shown_rules(executor))
    })
}

/// The rules of an executor, with this one for `user` and no other.
fn with_rule(executor: Executor, user: &str, verbs: Vec<ExecutorVerb>) -> Vec<ExecutorRule> {
    let mut rules = executor.authorization;
    rules.retain(|rule| rule.user != user);
    if !verbs.is_empty() {
        rules.push(ExecutorRule { user: user.to_owned(), verbs });
    }
    rules
}
