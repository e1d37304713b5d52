//! What may be in the dependency tree at all, however deep.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::tree::{self, assert_none};

/// Unmaintained, replaced, needing a C library, or refused by design.
const BANNED: [&str; 11] = [
    "openssl-sys",
    "native-tls",
    "serde_yaml",
    "bincode",
    "async-std",
    "sqlx",
    "diesel",
    "rsa",
    "rustls-pemfile",
    "backoff",
    "instant",
];

/// Too heavy to compile twice.
const ONCE: [&str; 5] = ["tokio", "rusqlite", "clap", "rustls", "hyper"];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[test]
fn no_banned_crate_is_locked() {
    let offenders = locked(|package| BANNED.contains(&text(package, "name")));
    assert_none("banned", &offenders);
}

#[test]
fn heavy_crates_are_locked_in_one_major_version() {
    let mut majors: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let packages = packages();
    for package in &packages {
        majors.entry(text(package, "name")).or_default().insert(major(text(package, "version")));
    }
    let twice = |name: &str| majors.get(name).is_some_and(|majors| majors.len() > 1);
    let offenders = locked(|package| {
        let name = text(package, "name");
        ONCE.contains(&name) && twice(name)
    });
    assert_none("compiled once per major version", &offenders);
}

#[test]
fn every_crate_comes_from_the_public_registry() {
    let offenders = locked(|package| {
        let source = text(package, "source");
        !source.is_empty() && source != REGISTRY
    });
    assert_none("from elsewhere", &offenders);
}

#[test]
fn majors_follow_semver() {
    assert_eq!(major("1.54.0"), "1");
    assert_eq!(major("0.41.2"), "0.41");
    assert_eq!(major("0.0.3"), "0.0.3");
}

/// `path:line` of the packages that `is_wrong` picks out.
fn locked(is_wrong: impl Fn(&Table) -> bool) -> Vec<String> {
    let lines = tree::read("Cargo.lock");
    let line_of = |package: &Table| {
        let wanted = [
            format!("name = \"{}\"", text(package, "name")),
            format!("version = \"{}\"", text(package, "version")),
        ];
        let lines: Vec<&str> = lines.lines().collect();
        1 + lines.windows(2).position(|pair| pair == wanted).unwrap_or(0)
    };
    packages()
        .iter()
        .filter(|package| is_wrong(package))
        .map(|package| {
            let (name, version) = (text(package, "name"), text(package, "version"));
            format!("Cargo.lock:{}: {name} {version}", line_of(package))
        })
        .collect()
}

fn packages() -> Vec<Table> {
    let lock: Table =
        tree::read("Cargo.lock").parse().unwrap_or_else(|error| panic!("Cargo.lock: {error}"));
    let packages = lock.get("package").and_then(Value::as_array).into_iter().flatten();
    packages.filter_map(Value::as_table).cloned().collect()
}

fn text<'a>(package: &'a Table, key: &str) -> &'a str {
    package.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The part of a version that a compatible release keeps.
fn major(version: &str) -> String {
    let parts: Vec<&str> = version.split('.').collect();
    let kept = match parts.as_slice() {
        ["0", "0", ..] => 3,
        ["0", ..] => 2,
        _ => 1,
    };
    parts[..kept.min(parts.len())].join(".")
}
