//! Addresses: the server's own, and what is asked of it as path and query.

use ah_model::{Invalid, Query};
use ureq::http::Uri;

use crate::http::VALUE_BYTES_MAX;

/// Longest path and query that is sent; the `http` crates of both sides take no address over 65,534
/// bytes, and the server's own part comes before it.
const TARGET_BYTES_MAX: usize = 60 * 1024;
/// Longest address of a server.
const SERVER_BYTES_MAX: usize = 2 * 1024;

/// What a request is about: a path below `/api/v1`, a query, and how much may come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    path: String,
    query: String,
    bytes_max: u64,
}

impl Target {
    /// The path of these segments.
    pub(crate) fn new<'a>(segments: impl IntoIterator<Item = &'a str>) -> Self {
        let mut path = "/api/v1".to_owned();
        for segment in segments {
            path.push('/');
            encode(&mut path, segment);
        }
        Self { path, query: String::new(), bytes_max: VALUE_BYTES_MAX }
    }

    /// With the parts of `query` behind those that are there.
    pub(crate) fn query(self, query: &impl Query) -> Self {
        self.pairs(&query.to_query())
    }

    /// With one more part.
    pub(crate) fn pair(self, name: &str, value: impl Into<String>) -> Self {
        self.pairs(&[(name.to_owned(), value.into())])
    }

    /// With room for an answer of that many bytes.
    pub(crate) fn up_to(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// The path, as it is sent.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Most bytes of an answer.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The whole address below `server`, or why it cannot be sent.
    pub(crate) fn on(&self, server: &str) -> Result<String, Invalid> {
        let bytes = self.path.len() + self.query.len();
        if bytes > TARGET_BYTES_MAX {
            let reason = format!(
                "{bytes} bytes in an address, at most {TARGET_BYTES_MAX} are allowed to a server"
            );
            return Err(Invalid::new("query", reason));
        }
        Ok(format!("{server}{}{}", self.path, self.query))
    }

    fn pairs(mut self, pairs: &[(String, String)]) -> Self {
        for (name, value) in pairs {
            self.query.push(if self.query.is_empty() { '?' } else { '&' });
            encode(&mut self.query, name);
            self.query.push('=');
            encode(&mut self.query, value);
        }
        self
    }
}

/// Appends `text` with everything escaped that RFC 3986 does not leave unreserved, so that no reader
/// of paths, queries or forms can take it for something else.
fn encode(into: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                into.push(char::from(byte));
            }
            _ => {
                into.push('%');
                into.push(hex_digit(byte >> 4));
                into.push(hex_digit(byte & 0x0f));
            }
        }
    }
}

