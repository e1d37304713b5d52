//! Where requests may come from: programs, not pages of other sites in a browser.
//!
//! A page can send a request anywhere, and a name of its site can be made to lead here. Both show:
//! a browser says where a page came from, and the name it used. A server that others can reach is
//! reached by names it does not know; there only the page's site is looked at.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::bind::Exposure;
use crate::problem::Failure;
use crate::state::ServerState;

/// Where a page came from, as browsers say it also of pictures and links, which have no origin.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses what came from a page of another site, or for a name that is not this machine's.
pub(crate) async fn guard(
    State(state): State<ServerState>,
    request: Request,
    next: Next,
) -> Response {
    match refusal(state.options.exposure, request.headers()) {
        Some(why) => Failure::new("forbidden", "not allowed", 403, why).into_response(),
        None => next.run(request).await,
    }
}

fn refusal(exposure: Exposure, headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(HOST).unwrap_or_default();
    if exposure == Exposure::Loopback && !host.is_empty() && !is_this_machine(host) {
        return Some(format!("{host:?} is not a name of this machine"));
    }
    if exposure == Exposure::Loopback
        && let Some(site) = text(FETCH_SITE)
        && !["same-origin", "none"].contains(&site)
    {
        return Some(format!("a page of another site asks ({FETCH_SITE}: {site:?})"));
    }
    let origin = text(ORIGIN)?;
    let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let same = site.is_some_and(|site| !site.is_empty() && site.eq_ignore_ascii_case(host));
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

    fn refused(exposure: Exposure, host: &'static str, origin: Option<&'static str>) -> bool {
        let mut headers = HeaderMap::new();
        if !host.is_empty() {
            headers.insert(HOST, HeaderValue::from_static(host));
        }
        origin.map(|origin| headers.insert(ORIGIN, HeaderValue::from_static(origin)));
        refusal(exposure, &headers).is_some()
    }

    #[test]
    fn programs_and_our_own_pages_pass_other_sites_do_not() {
        for (host, origin) in [
            ("127.0.0.1:4747", None),
            ("localhost:4747", Some("http://localhost:4747")),
            ("localhost:4747", Some("https://localhost:4747")),
            ("[::1]:4747", None),
            ("LOCALHOST", None),
            ("", None),
        ] {
            assert!(!refused(Exposure::Loopback, host, origin), "{host} {origin:?}");
        }
        for (host, origin) in [
            ("evil.example:4747", None),
            ("127.0.0.1.evil.example", None),
            ("127.0.0.1:4747", Some("https://evil.example")),
            ("127.0.0.1:4747", Some("http://localhost:4747")),
            ("127.0.0.1:4747", Some("null")),
            ("", Some("http://localhost:4747")),
            ("", Some("http://")),
        ] {
            assert!(refused(Exposure::Loopback, host, origin), "{host} {origin:?}");
        }
    }

    #[test]
    fn a_picture_in_a_page_of_another_site_is_not_served_by_this_machine() {
        let headers = |site: &'static str| {
            let host = (HOST, HeaderValue::from_static("localhost:4747"));
            HeaderMap::from_iter([host, (FETCH_SITE, HeaderValue::from_static(site))])
        };
        for site in ["same-origin", "none"] {
            assert_eq!(refusal(Exposure::Loopback, &headers(site)), None, "{site}");
        }
        for site in ["cross-site", "same-site", "Same-Origin", ""] {
            assert!(refusal(Exposure::Loopback, &headers(site)).is_some(), "{site}");
            assert_eq!(refusal(Exposure::Public, &headers(site)), None, "{site}");
        }
    }

    #[test]
    fn a_server_that_others_reach_has_any_name_and_still_no_pages_but_its_own() {
        for (host, origin) in [
            ("harbor.example", None),
            ("harbor.example", Some("https://harbor.example")),
            ("Harbor.example:8443", Some("https://harbor.example:8443")),
            ("harbor.example:80", Some("http://harbor.example:80")),
        ] {
            assert!(!refused(Exposure::Public, host, origin), "{host} {origin:?}");
        }
        for origin in ["https://evil.example", "null", "https://harbor.example.evil", "ws://h"] {
            assert!(refused(Exposure::Public, "harbor.example", Some(origin)), "{origin}");
        }
    }
}
