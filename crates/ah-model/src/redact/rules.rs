//! The rules by name, for documentation and for findings.

use super::shapes::SHAPES;

/// Rises when a rule is added, removed, or finds something else than before.
pub const RULES_VERSION: u32 = 1;

/// What a rule is called and what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The name that stands in the mask.
    pub name: &'static str,
    /// What it finds.
    pub what: &'static str,
}

pub(super) const AWS_SECRET: &str = "aws-secret";
pub(super) const PRIVATE_KEY: &str = "private-key";
pub(super) const SECRET: &str = "secret";
pub(super) const UNSETTLED: &str = "unsettled";
pub(super) const URL: &str = "url-credentials";

const OTHERS: [Rule; 5] = [
    Rule { name: AWS_SECRET, what: "a secret access key beside an access key id of AWS" },
    Rule { name: PRIVATE_KEY, what: "the body of a private key in PEM form" },
    Rule { name: SECRET, what: "a value whose key, header or option means a secret" },
    Rule { name: UNSETTLED, what: "a whole text in which masks kept revealing secrets" },
    Rule { name: URL, what: "the password of a URL, or a user that is a token" },
];

/// Every rule.
pub const RULES: [Rule; SHAPES.len() + OTHERS.len()] = {
    let mut rules = [OTHERS[0]; SHAPES.len() + OTHERS.len()];
    let mut at = 0;
    while at < SHAPES.len() {
        rules[at] = Rule { name: SHAPES[at].name, what: SHAPES[at].what };
        at += 1;
    }
    while at < SHAPES.len() + OTHERS.len() {
        rules[at] = OTHERS[at - SHAPES.len()];
        at += 1;
    }
    rules
};
