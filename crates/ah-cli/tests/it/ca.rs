//! `ah ca`: what the program issues is let in, what it took back is not, and nothing is lost between.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use ah_access::identity::{FilesProvider, Identity, Provider};
use ah_access::peer::{PeerPolicy, PeerSide, Revocations};
use ah_store::{Clock, SystemClock};
use serde_json::Value;

use crate::support::{Home, succeeded};

fn home() -> Home {
    let home = Home::new();
    let about = home.json(&["ca", "init", "--trust-domain", "example.org"]);
    assert_eq!(about["trustDomain"], "example.org");
    home
}

/// The identity in a directory that `issue` filled.
fn identity(directory: &Path) -> Identity {
    let files = ["chain.pem", "key.pem", "roots.pem"].map(|name| directory.join(name));
    let [chain, key, roots] = files;
    FilesProvider { chain, key, roots }.load(SystemClock.now()).unwrap()
}

fn policy(home: &Home, side: PeerSide, roots: &Identity) -> PeerPolicy {
    let crl = home.json(&["ca", "show"])["crl"].as_str().unwrap().to_owned();
    PeerPolicy::new(side, &roots.roots)
        .unwrap()
        .trust_domain("example.org".parse().unwrap())
        .revocations(Revocations::default().crl_file(crl))
}

fn failed(output: &Output, exit: i32) -> String {
    assert_eq!(output.status.code(), Some(exit), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn items(home: &Home, arguments: &[&str]) -> Vec<Value> {
    home.json(arguments)["items"].as_array().unwrap().clone()
}

#[test]
fn both_sides_let_each_other_in_until_one_is_revoked() {
    let home = home();
    succeeded(&home.run(&["ca", "issue", "harbor", "--server", "--out", "served"]), "server");
    let issued = home.json(&["ca", "issue", "node-1", "--days", "7"]);
    assert_eq!(issued["certificate"]["id"], "spiffe://example.org/ah/agent/node-1");
    let server = identity(&home.work().join("served"));
    let executor = identity(&home.work().join("node-1"));
    assert_eq!(issued["certificate"]["serial"], executor.serial);
    let (of_executors, of_servers) =
        (policy(&home, PeerSide::Executor, &server), policy(&home, PeerSide::Server, &executor));
    let now = SystemClock.now();
    let id = of_executors.check(&executor.chain, now).unwrap();
    assert_eq!(id.as_str(), "spiffe://example.org/ah/agent/node-1");
    let id = of_servers.check(&server.chain, now).unwrap();
    assert_eq!(id.as_str(), "spiffe://example.org/ah/serve");
    let revoked = items(&home, &["ca", "revoke", "node-1"]);
    assert!(revoked[0]["revokedAt"].is_string(), "{revoked:?}");
    let refused = of_executors.check(&executor.chain, now).unwrap_err();
    assert_eq!(refused.refusal.code(), "revoked");
    assert!(of_servers.check(&server.chain, now).is_ok());
}

#[test]
fn keys_are_private_and_nothing_is_written_over() {
    let home = home();
    succeeded(&home.run(&["ca", "issue", "node-1"]), "issue");
    let key = home.work().join("node-1/key.pem");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let root = home.state().join("ca/root.key");
    assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(&key).unwrap();
    let said = failed(&home.run(&["ca", "issue", "node-1"]), 4);
    assert!(said.contains("node-1/chain.pem is there already"), "{said}");
    assert!(said.contains("hint: `--out DIR` names another directory"), "{said}");
    assert_eq!(fs::read(&key).unwrap(), before);
    assert_eq!(items(&home, &["ca", "list"]).len(), 1);
    for output in [home.run(&["ca", "show"]), home.run(&["ca", "list", "--json"])] {
        assert!(!String::from_utf8(output.stdout).unwrap().contains("PRIVATE"));
    }
}

#[test]
fn certificates_issued_at_once_have_serials_of_their_own() {
    let home = home();
    let nodes: Vec<String> = (0..12).map(|number| format!("node-{number}")).collect();
    let running: Vec<_> =
        nodes.iter().map(|node| home.spawn(&["ca", "issue", node, "--json"])).collect();
    let answers: Vec<Value> = running
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            serde_json::from_str(&succeeded(&output, "issue")).unwrap()
        })
        .collect();
    let given: BTreeSet<&str> =
        answers.iter().map(|it| it["certificate"]["serial"].as_str().unwrap()).collect();
    assert_eq!(given.len(), nodes.len());
    let listed = items(&home, &["ca", "list"]);
    let listed: BTreeSet<&str> = listed.iter().map(|it| it["serial"].as_str().unwrap()).collect();
    assert_eq!(listed, given, "every one is in the register");
}

#[test]
fn certificates_are_found_by_node_and_by_serial() {
    let home = home();
    for out in ["a", "b"] {
        succeeded(&home.run(&["ca", "issue", "node-1", "--out", out]), "issue");
    }
    let both = items(&home, &["ca", "show", "node-1"]);
    assert_eq!(both.len(), 2);
    let serial = both[0]["serial"].as_str().unwrap();
    assert_eq!(items(&home, &["ca", "show", serial]), both[..1]);
    items(&home, &["ca", "revoke", serial]);
    let text = succeeded(&home.run(&["ca", "list"]), "list");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains(serial) && lines[1].contains("revoked"), "{text}");
    assert!(lines[2].contains("valid, ends in 89d"), "{text}");
    assert_eq!(items(&home, &["ca", "revoke", "node-1"]).len(), 2);
}

#[test]
fn what_cannot_be_done_is_said_with_the_next_command() {
    let home = Home::new();
    let said = failed(&home.run(&["ca", "issue", "node-1"]), 3);
    assert!(said.contains("no authority is at ") && said.contains("`ah ca init"), "{said}");
    assert!(!home.state().join("ca").exists(), "nothing is made on the way");
    let domain = failed(&home.run(&["ca", "init", "--trust-domain", "Example.org"]), 2);
    assert!(domain.contains("invalid trust domain: `E` in \"Example.org\""), "{domain}");
    home.json(&["ca", "init", "--trust-domain", "example.org"]);
    let again = failed(&home.run(&["ca", "init", "--trust-domain", "example.org"]), 4);
    assert!(again.contains("`ah ca show`"), "{again}");
    let unknown = failed(&home.run(&["ca", "revoke", "nobody"]), 3);
    assert!(unknown.contains("\"nobody\"") && unknown.contains("`ah ca list`"), "{unknown}");
    failed(&home.run(&["ca", "issue", "a/b"]), 2);
    failed(&home.run(&["ca", "issue", "a", "--days", "0"]), 2);
    fs::set_permissions(home.state().join("ca"), fs::Permissions::from_mode(0o755)).unwrap();
    let open = failed(&home.run(&["ca", "list"]), 5);
    assert!(open.contains("`chmod 700 "), "{open}");
}

#[test]
fn an_authority_that_issued_nothing_says_so() {
    let home = home();
    let said = succeeded(&home.run(&["ca", "list"]), "list");
    assert_eq!(said, "nothing issued; `ah ca issue NODE` does\n");
    let shown = succeeded(&home.run(&["ca", "show"]), "show");
    assert!(shown.starts_with("trust domain: example.org\n"), "{shown}");
}
