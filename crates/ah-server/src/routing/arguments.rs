//! What a handler takes, read off its own arguments: the description cannot say anything else.

use ah_model::Invalid;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use schemars::JsonSchema;

use super::SchemaOf;
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs, PathId, PathNumber};
use crate::state::ServerState;

/// What arrives with a request.
#[derive(Default)]
pub(crate) struct Arrives {
    /// The id in the path.
    pub(crate) id: Option<SchemaOf>,
    /// Whether the query is read.
    pub(crate) query: bool,
    pub(crate) body: Option<Body>,
}

/// The body of a request.
#[derive(Clone, Copy)]
pub(crate) struct Body {
    pub(crate) schema: SchemaOf,
    pub(crate) bytes_max: usize,
}

/// All arguments of a handler.
pub(crate) trait Arguments: 'static {
    fn describe(arrives: &mut Arrives);
}

/// One of them.
pub(crate) trait Argument: 'static {
    fn describe(arrives: &mut Arrives);
}

impl Argument for State<ServerState> {
    fn describe(_: &mut Arrives) {}
}

impl Argument for HeaderMap {
    fn describe(_: &mut Arrives) {}
}

impl Argument for Caller {
    fn describe(_: &mut Arrives) {}
}

impl Argument for Request {
    fn describe(_: &mut Arrives) {}
}

impl Argument for Pairs {
    fn describe(arrives: &mut Arrives) {
        arrives.query = true;
    }
}

impl<T: std::str::FromStr<Err = Invalid> + JsonSchema + 'static> Argument for PathId<T> {
    fn describe(arrives: &mut Arrives) {
        arrives.id = Some(|schemas| schemas.subschema_for::<T>());
    }
}

impl Argument for PathNumber {
    fn describe(arrives: &mut Arrives) {
        arrives.id = Some(|schemas| schemas.subschema_for::<i64>());
    }
}

impl<T: JsonSchema + 'static, const MAX: usize> Argument for JsonBody<T, MAX> {
    fn describe(arrives: &mut Arrives) {
        let schema: SchemaOf = |schemas| schemas.subschema_for::<T>();
        arrives.body = Some(Body { schema, bytes_max: MAX });
    }
}

/// A handler without arguments.
impl Arguments for ((),) {
    fn describe(_: &mut Arrives) {}
}

macro_rules! arguments {
    ($($name:ident),+) => {
        impl<How: 'static, $($name: Argument),+> Arguments for (How, $($name,)+) {
            fn describe(arrives: &mut Arrives) {
                $($name::describe(arrives);)+
            }
        }
    };
}

arguments!(A);
arguments!(A, B);
arguments!(A, B, C);
arguments!(A, B, C, D);
arguments!(A, B, C, D, E);
