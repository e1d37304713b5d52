//! Identities from a Vault: a server of the test's own that answers as its PKI engine does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ah_access::identity::{Provider, ProviderKind, VaultProvider, VaultToken};
use serde_json::{Value, json};

use crate::given::{Ca, Files, Leaf, now};

/// What a Vault was asked.
struct Asked {
    line: String,
    token: Option<String>,
    body: Value,
}

/// A server that answers one request, and its address.
fn vault(status: &str, answer: String) -> (String, JoinHandle<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let status = status.to_owned();
    let served = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream);
        let (mut line, mut token, mut length) = (String::new(), None, 0);
        reader.read_line(&mut line).unwrap();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let Some((name, value)) = header.trim().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "x-vault-token" => token = Some(value.to_owned()),
                "content-length" => length = value.parse().unwrap(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", answer.len());
        // One that has read enough does not wait for the rest.
        let _ = reader.get_mut().write_all((head + &answer).as_bytes());
        Asked { line, token, body: serde_json::from_slice(&body).unwrap() }
    });
    (address, served)
}

fn provider(address: &str) -> VaultProvider {
    VaultProvider {
        address: format!("{address}/"),
        mount: "/pki/int".to_owned(),
        role: "executor".to_owned(),
        id: "spiffe://example.org/ah/agent/node-1".parse().unwrap(),
        ttl: Some(Duration::from_secs(3_600)),
        token: VaultToken::Text("s.secret".to_owned()),
        ca_file: None,
    }
}

fn issued(ca: &Ca) -> Value {
    let pair = ca.issue(&Leaf::executor());
    json!({ "lease_id": "", "data": {
        "certificate": pair.certificate.trim_end(), "private_key": pair.key.trim_end(),
        "issuing_ca": ca.pem.trim_end(), "ca_chain": [ca.pem.trim_end()],
        "serial_number": "12:34", "expiration": 1,
    }})
}

#[test]
fn a_role_issues_an_identity() {
    let ca = Ca::new();
    let (address, served) = vault("200 OK", issued(&ca).to_string());
    let provider = provider(&address);
    let identity = provider.load(now()).unwrap();
    assert_eq!((identity.serial.as_str(), identity.roots), ("1234", vec![ca.der]));
    assert_eq!(provider.kind(), ProviderKind::Vault);
    let asked = served.join().unwrap();
    assert_eq!(asked.line.trim(), "POST /v1/pki/int/issue/executor HTTP/1.1");
    assert_eq!(asked.token.as_deref(), Some("s.secret"));
    let expected = json!({ "uri_sans": "spiffe://example.org/ah/agent/node-1", "ttl": "3600s" });
    assert_eq!(asked.body, expected);
}

#[test]
fn an_answer_without_a_chain_is_vouched_for_by_who_issued_it() {
    let ca = Ca::new();
    let mut answer = issued(&ca);
    answer["data"].as_object_mut().unwrap().remove("ca_chain");
    let (address, _served) = vault("200 OK", answer.to_string());
    assert_eq!(provider(&address).load(now()).unwrap().roots, vec![ca.der]);
}

#[test]
fn the_token_may_be_in_a_private_file() {
    let ca = Ca::new();
    let files = Files::new(&ca.issue(&Leaf::executor()), "");
    files.write("token", "s.filed\n");
    files.set_mode("token", 0o644);
    let (address, served) = vault("200 OK", issued(&ca).to_string());
    let token = VaultToken::File(files.path("token"));
    let provider = VaultProvider { token, ..provider(&address) };
    let error = provider.load(now()).unwrap_err().to_string();
    assert!(error.contains("`chmod 600 "), "{error}");
    files.set_mode("token", 0o600);
    provider.load(now()).unwrap();
    assert_eq!(served.join().unwrap().token.as_deref(), Some("s.filed"));
}

#[test]
fn what_a_vault_refuses_is_said_in_its_words() {
    let check = |status: &str, answer: String, expected: &str| {
        let (address, _served) = vault(status, answer);
        let error = provider(&address).load(now()).unwrap_err().to_string();
        assert_eq!(error, format!("{address}/v1/pki/int/issue/executor: {expected}"));
    };
    let denied = json!({ "errors": ["permission denied"] }).to_string();
    check("403 Forbidden", denied, "it answered 403: permission denied");
    check("503 Service Unavailable", String::new(), "it answered 503");
    check("307 Temporary Redirect", String::new(), "it answered 307");
    let nothing = "its answer cannot be read, at line 1, column 10";
    check("200 OK", r#"{"data":{}}"#.to_owned(), nothing);
    let ca = Ca::new();
    let mut broken = issued(&ca);
    broken["data"]["private_key"] = "secret".into();
    check("200 OK", broken.to_string(), "no private key in PEM form is in it");
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let (address, _served) = vault("200 OK", " ".repeat(2 * 1024 * 1024));
    let error = provider(&address).load(now()).unwrap_err().to_string();
    assert!(error.contains("/issue/executor: "), "{error}");
    assert!(error.contains("limit"), "{error}");
}

#[test]
fn a_vault_that_is_not_there_is_named() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = provider(&format!("http://{closed}")).load(now()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("http://{closed}/v1/pki/int/issue/executor: ")), "{error}");
    assert!(!error.contains("s.secret"), "{error}");
}
