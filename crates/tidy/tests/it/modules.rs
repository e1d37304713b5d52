//! No dead files: every Rust file is a crate root or declared by a `mod`.

use std::collections::BTreeSet;

use crate::rust_source::{Source, is_word};
use crate::tree::{self, assert_none};

/// The folders of a crate that hold one or more crate roots.
const ROOT_FILES: [&str; 4] = ["src/lib.rs", "src/main.rs", "tests/it/main.rs", "build.rs"];
const ROOT_FOLDERS: [&str; 3] = ["src/bin", "benches", "examples"];

#[test]
fn every_rust_file_is_reachable_by_a_mod_declaration() {
    let mut dead = Vec::new();
    for member in tree::members() {
        let mut reached = BTreeSet::new();
        for root in roots(&member) {
            reach(&root, parent(&root), &mut reached);
        }
        let files = tree::rust_files(&member).into_iter();
        dead.extend(files.filter(|file| !reached.contains(file)).map(|file| format!("{file}:1")));
    }
    assert_none("no `mod` names it", &dead);
}

#[test]
fn declarations_are_found_in_nested_modules() {
    let source = "pub(crate) mod a; mod b { mod c; fn d() { } mod e { mod f; } }\nmod g;";
    let found = ["a", "b/c", "b/e/f", "g"].map(str::to_owned).to_vec();
    assert_eq!(declarations(&Source::parse(source).code), found);
}

fn roots(member: &str) -> Vec<String> {
    let mut roots: Vec<String> = ROOT_FILES.iter().map(|file| format!("{member}/{file}")).collect();
    for folder in ROOT_FOLDERS {
        for name in tree::entries(&format!("{member}/{folder}")) {
            roots.push(format!("{member}/{folder}/{name}"));
            roots.push(format!("{member}/{folder}/{name}/main.rs"));
        }
    }
    roots.retain(|path| path.ends_with(".rs") && tree::exists(path));
    roots
}

/// Adds `file` and what it declares; its modules stand below `folder`.
fn reach(file: &str, folder: &str, reached: &mut BTreeSet<String>) {
    if !reached.insert(file.to_owned()) {
        return;
    }
    for module in declarations(&Source::parse(&tree::read(file)).code) {
        let folder = format!("{folder}/{module}");
        for child in [format!("{folder}.rs"), format!("{folder}/mod.rs")] {
            if tree::exists(&child) {
                reach(&child, &folder, reached);
            }
        }
    }
}

/// The modules declared without a body, as paths below the file's folder.
fn declarations(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    // One entry per open brace: the module it opens, if it opens one.
    let mut open: Vec<Option<&str>> = Vec::new();
    let mut before = ["", ""];
    for token in tokens(code) {
        let module = (before[0] == "mod").then_some(before[1]);
        match (token, module) {
            ("{", _) => open.push(module),
            ("}", _) => drop(open.pop()),
            (";", Some(name)) => {
                let path: Vec<&str> = open.iter().flatten().copied().chain([name]).collect();
                found.push(path.join("/"));
            }
            _ => {}
        }
        before = [before[1], token];
    }
    found
}

/// Words, and every other character that is no space by itself.
fn tokens(code: &str) -> impl Iterator<Item = &str> {
    let mut rest = code;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let word = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(word.max(first.len_utf8()));
        rest = after;
        Some(token)
    })
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
