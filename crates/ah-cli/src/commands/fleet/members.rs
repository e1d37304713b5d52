//! Members as they are typed: a name, and who shall be it.

use ah_model::{Demands, NewMember};
use ah_store::Store;

use crate::app::App;
use crate::commands::run::demands::{DemandArgs, MachineArgs};
use crate::error::CommandError;

/// What the executors of members must offer.
#[derive(Debug, clap::Args)]
pub(crate) struct MemberDemands {
    #[command(flatten)]
    demands: DemandArgs,
    #[command(flatten)]
    machine: Box<MachineArgs>,
}

impl MemberDemands {
    /// The member that `text` names, as NAME or NAME=EXECUTOR.
    pub(super) fn member(
        &self,
        app: &App,
        store: &dyn Store,
        text: &str,
    ) -> Result<NewMember, CommandError> {
        let (name, executor) = match text.split_once('=') {
            Some((name, executor)) => (name, Some(app.executor_id(store, executor)?)),
            None => (text, None),
        };
        let demands = Demands { executor_id: executor, ..self.demands.with(&self.machine)? };
        Ok(NewMember { name: name.parse()?, demands })
    }
}
