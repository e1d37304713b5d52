//! The register: a line of JSON for each certificate that was issued, written whole every time.

use std::fmt::Write;
use std::path::Path;

use ah_model::{Timestamp, to_hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::CaError;
use crate::file::{self, Access};
use crate::identity::{Certificate, CertificateError, SpiffeId};
use crate::peer::PeerSide;

/// A certificate that was issued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Issued {
    /// Its number, in hexadecimal digits.
    pub serial: String,
    /// The node it is for.
    pub node: String,
    /// Who it says that its holder is.
    pub id: String,
    /// Which side of connections it is for.
    pub side: PeerSide,
    /// From when on it can be used.
    pub not_before: Timestamp,
    /// Until when it can be used.
    pub not_after: Timestamp,
    /// SHA-256 of the certificate.
    pub sha256: String,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it was taken back.
    #[serde(default)]
    pub revoked_at: Option<Timestamp>,
}

impl Issued {
    pub(super) fn new(
        der: &[u8],
        node: &str,
        id: &SpiffeId,
        side: PeerSide,
        now: Timestamp,
    ) -> Result<Self, CertificateError> {
        let Certificate { serial, not_before, not_after, .. } = Certificate::parse(der)?;
        Ok(Self {
            serial,
            node: node.to_owned(),
            id: id.to_string(),
            side,
            not_before,
            not_after,
            sha256: to_hex(&Sha256::digest(der)),
            issued_at: now,
            revoked_at: None,
        })
    }
}

pub(super) fn read(path: &Path) -> Result<Vec<Issued>, CaError> {
    let text = file::read_private(path)?;
    let lines = text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let issued = lines.map(|(number, line)| {
        serde_json::from_slice(line).map_err(|error| CaError::Damaged {
            path: path.to_owned(),
            reason: format!("line {}: {error}", number + 1),
        })
    });
    issued.collect()
}

pub(super) fn write(path: &Path, all: &[Issued]) -> Result<(), CaError> {
    let mut text = String::new();
    for issued in all {
        let line = serde_json::to_string(issued).map_err(|error| CaError::Make {
            what: "a line of the register",
            reason: error.to_string(),
        })?;
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{line}");
    }
    Ok(file::replace(path, text.as_bytes(), Access::Private)?)
}
