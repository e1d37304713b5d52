//! The table of routes: the only way to declare one.
//!
//! A route is its method, path, access and description together. Who may use it, how it is
//! described, measured and tested all follow from this table, so nothing of it can be forgotten.

mod arguments;
mod doc;
mod gate;
pub(crate) mod params;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, on};

pub(crate) use arguments::{Arguments, Arrives};
pub(crate) use doc::{Answers, Doc, SchemaOf, doc};
pub(crate) use params::Param;

use crate::access::Access;
use crate::state::ServerState;
use gate::Gate;
pub(crate) use gate::{AskedBy, Foreign, foreign_gate};

/// A route as it stands in the table.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) access: Access,
    pub(crate) doc: Doc,
    pub(crate) arrives: Arrives,
}

impl Route {
    /// Whether its requests may have a key, so that they are safe to send again. What removes
    /// something, or changes parts of it, is done again without harm or refused.
    pub(crate) fn takes_key(&self) -> bool {
        [Method::POST, Method::PUT].contains(&self.method)
    }
}

/// Routes to serve, each with its row in the table.
pub(crate) struct Routes {
    router: Router<ServerState>,
    table: Vec<Route>,
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self { router: Router::new(), table: Vec::new() }
    }

    pub(crate) fn get<H, T>(self, path: &str, access: Access, doc: Doc, handler: H) -> Self
    where
        H: Handler<T, ServerState>,
        T: Arguments,
    {
        self.with(MethodFilter::GET, route::<T>(Method::GET, path, access, doc), handler)
    }

    pub(crate) fn post<H, T>(self, path: &str, access: Access, doc: Doc, handler: H) -> Self
    where
        H: Handler<T, ServerState>,
        T: Arguments,
    {
        self.with(MethodFilter::POST, route::<T>(Method::POST, path, access, doc), handler)
    }

    pub(crate) fn put<H, T>(self, path: &str, access: Access, doc: Doc, handler: H) -> Self
    where
        H: Handler<T, ServerState>,
        T: Arguments,
    {
        self.with(MethodFilter::PUT, route::<T>(Method::PUT, path, access, doc), handler)
    }

    pub(crate) fn patch<H, T>(self, path: &str, access: Access, doc: Doc, handler: H) -> Self
    where
        H: Handler<T, ServerState>,
        T: Arguments,
    {
        self.with(MethodFilter::PATCH, route::<T>(Method::PATCH, path, access, doc), handler)
    }

    pub(crate) fn delete<H, T>(self, path: &str, access: Access, doc: Doc, handler: H) -> Self
    where
        H: Handler<T, ServerState>,
        T: Arguments,
    {
        self.with(MethodFilter::DELETE, route::<T>(Method::DELETE, path, access, doc), handler)
    }

    fn with<H, T>(mut self, filter: MethodFilter, route: Route, handler: H) -> Self
    where
        H: Handler<T, ServerState>,
        T: Arguments,
    {
        let gate = Arc::new(Gate::of(&route));
        let guarded = move |State(state): State<ServerState>, request: Request| {
            let (gate, handler) = (Arc::clone(&gate), handler.clone());
            async move { gate.pass(state, request, handler).await }
        };
        self.router = self.router.route(&route.path, on(filter, guarded));
        self.table.push(route);
        self
    }

    /// These and others.
    pub(crate) fn merge(mut self, others: Self) -> Self {
        self.router = self.router.merge(others.router);
        self.table.extend(others.table);
        self
    }

    /// These, and others below `prefix`.
    pub(crate) fn nest(mut self, prefix: &str, others: Self) -> Self {
        self.router = self.router.nest(prefix, others.router);
        let below = |route: Route| Route { path: format!("{prefix}{}", route.path), ..route };
        self.table.extend(others.table.into_iter().map(below));
        self
    }

    /// These, and below `prefix` an interface that is not ours: each route of it stands behind its
    /// own [`foreign_gate`], none of it is described, and agents are let in nowhere in it.
    pub(crate) fn nest_foreign(mut self, prefix: &str, router: Router<ServerState>) -> Self {
        self.router = self.router.nest(prefix, router);
        self
    }

    /// The router, and what it serves.
    pub(crate) fn into_parts(self) -> (Router<ServerState>, Vec<Route>) {
        (self.router, self.table)
    }
}

fn route<T: Arguments>(method: Method, path: &str, access: Access, doc: Doc) -> Route {
    let mut arrives = Arrives::default();
    T::describe(&mut arrives);
    Route { method, path: path.to_owned(), access, doc, arrives }
}
