//! Where files stand.

use crate::tree::{self, assert_none};

const NOUNS: [&str; 19] = [
    "agent",
    "session",
    "event",
    "task",
    "run",
    "draft",
    "kv",
    "repo",
    "workspace",
    "agent_kind",
    "runtime",
    "executor",
    "token",
    "feed",
    "message",
    "approval",
    "question",
    "retention",
    "search",
];

/// The folders in which every noun has a file or a folder of its name.
const ROOMS: [&str; 6] = [
    "ah-model/src",
    "ah-store/src",
    "ah-conformance/src",
    "ah-store-sql/src",
    "ah-client/src",
    "ah-server/src/routes",
];

#[test]
fn every_noun_has_its_file_in_every_room() {
    let mut holes = Vec::new();
    for room in ROOMS {
        for noun in NOUNS {
            let stem = format!("crates/{room}/{noun}");
            if !tree::exists(&format!("{stem}.rs")) && !tree::exists(&stem) {
                holes.push(format!("{stem}.rs:1"));
            }
        }
    }
    assert_none("holes", &holes);
}

#[test]
fn every_crate_has_one_integration_test_binary() {
    let mut offenders = Vec::new();
    for folder in tree::members() {
        let tests = format!("{folder}/tests");
        let others = tree::entries(&tests).into_iter().filter(|name| name != "it");
        offenders.extend(others.map(|name| format!("{tests}/{name}:1")));
        if tree::exists(&format!("{tests}/it")) && !tree::exists(&format!("{tests}/it/main.rs")) {
            offenders.push(format!("{tests}/it/main.rs:1: missing"));
        }
    }
    assert_none("each more is one more link; put it below tests/it", &offenders);
}
