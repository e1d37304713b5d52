//! `ah search`: what was said in all sessions.

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::{Home, succeeded};

/// A session that says each of `texts`; its id.
fn say(home: &Home, title: &str, texts: &[&str]) -> String {
    let made = home.json(&["session", "create", "--title", title]);
    let id = made["id"].as_str().unwrap().to_owned();
    for text in texts {
        let data = json!(text).to_string();
        succeeded(
            &home.run(&["session", "append", &id, "--type", "user_message", "--data", &data]),
            "append",
        );
    }
    id
}

fn found(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let answer = home.json(&[&["search"], arguments].concat());
    answer["items"].as_array().unwrap().clone()
}

#[test]
fn what_was_said_is_found_in_every_session() {
    let home = Home::new();
    let one = say(&home, "One", &["fix the login token", "other"]);
    let two = say(&home, "Two", &["the Login again"]);
    let hits = found(&home, &["login"]);
    let places: Vec<_> = hits.iter().map(|hit| (&hit["sessionId"], &hit["seq"])).collect();
    assert_eq!(places, [(&json!(two), &json!(1)), (&json!(one), &json!(1))]);
    assert_eq!(hits[1]["title"], "One");
    assert_eq!(hits[1]["who"], "user");
    let snippet = json!([
        { "text": "fix the ", "found": false },
        { "text": "login", "found": true },
        { "text": " token", "found": false },
    ]);
    assert_eq!(hits[1]["snippet"], snippet);
    assert_eq!(found(&home, &["login token"]).len(), 1);
    assert_eq!(found(&home, &["login", "--session", &two]).len(), 1);
    assert_eq!(found(&home, &["login", "--type", "note"]).len(), 0);
    assert_eq!(found(&home, &["login", "--since", "1h", "--agent", "nobody"]).len(), 0);
    assert_eq!(found(&home, &["login -token"]).len(), 1);
    let shown = home.human(&["search", "log*", "--limit", "1"]);
    assert!(shown.contains("the Login again") && shown.contains("Two"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "only a terminal gets colours");
}

#[test]
fn the_index_is_brought_up_to_date_unless_told_otherwise() {
    let home = Home::new();
    let id = say(&home, "One", &["word"]);
    assert_eq!(found(&home, &["word", "--no-update"]).len(), 0);
    assert_eq!(found(&home, &["word"]).len(), 1);
    assert_eq!(found(&home, &["word", "--reindex"]).len(), 1);
    succeeded(&home.run(&["search", "--reindex"]), "reindex");
    succeeded(&home.run(&["session", "delete", &id, "--yes"]), "delete");
    assert_eq!(found(&home, &["word", "--no-update"]).len(), 0);
    succeeded(&home.run(&["db", "check"]), "check");
}

#[test]
fn what_finds_nothing_or_means_nothing_says_so() {
    let home = Home::new();
    let none = home.run(&["search", "word"]);
    let said = "nothing was found; fewer words, or a prefix* find more\n";
    assert_eq!((shape(&none), errors(&none)), ((Some(0), ""), said.to_owned()));
    let detail = home.detail(&["search", "! -word"], 2);
    assert!(detail.contains("\"! -word\" has no word that is looked for"), "{detail}");
}
