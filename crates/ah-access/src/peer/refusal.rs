//! Why a peer is not let in: typed for this side, words for the other.

use std::fmt;
use std::sync::Arc;

use ah_model::Timestamp;
use rustls::{AlertDescription, CertificateError, Error as TlsError, OtherError};
use webpki::Error as ChainError;

use super::{timestamp, unix_time};

/// Longest reason that a connection is closed with.
const CLOSE_REASON_CHARS_MAX: usize = 300;

/// Why the holder of a certificate is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeerRefusal {
    /// It showed no certificate.
    #[error("no certificate was shown")]
    NoCertificate,
    /// What it showed cannot be read, or breaks a rule of certificates.
    #[error("the certificate cannot be used: {reason}")]
    BadCertificate {
        /// What is wrong with it.
        reason: String,
    },
    /// It, or one that vouches for it, is over.
    #[error("the certificate expired at {at}")]
    Expired {
        /// When it was over.
        at: Timestamp,
    },
    /// It, or one that vouches for it, has not begun.
    #[error("the certificate is not valid before {from}")]
    NotYetValid {
        /// When it begins.
        from: Timestamp,
    },
    /// No authority that is trusted vouches for it.
    #[error("no authority that is trusted here vouches for the certificate")]
    UnknownAuthority,
    /// It was not issued for this side of a connection.
    #[error("the certificate was not issued for this side of a connection")]
    WrongUsage,
    /// Its authority took it back.
    #[error("the certificate with the serial {serial} was revoked")]
    Revoked {
        /// The number that its authority gave it.
        serial: String,
    },
    /// It cannot be told whether it was taken back.
    #[error("it cannot be told whether the certificate was revoked: {reason}")]
    RevocationUnknown {
        /// Why not.
        reason: String,
    },
    /// It has no SPIFFE id, and nobody else is let in.
    #[error("the certificate has no SPIFFE id among its alternative names")]
    NoUri,
    /// It has a SPIFFE id beside other URIs.
    #[error("the certificate has {count} URIs among its alternative names, one is allowed")]
    SeveralUris {
        /// How many.
        count: usize,
    },
    /// Its SPIFFE id is none.
    #[error("the SPIFFE id of the certificate: {reason}")]
    BadSpiffeId {
        /// What is wrong with it.
        reason: String,
    },
    /// Its SPIFFE id is of another trust domain.
    #[error("{id} is not of the trust domain {}", expected.as_deref().unwrap_or("of anybody here"))]
    WrongTrustDomain {
        /// The id.
        id: String,
        /// The trust domain that is let in, if one is.
        expected: Option<String>,
    },
    /// Its SPIFFE id is of something else.
    #[error("the path of {id} is not {expected}")]
    WrongPath {
        /// The id.
        id: String,
        /// The path that it should have.
        expected: String,
    },
    /// Its names are not on the list.
    #[error("none of {names} is on the list of allowed names")]
    NotAllowed {
        /// Its names.
        names: String,
    },
}

