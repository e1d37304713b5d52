//! Giving a directory and its files the modes they must have, on request.

use serde::Serialize;

use crate::disk::{DIRECTORY_MODE, Dir, FILE_MODE};
use crate::pointer::{LATEST, is_head_name};
use crate::snapshot::is_snapshot_name;
use crate::survey::Survey;
use crate::verify::is_ours;
use crate::{BundleError, Damage, DryRun, StateDir};

/// What was changed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fixed {
    /// Modes that were changed.
    pub changed: Vec<ModeChange>,
    /// Files that stay refused, and why.
    pub left: Vec<Damage>,
}

/// A mode that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModeChange {
    /// The name of the file; `.` is the directory.
    pub name: String,
    /// The permission bits before, in octal.
    pub from: String,
    /// The permission bits now.
    pub to: String,
}

impl StateDir {
    /// Takes the access of others away: 0700 for the directory, 0600 for its files. Owners and links
    /// are not changed, and files that are none of a state directory's are left alone.
    pub fn fix_permissions(&self, dry_run: DryRun) -> Result<Fixed, BundleError> {
        let dir = Dir::open_any_mode(self.path())?;
        let dir = dir.ok_or_else(|| BundleError::NoState { dir: self.path().to_owned() })?;
        let mut fixed = Fixed::default();
        // The directory first: from then on nobody else can exchange a file in it.
        let mode = dir.mode()?;
        if mode != DIRECTORY_MODE {
            fixed.changed.push(change(".", mode, DIRECTORY_MODE));
            if dry_run == DryRun::No {
                dir.set_mode(DIRECTORY_MODE)?;
            }
        }
        let survey = Survey::take(&dir, self.bytes_max)?;
        for name in dir.names()? {
            let is_state = name == LATEST || is_head_name(&name) || is_snapshot_name(&name);
            if !is_state && !is_ours(&name) && !survey.entries.contains_key(&name) {
                continue;
            }
            match dir.make_private(&name, dry_run) {
                Ok(Some(mode)) => fixed.changed.push(change(&name, mode, FILE_MODE)),
                Ok(None) => {}
                Err(problem) => fixed.left.push(Damage::new(&name, problem)),
            }
        }
        Ok(fixed)
    }
}

fn change(name: &str, from: u32, to: u32) -> ModeChange {
    ModeChange { name: name.to_owned(), from: format!("{from:04o}"), to: format!("{to:04o}") }
}
