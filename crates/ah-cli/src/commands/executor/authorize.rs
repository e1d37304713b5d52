use ah_model::{ExecutorChange, ExecutorRule, ExecutorVerb, Invalid};

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
    change(app, &args.id, args.change()?, |executor| {
        format!("executor {}: {}", executor.id, shown_rules(executor))
    })
}

impl Args {
    /// Only the rule of one user is named, so that two who change rules at once lose nothing.
    fn change(&self) -> Result<ExecutorChange, Invalid> {
        let nothing = ExecutorChange::default();
        let Some(user) = self.user.clone() else {
            return Ok(ExecutorChange { rules: Some(Vec::new()), ..nothing });
        };
        let verbs: Vec<ExecutorVerb> =
            self.verbs.iter().map(|verb| verb.parse()).collect::<Result<_, _>>()?;
        Ok(match verbs.is_empty() {
            true => ExecutorChange { unset_rules: vec![user], ..nothing },
            false => ExecutorChange { set_rules: vec![ExecutorRule { user, verbs }], ..nothing },
        })
    }
}
