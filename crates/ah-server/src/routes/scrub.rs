//! Secrets that are stored already, taken out step by step.

use ah_model::{Scrub, ScrubStep};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::extract::JsonBody;
use crate::routing::{Routes, doc};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let stepped = doc("Takes the secrets out of some of what is stored").answers::<ScrubStep>(200);
    Routes::new().post("/scrubs", Access::ADMIN, stepped, step)
}

async fn step(
    State(state): State<ServerState>,
    JsonBody(scrub, _share): JsonBody<Scrub>,
) -> Answer {
    ok(&state.call(|store| async move { store.scrub_step(scrub).await }).await?)
}
