//! A server that speaks TLS, and who believes it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread;

use ah_store::{Capabilities, Store, StoreError};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::{RestOptions, RestStore};

/// An authority, a server at `localhost` that it vouches for, and the authority's file.
struct Harbor {
    address: SocketAddr,
    ca_file: PathBuf,
    _directory: tempfile::TempDir,
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn server_config(authority: &CertifiedIssuer<'static, KeyPair>) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap()
}

impl Harbor {
    fn open() -> Self {
        let authority = authority();
        let config = Arc::new(server_config(&authority));
        let directory = tempfile::tempdir().unwrap();
        let ca_file = directory.path().join("ca.pem");
        fs::write(&ca_file, authority.pem()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                serve(StreamOwned::new(connection, stream.unwrap()));
            }
        });
        Self { address, ca_file, _directory: directory }
    }

    fn connect(&self, ca_file: Option<PathBuf>) -> Result<RestStore, StoreError> {
        let base_url = format!("https://localhost:{}", self.address.port());
        RestStore::connect(RestOptions { ca_file, ..RestOptions::new(base_url) })
    }
}

/// Answers one request with capabilities, unless the client breaks off.
fn serve(stream: impl std::io::Read + Write) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        if line.trim_end().is_empty() {
            let body = r#"{"workspaces":true}"#;
            let length = body.len();
            let head = format!("HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: {length}");
            let _ = write!(reader.get_mut(), "{head}\r\n\r\n{body}");
            let _ = reader.get_mut().flush();
            return;
        }
        line.clear();
    }
}

#[test]
fn a_server_is_believed_when_an_authority_of_the_file_vouches_for_it() {
    let harbor = Harbor::open();
    let store = harbor.connect(Some(harbor.ca_file.clone())).unwrap();
    assert_eq!(store.capabilities(), Capabilities { workspaces: true });
}

#[test]
fn a_server_that_nobody_known_vouches_for_is_sent_nothing() {
    let harbor = Harbor::open();
    let other = Harbor::open();
    for ca_file in [None, Some(other.ca_file.clone())] {
        let error = harbor.connect(ca_file).unwrap_err();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.to_lowercase().contains("certificate"), "{error}: {source}");
    }
}

#[test]
fn a_file_without_a_certificate_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let (missing, empty) = (directory.path().join("missing"), directory.path().join("empty"));
    fs::write(&empty, "nothing").unwrap();
    for file in [missing, empty] {
        let refused = config(Some(&file)).unwrap_err();
        assert_eq!(refused.field, "CA file");
        assert!(refused.reason.contains(file.to_str().unwrap()), "{}", refused.reason);
    }
}
