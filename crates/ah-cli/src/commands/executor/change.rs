//! What the verbs that change an executor share.

use ah_model::{Executor, ExecutorChange};
use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

/// Changes the executor of that id and prints it, for people as `said` says.
pub(super) fn change(
    app: &App,
    id: &str,
    change: ExecutorChange,
    said: impl FnOnce(&Executor) -> String,
) -> Result<(), CommandError> {
    let store = app.store()?;
    let executor = block_on(store.change_executor(id.parse()?, change, app.user()))?;
    app.output.result(&executor, said)
}
