//! Tokens of answers that last.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use super::{Caller, Verified, unauthorized, verify};
use crate::problem::Failure;
use crate::state::ServerState;

/// The right of a caller to an answer that goes on: it ends with its token.
pub(crate) struct Lasting {
    state: ServerState,
    token: Option<Arc<Verified>>,
    /// When it is to be looked at again, whatever is said meanwhile.
    due: Instant,
}

impl Lasting {
    /// The right of `caller`, who was let in a moment ago.
    pub(crate) fn new(state: ServerState, caller: Caller) -> Self {
        let token = match caller {
            Caller::Open => None,
            Caller::Token(token) => Some(token),
        };
        Self { state, token, due: Instant::now() }
    }

    /// Waits until it is to be checked though there is nothing to say.
    pub(crate) async fn due(&self) {
        match self.token {
            Some(_) => sleep_until(self.due).await,
            None => std::future::pending().await,
        }
    }

    /// Refuses once the token is not good any more. Costs no read while it is believed.
    pub(crate) async fn check(&mut self) -> Result<(), Failure> {
        let Some(token) = &self.token else { return Ok(()) };
        let known = self.state.auth.find(&token.id, &token.hash).is_some();
        let turn = if known { None } else { Some(self.state.auth.turn(&token.id).await) };
        let (now, until) = verify(&self.state, &token.id, token.hash).await?;
        drop(turn);
        if now.of != token.of {
            return Err(unauthorized("the agent of the token is not there any more"));
        }
        self.due = until;
        Ok(())
    }
}
