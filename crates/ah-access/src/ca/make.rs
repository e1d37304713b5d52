//! Certificates and lists, made and signed.

use std::time::Duration;

use ah_model::{Timestamp, from_hex};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CidrSubnet,
    DistinguishedName, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyIdMethod,
    KeyPair, KeyUsagePurpose, NameConstraints, RevocationReason, RevokedCertParams, SanType,
    SerialNumber, date_time_ymd,
};

use super::{CaError, Issued};
use crate::identity::{SpiffeId, TrustDomain};
use crate::peer::PeerSide;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
/// A certificate begins so much earlier than it is made, because clocks differ.
const EARLIER_MS: i64 = 5 * 60 * 1_000;
/// Until when a list counts: it is made anew when something is revoked, not when time passes.
const CRL_DAYS: u64 = 36_500;

/// From when until when something is valid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validity {
    from: Timestamp,
    until: Timestamp,
}

impl Validity {
    pub(super) fn days(now: Timestamp, days: u32) -> Self {
        let until = now.plus_ms(u64::from(days) * DAY_MS);
        Self { from: now.minus_ms(EARLIER_MS), until }
    }

    /// This, and no longer than `end`.
    pub(super) fn until(self, end: Timestamp) -> Self {
        Self { until: self.until.min(end), ..self }
    }
}

/// A certificate that was just issued, with its key.
pub(super) struct Made {
    pub(super) der: Vec<u8>,
    pub(super) pem: String,
    pub(super) key_pem: String,
}

/// The certificate of an authority, with its key.
pub(super) struct Root {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Root {
    pub(super) fn generate(domain: &TrustDomain, validity: Validity) -> Result<Self, CaError> {
        let key = KeyPair::generate().map_err(|error| failed("a key", &error))?;
        let mut params = params(validity, &format!("Agent Harbor authority of {domain}"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        // It vouches for no host outside of its domain, should its key be lost. URIs cannot be
        // constrained so: rcgen has no such form, and webpki refuses every URI where it sees one.
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![GeneralSubtree::DnsName(domain.to_string())],
            excluded_subtrees: vec![
                GeneralSubtree::IpAddress(CidrSubnet::V4([0; 4], [0; 4])),
                GeneralSubtree::IpAddress(CidrSubnet::V6([0; 16], [0; 16])),
            ],
        });
        let certificate = params.self_signed(&key);
        let certificate = certificate.map_err(|error| failed("the authority", &error))?;
        Ok(Self { pem: certificate.pem(), issuer: Issuer::new(params, key) })
    }

    pub(super) fn read(pem: String, key_pem: &str) -> Result<Self, String> {
        let key = KeyPair::from_pem(key_pem).map_err(|_| "its key cannot be read".to_owned())?;
        let issuer = Issuer::from_ca_cert_pem(&pem, key);
        let issuer = issuer.map_err(|_| "the certificate cannot be read".to_owned())?;
        Ok(Self { pem, issuer })
    }

    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    pub(super) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    pub(super) fn issue(
        &self,
        id: &SpiffeId,
        serial: [u8; 10],
        validity: Validity,
        side: PeerSide,
    ) -> Result<Made, CaError> {
        let make = || {
            let key = KeyPair::generate()?;
            let mut params = params(validity, id.node().unwrap_or("access point"));
            params.serial_number = Some(SerialNumber::from_slice(&serial));
            params.subject_alt_names = vec![SanType::URI(id.as_str().try_into()?)];
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![match side {
                PeerSide::Executor => ExtendedKeyUsagePurpose::ClientAuth,
                PeerSide::Server => ExtendedKeyUsagePurpose::ServerAuth,
            }];
            params.use_authority_key_identifier_extension = true;
            let certificate = params.signed_by(&key, &self.issuer)?;
            let key_pem = key.serialize_pem();
            Ok(Made { der: certificate.der().to_vec(), pem: certificate.pem(), key_pem })
        };
        make().map_err(|error: rcgen::Error| failed("the certificate", &error))
    }

    /// The list of everything in the register that was taken back.
    pub(super) fn crl(&self, all: &[Issued], now: Timestamp) -> Result<String, CaError> {
        let epoch = date_time_ymd(1970, 1, 1);
        let revoked = all.iter().filter_map(|issued| {
            let revocation_time = epoch + since_epoch(issued.revoked_at?);
            let serial_number = SerialNumber::from_slice(&from_hex(&issued.serial)?);
            let reason_code = Some(RevocationReason::Unspecified);
            Some(RevokedCertParams {
                serial_number,
                revocation_time,
                reason_code,
                invalidity_date: None,
            })
        });
        let params = CertificateRevocationListParams {
            this_update: epoch + since_epoch(now),
            next_update: epoch + since_epoch(now.plus_ms(CRL_DAYS * DAY_MS)),
            crl_number: SerialNumber::from(now.unix_ms().unsigned_abs()),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let made = params.signed_by(&self.issuer).and_then(|crl| crl.pem());
        made.map_err(|error| failed("the list of revocations", &error))
    }
}

fn params(validity: Validity, name: &str) -> CertificateParams {
    let epoch = date_time_ymd(1970, 1, 1);
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) =
        (epoch + since_epoch(validity.from), epoch + since_epoch(validity.until));
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, "Agent Harbor");
    subject.push(DnType::CommonName, name);
    params.distinguished_name = subject;
    params
}

/// From 1970 on, in whole seconds, as certificates have it.
fn since_epoch(time: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(time.unix_ms() / 1_000).unwrap_or(0))
}

fn failed(what: &'static str, error: &rcgen::Error) -> CaError {
    CaError::Make { what, reason: error.to_string() }
}
