//! `ah agent enroll` with identities that others give out: a Vault and a SPIFFE agent of the test's
//! own, which give what `ah ca issue` made.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use crate::harbor::{Harbor, until};

const ID: &str = "spiffe://example.org/ah/agent/node-1";

/// What an authority gave to a node: the chain, the key and the roots.
fn issued(harbor: &Harbor) -> [String; 3] {
    harbor.issue("node-1");
    let directory = harbor.home.work().join("node-1");
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    let files = ["chain.pem", "key.pem", "roots.pem"].map(read);
    // Nobody takes them from there.
    fs::remove_dir_all(directory).unwrap();
    files
}

/// The executor works, and its row says where its identity is from.
fn works(harbor: &Harbor, provider: &str) {
    let run = harbor.queue("ses-1", "echo hello");
    assert_eq!(harbor.ended(&run)["status"], "completed", "{}", harbor.said("node-1"));
    assert_eq!(harbor.written("ses-1"), "hello\n");
    let executor = harbor.home.json(&["executor", "show", ID]);
    assert_eq!(executor["identityProvider"], provider);
}

/// A Vault that issues the same again and again; where it is, and what it was asked.
fn vault([chain, key, roots]: [String; 3]) -> (String, Receiver<(String, String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (told, asked) = channel();
    let data = json!({
        "certificate": chain, "private_key": key, "issuing_ca": roots, "ca_chain": [roots],
    });
    let answer = json!({ "data": data }).to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                match line.trim() {
                    "" => break,
                    line => lines.push(line.to_owned()),
                }
            }
            let header = |name: &str| {
                let found = lines.iter().find(|line| line.to_ascii_lowercase().starts_with(name));
                found.map_or("", |line| line[name.len()..].trim()).to_owned()
            };
            let mut body = vec![0; header("content-length:").parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", answer.len());
            reader.get_mut().write_all((head + &answer).as_bytes()).unwrap();
            let body = serde_json::from_slice(&body).unwrap();
            // The test may have heard enough.
            let _ = told.send((lines[0].clone(), header("x-vault-token:"), body));
        }
    });
    (address, asked)
}

#[test]
fn an_executor_works_with_an_identity_from_a_vault() {
    let harbor = Harbor::new();
    let _point = harbor.access_point();
    let (address, asked) = vault(issued(&harbor));
    let token = harbor.home.work().join("token");
    fs::write(&token, "s.secret\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let source = ["--identity", "vault", "--vault-address", &address, "--vault-mount", "pki/int"];
    let more = ["--vault-role", "executor", "--vault-token-file", "token", "--spiffe-id", ID];
    let _executor = harbor.enroll("node-1", &[&source[..], &more].concat());
    works(&harbor, "vault");
    let (line, token, body) = asked.recv().unwrap();
    assert_eq!(line, "POST /v1/pki/int/issue/executor HTTP/1.1");
    assert_eq!((token.as_str(), &body), ("s.secret", &json!({ "uri_sans": ID })));
}

#[test]
fn a_vault_that_does_not_answer_is_named_and_its_token_is_not() {
    let harbor = Harbor::new();
    let token = harbor.home.work().join("token");
    fs::write(&token, "s.secret\n").unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("http://{closed}");
    let arguments = ["agent", "enroll", "--server", "127.0.0.1:1", "--identity", "vault"];
    let vault = ["--vault-address", &address, "--vault-role", "executor", "--spiffe-id", ID];
    let output =
        harbor.home.run(&[&arguments[..], &vault, &["--vault-token-file", "token"]].concat());
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains(&address) && !errors.contains("s.secret"), "{errors}");
    // What is missing is named by its flag.
    let output = harbor.home.run(&[&arguments[..], &vault].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("--vault-token-file FILE"));
}

/// The blocks of PEM as what they stand for, one after the other.
fn der(pem: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut der, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for line in pem.lines() {
        if line.starts_with("-----") {
            (bits, count) = (0, 0);
            continue;
        }
        for digit in line.bytes().filter_map(|byte| DIGITS.iter().position(|it| *it == byte)) {
            bits = (bits << 6 | u32::try_from(digit).unwrap()) & 0xffff;
            count += 6;
            if count >= 8 {
                count -= 8;
                der.push(u8::try_from(bits >> count & 0xff).unwrap());
            }
        }
    }
    der
}

/// A field of a message that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut length = bytes.len();
    let mut field = vec![number << 3 | 2];
    while length > 0x7f {
        field.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    field.push(u8::try_from(length).unwrap());
    [field, bytes.to_vec()].concat()
}

/// The kinds of HTTP/2's frames that an agent has to know.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head, payload.to_vec()].concat()
}

/// Answers the one call that there is, until the caller goes. The least that is HTTP/2: headers are
/// not read, and the only one of the answer is `:status: 200`, entry 8 of the table.
fn serve(mut stream: UnixStream, answer: &[u8]) -> Option<()> {
    stream.read_exact(&mut [0; 24]).ok()?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).ok()?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let [high, middle, low, kind, flags, number @ ..] = head;
        let mut payload =
            vec![0; usize::try_from(u32::from_be_bytes([0, high, middle, low])).ok()?];
        stream.read_exact(&mut payload).ok()?;
        let number = u32::from_be_bytes(number);
        let reply = match kind {
            SETTINGS | PING if flags & 1 == 0 => frame(kind, 1, 0, &payload_back(kind, payload)),
            HEADERS => {
                [frame(HEADERS, 4, number, &[0x88]), frame(DATA, 0, number, answer)].concat()
            }
            _ => continue,
        };
        stream.write_all(&reply).ok()?;
    }
}

/// A ping is answered with what it brought, settings with nothing.
fn payload_back(kind: u8, payload: Vec<u8>) -> Vec<u8> {
    if kind == PING { payload } else { Vec::new() }
}

#[test]
fn an_executor_works_with_an_identity_from_a_spiffe_agent() {
    let harbor = Harbor::new();
    let _point = harbor.access_point();
    let [chain, key, roots] = issued(&harbor).map(|pem| der(&pem));
    let svid = [field(1, ID.as_bytes()), field(2, &chain), field(3, &key), field(4, &roots)];
    let message = field(1, &svid.concat());
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let answer = [&[0][..], &length, &message].concat();
    let path = harbor.home.path().join("agent.sock");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // The caller goes when it has what it wants.
            let _ = serve(stream.unwrap(), &answer);
        }
    });
    let socket = format!("unix:{}", path.display());
    let _executor = harbor.enroll("node-1", &["--identity", "spiffe", "--spiffe-socket", &socket]);
    until(|| harbor.said("node-1").contains("connected").then_some(()));
    works(&harbor, "spiffe");
}
