//! Which crate may use which. A new edge is a design decision: it starts with a line here.

use crate::manifest::{Dependency, Kind, Manifest};
use crate::tree::{self, assert_none};

struct Room {
    name: &'static str,
    /// Ours that it may use.
    uses: &'static [&'static str],
    /// Ours that its tests may use as well.
    tests_use: &'static [&'static str],
    /// Others it must never link.
    never: &'static [&'static str],
}

const TESTED: &[&str] = &["ah-conformance"];

const ROOMS: &[Room] = &[
    Room {
        name: "ah-model",
        uses: &[],
        tests_use: &[],
        never: &["tokio", "rusqlite", "postgres", "axum"],
    },
    Room {
        name: "ah-store",
        uses: &["ah-model"],
        tests_use: TESTED,
        never: &["tokio", "rusqlite", "postgres", "axum"],
    },
    Room {
        name: "ah-conformance",
        uses: &["ah-model", "ah-store"],
        tests_use: &[],
        never: &["axum", "quinn", "clap"],
    },
    Room {
        name: "ah-store-sql",
        uses: &["ah-model", "ah-store"],
        tests_use: TESTED,
        never: &["axum", "quinn", "clap"],
    },
    Room {
        name: "ah-client",
        uses: &["ah-model", "ah-store"],
        tests_use: TESTED,
        never: &["axum"],
    },
    Room {
        name: "ah-server",
        uses: &["ah-hive", "ah-model", "ah-store"],
        // Its tests are the contract over HTTP: client, server and a database in one process.
        tests_use: &["ah-conformance", "ah-client", "ah-store-sql"],
        never: &["quinn", "clap"],
    },
    Room {
        name: "ah-process",
        uses: &[],
        tests_use: &[],
        never: &["tokio", "rusqlite", "postgres", "axum", "clap"],
    },
    Room {
        name: "ah-hive",
        uses: &["ah-model", "ah-process", "ah-store"],
        tests_use: TESTED,
        never: &["clap", "axum", "rmcp"],
    },
    Room {
        name: "ah-access",
        uses: &["ah-model", "ah-process", "ah-store"],
        // Its bench holds a fleet over a real database.
        tests_use: &["ah-conformance", "ah-store-sql"],
        never: &["axum", "clap", "rusqlite", "postgres"],
    },
    Room {
        name: "ah-bundle",
        uses: &["ah-model"],
        tests_use: &[],
        never: &["tokio", "rusqlite", "postgres", "axum", "clap"],
    },
    Room {
        name: "ah-snapshot",
        uses: &["ah-model", "ah-process"],
        tests_use: &[],
        never: &["tokio", "rusqlite", "postgres", "axum", "clap"],
    },
    Room {
        name: "ah-import",
        uses: &["ah-model", "ah-store"],
        tests_use: &["ah-conformance", "ah-store-sql"],
        never: &["axum", "reqwest", "clap"],
    },
    Room {
        name: "ah-run",
        // Foreign streams become events here, and working copies are made of snapshots.
        uses: &["ah-import", "ah-model", "ah-process", "ah-snapshot", "ah-store"],
        tests_use: TESTED,
        never: &["axum", "clap", "rusqlite", "postgres"],
    },
    Room {
        name: "ah-tui",
        uses: &["ah-model", "ah-store"],
        tests_use: TESTED,
        never: &["axum", "reqwest", "clap"],
    },
    Room {
        name: "ah-cli",
        uses: &[
            "ah-model",
            "ah-store",
            "ah-store-sql",
            "ah-client",
            "ah-server",
            "ah-hive",
            "ah-access",
            "ah-bundle",
            "ah-import",
            "ah-run",
            "ah-snapshot",
            "ah-tui",
        ],
        tests_use: TESTED,
        never: &[],
    },
    Room { name: "tidy", uses: &[], tests_use: &[], never: &[] },
];

/// Database drivers, and the only crates that may name them.
const DRIVERS: &[(&str, Kind, &str)] = &[
    ("rusqlite", Kind::Normal, "ah-store-sql"),
    ("rusqlite", Kind::Normal, "ah-import"),
    ("rusqlite", Kind::Normal, "ah-hive"),
    ("rusqlite", Kind::Dev, "ah-store-sql"),
    ("rusqlite", Kind::Dev, "ah-import"),
    ("rusqlite", Kind::Dev, "ah-cli"),
    ("rusqlite", Kind::Dev, "ah-server"),
    ("postgres", Kind::Normal, "ah-store-sql"),
    ("postgres", Kind::Dev, "ah-store-sql"),
    ("postgres", Kind::Dev, "ah-cli"),
    ("postgres", Kind::Dev, "ah-server"),
];

#[test]
fn every_crate_has_a_row_in_the_table_of_edges() {
    let listed = |name: &String| ROOMS.iter().any(|room| room.name == name);
    let unknown: Vec<String> = tree::entries("crates")
        .into_iter()
        .filter(|name| !listed(name))
        .map(|name| format!("crates/{name}/Cargo.toml:1"))
        .collect();
    assert_none("add a row for the crate to ROOMS", &unknown);
}

#[test]
fn crates_use_only_the_crates_their_row_allows() {
    let rule = "no such edge in ROOMS; a new one is a design decision";
    assert_none(
        rule,
        &offenders(|room, dependency| {
            let ours = dependency.name.starts_with("ah-") || dependency.name == "tidy";
            let for_tests =
                dependency.kind == Kind::Dev && room.tests_use.contains(&dependency.name);
            ours && !for_tests && !room.uses.contains(&dependency.name)
        }),
    );
}

#[test]
fn crates_link_nothing_their_row_forbids() {
    assert_none(
        "ROOMS forbids it",
        &offenders(|room, dependency| {
            dependency.kind == Kind::Normal && room.never.contains(&dependency.name)
        }),
    );
}

#[test]
fn database_drivers_stay_in_the_rooms_that_open_databases() {
    assert_none(
        "DRIVERS does not list it",
        &offenders(|room, dependency| {
            let confined = DRIVERS.iter().any(|(driver, ..)| *driver == dependency.name);
            confined && !DRIVERS.contains(&(dependency.name, dependency.kind, room.name))
        }),
    );
}

#[test]
fn tidy_and_xtask_stay_light() {
    let allowed = |dependency: &Dependency<'_>| {
        dependency.kind == Kind::Dev && ["toml", "sha2"].contains(&dependency.name)
    };
    let tidy = Manifest::read("crates/tidy");
    let xtask = Manifest::read("xtask");
    let heavy = tidy.dependencies().into_iter().filter(|dependency| !allowed(dependency));
    let heavy = heavy.map(|dependency| tidy.place(dependency.name));
    let any = xtask.dependencies().into_iter().map(|dependency| xtask.place(dependency.name));
    let offenders: Vec<String> = heavy.chain(any).collect();
    assert_none("tidy tests with toml and sha2, xtask has the standard library", &offenders);
}

/// The dependencies of listed crates that `is_wrong` picks out.
fn offenders(is_wrong: impl Fn(&Room, &Dependency<'_>) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for manifest in Manifest::members() {
        let Some(room) = ROOMS.iter().find(|room| room.name == manifest.name()) else {
            continue;
        };
        let wrong = manifest.dependencies().into_iter();
        let wrong = wrong.filter(|dependency| is_wrong(room, dependency));
        found.extend(wrong.map(|dependency| {
            format!("{}: {} -> {}", manifest.place(dependency.name), room.name, dependency.name)
        }));
    }
    found
}
