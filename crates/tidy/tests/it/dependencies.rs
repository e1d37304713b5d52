//! Every dependency has said why it is here.

use toml::Value;

use crate::manifest::Manifest;
use crate::tree::{self, assert_none};

const FILE: &str = "ARCHITECTURE.md";

#[test]
fn every_dependency_has_a_line_in_the_architecture() {
    let manifest = Manifest::read("");
    let architecture = tree::read(FILE);
    let dependencies = manifest.value(&["workspace", "dependencies"]).and_then(Value::as_table);
    let missing: Vec<String> = dependencies
        .into_iter()
        .flat_map(|table| table.keys())
        .filter(|name| !name.starts_with("ah-"))
        .filter(|name| !architecture.contains(&format!("`{name}`")))
        .map(|name| format!("{}: `{name}`", manifest.place(name)))
        .collect();
    assert_none("ARCHITECTURE.md does not say what it is for", &missing);
}
