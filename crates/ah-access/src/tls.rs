//! TLS between executors and access points: 1.3 only, certificates on both sides, one protocol.
//!
//! Nothing is resumed: a resumed connection would not show its certificate, which may have been
//! revoked since.

use std::fmt;
use std::sync::Arc;

use ah_store::Clock;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, ServerConfig,
    SignatureScheme,
};

use crate::frame::ALPN;
use crate::identity::Identity;
use crate::peer::{PeerPolicy, RefusedPeer, timestamp, unix_time};

/// Is told of every peer that is not let in.
pub type OnRefusal = Arc<dyn Fn(&RefusedPeer) + Send + Sync>;

/// What a side brings to a connection.
pub struct Terms {
    /// Who it is.
    pub identity: Arc<Identity>,
    /// Whom it lets in.
    pub policy: Arc<PeerPolicy>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who is told of peers that are not let in.
    pub on_refusal: OnRefusal,
}

/// What an access point accepts connections with.
pub fn server_config(terms: &Terms) -> Result<ServerConfig, Error> {
    let provider = Arc::new(default_provider());
    let builder = ServerConfig::builder_with_details(provider, Arc::new(terms.time()));
    let builder = builder.with_protocol_versions(&[&TLS13])?;
    let builder = builder.with_client_cert_verifier(Arc::new(terms.verifier()));
    let Identity { chain, key, .. } = &*terms.identity;
    let mut config = builder.with_single_cert(chain.clone(), key.clone_key())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// What an executor makes connections with. The host that is dialled proves nothing: the access
/// point's certificate has a name that the policy knows.
pub fn client_config(terms: &Terms) -> Result<ClientConfig, Error> {
    let provider = Arc::new(default_provider());
    let builder = ClientConfig::builder_with_details(provider, Arc::new(terms.time()));
    let builder = builder.with_protocol_versions(&[&TLS13])?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(terms.verifier()));
    let Identity { chain, key, .. } = &*terms.identity;
    let mut config = builder.with_client_auth_cert(chain.clone(), key.clone_key())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

impl Terms {
    fn time(&self) -> Time {
        Time(Arc::clone(&self.clock))
    }

    fn verifier(&self) -> Verifier {
        Verifier {
            policy: Arc::clone(&self.policy),
            on_refusal: Arc::clone(&self.on_refusal),
            algorithms: default_provider().signature_verification_algorithms,
        }
    }
}

/// The one clock, as TLS wants it.
struct Time(Arc<dyn Clock>);

impl TimeProvider for Time {
    fn current_time(&self) -> Option<UnixTime> {
        Some(unix_time(self.0.now()))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Time")
    }
}

/// Lets peers in by a policy, on either side.
struct Verifier {
    policy: Arc<PeerPolicy>,
    on_refusal: OnRefusal,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifier({:?})", self.policy)
    }
}

impl Verifier {
    fn check(
        &self,
        own: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let chain: Vec<CertificateDer<'_>> = [own].into_iter().chain(above).cloned().collect();
        let now = timestamp(now);
        self.policy.check(&chain, now).map(|_| ()).map_err(|refused| {
            (self.on_refusal)(&refused);
            refused.refusal.to_tls(now)
        })
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }
}

/// What a verifier answers to a version of TLS that is never spoken here.
fn only_tls13() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::PeerIncompatible(PeerIncompatible::Tls13RequiredForQuic))
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(own, above, now).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        only_tls13()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        _dialled: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(own, above, now).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        only_tls13()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
