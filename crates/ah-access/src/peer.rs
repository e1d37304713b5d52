//! Whom this side takes for whom: the checks of a peer's certificate, both ways.
//!
//! Invariant: a certificate that passes was signed by an authority that is trusted, is valid now, is
//! not revoked, and says exactly one name that is allowed. Every way to fail has a name of its own.

mod refusal;
mod revocation;

pub use refusal::{PeerRefusal, RefusedPeer, told};
pub use revocation::Revocations;
pub(crate) use revocation::normal as normal_serial;

use std::fmt;
use std::str::FromStr;

use ah_model::{ExecutorId, Invalid, Timestamp};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use serde::{Deserialize, Serialize};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::identity::{AGENT_PATH, Certificate, SERVER_PATH, SpiffeId, TrustDomain};

/// Who a certificate says that its holder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerId {
    /// A SPIFFE id.
    Spiffe(SpiffeId),
    /// Another name, as an allow-list has it: `dns:…`, `uri:…` or `spki:…`.
    Named(String),
}

impl PeerId {
    /// The id as it is stored and printed.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Spiffe(id) => id.as_str(),
            Self::Named(name) => name,
        }
    }

    /// The id of the executor in the store.
    pub fn executor_id(&self) -> Result<ExecutorId, Invalid> {
        self.as_str().parse()
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name without SPIFFE that may come in: `dns:host`, `uri:…`, or `spki:` and the SHA-256 of a
/// public key in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedName(String);

impl FromStr for AllowedName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = |reason: &str| Err(Invalid::new("allowed name", format!("{text:?}: {reason}")));
        let (sort, name) = text.split_once(':').unwrap_or(("", text));
        match sort {
            "dns" if !name.is_empty() => Ok(Self(text.to_ascii_lowercase())),
            "uri" if SpiffeId::is_meant(name) => {
                wrong("a SPIFFE id comes in by its trust domain, not by a list")
            }
            "uri" if !name.is_empty() => Ok(Self(text.to_owned())),
            "spki" if name.len() == 64 && name.chars().all(|c| c.is_ascii_hexdigit()) => {
                Ok(Self(text.to_ascii_lowercase()))
            }
            "spki" => wrong("64 hexadecimal digits of a SHA-256 must follow"),
            _ => wrong("it must begin with dns:, uri: or spki:"),
        }
    }
}

/// Which side a peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerSide {
    /// An executor, which dials.
    Executor,
    /// An access point.
    Server,
}

/// Whom this side lets in.
#[derive(Debug)]
pub struct PeerPolicy {
    roots: Vec<TrustAnchor<'static>>,
    side: PeerSide,
    trust_domain: Option<TrustDomain>,
    allowed: Vec<AllowedName>,
    revocations: Revocations,
}

