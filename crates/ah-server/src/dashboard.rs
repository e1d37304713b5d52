//! The dashboard: pages for people, embedded in the program.
//!
//! They are the same for everybody and hold no data: what they show they ask of the same interface as
//! every program, as who is logged in. They load nothing from elsewhere and run no script but their own.

mod assets;
mod login;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::problem::Failure;
use crate::state::ServerState;
use assets::{Asset, INDEX};
pub(crate) use login::routes;

/// Where pages are. The script shows what belongs there.
const PAGES: [&str; 12] = [
    "/",
    "/login",
    "/agents",
    "/agents/{name}",
    "/approvals",
    "/questions",
    "/sessions",
    "/sessions/{id}",
    "/executors",
    "/fleets",
    "/stats",
    "/settings",
];

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The pages and what they are made of; open to everybody and not part of the interface.
pub(crate) fn pages() -> Router<ServerState> {
    let router = Router::new().route("/assets/{name}", get(asset));
    PAGES.iter().fold(router, |router, path| router.route(path, get(page)))
}

async fn page(headers: HeaderMap) -> Response {
    answer(&INDEX, &headers)
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Failure> {
    let found = Asset::of(&name);
    found.map(|asset| answer(asset, &headers)).ok_or_else(|| {
        Failure::new("no-such-path", "no such path", 404, format!("nothing is at /assets/{name}"))
    })
}

/// The asset, or that the browser has it already.
fn answer(asset: &Asset, asked: &HeaderMap) -> Response {
    let tag = asset.tag();
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    let mut answer = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => asset.bytes.into_response(),
    };
    let fixed: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_TYPE, asset.media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.headers_mut().insert(header::ETAG, tag);
    }
    answer
}
