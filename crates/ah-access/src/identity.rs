//! Who this side is: a certificate chain with its key, and the authorities it trusts.
//!
//! Where it comes from is a [`Provider`]; when it must be fetched again, [`Watched`] knows. Keys are
//! never printed. Everything here is synchronous and takes the time from its caller.

mod certificate;
mod exec;
mod files;
mod pem;
mod provider;
mod spiffe_id;
mod vault;
mod workload;

pub use crate::file::FileError;
pub use certificate::{Certificate, CertificateError, spki_sha256};
pub use exec::{ExecProvider, OUTPUT_BYTES_MAX};
pub use files::FilesProvider;
pub(crate) use pem::certificates;
pub use provider::{Mark, Provider, ProviderKind, Watched};
pub use spiffe_id::{AGENT_PATH, SERVER_PATH, SpiffeId, TrustDomain};
pub use vault::{VaultProvider, VaultToken};
pub use workload::WorkloadProvider;

use std::fmt;

use ah_model::{Invalid, Timestamp};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use crate::peer::PeerId;

/// A certificate chain with its key and the authorities it trusts, fit to be used.
pub struct Identity {
    /// The own certificate first, then those that vouch for it.
    pub chain: Vec<CertificateDer<'static>>,
    /// The key of the own certificate.
    pub key: PrivateKeyDer<'static>,
    /// The authorities that vouch for peers.
    pub roots: Vec<CertificateDer<'static>>,
    /// Who the own certificate says this is.
    pub id: PeerId,
    /// From when on it can be used.
    pub not_before: Timestamp,
    /// Until when it can be used.
    pub not_after: Timestamp,
    /// The number that its authority gave it, in hexadecimal digits.
    pub serial: String,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, serial, not_after, .. } = self;
        write!(f, "Identity({id}, serial {serial}, until {not_after})")
    }
}

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// What was read is not PEM, or lacks a part.
    #[error("{origin}: {reason}")]
    Pem {
        /// Where it came from.
        origin: String,
        /// What is wrong with it; never the text itself, which may be part of a key.
        reason: String,
    },
    /// The own certificate cannot be used.
    #[error("{origin}: {source}")]
    Certificate {
        /// Where it came from.
        origin: String,
        /// Why not.
        source: CertificateError,
    },
    /// The own certificate says no name that a peer could check.
    #[error("{origin}: {source}")]
    Name {
        /// Where it came from.
        origin: String,
        /// Why not.
        source: Invalid,
    },
    /// The certificate and the key are not one another's, or not usable.
    #[error("{origin}: the certificate and its key: {reason}")]
    Pair {
        /// Where they came from.
        origin: String,
        /// What is wrong with them.
        reason: String,
    },
    /// The own certificate is over.
    #[error("{origin}: the certificate expired at {at}")]
    Expired {
        /// Where it came from.
        origin: String,
        /// When it was over.
        at: Timestamp,
    },
    /// The own certificate has not begun.
    #[error("{origin}: the certificate is not valid before {from}; is the clock right?")]
    NotYetValid {
        /// Where it came from.
        origin: String,
        /// When it begins.
        from: Timestamp,
    },
    /// A program, a server or an agent gave no identity.
    #[error("{origin}: {reason}")]
    Source {
        /// Which one.
        origin: String,
        /// What it said, or did.
        reason: String,
    },
}

/// The parts that an identity is made of.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: Option<PrivateKeyDer<'static>>,
    pub(crate) roots: Vec<CertificateDer<'static>>,
}

impl Identity {
    /// Puts an identity together; `origin` says in errors where its parts came from.
    pub(crate) fn new(parts: Parts, origin: &str, now: Timestamp) -> Result<Self, IdentityError> {
        let origin = || origin.to_owned();
        let lacks = |what: &str| IdentityError::Pem {
            origin: origin(),
            reason: format!("no {what} in PEM form is in it"),
        };
        let Parts { chain, key, roots } = parts;
        let key = key.ok_or_else(|| lacks("private key"))?;
        let own = chain.first().ok_or_else(|| lacks("certificate"))?;
        if roots.is_empty() {
            return Err(lacks("certificate of an authority"));
        }
        let own = Certificate::parse(own)
            .map_err(|source| IdentityError::Certificate { origin: origin(), source })?;
        if own.not_after <= now {
            return Err(IdentityError::Expired { origin: origin(), at: own.not_after });
        }
        if now < own.not_before {
            return Err(IdentityError::NotYetValid { origin: origin(), from: own.not_before });
        }
        let id = own.id().map_err(|source| IdentityError::Name { origin: origin(), source })?;
        let pair = CertifiedKey::from_der(chain.clone(), key.clone_key(), &default_provider());
        let pair = pair.and_then(|pair| pair.keys_match());
        pair.map_err(|error| IdentityError::Pair { origin: origin(), reason: error.to_string() })?;
        let Certificate { not_before, not_after, serial, .. } = own;
        Ok(Self { chain, key, roots, id, not_before, not_after, serial })
    }
}
