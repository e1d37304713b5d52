//! A member's `Cargo.toml`.

use toml::{Table, Value};

use crate::tree;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Linked into the crate or its build script.
    Normal,
    /// For its tests and benches only.
    Dev,
}

pub(crate) struct Manifest {
    /// Its path from the root.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) table: Table,
}

pub(crate) struct Dependency<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) value: &'a Value,
}

impl Manifest {
    pub(crate) fn read(folder: &str) -> Self {
        let path = if folder.is_empty() {
            "Cargo.toml".to_owned()
        } else {
            format!("{folder}/Cargo.toml")
        };
        let text = tree::read(&path);
        let table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path, text, table }
    }

    pub(crate) fn members() -> Vec<Self> {
        tree::members().iter().map(|folder| Self::read(folder)).collect()
    }

    /// The crate's name.
    pub(crate) fn name(&self) -> &str {
        let name = self.value(&["package", "name"]).and_then(Value::as_str);
        name.unwrap_or_else(|| panic!("{}: no package name", self.path))
    }

    pub(crate) fn value(&self, keys: &[&str]) -> Option<&Value> {
        let (first, rest) = keys.split_first()?;
        rest.iter().try_fold(self.table.get(*first)?, |value, key| value.get(*key))
    }

    /// Every dependency, those of single platforms included.
    pub(crate) fn dependencies(&self) -> Vec<Dependency<'_>> {
        let targets = self.table.get("target").and_then(Value::as_table);
        let platforms = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
        platforms.chain([&self.table]).flat_map(dependencies_of).collect()
    }

    /// `path:line` of the first line that starts with `key`, else of the file.
    pub(crate) fn place(&self, key: &str) -> String {
        let line = self.text.lines().position(|line| line.trim_start().starts_with(key));
        format!("{}:{}", self.path, line.unwrap_or(0) + 1)
    }
}

fn dependencies_of(table: &Table) -> Vec<Dependency<'_>> {
    let sections = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Normal),
        ("dev-dependencies", Kind::Dev),
    ];
    let mut found = Vec::new();
    for (section, kind) in sections {
        let listed = table.get(section).and_then(Value::as_table).into_iter().flatten();
        found.extend(listed.map(|(name, value)| Dependency { name, kind, value }));
    }
    found
}
