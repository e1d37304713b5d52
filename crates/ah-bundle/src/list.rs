//! Listing: what snapshots there are, at the cost of one small read each.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::disk::Dir;
use crate::peek::{Peek, peek};
use crate::pointer::{LATEST, head_name, is_head_name};
use crate::resolve::resolve;
use crate::snapshot::{is_snapshot_name, short_sha};
use crate::survey::{PointerFile, read_pointer};
use crate::{BundleError, Problem, StateDir};

/// A snapshot in a listing. Nothing is hashed: that is for [`StateDir::verify`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The name of the file.
    pub name: String,
    /// The beginning of the hash its name gives; foreign names give none.
    pub short_sha: Option<String>,
    /// How many bytes it has.
    pub bytes: u64,
    /// The scope it is of; nothing when that cannot be read.
    pub scope: Option<String>,
    /// When it was saved.
    pub created_at: Option<String>,
    /// The model it is for.
    pub model_id: Option<String>,
    /// Whether its scope stands at it.
    pub head: bool,
    /// Whether `latest.json` names it.
    pub latest: bool,
    /// Why it cannot be read.
    pub problem: Option<Problem>,
}

impl StateDir {
    /// All snapshots by name, which is by time for those written here.
    pub fn list(&self) -> Result<Vec<Listed>, BundleError> {
        let dir = self.open()?;
        let names = dir.names()?;
        let pointers: Vec<PointerFile> = names
            .iter()
            .filter(|name| name.as_str() == LATEST || is_head_name(name))
            .filter_map(|name| read_pointer(&dir, name))
            .collect();
        let named = pointers.iter().filter_map(|file| file.said.as_ref().ok());
        let named: BTreeSet<&str> = named.map(|said| said.path.as_str()).collect();
        let wanted = names
            .iter()
            .filter(|name| is_snapshot_name(name) || named.contains(name.as_str()))
            .filter(|name| !is_head_name(name) && name.as_str() != LATEST);
        let mut listed: Vec<Listed> = wanted.filter_map(|name| self.listed(&dir, name)).collect();
        self.mark(&dir, &pointers, &mut listed)?;
        Ok(listed)
    }

    fn listed(&self, dir: &Dir, name: &str) -> Option<Listed> {
        let mut listed = Listed {
            name: name.to_owned(),
            short_sha: short_sha(name),
            bytes: 0,
            scope: None,
            created_at: None,
            model_id: None,
            head: false,
            latest: false,
            problem: None,
        };
        match peek(dir, name, self.bytes_max) {
            // It was pruned since it was listed.
            Err(Problem::Missing) => return None,
            Err(problem) => listed.problem = Some(problem),
            Ok(Peek { bytes, scope, created_at, model_id }) => {
                listed.bytes = bytes;
                listed.scope = Some(scope);
                listed.created_at = Some(created_at);
                listed.model_id = Some(model_id);
            }
        }
        Some(listed)
    }

    /// Marks what the pointers name, and where scopes stand.
    fn mark(
        &self,
        dir: &Dir,
        pointers: &[PointerFile],
        listed: &mut [Listed],
    ) -> Result<(), BundleError> {
        let said = |name: &str| {
            let file = pointers.iter().find(|file| file.name == name);
            file.and_then(|file| file.said.as_ref().ok()).map(|said| said.path.clone())
        };
        let latest = said(LATEST);
        let scope_of: BTreeMap<&str, &str> = listed
            .iter()
            .filter_map(|one| Some((one.name.as_str(), one.scope.as_deref()?)))
            .collect();
        let latest_scope = latest.as_deref().and_then(|name| scope_of.get(name).copied());
        let heads: BTreeMap<&str, String> = pointers
            .iter()
            .filter_map(|file| Some((file.name.as_str(), file.said.as_ref().ok()?.path.clone())))
            .collect();
        let mut standing = BTreeSet::new();
        for scope in scope_of.values().collect::<BTreeSet<_>>() {
            let head = heads.get(head_name(scope).as_str());
            let settled = head.filter(|head| {
                scope_of.contains_key(head.as_str())
                    && (latest_scope != Some(scope) || latest.as_ref() == Some(*head))
            });
            match settled {
                Some(head) => standing.insert(head.clone()),
                None => {
                    let resolved = resolve(dir, scope, self.bytes_max)?;
                    resolved.snapshot.is_some_and(|snapshot| standing.insert(snapshot.name))
                }
            };
        }
        for one in listed {
            one.head = standing.contains(&one.name);
            one.latest = latest.as_ref() == Some(&one.name);
        }
        Ok(())
    }
}
