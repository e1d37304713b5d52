//! `ah kv`: small values by scope and key.

use serde_json::json;

use crate::answers::{errors, shape};
use crate::support::{Home, succeeded};

#[test]
fn a_value_is_written_read_listed_and_removed() {
    let home = Home::new();
    assert_eq!(home.human(&["kv", "set", "k", "v"]), "");
    assert_eq!(home.human(&["kv", "get", "k"]), "v\n");
    let entry = json!({ "scope": "user", "key": "k", "value": "v" });
    assert_eq!(home.json(&["kv", "get", "k"]), entry);
    assert_eq!(home.json(&["kv", "list"]), json!({ "items": [entry], "nextCursor": null }));
    assert_eq!(home.human(&["kv", "list"]), "KEY  VALUE\nk    v\n");
    let gone = json!({ "scope": "user", "key": "k", "deleted": true });
    assert_eq!(home.json(&["kv", "delete", "k"]), gone);
    assert_eq!(home.detail(&["kv", "get", "k"], 3), "key user/k not found");
    assert_eq!(home.detail(&["kv", "delete", "k"], 3), "key user/k not found");
    let none = home.run(&["kv", "list"]);
    assert_eq!(
        (shape(&none), errors(&none)),
        ((Some(0), ""), "no keys in scope user\n".to_owned())
    );
}

#[test]
fn scopes_are_apart() {
    let home = Home::new();
    home.json(&["kv", "set", "k", "1", "--scope", "a"]);
    let set = home.json(&["kv", "set", "k", "2", "--scope", "b"]);
    assert_eq!(set, json!({ "scope": "b", "key": "k", "value": "2" }));
    assert_eq!(home.human(&["kv", "get", "k", "--scope", "a"]), "1\n");
    assert_eq!(home.human(&["kv", "get", "k", "--scope", "b"]), "2\n");
}

#[test]
fn values_come_back_byte_for_byte() {
    let home = Home::new();
    let value = "lines\nand \u{1b}[31mcolour\u{1b}[0m\tétc. ";
    succeeded(&home.feed(&["kv", "set", "k", "-"], value.as_bytes()), "set");
    assert_eq!(home.human(&["kv", "get", "k"]), format!("{value}\n"));
    assert_eq!(home.json(&["kv", "get", "k"])["value"], value);
    assert!(!home.human(&["kv", "list"]).contains('\u{1b}'), "a table is for people");
}