impl PeerPolicy {
    /// Lets nobody in yet but who is vouched for by `roots`.
    pub fn new(side: PeerSide, roots: &[CertificateDer<'_>]) -> Result<Self, PeerRefusal> {
        let anchor = |der| {
            let anchor = anchor_from_trusted_cert(der);
            let anchor = anchor.map(|anchor| anchor.to_owned());
            anchor.map_err(|error| PeerRefusal::BadCertificate { reason: error.to_string() })
        };
        let roots = roots.iter().map(anchor).collect::<Result<_, _>>()?;
        let revocations = Revocations::default();
        Ok(Self { roots, side, trust_domain: None, allowed: Vec::new(), revocations })
    }

    /// SPIFFE ids of this trust domain come in.
    #[must_use]
    pub fn trust_domain(mut self, domain: TrustDomain) -> Self {
        self.trust_domain = Some(domain);
        self
    }

    /// These names come in, too.
    #[must_use]
    pub fn allow(mut self, names: impl IntoIterator<Item = AllowedName>) -> Self {
        self.allowed.extend(names);
        self
    }

    /// Certificates that were taken back do not.
    #[must_use]
    pub fn revocations(mut self, revocations: Revocations) -> Self {
        self.revocations = revocations;
        self
    }

    /// Who the holder of this chain is, its own certificate first.
    ///
    /// To be asked again for a connection that lives when a list of revocations has changed.
    pub fn check(
        &self,
        chain: &[CertificateDer<'_>],
        now: Timestamp,
    ) -> Result<PeerId, RefusedPeer> {
        let (own, above) = chain.split_first().ok_or_else(RefusedPeer::nobody)?;
        let parsed = Certificate::parse(own).map_err(|error| RefusedPeer {
            refusal: PeerRefusal::BadCertificate { reason: error.reason },
            ..RefusedPeer::nobody()
        })?;
        let checked = self.check_chain(own, above, &parsed, now);
        let checked = checked.and_then(|()| self.check_names(&parsed));
        checked.map_err(|refusal| RefusedPeer {
            refusal,
            serial: Some(parsed.serial.clone()),
            claimed: parsed.uris.first().or(parsed.hosts.first()).cloned(),
        })
    }

    fn check_chain(
        &self,
        own: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        parsed: &Certificate,
        now: Timestamp,
    ) -> Result<(), PeerRefusal> {
        let revoked = self.revocations.current()?;
        let crls: Vec<_> = revoked.crls.iter().collect();
        let usage = match self.side {
            PeerSide::Executor => KeyUsage::client_auth(),
            PeerSide::Server => KeyUsage::server_auth(),
        };
        let algorithms = default_provider().signature_verification_algorithms.all;
        let bad = |error| PeerRefusal::of_chain(&error, &parsed.serial);
        let own = EndEntityCert::try_from(own).map_err(bad)?;
        let options = revocation::options(&crls);
        let at = unix_time(now);
        let path = own.verify_for_usage(algorithms, &self.roots, above, at, usage, options, None);
        path.map_err(bad)?;
        match revoked.serials.contains(&parsed.serial) {
            true => Err(PeerRefusal::Revoked { serial: parsed.serial.clone() }),
            false => Ok(()),
        }
    }

    /// The one name that lets this certificate in.
    fn check_names(&self, parsed: &Certificate) -> Result<PeerId, PeerRefusal> {
        let spiffe = parsed.uris.iter().find(|uri| SpiffeId::is_meant(uri));
        let Some(uri) = spiffe else { return self.check_allowed(parsed) };
        if parsed.uris.len() > 1 {
            return Err(PeerRefusal::SeveralUris { count: parsed.uris.len() });
        }
        let id: SpiffeId = uri
            .parse()
            .map_err(|error: Invalid| PeerRefusal::BadSpiffeId { reason: error.reason })?;
        let id = self.check_domain(id)?;
        let is_right = match self.side {
            PeerSide::Executor => id.node().is_some(),
            PeerSide::Server => id.path() == SERVER_PATH,
        };
        match is_right {
            true => Ok(PeerId::Spiffe(id)),
            false => Err(PeerRefusal::WrongPath { id: id.to_string(), expected: self.path() }),
        }
    }

    fn check_domain(&self, id: SpiffeId) -> Result<SpiffeId, PeerRefusal> {
        match &self.trust_domain {
            Some(domain) if domain.as_str() == id.trust_domain() => Ok(id),
            expected => Err(PeerRefusal::WrongTrustDomain {
                id: id.to_string(),
                expected: expected.as_ref().map(ToString::to_string),
            }),
        }
    }

    fn check_allowed(&self, parsed: &Certificate) -> Result<PeerId, PeerRefusal> {
        if self.allowed.is_empty() {
            return Err(PeerRefusal::NoUri);
        }
        let is_allowed = |name: &String| self.allowed.iter().any(|allowed| allowed.0 == *name);
        match parsed.names().find(is_allowed) {
            Some(name) => Ok(PeerId::Named(name)),
            None => {
                let names: Vec<String> = parsed.names().collect();
                Err(PeerRefusal::NotAllowed { names: names.join(", ") })
            }
        }
    }

    fn path(&self) -> String {
        match self.side {
            PeerSide::Executor => format!("{AGENT_PATH}<node>"),
            PeerSide::Server => SERVER_PATH.to_owned(),
        }
    }
}

/// A time as certificates are checked by.
pub(crate) fn unix_time(time: Timestamp) -> UnixTime {
    let ms = u64::try_from(time.unix_ms()).unwrap_or(0);
    UnixTime::since_unix_epoch(std::time::Duration::from_millis(ms))
}

/// The time that a certificate check was made for.
pub(crate) fn timestamp(time: UnixTime) -> Timestamp {
    let ms = time.as_secs().saturating_mul(1_000);
    Timestamp::from_unix_ms(i64::try_from(ms).unwrap_or(i64::MAX))
}
