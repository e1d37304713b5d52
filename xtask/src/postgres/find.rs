//! Finding a PostgreSQL server installation. A client alone (`psql`) is not one.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Failure, variable};

/// The only directory to look in, when set.
const DIRECTORY_VARIABLE: &str = "AH_POSTGRES_BIN";

/// Where packages put the programs: every `parent/prefix*/suffix`, newest version first.
const PACKAGED: [(&str, &str, &str); 7] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr/local", "pgsql", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/usr/libexec", "postgresql", ""),
    ("/opt/homebrew/opt", "postgresql", "bin"),
    ("/usr/local/opt", "postgresql", "bin"),
    ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
];

/// A directory whose `postgres` and `initdb` both run.
#[derive(Debug)]
pub(super) struct Installation {
    pub(super) directory: PathBuf,
    pub(super) version: String,
}

/// The first installation that works: on `PATH`, then where packages put it.
pub(super) fn installation() -> Result<Option<Installation>, Failure> {
    if let Some(directory) = variable(DIRECTORY_VARIABLE) {
        return match verify(Path::new(&directory)) {
            Some(installation) => Ok(Some(installation)),
            None => Err(Failure::new(format!(
                "{DIRECTORY_VARIABLE}={directory} holds no working `postgres` and `initdb`"
            ))),
        };
    }
    let path = variable("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    let packaged = PACKAGED.iter().flat_map(|(parent, prefix, suffix)| {
        numbered(Path::new(parent), prefix).into_iter().map(move |folder| folder.join(suffix))
    });
    Ok(on_path.into_iter().chain(packaged).find_map(|directory| verify(&directory)))
}

/// Follows a link such as `/usr/local/bin/postgres`, because `initdb` expects its files beside it.
fn verify(directory: &Path) -> Option<Installation> {
    let postgres = directory.join("postgres").canonicalize().ok()?;
    let directory = postgres.parent()?.to_path_buf();
    let version = process::read(Command::new(&postgres).arg("--version")).ok()?;
    let works = version.contains("PostgreSQL")
        && process::succeeds(Command::new(directory.join("initdb")).arg("--version"));
    works.then(|| Installation { directory, version: version.trim().to_owned() })
}

/// The entries of `parent` that start with `prefix`, the highest number after it first.
fn numbered(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let digits = name.strip_prefix(prefix)?.trim_start_matches(['@', '-']);
            Some((digits.parse().unwrap_or(0), entry.path()))
        })
        .collect();
    found.sort_by_key(|(number, _)| Reverse(*number));
    found.into_iter().map(|(_, path)| path).collect()
}
