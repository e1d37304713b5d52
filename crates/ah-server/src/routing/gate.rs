//! What stands before every handler: who asks, and whether it was asked before.

use std::pin::Pin;
use std::sync::Arc;

use ah_model::TokenId;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{FromFnLayer, Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use super::Route;
use crate::access::Access;
use crate::auth::{Caller, Carrier, IN_QUERY, Refused, VerifiedTokens, admit};
use crate::extract::throw_away;
use crate::idempotency::{Keyed, has_key, keyed};
use crate::limits::BODY_BYTES_MAX;
use crate::problem::Failure;
use crate::state::ServerState;

/// The rules of one route.
pub(super) struct Gate {
    access: Access,
    carrier: Carrier,
    changes_tokens: bool,
    takes_key: bool,
    /// How large its body may be; nothing if it has none.
    bytes_max: Option<usize>,
}

impl Gate {
    pub(super) fn of(route: &Route) -> Self {
        let reads = route.method == Method::GET;
        let streams = reads && route.doc.streams;
        Self {
            access: route.access,
            carrier: Carrier { in_query: streams.then_some(IN_QUERY), in_cookie: true },
            changes_tokens: route.access == Access::ADMIN && !reads,
            takes_key: route.takes_key(),
            bytes_max: route.arrives.body.map(|body| body.bytes_max),
        }
    }

    /// The handler's answer, or why it is not asked.
    pub(super) async fn pass<H, T>(
        &self,
        state: ServerState,
        request: Request,
        handler: H,
    ) -> Response
    where
        H: Handler<T, ServerState>,
    {
        let entered = enter(&state, self.access, self.carrier, request).await;
        let (request, caller) = match entered {
            Ok(entered) => entered,
            Err(answer) => return answer,
        };
        let _forgets = self.changes_tokens.then(|| Forgets(Arc::clone(&state.auth)));
        let answer = match self.prepare(state, &caller, request).await {
            Ok(Keyed { request, state, share: _share }) => handler.call(request, state).await,
            Err(failure) => failure.into_response(),
        };
        told(answer, &caller)
    }

    /// Takes the key of the request, and the body that no handler would read.
    async fn prepare(
        &self,
        state: ServerState,
        caller: &Caller,
        mut request: Request,
    ) -> Result<Keyed, Failure> {
        if self.takes_key && has_key(request.headers()) {
            let bytes_max = self.bytes_max.unwrap_or(BODY_BYTES_MAX);
            return keyed(state, caller, request, bytes_max).await;
        }
        if self.bytes_max.is_none() {
            throw_away(request.body_mut()).await;
        }
        Ok(Keyed { request, state, share: None })
    }
}

/// The request with its caller, or the answer to who may not ask it.
async fn enter(
    state: &ServerState,
    access: Access,
    carrier: Carrier,
    request: Request,
) -> Result<(Request, Caller), Response> {
    let (mut parts, mut body) = request.into_parts();
    match admit(state, access, carrier, &mut parts).await {
        Ok(caller) => {
            parts.extensions.insert(caller.clone());
            Ok((Request::from_parts(parts, body), caller))
        }
        Err(Refused { failure, caller }) => {
            throw_away(&mut body).await;
            Err(told(failure.into_response(), &caller))
        }
    }
}

/// Has tokens read anew once a change of them is over, also when its client does not wait for it.
struct Forgets(Arc<VerifiedTokens>);

impl Drop for Forgets {
    fn drop(&mut self) {
        self.0.forget();
    }
}

/// The rules of routes that are not in the table.
#[derive(Clone, Copy)]
pub(crate) struct Foreign {
    pub(crate) access: Access,
    /// The name of a token in the query, where it may be there.
    pub(crate) in_query: Option<&'static str>,
}

impl Foreign {
    pub(crate) const fn new(access: Access) -> Self {
        Self { access, in_query: None }
    }
}

/// What stands before such routes, as a layer whose type has a name.
pub(crate) fn foreign_gate(state: &ServerState, rules: Foreign) -> ForeignLayer {
    from_fn_with_state((state.clone(), rules), boxed_foreign as ForeignFn)
}

/// The layer of [`foreign_gate`].
pub(crate) type ForeignLayer =
    FromFnLayer<ForeignFn, (ServerState, Foreign), (State<(ServerState, Foreign)>, Request)>;

type ForeignFn = fn(State<(ServerState, Foreign)>, Request, Next) -> BoxFuture;
type BoxFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

fn boxed_foreign(rules: State<(ServerState, Foreign)>, request: Request, next: Next) -> BoxFuture {
    Box::pin(foreign(rules, request, next))
}

async fn foreign(
    State((state, rules)): State<(ServerState, Foreign)>,
    request: Request,
    next: Next,
) -> Response {
    let reads = *request.method() == Method::GET;
    let carrier = Carrier { in_query: rules.in_query.filter(|_| reads), in_cookie: false };
    match enter(&state, rules.access, carrier, request).await {
        Ok((request, caller)) => told(next.run(request).await, &caller),
        Err(answer) => answer,
    }
}

/// Who asked, for the line of the log.
#[derive(Clone)]
pub(crate) struct AskedBy(pub(crate) TokenId);

fn told(mut answer: Response, caller: &Caller) -> Response {
    if let Caller::Token(token) = caller {
        answer.extensions_mut().insert(AskedBy(token.id.clone()));
    }
    answer
}
