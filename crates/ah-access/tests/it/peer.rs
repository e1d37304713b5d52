//! Who is let in: every reason not to be has a name of its own.

use ah_access::identity::{Certificate, spki_sha256};
use ah_access::peer::{AllowedName, PeerId, PeerPolicy, PeerRefusal, PeerSide, Revocations};
use ah_model::Timestamp;
use rcgen::{
    CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber, date_time_ymd,
};
use tempfile::TempDir;

use crate::given::{Ca, Leaf, days, dns, now, uri};

fn check_at(
    policy: &PeerPolicy,
    ca: &Ca,
    leaf: &Leaf,
    at: Timestamp,
) -> Result<PeerId, PeerRefusal> {
    policy.check(&ca.issue(leaf).chain(), at).map_err(|refused| refused.refusal)
}

fn check(policy: &PeerPolicy, ca: &Ca, leaf: &Leaf) -> Result<PeerId, PeerRefusal> {
    check_at(policy, ca, leaf, now())
}

fn named(policy: &PeerPolicy, ca: &Ca, names: &[&str]) -> Result<PeerId, PeerRefusal> {
    let names = names.iter().map(|name| match name.strip_prefix("dns:") {
        Some(host) => dns(host),
        None => uri(name),
    });
    check(policy, ca, &Leaf::named(names.collect()))
}

#[test]
fn an_executor_and_an_access_point_are_who_their_certificates_say() {
    let ca = Ca::new();
    let executor = check(&ca.policy(PeerSide::Executor), &ca, &Leaf::executor()).unwrap();
    assert_eq!(executor.as_str(), "spiffe://example.org/ah/agent/node-1");
    assert_eq!(executor.executor_id().unwrap().as_str(), executor.as_str());
    let server = check(&ca.policy(PeerSide::Server), &ca, &Leaf::server()).unwrap();
    assert_eq!(server.as_str(), "spiffe://example.org/ah/serve");
}

#[test]
fn times_are_checked_to_the_second() {
    let ca = Ca::new();
    let policy = ca.policy(PeerSide::Executor);
    let at = |time| check_at(&policy, &ca, &Leaf::executor(), time);
    assert_eq!(at(days(29).plus_ms(1_000)), Err(PeerRefusal::Expired { at: days(29) }));
    assert!(at(days(29)).is_ok());
    assert_eq!(at(days(-1).minus_ms(1_000)), Err(PeerRefusal::NotYetValid { from: days(-1) }));
    assert!(at(days(-1)).is_ok());
}

#[test]
fn names_that_are_not_let_in_are_told_apart() {
    let ca = Ca::new();
    let policy = ca.policy(PeerSide::Executor);
    let code = |names: &[&str]| named(&policy, &ca, names).map_err(|refusal| refusal.code());
    let id = "spiffe://example.org/ah/agent/node-1";
    assert_eq!(code(&[]), Err("no-uri"));
    assert_eq!(code(&["dns:example.org"]), Err("no-uri"));
    assert_eq!(code(&["https://example.org/"]), Err("no-uri"));
    assert_eq!(code(&[id, id]), Err("several-uris"));
    assert_eq!(code(&["https://example.org/", id]), Err("several-uris"));
    assert_eq!(code(&["SPIFFE://example.org/ah/agent/a"]), Err("bad-spiffe-id"));
    assert_eq!(code(&["spiffe://example.org/ah/agent/a/"]), Err("bad-spiffe-id"));
    assert_eq!(code(&["spiffe://example.com/ah/agent/node-1"]), Err("wrong-trust-domain"));
    assert_eq!(code(&["spiffe://a.example.org/ah/agent/node-1"]), Err("wrong-trust-domain"));
    for path in ["", "/ah/serve", "/ah/agent", "/ah/agent/a/b", "/agent/a"] {
        assert_eq!(code(&[&format!("spiffe://example.org{path}")]), Err("wrong-path"), "{path}");
    }
    assert!(code(&[id, "dns:other.example"]).is_ok(), "a host beside the id says nothing");
}

