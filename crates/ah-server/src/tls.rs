//! TLS: the certificate a server shows, read once from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{Error as RustlsError, ServerConfig};

/// What both sides agree to speak.
const ALPN: &[u8] = b"http/1.1";

/// A certificate chain with its key, ready to be shown. TLS 1.2 and 1.3.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

/// Why a certificate cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The certificate and the key are not one another's, or not usable.
    #[error("the certificate and its key: {reason}")]
    Pair {
        /// What is wrong with them.
        reason: String,
    },
}

impl Tls {
    /// Reads a certificate chain, the server's own first, and the key of that one.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let chain = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| bad_file(certificates, "certificate", &error))?;
        if chain.is_empty() {
            return Err(bad_file(certificates, "certificate", &PemError::NoItemsFound));
        }
        let secret = PrivateKeyDer::from_pem_file(key);
        let secret = secret.map_err(|error| bad_file(key, "private key", &error))?;
        let config = config(chain, secret);
        config.map(Self).map_err(|error| TlsError::Pair { reason: error.to_string() })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, RustlsError> {
    // The provider is named here, so that no other part of the program has to install one.
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    Ok(Arc::new(config))
}

fn bad_file(path: &Path, wanted: &str, error: &PemError) -> TlsError {
    let reason = match error {
        PemError::Io(error) => error.to_string(),
        PemError::NoItemsFound => format!("no {wanted} in PEM form is in it"),
        // Never the text itself: it may be part of a key.
        _ => "it is not PEM".to_owned(),
    };
    TlsError::File { path: path.to_owned(), reason }
}
