//! What a certificate says, as plain values.

use std::net::IpAddr;

use ah_model::{Invalid, Timestamp, to_hex};
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::SpiffeId;
use crate::peer::PeerId;

/// Why bytes are no certificate that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no certificate: {reason}")]
pub struct CertificateError {
    /// What is wrong with it.
    pub reason: String,
}

/// What a certificate says of itself. Whether it is true is another question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The number its authority gave it: hexadecimal digits, two for a byte, without leading zeros.
    pub serial: String,
    /// From when on it can be used.
    pub not_before: Timestamp,
    /// Until when it can be used.
    pub not_after: Timestamp,
    /// The URIs among its alternative names.
    pub uris: Vec<String>,
    /// The host names and addresses among its alternative names.
    pub hosts: Vec<String>,
    /// SHA-256 of its public key, in hexadecimal digits.
    pub spki_sha256: String,
    /// Whether it names itself as its authority.
    pub is_self_issued: bool,
}

impl Certificate {
    /// Reads a certificate.
    pub fn parse(der: &[u8]) -> Result<Self, CertificateError> {
        let bad = |reason: &str| CertificateError { reason: reason.to_owned() };
        let (rest, parsed) =
            X509Certificate::from_der(der).map_err(|error| bad(&error.to_string()))?;
        if !rest.is_empty() {
            return Err(bad("something follows it"));
        }
        let time = |seconds: i64| Timestamp::from_unix_ms(seconds.saturating_mul(1_000));
        let names = parsed.subject_alternative_name();
        let names = names.map_err(|_| bad("its alternative names cannot be read"))?;
        let (mut uris, mut hosts) = (Vec::new(), Vec::new());
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::URI(uri) => uris.push((*uri).to_owned()),
                GeneralName::DNSName(host) => hosts.push((*host).to_owned()),
                GeneralName::IPAddress(bytes) => hosts.extend(address(bytes)),
                GeneralName::Invalid(..) => {
                    return Err(bad("one of its alternative names cannot be read"));
                }
                _ => {}
            }
        }
        Ok(Self {
            serial: serial_text(parsed.raw_serial()),
            not_before: time(parsed.validity().not_before.timestamp()),
            not_after: time(parsed.validity().not_after.timestamp()),
            uris,
            hosts,
            spki_sha256: to_hex(&Sha256::digest(parsed.public_key().raw)),
            is_self_issued: parsed.issuer().as_raw() == parsed.subject().as_raw(),
        })
    }

    /// Who it says that its holder is.
    pub(crate) fn id(&self) -> Result<PeerId, Invalid> {
        let spiffe = self.uris.iter().find(|uri| SpiffeId::is_meant(uri));
        match (spiffe, self.uris.len()) {
            (Some(id), 1) => Ok(PeerId::Spiffe(id.parse()?)),
            (Some(_), count) => {
                let reason = format!("{count} URIs beside each other, one SPIFFE id is allowed");
                Err(Invalid::new("alternative names", reason))
            }
            (None, _) => match self.names().next() {
                Some(name) => Ok(PeerId::Named(name)),
                None => Err(Invalid::new("alternative names", "there are none")),
            },
        }
    }

    /// The names that an allow-list may hold.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> {
        let uris = self.uris.iter().map(|uri| format!("uri:{uri}"));
        let hosts = self.hosts.iter().map(|host| format!("dns:{}", host.to_ascii_lowercase()));
        let key = [format!("spki:{}", self.spki_sha256)];
        let names: Vec<String> = uris.chain(hosts).chain(key).collect();
        names.into_iter()
    }
}

/// SHA-256 of the public key of a certificate, as allow-lists have it.
pub fn spki_sha256(der: &CertificateDer<'_>) -> Result<String, CertificateError> {
    Certificate::parse(der).map(|certificate| certificate.spki_sha256)
}

/// A number of an authority, in the one form that this room compares.
pub(crate) fn serial_text(bytes: &[u8]) -> String {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    match bytes.get(start..) {
        Some(bytes) if !bytes.is_empty() => to_hex(bytes),
        _ => "00".to_owned(),
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    address.ok().map(|address| address.to_string())
}