#[test]
fn an_executor_is_no_access_point_and_the_other_way_round() {
    let ca = Ca::new();
    let server = check(&ca.policy(PeerSide::Server), &ca, &Leaf::executor());
    assert_eq!(server, Err(PeerRefusal::WrongUsage));
    let executor = check(&ca.policy(PeerSide::Executor), &ca, &Leaf::server());
    assert_eq!(executor, Err(PeerRefusal::WrongUsage));
    // One that an authority issued for both sides is held to its name.
    let named = Leaf { names: Leaf::executor().names, ..Leaf::server() };
    let named = check(&ca.policy(PeerSide::Server), &ca, &named).unwrap_err();
    assert_eq!(
        named.to_string(),
        "the path of spiffe://example.org/ah/agent/node-1 is not /ah/serve"
    );
}

#[test]
fn nobody_else_vouches() {
    let (ca, other) = (Ca::new(), Ca::new());
    // Both authorities have the same name: only the signature tells them apart.
    let refusal = check(&ca.policy(PeerSide::Executor), &other, &Leaf::executor());
    assert_eq!(refusal, Err(PeerRefusal::UnknownAuthority));
}

#[test]
fn a_list_lets_names_in_that_are_no_spiffe_ids() {
    let ca = Ca::new();
    let pair = ca.issue(&Leaf::named(vec![dns("other.example")]));
    let pin = spki_sha256(&pair.chain()[0]).unwrap();
    let list = ["dns:Build.example", "uri:https://build.example/7", &format!("spki:{pin}")];
    let allowed: Vec<AllowedName> = list.iter().map(|name| name.parse().unwrap()).collect();
    let policy = ca.policy(PeerSide::Executor).allow(allowed);
    let name = |names: &[&str]| named(&policy, &ca, names).map(|id| id.to_string());
    assert_eq!(name(&["dns:build.EXAMPLE"]).unwrap(), "dns:build.example");
    assert_eq!(name(&["dns:x.example", "dns:build.example"]).unwrap(), "dns:build.example");
    assert_eq!(name(&["https://build.example/7"]).unwrap(), "uri:https://build.example/7");
    let pinned = policy.check(&pair.chain(), now()).unwrap();
    assert_eq!(pinned.as_str(), format!("spki:{pin}"));
    let refused = name(&["dns:a.build.example"]).unwrap_err();
    assert_eq!(refused.code(), "not-allowed");
    assert!(refused.to_string().starts_with("none of dns:a.build.example, spki:"), "{refused}");
    // A list is no way around the rules of SPIFFE ids.
    let mixed = name(&["spiffe://example.com/ah/agent/a", "dns:build.example"]).unwrap_err();
    assert_eq!(mixed.code(), "wrong-trust-domain");
}

#[test]
fn names_that_no_list_may_hold_are_refused() {
    for text in ["build.example", "dns:", "uri:", "uri:spiffe://o/a", "spki:12", "", ":x"] {
        assert!(text.parse::<AllowedName>().is_err(), "{text:?}");
    }
}

#[test]
fn nobody_without_a_certificate_or_with_a_broken_one() {
    let ca = Ca::new();
    let policy = ca.policy(PeerSide::Executor);
    let refused = policy.check(&[], now()).unwrap_err();
    assert_eq!(refused.refusal, PeerRefusal::NoCertificate);
    let mut der = ca.issue(&Leaf::executor()).chain().remove(0).to_vec();
    der.push(0);
    let refused = policy.check(&[der.clone().into()], now()).unwrap_err();
    assert_eq!(refused.refusal.code(), "bad-certificate");
    for length in 0..der.len() - 1 {
        assert!(policy.check(&[der[..length].to_vec().into()], now()).is_err());
        assert!(Certificate::parse(&der[..length]).is_err());
    }
}

