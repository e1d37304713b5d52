//! The token of a page, in a cookie.
//!
//! No script reads it, and a browser sends it with no request of another site's page. What changes
//! something must carry a header as well, which such a page could not send without being asked first.

use axum::http::header::{COOKIE, HOST};
use axum::http::{HeaderMap, HeaderName, Method};

use crate::limits::LOGIN_MAX;
use crate::problem::Failure;

/// Our own pages send it with everything that changes something.
const PAGE: HeaderName = HeaderName::from_static("x-ah-dashboard");

/// What the cookie of a request holds, if the request is one that a page may make with it.
pub(super) fn given(method: &Method, headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let name = name(headers);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(key, value)| key.trim() == name && !value.trim().is_empty());
    let Some((_, value)) = found else { return Ok(None) };
    if ![Method::GET, Method::HEAD].contains(method) {
        check_page(headers)?;
    }
    Ok(Some(value.trim().to_owned()))
}

/// Refuses a request that does not say that a page of ours makes it.
pub(crate) fn check_page(headers: &HeaderMap) -> Result<(), Failure> {
    match headers.contains_key(PAGE) {
        true => Ok(()),
        false => Err(super::forbidden(format!("a page must send the header {PAGE}"))),
    }
}

/// The cookie that holds `value`; without one it is taken away.
pub(crate) fn text(headers: &HeaderMap, value: &str, is_encrypted: bool) -> String {
    let (name, secure) = (name(headers), if is_encrypted { "; Secure" } else { "" });
    let seconds = if value.is_empty() { 0 } else { LOGIN_MAX.as_secs() };
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// Cookies know no ports, and one machine may have several servers.
fn name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port =
        host.rsplit_once(':').map(|(_, port)| port).filter(|port| port.parse::<u16>().is_ok());
    port.map_or_else(|| "ah_token".to_owned(), |port| format!("ah_token_{port}"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_cookie_of_another_port_is_not_this_servers() {
        let asked =
            headers(&[(HOST, "127.0.0.1:4747"), (COOKIE, "a=b; ah_token_4747=x; ah_token=y")]);
        assert_eq!(given(&Method::GET, &asked).unwrap().as_deref(), Some("x"));
        let asked = headers(&[(HOST, "127.0.0.1:4748"), (COOKIE, "ah_token_4747=x; ah_token=y")]);
        assert_eq!(given(&Method::GET, &asked).unwrap(), None);
        let asked = headers(&[(HOST, "harbor.example"), (COOKIE, "ah_token=y")]);
        assert_eq!(given(&Method::GET, &asked).unwrap().as_deref(), Some("y"));
        let asked = headers(&[(HOST, "harbor.example"), (COOKIE, "ah_token=")]);
        assert_eq!(given(&Method::GET, &asked).unwrap(), None);
    }

    #[test]
    fn what_changes_something_needs_the_header_of_our_pages() {
        let pairs = [(HOST, "h:1"), (COOKIE, "ah_token_1=x"), (PAGE, "1")];
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert!(given(&method, &headers(&pairs[..2])).is_err(), "{method}");
            assert!(given(&method, &headers(&pairs)).unwrap().is_some(), "{method}");
        }
    }

    #[test]
    fn a_cookie_is_for_this_site_alone_and_for_no_script() {
        let asked = headers(&[(HOST, "h:1")]);
        let cookie = "ah_token_1=x; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure";
        assert_eq!(text(&asked, "x", true), cookie);
        let gone = "ah_token_1=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict";
        assert_eq!(text(&asked, "", false), gone);
    }
}
