//! `cargo xtask freeze-migrations`: records the checksums of new migrations.
//!
//! A landed migration is frozen, because databases out there have run it: the command adds lines
//! and never changes one. `tidy` checks the file against the folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{self, Failure, workspace_root};

const FOLDER: &str = "crates/ah-store-sql/migrations";
const CHECKSUMS: &str = "CHECKSUMS";
const ENGINES: [&str; 2] = ["postgres", "sqlite"];

/// Checksum by path below the folder.
type Checksums = BTreeMap<String, String>;

pub(crate) fn freeze(arguments: &[String]) -> Result<(), Failure> {
    if let Some(unknown) = arguments.first() {
        return Err(Failure::usage(format!("unknown argument `{unknown}`")));
    }
    let folder = workspace_root().join(FOLDER);
    let file = folder.join(CHECKSUMS);
    let frozen = match fs::read_to_string(&file) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Checksums::new(),
        Err(error) => return Err(Failure::file(&file)(error)),
    };
    let present = checksums(&folder)?;
    let added = additions(&frozen, &present)?;
    for path in &added {
        println!("froze {FOLDER}/{path}");
    }
    if added.is_empty() {
        println!("every migration is frozen already");
        return Ok(());
    }
    fs::write(&file, render(&present)).map_err(Failure::file(&file))
}

/// The paths without a checksum yet; a changed or missing one is a failure.
fn additions(frozen: &Checksums, present: &Checksums) -> Result<Vec<String>, Failure> {
    let broken: Vec<&str> = frozen
        .iter()
        .filter(|(path, sum)| present.get(*path) != Some(sum))
        .map(|(path, _)| path.as_str())
        .collect();
    if !broken.is_empty() {
        return Err(Failure::new(format!(
            "changed or missing: {}; a landed migration is frozen, write the next number",
            broken.join(", ")
        )));
    }
    Ok(present.keys().filter(|path| !frozen.contains_key(*path)).cloned().collect())
}

fn checksums(folder: &Path) -> Result<Checksums, Failure> {
    let mut sums = Checksums::new();
    for engine in ENGINES {
        let directory = folder.join(engine);
        for entry in fs::read_dir(&directory).map_err(Failure::file(&directory))? {
            let entry = entry.map_err(Failure::file(&directory))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".sql") {
                sums.insert(format!("{engine}/{name}"), sha256(&entry.path())?);
            }
        }
    }
    Ok(sums)
}

/// By the system's own tool, so that this crate needs no dependency.
fn sha256(file: &Path) -> Result<String, Failure> {
    let printed = process::read(Command::new("sha256sum").arg(file))
        .or_else(|_| process::read(Command::new("shasum").args(["-a", "256"]).arg(file)))?;
    let sum = printed.split_whitespace().next().unwrap_or_default();
    if sum.len() != 64 {
        return Err(Failure::new(format!("no checksum of {} in `{printed}`", file.display())));
    }
    Ok(sum.to_owned())
}

fn parse(text: &str) -> Checksums {
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    lines.map(|(sum, path)| (path.to_owned(), sum.to_owned())).collect()
}

/// As `sha256sum --check` reads it, ordered by number so that new lines come last.
fn render(sums: &Checksums) -> String {
    let mut lines: Vec<(u32, String)> =
        sums.iter().map(|(path, sum)| (number(path), format!("{sum}  {path}\n"))).collect();
    lines.sort_by_key(|(number, _)| *number);
    lines.into_iter().map(|(_, line)| line).collect()
}

fn number(path: &str) -> u32 {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split("__").next().and_then(|digits| digits.parse().ok()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(entries: &[(&str, &str)]) -> Checksums {
        entries.iter().map(|&(path, sum)| (path.to_owned(), sum.to_owned())).collect()
    }

    fn added(frozen: &Checksums, present: &Checksums) -> Result<Vec<String>, u8> {
        additions(frozen, present).map_err(|failure| failure.code)
    }

    #[test]
    fn new_migrations_are_added_and_changed_ones_refused() {
        let first = sums(&[("sqlite/1__a.sql", "aa")]);
        let second = sums(&[("sqlite/1__a.sql", "aa"), ("sqlite/2__b.sql", "bb")]);
        let changed = sums(&[("sqlite/1__a.sql", "ff"), ("sqlite/2__b.sql", "bb")]);
        assert_eq!(added(&first, &second), Ok(vec!["sqlite/2__b.sql".to_owned()]));
        assert_eq!(added(&first, &changed), Err(1));
        assert_eq!(added(&second, &first), Err(1));
    }

    #[test]
    fn the_file_is_ordered_by_number_and_reads_back() {
        let entries =
            [("sqlite/10__c.sql", "cc"), ("sqlite/2__b.sql", "bb"), ("postgres/2__b.sql", "pp")];
        let text = "pp  postgres/2__b.sql\nbb  sqlite/2__b.sql\ncc  sqlite/10__c.sql\n";
        assert_eq!(render(&sums(&entries)), text);
        assert_eq!(parse(text), sums(&entries));
    }
}
