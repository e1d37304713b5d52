//! The private authority: what it issues works, what it took back does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use ah_access::ca::{Authority, CaError, Issue};
use ah_access::identity::{FileError, Identity, Provider};
use ah_access::peer::{PeerPolicy, PeerSide, Revocations};
use ah_store::{IdSource, StoreError, SystemIds};
use tempfile::TempDir;

use crate::given::{days, now, provider};

pub(crate) struct Home {
    pub(crate) dir: TempDir,
    pub(crate) authority: Authority,
}

impl Home {
    pub(crate) fn new(domain: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let place = dir.path().join("ca");
        let authority = Authority::init(&place, domain.parse().unwrap(), 3_650, now()).unwrap();
        Self { dir, authority }
    }

    pub(crate) fn issue(&self, node: &str, side: PeerSide) -> Identity {
        let out = self.dir.path().join(node);
        let issue = Issue { node, side, days: 30, out: &out };
        self.authority.issue(&issue, now(), &SystemIds).unwrap();
        provider(&out).load(now()).unwrap()
    }

    pub(crate) fn policy(&self, side: PeerSide) -> PeerPolicy {
        let about = self.authority.about().unwrap();
        let roots = fs::read(about.roots).unwrap();
        let roots: Vec<_> =
            rustls::pki_types::pem::PemObject::pem_slice_iter(&roots).map(Result::unwrap).collect();
        PeerPolicy::new(side, &roots)
            .unwrap()
            .trust_domain(about.trust_domain.parse().unwrap())
            .revocations(Revocations::default().crl_file(about.crl))
    }
}

#[test]
fn both_sides_let_in_what_it_issued_for_the_other() {
    for domain in ["example.org", "my_org", "a-b.c"] {
        let home = Home::new(domain);
        let executor = home.issue("node-1", PeerSide::Executor);
        let server = home.issue("harbor", PeerSide::Server);
        let id = home.policy(PeerSide::Executor).check(&executor.chain, now()).unwrap();
        assert_eq!(id.as_str(), format!("spiffe://{domain}/ah/agent/node-1"));
        let id = home.policy(PeerSide::Server).check(&server.chain, now()).unwrap();
        assert_eq!(id.as_str(), format!("spiffe://{domain}/ah/serve"));
    }
}

#[test]
fn a_certificate_is_valid_for_its_days_and_no_longer_than_its_authority() {
    let home = Home::new("example.org");
    let identity = home.issue("node-1", PeerSide::Executor);
    assert_eq!(identity.not_after, days(30));
    assert_eq!(identity.not_before, now().minus_ms(5 * 60_000), "clocks differ");
    let late = days(3_649);
    let out = home.dir.path().join("late");
    let issue = Issue { node: "late", side: PeerSide::Executor, days: 30, out: &out };
    let issued = home.authority.issue(&issue, late, &SystemIds).unwrap();
    assert_eq!(issued.not_after, days(3_650));
    let out = home.dir.path().join("over");
    let issue = Issue { node: "over", out: &out, ..issue };
    let error = home.authority.issue(&issue, days(3_650), &SystemIds).unwrap_err();
    assert!(matches!(error, CaError::Over { at } if at == days(3_650)), "{error}");
    assert!(!out.join("key.pem").exists());
}