#[test]
fn a_refused_peer_is_described_by_what_it_showed() {
    let ca = Ca::new();
    let policy = ca.policy(PeerSide::Executor);
    let chain = ca.issue(&Leaf { until: days(0).minus_ms(1_000), ..Leaf::executor() }).chain();
    let refused = policy.check(&chain, now()).unwrap_err();
    assert_eq!(refused.refusal.code(), "expired");
    assert_eq!(refused.serial.as_deref(), Some("1234"));
    assert_eq!(refused.claimed.as_deref(), Some("spiffe://example.org/ah/agent/node-1"));
    assert_eq!(
        refused.refusal.close_reason(),
        "expired: the certificate expired at 2029-12-31T23:59:59.000Z"
    );
}

#[test]
fn reasons_to_close_are_short_however_long_the_names_are() {
    let ca = Ca::new();
    let long = format!("spiffe://example.org/{}", "a".repeat(1_500));
    let refusal = named(&ca.policy(PeerSide::Executor), &ca, &[&long]).unwrap_err();
    assert_eq!(refusal.code(), "wrong-path");
    assert!(refusal.close_reason().len() <= 300);
}

/// A list of revocations in PEM, signed by an authority.
fn crl(ca: &Ca, serials: &[u64]) -> String {
    let time = date_time_ymd(2029, 12, 31);
    let revoked = serials.iter().map(|serial| RevokedCertParams {
        serial_number: SerialNumber::from(*serial),
        revocation_time: time,
        reason_code: None,
        invalidity_date: None,
    });
    let params = CertificateRevocationListParams {
        this_update: time,
        next_update: date_time_ymd(2031, 1, 1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: revoked.collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    params.signed_by(&ca.issuer).unwrap().pem().unwrap()
}

fn replace(path: &std::path::Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

#[test]
fn what_an_authority_took_back_is_refused_as_soon_as_its_list_says_so() {
    let ca = Ca::new();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("crl.pem");
    replace(&file, &crl(&ca, &[0x99]));
    let revocations = Revocations::default().crl_file(&file);
    let policy = ca.policy(PeerSide::Executor).revocations(revocations);
    let chain = ca.issue(&Leaf::executor()).chain();
    assert!(policy.check(&chain, now()).is_ok());
    replace(&file, &crl(&ca, &[0x99, 0x1234]));
    let refused = policy.check(&chain, now()).unwrap_err();
    assert_eq!(refused.refusal, PeerRefusal::Revoked { serial: "1234".to_owned() });
    replace(&file, &crl(&ca, &[]));
    assert!(policy.check(&chain, now()).is_ok());
}

#[test]
fn a_list_of_revocations_that_cannot_be_believed_lets_nobody_in() {
    let (ca, other) = (Ca::new(), Ca::new());
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("crl.pem");
    let revocations = Revocations::default().crl_file(&file);
    let policy = ca.policy(PeerSide::Executor).revocations(revocations);
    let reason = |text: Option<&str>| {
        if let Some(text) = text {
            replace(&file, text);
        }
        let refused = check(&policy, &ca, &Leaf::executor()).unwrap_err();
        assert_eq!(refused.code(), "revocation-unknown");
        refused.to_string()
    };
    assert!(reason(None).contains("crl.pem: No such file"));
    assert!(reason(Some("nothing")).contains("no list is in "));
    let whole = crl(&ca, &[]);
    assert!(reason(Some(&whole[..100])).contains("is not PEM"));
    // The same name, another key.
    reason(Some(&crl(&other, &[])));
    replace(&file, &whole);
    assert!(check(&policy, &ca, &Leaf::executor()).is_ok());
}

#[test]
fn a_plain_list_of_serials_takes_back_too() {
    let ca = Ca::new();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("revoked");
    let policy = |ca: &Ca| {
        let revocations = Revocations::default().list_file(&file);
        ca.policy(PeerSide::Executor).revocations(revocations)
    };
    let policy = policy(&ca);
    let code = |text: &str| {
        replace(&file, text);
        check(&policy, &ca, &Leaf::executor()).map_err(|refusal| refusal.code())
    };
    assert!(code("# nothing yet\n\n99 # somebody\n").is_ok());
    assert_eq!(code("99\n  00:12:34 # lost\n"), Err("revoked"));
    assert_eq!(code("1234"), Err("revoked"));
    assert_eq!(code("12 34"), Err("revocation-unknown"));
    assert!(code("").is_ok());
}
