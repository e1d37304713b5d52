//! Exporting: scopes as one JSON document that holds the exact bytes of every snapshot.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::disk::Dir;
use crate::pointer::Pointer;
use crate::sha::sha256;
use crate::snapshot::check_sha;
use crate::survey::{Entry, Survey};
use crate::{BundleError, Damage, StateDir};

/// What the document calls itself.
pub(crate) const FORMAT: &str = "ah-bundles";
/// The only version of it there is.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    /// The scopes.
    pub scopes: Vec<String>,
    /// How many snapshots.
    pub snapshots: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// Damaged files, which are left out.
    pub damage: Vec<Damage>,
}

/// Where a scope stands, in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExportedHead {
    pub(crate) scope: String,
    pub(crate) name: String,
    pub(crate) sha: String,
    pub(crate) cut: Vec<String>,
}

/// A snapshot in a document. It is stored as UTF-8, so its text is its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExportedSnapshot {
    pub(crate) name: String,
    pub(crate) sha: String,
    pub(crate) text: String,
}

/// A whole document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Document {
    pub(crate) format: String,
    pub(crate) version: u32,
    pub(crate) heads: Vec<ExportedHead>,
    pub(crate) snapshots: Vec<ExportedSnapshot>,
}

impl StateDir {
    /// Writes a scope, or all of them, as one document. It holds one snapshot at a time in memory.
    pub fn export(
        &self,
        scope: Option<&str>,
        out: &mut dyn Write,
    ) -> Result<Exported, BundleError> {
        let dir = self.open()?;
        let survey = Survey::take(&dir, self.bytes_max)?;
        let scopes: Vec<&str> = match scope {
            Some(scope) => {
                self.load(scope)?;
                vec![scope]
            }
            None => survey.scopes().into_iter().collect(),
        };
        let heads: Vec<ExportedHead> =
            scopes.iter().filter_map(|scope| head(&survey, scope)).collect();
        let failed = || BundleError::file("write the export of", self.path());
        let opening = format!(
            "{{\"format\":\"{FORMAT}\",\"version\":{FORMAT_VERSION},\"heads\":{},\"snapshots\":[",
            json(&heads)?
        );
        out.write_all(opening.as_bytes()).map_err(failed())?;
        let mut exported = Exported {
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            snapshots: 0,
            bytes: 0,
            damage: survey.damage().collect(),
        };
        for entry in survey.valid().filter(|entry| scopes.contains(&entry.scope.as_str())) {
            let separator = if exported.snapshots == 0 { "\n" } else { ",\n" };
            let line = json(&self.exported(&dir, entry)?)?;
            let written = out.write_all(separator.as_bytes());
            written.and_then(|()| out.write_all(line.as_bytes())).map_err(failed())?;
            exported.snapshots += 1;
            exported.bytes += entry.bytes;
        }
        out.write_all(b"\n]}\n").and_then(|()| out.flush()).map_err(failed())?;
        Ok(exported)
    }

    fn exported(&self, dir: &Dir, entry: &Entry) -> Result<ExportedSnapshot, BundleError> {
        let read = || {
            let bytes = dir.read(&entry.name, self.bytes_max)?;
            check_sha(&entry.name, Some(&entry.sha), &sha256(&bytes))?;
            Ok(bytes)
        };
        let bytes = read().map_err(|problem| BundleError::Damaged {
            dir: self.path().to_owned(),
            damage: Damage::new(&entry.name, problem),
        })?;
        // Its parser has read it as UTF-8.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(ExportedSnapshot { name: entry.name.clone(), sha: entry.sha.clone(), text })
    }
}

impl ExportedHead {
    pub(crate) fn pointer(&self) -> Pointer {
        Pointer {
            path: self.name.clone(),
            sha: self.sha.clone(),
            scope: Some(self.scope.clone()),
            cut: self.cut.clone(),
        }
    }
}

fn head(survey: &Survey, scope: &str) -> Option<ExportedHead> {
    let entry = survey.head_of(scope).head?;
    Some(ExportedHead {
        scope: scope.to_owned(),
        name: entry.name.clone(),
        sha: entry.sha.clone(),
        cut: survey.head(scope).map(|head| head.cut.clone()).unwrap_or_default(),
    })
}

fn json<T: Serialize>(value: &T) -> Result<String, BundleError> {
    serde_json::to_string(value)
        .map_err(|error| ah_model::Invalid::new("export", error.to_string()).into())
}
