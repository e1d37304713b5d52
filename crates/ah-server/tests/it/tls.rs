//! The server under TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ah_model::TokenRole;
use ah_server::{Exposure, Tls, TlsError};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned,
    SupportedProtocolVersion, version,
};

use crate::guarded::Guarded;
use crate::http::{Connection, request};

struct Pair {
    certificate: CertificateDer<'static>,
    directory: tempfile::TempDir,
}

impl Pair {
    /// A certificate for `localhost` with its key, each in a file.
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(directory.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
        Self { certificate: made.cert.der().clone(), directory }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn tls(&self) -> Result<Tls, TlsError> {
        Tls::from_files(&self.file("cert.pem"), &self.file("key.pem"))
    }

    fn serve(&self) -> Guarded {
        let tls = self.tls().unwrap();
        Guarded::with(|options| {
            options.tls = Some(tls);
            options.exposure = Exposure::Public;
        })
    }

    fn connect(
        &self,
        server: &Guarded,
        versions: &[&'static SupportedProtocolVersion],
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_protocol_versions(versions).unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        StreamOwned::new(session, stream)
    }
}

/// Sends a request that ends the connection, and reads all of the answer.
fn ask(stream: &mut StreamOwned<ClientConnection, TcpStream>, token: &str) -> String {
    let token = format!("authorization: Bearer {token}");
    let headers = ["connection: close", token.as_str()];
    stream.write_all(request("GET", "/api/v1/sessions", &headers, "").as_bytes()).unwrap();
    let mut answer = String::new();
    // The end must be said: a connection that is merely cut could have lost some of it.
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn requests_travel_under_both_versions_of_tls() {
    let pair = Pair::new();
    let server = pair.serve();
    let admin = server.token("admin", TokenRole::Admin);
    for (version, name) in
        [(&version::TLS12, ProtocolVersion::TLSv1_2), (&version::TLS13, ProtocolVersion::TLSv1_3)]
    {
        let mut stream = pair.connect(&server, &[version]);
        let answer = ask(&mut stream, &admin);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with(r#"{"items":[],"nextCursor":null}"#), "{answer}");
        assert_eq!(stream.conn.protocol_version(), Some(name));
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    }
}

#[test]
fn large_bodies_and_streams_pass_through() {
    let pair = Pair::new();
    let server = pair.serve();
    let admin = server.token("admin", TokenRole::Admin);
    let value = "x".repeat(1_000_000);
    let body = format!(r#"{{"scope":"user","key":"k","value":"{value}"}}"#);
    let token = format!("authorization: Bearer {admin}");
    let mut stream = pair.connect(&server, &[&version::TLS13]);
    stream.write_all(request("PUT", "/api/v1/kv/entry", &[&token], &body).as_bytes()).unwrap();
    let path = "/api/v1/kv/entry?scope=user&key=k";
    let headers = [token.as_str(), "connection: close"];
    stream.write_all(request("GET", path, &headers, "").as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert!(answers.starts_with("HTTP/1.1 204"), "{}", &answers[..40]);
    assert!(answers.contains(&value));
}

#[test]
fn clients_that_never_agree_on_keys_keep_nobody_waiting() {
    let pair = Pair::new();
    let server = pair.serve();
    let admin = server.token("admin", TokenRole::Admin);
    let mut silent = Vec::new();
    for part in ["", "\u{16}", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"] {
        for _ in 0..20 {
            let mut connection = Connection::open(server.address());
            connection.send(part);
            silent.push(connection);
        }
    }
    let answer = ask(&mut pair.connect(&server, &[&version::TLS13]), &admin);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // Whoever speaks plainly is not answered.
    assert!(!silent.pop().unwrap().rest_bytes().starts_with(b"HTTP"));
}

#[test]
fn files_that_are_no_certificate_or_key_are_named() {
    let (pair, other) = (Pair::new(), Pair::new());
    let said = |certificate: &Path, key: &Path| {
        Tls::from_files(certificate, key).map(drop).unwrap_err().to_string()
    };
    let (certificate, key) = (pair.file("cert.pem"), pair.file("key.pem"));
    let missing = pair.file("missing.pem");
    assert!(said(&missing, &key).contains("missing.pem: No such file"));
    assert!(said(&certificate, &missing).contains("missing.pem: "));
    assert!(said(&key, &key).ends_with("key.pem: no certificate in PEM form is in it"));
    assert!(said(&certificate, &certificate).ends_with("no private key in PEM form is in it"));
    let pairing = said(&certificate, &other.file("key.pem"));
    assert!(pairing.starts_with("the certificate and its key: "), "{pairing}");
    assert!(pair.tls().is_ok());
}