impl PeerRefusal {
    /// A word for programs, and for the history of an executor.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoCertificate => "no-certificate",
            Self::BadCertificate { .. } => "bad-certificate",
            Self::Expired { .. } => "expired",
            Self::NotYetValid { .. } => "not-yet-valid",
            Self::UnknownAuthority => "unknown-authority",
            Self::WrongUsage => "wrong-usage",
            Self::Revoked { .. } => "revoked",
            Self::RevocationUnknown { .. } => "revocation-unknown",
            Self::NoUri => "no-uri",
            Self::SeveralUris { .. } => "several-uris",
            Self::BadSpiffeId { .. } => "bad-spiffe-id",
            Self::WrongTrustDomain { .. } => "wrong-trust-domain",
            Self::WrongPath { .. } => "wrong-path",
            Self::NotAllowed { .. } => "not-allowed",
        }
    }

    /// What the other side is told when a connection is closed for this.
    pub fn close_reason(&self) -> String {
        format!("{}: {self}", self.code()).chars().take(CLOSE_REASON_CHARS_MAX).collect()
    }

    pub(super) fn of_chain(error: &ChainError, serial: &str) -> Self {
        match error {
            ChainError::CertExpired { not_after, .. } => {
                Self::Expired { at: timestamp(*not_after) }
            }
            ChainError::CertNotValidYet { not_before, .. } => {
                Self::NotYetValid { from: timestamp(*not_before) }
            }
            ChainError::CertRevoked => Self::Revoked { serial: serial.to_owned() },
            // A signature of somebody else who has the authority's name is no better than none.
            ChainError::UnknownIssuer | ChainError::InvalidSignatureForPublicKey => {
                Self::UnknownAuthority
            }
            ChainError::RequiredEkuNotFoundContext(_) => Self::WrongUsage,
            ChainError::InvalidCrlSignatureForPublicKey
            | ChainError::IssuerNotCrlSigner
            | ChainError::UnknownRevocationStatus
            | ChainError::CrlExpired { .. } => {
                Self::RevocationUnknown { reason: error.to_string() }
            }
            error => Self::BadCertificate { reason: error.to_string() },
        }
    }

    /// As TLS has it: the alert that is sent follows from it, and over QUIC its words do, too.
    pub(crate) fn to_tls(&self, now: Timestamp) -> TlsError {
        let time = unix_time(now);
        TlsError::InvalidCertificate(match self {
            Self::NoCertificate => return TlsError::NoCertificatesPresented,
            Self::Expired { at } => {
                CertificateError::ExpiredContext { time, not_after: unix_time(*at) }
            }
            Self::NotYetValid { from } => {
                CertificateError::NotValidYetContext { time, not_before: unix_time(*from) }
            }
            Self::Revoked { .. } => CertificateError::Revoked,
            Self::UnknownAuthority => CertificateError::UnknownIssuer,
            Self::WrongUsage => CertificateError::InvalidPurpose,
            Self::RevocationUnknown { .. } => CertificateError::UnknownRevocationStatus,
            Self::BadCertificate { .. }
            | Self::NoUri
            | Self::SeveralUris { .. }
            | Self::BadSpiffeId { .. }
            | Self::WrongTrustDomain { .. }
            | Self::WrongPath { .. }
            | Self::NotAllowed { .. } => {
                CertificateError::Other(OtherError(Arc::new(Spoken(self.close_reason()))))
            }
        })
    }
}

/// Words in an error of TLS, which prints it by `Debug`; over QUIC the other side reads them.
struct Spoken(String);

impl fmt::Debug for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Spoken {}

/// What TLS alone tells a side whose certificate was refused; over TCP it learns no more than this.
pub fn told(error: &TlsError) -> Option<&'static str> {
    let TlsError::AlertReceived(alert) = error else { return None };
    Some(match alert {
        AlertDescription::CertificateExpired => {
            "the other side holds our certificate for expired, or not valid yet"
        }
        AlertDescription::CertificateRevoked => "the other side says our certificate was revoked",
        AlertDescription::UnknownCA => "the other side does not trust our authority",
        AlertDescription::UnsupportedCertificate => {
            "our certificate was not issued for this side of a connection"
        }
        AlertDescription::CertificateUnknown | AlertDescription::BadCertificate => {
            "the other side does not let the name in our certificate in"
        }
        AlertDescription::CertificateRequired => "the other side wants a certificate",
        AlertDescription::ProtocolVersion => "the other side does not speak TLS 1.3",
        AlertDescription::NoApplicationProtocol => "the other side does not speak our protocol",
        _ => return None,
    })
}

/// A peer that was not let in, and what is known of it: nothing of that is proved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPeer {
    /// Why.
    pub refusal: PeerRefusal,
    /// The number in its certificate.
    pub serial: Option<String>,
    /// The first name in its certificate.
    pub claimed: Option<String>,
}

impl RefusedPeer {
    pub(super) fn nobody() -> Self {
        Self { refusal: PeerRefusal::NoCertificate, serial: None, claimed: None }
    }
}
