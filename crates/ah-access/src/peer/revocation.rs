//! Certificates that were taken back, from files that are read again when they change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use webpki::{
    CertRevocationList, OwnedCertRevocationList, RevocationCheckDepth, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy,
};

use super::PeerRefusal;
use crate::file::{self, FileError, FileMark};

/// What is taken back.
#[derive(Debug, Default)]
pub(super) struct Revoked {
    pub(super) crls: Vec<CertRevocationList<'static>>,
    pub(super) serials: BTreeSet<String>,
}

type Marks = [Option<FileMark>; 2];

/// Where it stands what was taken back. A file that is named and cannot be read lets nobody in.
#[derive(Debug, Default)]
pub struct Revocations {
    crl_file: Option<PathBuf>,
    list_file: Option<PathBuf>,
    known: Mutex<Option<(Marks, Arc<Revoked>)>>,
}

impl Revocations {
    /// From a PEM file of lists that authorities signed.
    #[must_use]
    pub fn crl_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.crl_file = Some(path.into());
        self
    }

    /// From a file with a serial on each line, in hexadecimal digits with or without colons; what
    /// follows a `#` is a remark. It counts for every authority.
    #[must_use]
    pub fn list_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.list_file = Some(path.into());
        self
    }

    /// What is taken back now.
    pub(super) fn current(&self) -> Result<Arc<Revoked>, PeerRefusal> {
        let unknown =
            |error: FileError| PeerRefusal::RevocationUnknown { reason: error.to_string() };
        // Older than what is read after it, so a change in between is seen the next time.
        let mark = |path: &Option<PathBuf>| path.as_deref().map(FileMark::of).transpose();
        let marks =
            [mark(&self.crl_file).map_err(unknown)?, mark(&self.list_file).map_err(unknown)?];
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((seen, revoked)) = &*known
            && *seen == marks
        {
            return Ok(Arc::clone(revoked));
        }
        let revoked = Arc::new(Revoked {
            crls: self.crl_file.as_deref().map(read_crls).transpose()?.unwrap_or_default(),
            serials: self.list_file.as_deref().map(read_list).transpose()?.unwrap_or_default(),
        });
        *known = Some((marks, Arc::clone(&revoked)));
        Ok(revoked)
    }
}

/// How lists are asked: for every certificate of a chain, and silence is no objection, because a
/// list speaks for one authority only.
pub(super) fn options<'a>(crls: &'a [&'a CertRevocationList<'a>]) -> Option<RevocationOptions<'a>> {
    // Without any list there is nothing to ask.
    let builder = RevocationOptionsBuilder::new(crls).ok()?;
    let builder = builder.with_depth(RevocationCheckDepth::Chain);
    Some(builder.with_status_policy(UnknownStatusPolicy::Allow).build())
}

fn read_crls(path: &Path) -> Result<Vec<CertRevocationList<'static>>, PeerRefusal> {
    let unknown = |reason: String| PeerRefusal::RevocationUnknown { reason };
    let text = file::read_public(path).map_err(|error| unknown(error.to_string()))?;
    let mut found = Vec::new();
    for der in CertificateRevocationListDer::pem_slice_iter(&text) {
        let der = der.map_err(|_| unknown(format!("{} is not PEM", path.display())))?;
        let list = OwnedCertRevocationList::from_der(&der);
        let list = list.map_err(|error| unknown(format!("{}: {error}", path.display())))?;
        found.push(CertRevocationList::from(list));
    }
    match found.is_empty() {
        true => Err(unknown(format!("no list is in {}", path.display()))),
        false => Ok(found),
    }
}

fn read_list(path: &Path) -> Result<BTreeSet<String>, PeerRefusal> {
    let unknown = |reason: String| PeerRefusal::RevocationUnknown { reason };
    let text = file::read_public(path).map_err(|error| unknown(error.to_string()))?;
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().enumerate();
    let serials = lines.filter_map(|(number, line)| {
        let (serial, _) = line.split_once('#').unwrap_or((line, ""));
        let serial = serial.trim();
        (!serial.is_empty()).then(|| {
            let place = || unknown(format!("{}:{}: no serial", path.display(), number + 1));
            normal(serial).ok_or_else(place)
        })
    });
    serials.collect()
}

/// A serial as people write it, in the one form that is compared.
pub(crate) fn normal(serial: &str) -> Option<String> {
    let digits: String = serial.chars().filter(|c| *c != ':').collect();
    let is_hex = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    let digits = digits.trim_start_matches('0').to_ascii_lowercase();
    is_hex.then(|| match digits.len() {
        0 => "00".to_owned(),
        odd if odd % 2 == 1 => format!("0{digits}"),
        _ => digits,
    })
}
