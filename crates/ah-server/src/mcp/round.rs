//! Calls of several rounds, which revision 2026-07-28 has: a result says that more is needed, and
//! the client makes the same call again with what it was asked for.
//!
//! Nothing is kept between two rounds but what the store has anyway. What a client brings is not
//! believed: it names a row, which must be the caller's own and fit the call.

use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::Value;

/// What a call comes to.
pub(super) enum Round<T> {
    /// It is done.
    Done(T),
    /// The client is asked to call again.
    More(Box<InputRequiredResult>),
}

impl<T> Round<T> {
    /// The same call is wanted again, with `state` and nothing else.
    pub(super) fn again(state: String) -> Self {
        Self::More(Box::new(InputRequiredResult::from_request_state(state)))
    }

    /// The same call is wanted again, with `state` and the answer to `request`.
    pub(super) fn asking(key: &str, request: InputRequest, state: String) -> Self {
        let requests = InputRequests::from([(key.to_owned(), request)]);
        Self::More(Box::new(InputRequiredResult::new(Some(requests), Some(state))))
    }
}

/// What the client of a call can do, and what it brings from the round before.
#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    knows_rounds: bool,
    shows_forms: bool,
    state: Option<String>,
    responses: InputResponses,
}

impl Rounds {
    pub(super) fn of(
        context: &RequestContext<RoleServer>,
        state: Option<String>,
        responses: Option<InputResponses>,
    ) -> Self {
        let version = context.protocol_version();
        // Versions are dates: as texts they are in the order of time.
        let knows_rounds =
            version.is_some_and(|it| it.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        if !knows_rounds {
            return Self::default();
        }
        let shows_forms = context.client_capabilities().is_some_and(|it| shows_forms(&it));
        Self { knows_rounds, shows_forms, state, responses: responses.unwrap_or_default() }
    }

    /// Whether the client calls again when it is asked to.
    pub(super) fn knows_rounds(&self) -> bool {
        self.knows_rounds
    }

    /// Whether the client can show a form to whoever sits there.
    pub(super) fn shows_forms(&self) -> bool {
        self.shows_forms
    }

    /// What was given to the client in the round before; nothing in the first.
    pub(super) fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The response to what was asked under `key`.
    pub(super) fn response(&self, key: &str) -> Option<&Value> {
        self.responses.get(key)
    }
}

/// Who says only that it elicits means forms, as the first revisions did.
fn shows_forms(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|it| it.form.is_some() || it.url.is_none())
}