#[test]
fn its_key_and_what_it_issues_are_private() {
    let home = Home::new("example.org");
    home.issue("node-1", PeerSide::Executor);
    let mode = |path: &str| {
        let found = fs::metadata(home.dir.path().join(path)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!((mode("ca"), mode("node-1")), (0o700, 0o700));
    for file in ["ca/root.key", "ca/register.jsonl", "ca/ca.json", "node-1/key.pem"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}

#[test]
fn an_unsafe_directory_or_key_is_refused_and_not_repaired() {
    let home = Home::new("example.org");
    let place = home.dir.path().join("ca");
    let set = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&place, 0o755);
    let error = Authority::open(&place).unwrap_err();
    assert!(error.to_string().contains("`chmod 700 "), "{error}");
    set(&place, 0o700);
    set(&place.join("root.key"), 0o640);
    let error = home.authority.revoke("node-1", now()).unwrap_err();
    assert!(matches!(error, CaError::File(FileError::Unsafe { .. })), "{error}");
    let link = home.dir.path().join("link");
    std::os::unix::fs::symlink(&place, &link).unwrap();
    assert!(Authority::open(&link).is_err());
}

#[test]
fn a_second_authority_does_not_replace_the_first() {
    let home = Home::new("example.org");
    let place = home.dir.path().join("ca");
    let before = fs::read(place.join("root.pem")).unwrap();
    let again = Authority::init(&place, "other.org".parse().unwrap(), 10, now());
    assert!(matches!(again, Err(CaError::Exists { .. })));
    assert_eq!(fs::read(place.join("root.pem")).unwrap(), before);
    let missing = Authority::open(&home.dir.path().join("none"));
    assert!(matches!(missing, Err(CaError::Missing { .. })));
}

#[test]
fn nothing_that_is_there_is_written_over_and_nothing_is_registered_then() {
    let home = Home::new("example.org");
    let identity = home.issue("node-1", PeerSide::Executor);
    let out = home.dir.path().join("node-1");
    for kept in ["chain.pem", "key.pem", "roots.pem"] {
        for other in ["chain.pem", "key.pem", "roots.pem"].iter().filter(|name| **name != kept) {
            let _ = fs::remove_file(out.join(other));
        }
        fs::write(out.join(kept), "mine").unwrap();
        let issue = Issue { node: "node-1", side: PeerSide::Executor, days: 30, out: &out };
        let error = home.authority.issue(&issue, now(), &SystemIds).unwrap_err();
        assert!(matches!(error, CaError::File(FileError::Exists { .. })), "{error}");
        assert_eq!(fs::read(out.join(kept)).unwrap(), b"mine");
    }
    let issued = home.authority.issued().unwrap();
    assert_eq!(issued.iter().map(|it| &it.serial).collect::<Vec<_>>(), [&identity.serial]);
}

#[test]
fn what_is_revoked_is_refused_from_then_on_by_serial_or_by_node() {
    let home = Home::new("example.org");
    let policy = home.policy(PeerSide::Executor);
    let (one, two) = (home.issue("one", PeerSide::Executor), home.issue("two", PeerSide::Executor));
    let refused = |identity: &Identity| {
        let checked = policy.check(&identity.chain, now());
        checked.err().map(|refused| refused.refusal.code())
    };
    assert_eq!((refused(&one), refused(&two)), (None, None));
    let revoked = home.authority.revoke(&one.serial.to_uppercase(), days(1)).unwrap();
    assert_eq!(revoked[0].revoked_at, Some(days(1)));
    assert_eq!((refused(&one), refused(&two)), (Some("revoked"), None));
    home.authority.revoke("two", days(2)).unwrap();
    assert_eq!((refused(&one), refused(&two)), (Some("revoked"), Some("revoked")));
    let again = home.authority.revoke("one", days(3)).unwrap();
    assert_eq!(again[0].revoked_at, Some(days(1)), "the first time counts");
    let error = home.authority.revoke("three", now()).unwrap_err();
    assert!(matches!(error, CaError::NotFound { which } if which == "three"));
}

/// Randomness that says the same at first.
struct Stuck(Mutex<u8>);

impl IdSource for Stuck {
    fn random(&self) -> Result<[u8; 10], StoreError> {
        let mut calls = self.0.lock().unwrap();
        *calls += 1;
        Ok([0xff, 0, 0, 0, 0, 0, 0, 0, 0, *calls / 3])
    }
}

#[test]
fn no_serial_is_given_twice() {
    let home = Home::new("example.org");
    let stuck = Stuck(Mutex::new(0));
    let serial = |node: &str| {
        let out = home.dir.path().join(node);
        let issue = Issue { node, side: PeerSide::Executor, days: 30, out: &out };
        home.authority.issue(&issue, now(), &stuck).unwrap().serial
    };
    assert_eq!(
        (serial("a"), serial("b")),
        ("7f".to_owned() + &"0".repeat(18), "7f".to_owned() + &"0".repeat(16) + "01")
    );
}

#[test]
fn a_damaged_register_is_named_with_its_line() {
    let home = Home::new("example.org");
    home.issue("node-1", PeerSide::Executor);
    let path = home.dir.path().join("ca/register.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + "{\"serial\":1}\n").unwrap();
    let error = home.authority.issued().unwrap_err().to_string();
    assert!(error.contains("register.jsonl is damaged: line 2: "), "{error}");
}

#[test]
fn nodes_and_days_that_cannot_be_are_refused() {
    let home = Home::new("example.org");
    let out = home.dir.path().join("out");
    let issue = |node, days| {
        let issue = Issue { node, side: PeerSide::Server, days, out: &out };
        home.authority.issue(&issue, now(), &SystemIds).unwrap_err().to_string()
    };
    assert!(issue("a/b", 1).starts_with("invalid node: "));
    assert_eq!(issue("a", 0), "invalid days: 0, 1 to 3650 are allowed");
    assert!(!out.exists());
}
