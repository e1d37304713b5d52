//! Migrations: the same steps for both engines, frozen once landed.

use std::collections::BTreeMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::tree::{self, assert_none};

const FOLDER: &str = "crates/ah-store-sql/migrations";
const ENGINES: [&str; 2] = ["sqlite", "postgres"];

#[test]
fn both_engines_have_the_same_migrations() {
    let [sqlite, postgres] = ENGINES.map(names);
    assert!(!sqlite.is_empty(), "{FOLDER}/sqlite holds no migration");
    let missing = |from: &[String], to: &[String], engine: &str| -> Vec<String> {
        let alone = from.iter().filter(|name| !to.contains(name));
        alone.map(|name| format!("{FOLDER}/{engine}/{name}:1")).collect()
    };
    let mut holes = missing(&sqlite, &postgres, "postgres");
    holes.extend(missing(&postgres, &sqlite, "sqlite"));
    assert_none("missing twins", &holes);
}

#[test]
fn migrations_are_numbered_from_one_without_a_gap() {
    let mut offenders = Vec::new();
    for engine in ENGINES {
        let names = names(engine);
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| number(name)).collect();
        numbers.sort_unstable();
        let misnamed = names.iter().filter(|name| number(name).is_none());
        offenders.extend(misnamed.map(|name| format!("{FOLDER}/{engine}/{name}:1: misnamed")));
        if !numbers.iter().copied().eq((1..).take(numbers.len())) {
            offenders.push(format!("{FOLDER}/{engine}: {numbers:?}"));
        }
    }
    assert_none("migrations are N__description.sql, N from 1", &offenders);
}

#[test]
fn landed_migrations_are_frozen() {
    let path = format!("{FOLDER}/CHECKSUMS");
    let text = if tree::exists(&path) { tree::read(&path) } else { String::new() };
    let mut listed: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    let mut offenders = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match line.split_once("  ") {
            Some((sum, file)) => {
                listed.insert(file, (index + 1, sum));
            }
            None => offenders.push(format!("{path}:{}: not `sha256  path`", index + 1)),
        }
    }
    for engine in ENGINES {
        for name in names(engine) {
            let file = format!("{engine}/{name}");
            match listed.remove(file.as_str()) {
                None => offenders.push(format!("{FOLDER}/{file}:1: not listed")),
                Some((line, sum)) if sum != sha256(&tree::read(&format!("{FOLDER}/{file}"))) => {
                    offenders.push(format!("{path}:{line}: {file} has changed"));
                }
                Some(_) => {}
            }
        }
    }
    offenders.extend(listed.iter().map(|(file, (line, _))| format!("{path}:{line}: no {file}")));
    assert_none(
        "a landed migration is frozen, write the next number; \
         for a new file run `cargo xtask freeze-migrations`",
        &offenders,
    );
}

#[test]
fn migration_names_are_checked_strictly() {
    assert_eq!(number("12__add_runs.sql"), Some(12));
    for wrong in ["012__a.sql", "1_a.sql", "1__A.sql", "1__.sql", "1__a.txt", "x__a.sql"] {
        assert_eq!(number(wrong), None, "{wrong}");
    }
}

fn names(engine: &str) -> Vec<String> {
    tree::entries(&format!("{FOLDER}/{engine}"))
}

fn number(name: &str) -> Option<u32> {
    let (digits, description) = name.strip_suffix(".sql")?.split_once("__")?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let plain = !description.is_empty() && description.chars().all(is_plain);
    (plain && !digits.starts_with('0')).then(|| digits.parse().ok()).flatten()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
