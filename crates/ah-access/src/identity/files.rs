//! An identity from PEM files, fetched again when one of them changes.

use std::path::PathBuf;

use ah_model::Timestamp;

use super::{Identity, IdentityError, Mark, Parts, Provider, ProviderKind, pem};
use crate::file::{self, FileMark};

/// Three PEM files.
#[derive(Debug, Clone)]
pub struct FilesProvider {
    /// The own certificate first, then those that vouch for it.
    pub chain: PathBuf,
    /// The key of the own certificate: a file that only we may read.
    pub key: PathBuf,
    /// The authorities that vouch for peers.
    pub roots: PathBuf,
}

impl Provider for FilesProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Files
    }

    fn load(&self, now: Timestamp) -> Result<Identity, IdentityError> {
        let read = |path: &PathBuf| {
            let text = file::read_public(path)?;
            let name = path.display().to_string();
            let found = pem::certificates(&text, &name)?;
            match found.is_empty() {
                true => Err(IdentityError::Pem {
                    origin: name,
                    reason: "no certificate in PEM form is in it".to_owned(),
                }),
                false => Ok(found),
            }
        };
        let (chain, roots) = (read(&self.chain)?, read(&self.roots)?);
        let key = file::read_private(&self.key)?;
        let key = pem::key(&key, &self.key.display().to_string())?;
        let parts = Parts { chain, key: Some(key), roots };
        Identity::new(parts, &self.chain.display().to_string(), now)
    }

    fn mark(&self) -> Result<Option<Mark>, IdentityError> {
        let files = [&self.chain, &self.key, &self.roots];
        let marks: Result<Vec<_>, _> = files.iter().map(|path| FileMark::of(path)).collect();
        Ok(Some(Mark(marks?)))
    }
}
