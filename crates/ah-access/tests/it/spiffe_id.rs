//! SPIFFE ids, to the letter of their specification.

use ah_access::identity::{SpiffeId, TrustDomain};

#[test]
fn ids_are_taken_apart() {
    let id: SpiffeId = "spiffe://example.org/ah/agent/node-1".parse().unwrap();
    assert_eq!((id.trust_domain(), id.path()), ("example.org", "/ah/agent/node-1"));
    assert_eq!(id.node(), Some("node-1"));
    let alone: SpiffeId = "spiffe://a_b-c.9".parse().unwrap();
    assert_eq!((alone.trust_domain(), alone.path(), alone.node()), ("a_b-c.9", "", None));
    let below: SpiffeId = "spiffe://o/ah/agent/a/b".parse().unwrap();
    assert_eq!(below.node(), None, "a node is one part of a path");
}

#[test]
fn what_the_specification_forbids_is_refused() {
    for text in [
        "",
        "spiffe:",
        "spiffe://",
        "spiffe:///path",
        "SPIFFE://example.org/a",
        "https://example.org/a",
        "spiffe://Example.org/a",
        "spiffe://user@example.org/a",
        "spiffe://example.org:80/a",
        "spiffe://exämple.org/a",
        "spiffe://example.org/",
        "spiffe://example.org/a/",
        "spiffe://example.org//a",
        "spiffe://example.org/./a",
        "spiffe://example.org/a/..",
        "spiffe://example.org/a%20b",
        "spiffe://example.org/a b",
        "spiffe://example.org/a?b",
        "spiffe://example.org/a#b",
        "spiffe://example.org/ä",
        " spiffe://example.org/a",
        "spiffe://example.org/a\n",
    ] {
        assert!(text.parse::<SpiffeId>().is_err(), "{text:?}");
    }
}

#[test]
fn lengths_are_bounded() {
    let domain = "d".repeat(255);
    assert!(domain.parse::<TrustDomain>().is_ok());
    assert!(format!("{domain}d").parse::<TrustDomain>().is_err());
    let path = "p".repeat(2_048 - "spiffe://o/".len());
    assert!(format!("spiffe://o/{path}").parse::<SpiffeId>().is_ok());
    assert!(format!("spiffe://o/{path}p").parse::<SpiffeId>().is_err());
}

#[test]
fn a_trust_domain_names_its_executors_and_its_access_points() {
    let domain: TrustDomain = "example.org".parse().unwrap();
    assert_eq!(domain.agent("n.1").unwrap().as_str(), "spiffe://example.org/ah/agent/n.1");
    assert_eq!(domain.server(), "spiffe://example.org/ah/serve".parse().unwrap());
    for node in ["", ".", "..", "a/b", "a b", "ä"] {
        let error = domain.agent(node).unwrap_err();
        assert_eq!(error.field, "node", "{node:?}: {error}");
    }
    // An executor's id in the store has 512 bytes at most.
    assert!(domain.agent(&"n".repeat(600)).is_err());
}