fn hex_digit(half: u8) -> char {
    char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Brings a server's address to the one form `http[s]://host[:port][/path]`; without a scheme it is
/// http.
///
/// No message repeats the address before it is known to hold no password.
pub(crate) fn normal_server(given: &str) -> Result<String, Invalid> {
    let wrong = |reason: String| Err(Invalid::new("server", reason));
    let given = given.trim();
    if given.len() > SERVER_BYTES_MAX {
        return wrong(format!("{} bytes, at most {SERVER_BYTES_MAX} are allowed", given.len()));
    }
    let (scheme, rest) = given.split_once("://").unwrap_or(("http", given));
    if rest.contains('@') {
        return wrong("an address with a name or password, a token is used instead".to_owned());
    }
    let scheme = scheme.to_ascii_lowercase();
    if !["http", "https"].contains(&scheme.as_str()) {
        return wrong(format!("{given:?} is no http address"));
    }
    if rest.contains(['?', '#']) {
        return wrong(format!("{given:?} has a query or fragment"));
    }
    let address = format!("{scheme}://{}", rest.trim_end_matches('/'));
    match address.parse::<Uri>() {
        Ok(uri) if names_host(&uri) => Ok(address),
        Ok(_) => wrong(format!("{given:?} names no host, or a port that is none")),
        Err(error) => wrong(format!("{given:?}: {error}")),
    }
}

/// Whether `uri` has a host and, behind a colon, a port: one that is no number would count as
/// none, and another server would be asked.
fn names_host(uri: &Uri) -> bool {
    uri.authority().is_some_and(|authority| {
        let port = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        let named = port.is_empty() || authority.port_u16().is_some_and(|port| port > 0);
        !authority.host().is_empty() && named
    })
}

#[cfg(test)]
mod tests {
    use ah_model::{EventQuery, from_hex};
    use proptest::prelude::*;

    use super::*;

    /// What a reader of RFC 3986 makes of `text`.
    fn decoded(text: &str) -> String {
        let mut parts = text.split('%');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            bytes.extend(from_hex(&part[..2]).unwrap());
            bytes.extend(&part.as_bytes()[2..]);
        }
        String::from_utf8(bytes).unwrap()
    }

    proptest! {
        #[test]
        fn any_text_comes_back_from_a_path_and_a_query(segment in ".+", name in ".*", value in ".*") {
            let target = Target::new([segment.as_str()]).pair(&name, value.as_str()).pair("b", "c");
            let address = target.on("http://h").unwrap();
            prop_assert!(address.parse::<Uri>().is_ok());
            let rest = address.strip_prefix("http://h/api/v1/").unwrap();
            let (path, query) = rest.split_once('?').unwrap();
            let (first, second) = query.split_once('&').unwrap();
            let (first_name, first_value) = first.split_once('=').unwrap();
            prop_assert_eq!(
                (decoded(path), decoded(first_name), decoded(first_value), second),
                (segment, name, value, "b=c")
            );
        }

        #[test]
        fn any_text_is_a_server_that_can_be_called_or_is_refused(text in ".*") {
            if let Ok(server) = normal_server(&text) {
                prop_assert!(Target::new(["a"]).on(&server).unwrap().parse::<Uri>().is_ok());
            }
        }
    }

    #[test]
    fn what_means_something_in_an_address_is_escaped() {
        let target = Target::new(["a/b", "ü"]).pair("q", "& =+%/?☃").query(&EventQuery::default());
        assert_eq!(
            target.on("http://h:1/x").unwrap(),
            "http://h:1/x/api/v1/a%2Fb/%C3%BC?q=%26%20%3D%2B%25%2F%3F%E2%98%83\
             &after=0&order=oldest&limit=50"
        );
    }

    #[test]
    fn an_address_that_no_server_would_read_is_refused() {
        let refused = Target::new(["a"]).pair("title", "x".repeat(TARGET_BYTES_MAX)).on("http://h");
        assert_eq!(refused.unwrap_err().field, "query");
    }

    #[test]
    fn servers_have_one_form() {
        for (given, normal) in [
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://localhost:8080/", "http://localhost:8080"),
            (" http://localhost// ", "http://localhost"),
            ("localhost:8080", "http://localhost:8080"),
            ("harbor", "http://harbor"),
            ("HTTP://Harbor:80/below/", "http://Harbor:80/below"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("127.0.0.1:1", "http://127.0.0.1:1"),
            ("HTTPS://Harbor/", "https://Harbor"),
            ("https://harbor:8443/below", "https://harbor:8443/below"),
        ] {
            assert_eq!(normal_server(given).as_deref(), Ok(normal), "{given}");
        }
    }

    #[test]
    fn what_is_no_server_is_refused_with_a_reason() {
        for (given, reason) in [
            ("ftp://localhost", "no http address"),
            ("", "\"\""),
            ("http://", "\"http://\""),
            ("http:///path", "\"http:///path\""),
            ("http://:80", "names no host"),
            ("localhost:99999", "a port that is none"),
            ("localhost:", "a port that is none"),
            ("localhost:0", "a port that is none"),
            ("localhost:x", "localhost:x"),
            ("a b", "\"a b\""),
            ("http://h?x=1", "query or fragment"),
            ("http://h/#x", "query or fragment"),
        ] {
            let refused = normal_server(given).unwrap_err();
            assert_eq!(refused.field, "server", "{given}");
            assert!(refused.reason.contains(reason), "{given}: {}", refused.reason);
        }
        for given in ["http://me:secret@h", "me:secret@h:80", "https://me:secret@h", "secret@h"] {
            let refused = normal_server(given).unwrap_err();
            assert!(!refused.reason.contains("secret"), "{}", refused.reason);
        }
    }
}
