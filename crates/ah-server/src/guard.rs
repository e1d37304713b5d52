//! Who may talk to a server of this machine: its programs, not pages of other sites in a browser.
//!
//! A page can send a request anywhere, and a name of its site can be made to lead here. Both show:
//! a browser says where a page came from, and the name it used.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::Failure;

/// Refuses what came from a page of another site, or for a name that is not this machine's.
pub(crate) async fn guard(request: Request, next: Next) -> Response {
    match refusal(request.headers()) {
        Some(why) => Failure::new("forbidden", "not allowed", 403, why).into_response(),
        None => next.run(request).await,
    }
}

fn refusal(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(HOST)?;
    if !is_this_machine(host) {
        return Some(format!("{host:?} is not a name of this machine"));
    }
    let origin = text(ORIGIN)?;
    let same = origin.strip_prefix("http://").is_some_and(|origin| origin == host);
    (!same).then(|| format!("{origin:?} is a page of another site"))
}

/// An address or `localhost`, with or without a port: names can be made to lead anywhere.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn refused(host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        origin.map(|origin| headers.insert(ORIGIN, HeaderValue::from_static(origin)));
        refusal(&headers).is_some()
    }

    #[test]
    fn programs_and_our_own_pages_pass_other_sites_do_not() {
        for (host, origin) in [
            ("127.0.0.1:4747", None),
            ("localhost:4747", Some("http://localhost:4747")),
            ("[::1]:4747", None),
            ("LOCALHOST", None),
        ] {
            assert!(!refused(host, origin), "{host} {origin:?}");
        }
        for (host, origin) in [
            ("evil.example:4747", None),
            ("127.0.0.1.evil.example", None),
            ("127.0.0.1:4747", Some("https://evil.example")),
            ("127.0.0.1:4747", Some("http://localhost:4747")),
            ("127.0.0.1:4747", Some("null")),
        ] {
            assert!(refused(host, origin), "{host} {origin:?}");
        }
    }
}
