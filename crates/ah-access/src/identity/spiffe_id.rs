//! SPIFFE ids, read to the letter of their specification.

use std::fmt;
use std::str::FromStr;

use ah_model::{ExecutorId, Invalid};

/// Longest SPIFFE id.
const ID_BYTES_MAX: usize = 2_048;
/// Longest trust domain.
const TRUST_DOMAIN_BYTES_MAX: usize = 255;
const SCHEME: &str = "spiffe://";
/// What the path of an executor's id begins with; the name of its node follows.
pub const AGENT_PATH: &str = "/ah/agent/";
/// The path of an access point's id.
pub const SERVER_PATH: &str = "/ah/serve";

/// Whose authority vouches: the first part of a SPIFFE id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrustDomain(String);

impl TrustDomain {
    /// The text of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the executor of that node.
    pub fn agent(&self, node: &str) -> Result<SpiffeId, Invalid> {
        check_segment(node)?;
        let id: SpiffeId = format!("{SCHEME}{self}{AGENT_PATH}{node}").parse()?;
        // It is the executor's id in the store, which has a bound of its own.
        ExecutorId::from_str(id.as_str()).map(|_| id)
    }

    /// The id of an access point.
    pub fn server(&self) -> SpiffeId {
        SpiffeId {
            text: format!("{SCHEME}{self}{SERVER_PATH}"),
            domain_end: SCHEME.len() + self.0.len(),
        }
    }
}

impl FromStr for TrustDomain {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: String| Err(Invalid::new("trust domain", reason));
        if text.is_empty() || text.len() > TRUST_DOMAIN_BYTES_MAX {
            return wrong(format!(
                "{} bytes, 1 to {TRUST_DOMAIN_BYTES_MAX} are allowed",
                text.len()
            ));
        }
        let is_allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '.' | '-' | '_');
        match text.chars().find(|c| !is_allowed(*c)) {
            Some(bad) => wrong(format!(
                "`{}` in {text:?}: small letters, digits, `.`, `-` and `_` are allowed",
                bad.escape_default()
            )),
            None => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for TrustDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A SPIFFE id: `spiffe://<trust domain>/<path>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpiffeId {
    text: String,
    domain_end: usize,
}

impl SpiffeId {
    /// The id as certificates have it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whose authority vouches for it.
    pub fn trust_domain(&self) -> &str {
        self.text.get(SCHEME.len()..self.domain_end).unwrap_or_default()
    }

    /// What follows the trust domain, with its `/`; empty when nothing does.
    pub fn path(&self) -> &str {
        self.text.get(self.domain_end..).unwrap_or_default()
    }

    /// The node, when this is an executor's id.
    pub fn node(&self) -> Option<&str> {
        self.path().strip_prefix(AGENT_PATH).filter(|node| !node.contains('/'))
    }

    /// Whether a URI says that it is a SPIFFE id, in any case of its letters.
    pub(crate) fn is_meant(uri: &str) -> bool {
        uri.get(..SCHEME.len() - 2).is_some_and(|scheme| scheme.eq_ignore_ascii_case("spiffe:"))
    }
}

impl FromStr for SpiffeId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: String| Invalid::new("SPIFFE id", format!("{text:?}: {reason}"));
        if text.len() > ID_BYTES_MAX {
            let reason = format!("{} bytes, at most {ID_BYTES_MAX} are allowed", text.len());
            return Err(Invalid::new("SPIFFE id", reason));
        }
        let rest = text.strip_prefix(SCHEME);
        let rest = rest.ok_or_else(|| wrong(format!("it does not begin with {SCHEME}")))?;
        let (domain, path) = match rest.split_once('/') {
            Some((domain, path)) => (domain, Some(path)),
            None => (rest, None),
        };
        let domain: TrustDomain = domain.parse().map_err(|error: Invalid| wrong(error.reason))?;
        for segment in path.into_iter().flat_map(|path| path.split('/')) {
            check_segment(segment).map_err(|error| wrong(error.reason))?;
        }
        Ok(Self { text: text.to_owned(), domain_end: SCHEME.len() + domain.0.len() })
    }
}

/// Refuses what cannot stand between two `/` of a path.
fn check_segment(segment: &str) -> Result<(), Invalid> {
    let wrong = |reason: String| Err(Invalid::new("node", reason));
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match segment {
        "" => wrong("a part of the path is empty".to_owned()),
        "." | ".." => wrong(format!("{segment:?} is no name")),
        _ => match segment.chars().find(|c| !is_allowed(*c)) {
            Some(bad) => wrong(format!(
                "`{}` in {segment:?}: letters, digits, `.`, `-` and `_` are allowed",
                bad.escape_default()
            )),
            None => Ok(()),
        },
    }
}

impl fmt::Display for SpiffeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
