//! Versions, lints and profiles stand once, in the workspace's manifest.

use toml::Value;

use crate::manifest::Manifest;
use crate::tree::{self, assert_none};

const INHERITED: [&[&str]; 6] = [
    &["package", "version", "workspace"],
    &["package", "edition", "workspace"],
    &["package", "rust-version", "workspace"],
    &["package", "license", "workspace"],
    &["package", "publish", "workspace"],
    &["lints", "workspace"],
];

#[test]
fn members_inherit_their_package_keys_and_lints() {
    let mut missing = Vec::new();
    for manifest in Manifest::members() {
        let absent = |keys: &&&[&str]| manifest.value(keys) != Some(&Value::Boolean(true));
        missing.extend(INHERITED.iter().filter(absent).map(|keys| {
            format!("{}: {} = true", manifest.place(&format!("[{}]", keys[0])), keys.join("."))
        }));
    }
    assert_none("missing", &missing);
}

#[test]
fn members_take_every_dependency_from_the_workspace() {
    let mut offenders = Vec::new();
    for manifest in Manifest::members() {
        let own = manifest
            .dependencies()
            .into_iter()
            .filter(|dependency| dependency.value.get("workspace") != Some(&Value::Boolean(true)));
        offenders.extend(own.map(|dependency| manifest.place(dependency.name)));
    }
    assert_none("use `name.workspace = true`", &offenders);
}

#[test]
fn the_workspace_takes_others_by_version_and_ours_by_path() {
    let manifest = Manifest::read("");
    let dependencies = manifest.value(&["workspace", "dependencies"]).and_then(Value::as_table);
    let offenders: Vec<String> = dependencies
        .into_iter()
        .flatten()
        .filter(|(name, value)| {
            let ours = tree::exists(&format!("crates/{name}"));
            let by_path = value.get("path").is_some();
            let by_version = value.is_str() || value.get("version").is_some();
            ours != by_path || ours == by_version || value.get("git").is_some()
        })
        .map(|(name, _)| manifest.place(name))
        .collect();
    assert_none("a version for others, a path for ours, never git", &offenders);
}

#[test]
fn libraries_turn_doctests_off() {
    let offenders: Vec<String> = tree::members()
        .iter()
        .filter(|folder| tree::exists(&format!("{folder}/src/lib.rs")))
        .map(|folder| Manifest::read(folder))
        .filter(|manifest| manifest.value(&["lib", "doctest"]) != Some(&Value::Boolean(false)))
        .map(|manifest| manifest.place("[lib]"))
        .collect();
    assert_none("`cargo xtask test` runs no doctests: set doctest = false", &offenders);
}
