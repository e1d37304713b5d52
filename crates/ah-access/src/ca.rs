//! A small private authority, for people who have none: a directory with a key, the certificates that
//! it issued, and a list of those that it took back.
//!
//! Invariants: a serial is in the register before its certificate is anywhere, so everything that was
//! issued can be revoked; the list of revocations follows from the register; whoever changes the
//! directory holds its lock; keys are private files and are never written over.

mod make;
mod register;

pub use register::Issued;

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ah_model::{Invalid, Timestamp};
use ah_store::{IdSource, StoreError};
use serde::{Deserialize, Serialize};

use crate::file::{self, Access, FileError};
use crate::identity::{Certificate, CertificateError, TrustDomain};
use crate::peer::{PeerSide, normal_serial};
use make::{Root, Validity};

/// Longest time that a certificate of an executor or an access point is valid, in days.
pub const ISSUE_DAYS_MAX: u32 = 3_650;
/// Longest time that an authority is valid, in days.
pub const ROOT_DAYS_MAX: u32 = 36_500;

const ABOUT: &str = "ca.json";
const ROOT: &str = "root.pem";
const ROOT_KEY: &str = "root.key";
const REGISTER: &str = "register.jsonl";
const CRL: &str = "crl.pem";
/// What `issue` writes.
const CHAIN_OUT: &str = "chain.pem";
const KEY_OUT: &str = "key.pem";
const ROOTS_OUT: &str = "roots.pem";

/// Why an authority did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is an authority already.
    #[error("an authority is at {} already", directory.display())]
    Exists {
        /// Where.
        directory: PathBuf,
    },
    /// There is none.
    #[error("no authority is at {}", directory.display())]
    Missing {
        /// Where.
        directory: PathBuf,
    },
    /// A file of the authority is not what it wrote.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It has issued no such certificate.
    #[error("no certificate with the serial or for the node {which:?} was issued")]
    NotFound {
        /// What was asked for.
        which: String,
    },
    /// A value must be corrected.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The authority itself is over, or would be before the certificate began.
    #[error("the authority expired at {at}")]
    Over {
        /// When.
        at: Timestamp,
    },
    /// A certificate or a list could not be made.
    #[error("cannot make {what}: {reason}")]
    Make {
        /// What.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// There was no randomness.
    #[error(transparent)]
    Random(#[from] StoreError),
}

/// What is known of an authority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Where it is.
    pub directory: PathBuf,
    /// Whom it vouches for.
    pub trust_domain: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is over.
    pub not_after: Timestamp,
    /// SHA-256 of its public key.
    pub spki_sha256: String,
    /// The file that peers trust it by.
    pub roots: PathBuf,
    /// The list of what it took back.
    pub crl: PathBuf,
}

/// What is kept of an authority besides its certificate. Written last, so what lacks it is no
/// authority yet.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    version: u32,
    trust_domain: String,
    created_at: Timestamp,
}

const VERSION: u32 = 1;

/// A certificate to issue.
#[derive(Debug, Clone)]
pub struct Issue<'a> {
    /// The node it is for.
    pub node: &'a str,
    /// Which side of connections it is for.
    pub side: PeerSide,
    /// How long it is valid.
    pub days: u32,
    /// The directory for its files; none of them is written over.
    pub out: &'a Path,
}

/// An authority on this machine.
#[derive(Debug)]
pub struct Authority {
    directory: PathBuf,
    trust_domain: TrustDomain,
    created_at: Timestamp,
}

impl Authority {
    /// Makes an authority for a trust domain, in a directory that is ours alone.
    pub fn init(
        directory: &Path,
        trust_domain: TrustDomain,
        days: u32,
        now: Timestamp,
    ) -> Result<Self, CaError> {
        check_days(days, ROOT_DAYS_MAX)?;
        file::make_private_dir(directory)?;
        let _lock = lock(directory)?;
        let about = directory.join(ABOUT);
        if about.exists() {
            return Err(CaError::Exists { directory: directory.to_owned() });
        }
        let root = Root::generate(&trust_domain, Validity::days(now, days))?;
        file::replace(&directory.join(ROOT_KEY), root.key_pem().as_bytes(), Access::Private)?;
        file::replace(&directory.join(ROOT), root.pem().as_bytes(), Access::Public)?;
        register::write(&directory.join(REGISTER), &[])?;
        let made = Self { directory: directory.to_owned(), trust_domain, created_at: now };
        made.write_crl(&root, &[], now)?;
        let kept =
            Kept { version: VERSION, trust_domain: made.trust_domain.to_string(), created_at: now };
        let kept = serde_json::to_string(&kept).map_err(|error| CaError::Make {
            what: "the record of the authority",
            reason: error.to_string(),
        })?;
        file::replace(&about, (kept + "\n").as_bytes(), Access::Private)?;
        Ok(made)
    }

    /// The authority in that directory.
    pub fn open(directory: &Path) -> Result<Self, CaError> {
        let missing = |error: FileError| match error.is_missing() {
            true => CaError::Missing { directory: directory.to_owned() },
            false => error.into(),
        };
        file::check_private_dir(directory).map_err(missing)?;
        let path = directory.join(ABOUT);
        let text = file::read_private(&path).map_err(missing)?;
        let damaged = |reason: String| CaError::Damaged { path: path.clone(), reason };
        let kept: Kept =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if kept.version != VERSION {
            return Err(damaged(format!("version {} is not known here", kept.version)));
        }
        let trust_domain = kept.trust_domain.parse();
        let trust_domain = trust_domain.map_err(|error: Invalid| damaged(error.to_string()))?;
        let created_at = kept.created_at;
        Ok(Self { directory: directory.to_owned(), trust_domain, created_at })
    }

    /// What is known of it.
    pub fn about(&self) -> Result<About, CaError> {
        let root = self.root_certificate()?;
        Ok(About {
            directory: self.directory.clone(),
            trust_domain: self.trust_domain.to_string(),
            created_at: self.created_at,
            not_after: root.not_after,
            spki_sha256: root.spki_sha256,
            roots: self.directory.join(ROOT),
            crl: self.directory.join(CRL),
        })
    }

    /// Everything that it issued, oldest first.
    pub fn issued(&self) -> Result<Vec<Issued>, CaError> {
        register::read(&self.directory.join(REGISTER))
    }

    /// What it issued with that serial, or for that node, oldest first.
    pub fn find(&self, which: &str) -> Result<Vec<Issued>, CaError> {
        let mut found = self.issued()?;
        found.retain(|issued| is_meant(issued, which));
        match found.is_empty() {
            true => Err(CaError::NotFound { which: which.to_owned() }),
            false => Ok(found),
        }
    }

    /// Issues a certificate and writes it with its key and the authority beside each other.
    pub fn issue(
        &self,
        issue: &Issue<'_>,
        now: Timestamp,
        random: &dyn IdSource,
    ) -> Result<Issued, CaError> {
        check_days(issue.days, ISSUE_DAYS_MAX)?;
        // For an access point, too: the node says which one in the register.
        let agent = self.trust_domain.agent(issue.node)?;
        let id = match issue.side {
            PeerSide::Executor => agent,
            PeerSide::Server => self.trust_domain.server(),
        };
        let files = [CHAIN_OUT, KEY_OUT, ROOTS_OUT].map(|name| issue.out.join(name));
        if let Some(path) = files.iter().find(|path| path.symlink_metadata().is_ok()) {
            return Err(FileError::Exists { path: path.clone() }.into());
        }
        make_out(issue.out)?;
        let _lock = lock(&self.directory)?;
        let root = self.root()?;
        let over = self.root_certificate()?.not_after;
        if over <= now {
            return Err(CaError::Over { at: over });
        }
        let mut all = self.issued()?;
        let serial = fresh_serial(&all, random)?;
        let validity = Validity::days(now, issue.days).until(over);
        let made = root.issue(&id, serial, validity, issue.side)?;
        let issued = Issued::new(&made.der, issue.node, &id, issue.side, now).map_err(
            |error: CertificateError| CaError::Make {
                what: "the certificate",
                reason: error.reason,
            },
        )?;
        all.push(issued.clone());
        register::write(&self.directory.join(REGISTER), &all)?;
        let [chain, key, roots] = &files;
        file::create(key, made.key_pem.as_bytes(), Access::Private)?;
        file::create(chain, made.pem.as_bytes(), Access::Public)?;
        file::create(roots, root.pem().as_bytes(), Access::Public)?;
        Ok(issued)
    }

    /// Takes back what was issued with that serial, or for that node; again is the same.
    pub fn revoke(&self, which: &str, now: Timestamp) -> Result<Vec<Issued>, CaError> {
        let _lock = lock(&self.directory)?;
        let root = self.root()?;
        let mut all = self.issued()?;
        let mut revoked = Vec::new();
        for issued in all.iter_mut().filter(|issued| is_meant(issued, which)) {
            issued.revoked_at.get_or_insert(now);
            revoked.push(issued.clone());
        }
        if revoked.is_empty() {
            return Err(CaError::NotFound { which: which.to_owned() });
        }
        register::write(&self.directory.join(REGISTER), &all)?;
        self.write_crl(&root, &all, now)?;
        Ok(revoked)
    }

    fn write_crl(&self, root: &Root, all: &[Issued], now: Timestamp) -> Result<(), CaError> {
        let pem = root.crl(all, now)?;
        Ok(file::replace(&self.directory.join(CRL), pem.as_bytes(), Access::Public)?)
    }

    fn root(&self) -> Result<Root, CaError> {
        let key = file::read_private(&self.directory.join(ROOT_KEY))?;
        let path = self.directory.join(ROOT);
        let certificate = file::read_public(&path)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Root::read(text(certificate), &text(key))
            .map_err(|reason| CaError::Damaged { path, reason })
    }

    fn root_certificate(&self) -> Result<Certificate, CaError> {
        let path = self.directory.join(ROOT);
        let text = file::read_public(&path)?;
        let damaged = |reason: String| CaError::Damaged { path: path.clone(), reason };
        let found = crate::identity::certificates(&text, "").ok();
        let der = found.and_then(|found| found.into_iter().next());
        let der = der.ok_or_else(|| damaged("no certificate is in it".to_owned()))?;
        Certificate::parse(&der).map_err(|error| damaged(error.reason))
    }
}

/// Whether a serial or a node is this certificate's.
fn is_meant(issued: &Issued, which: &str) -> bool {
    issued.node == which || normal_serial(which).is_some_and(|serial| serial == issued.serial)
}

/// A serial that no certificate has: ten random bytes, positive as a number.
fn fresh_serial(all: &[Issued], random: &dyn IdSource) -> Result<[u8; 10], CaError> {
    loop {
        let mut bytes = random.random()?;
        if let Some(first) = bytes.first_mut() {
            // Neither a sign nor a leading zero, so every serial has twenty digits.
            *first = *first & 0x3f | 0x40;
        }
        let text = ah_model::to_hex(&bytes);
        if all.iter().all(|issued| issued.serial != text) {
            return Ok(bytes);
        }
    }
}

fn check_days(days: u32, max: u32) -> Result<(), Invalid> {
    match (1..=max).contains(&days) {
        true => Ok(()),
        false => Err(Invalid::new("days", format!("{days}, 1 to {max} are allowed"))),
    }
}

fn make_out(path: &Path) -> Result<(), FileError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| FileError::io("create", path, error))?;
    let found = fs::metadata(path).map_err(|error| FileError::io("look at", path, error))?;
    match found.is_dir() {
        true => Ok(()),
        false => Err(FileError::io("open", path, std::io::ErrorKind::NotADirectory.into())),
    }
}

/// Waits until nobody else changes the directory; until the answer is dropped, nobody does.
fn lock(directory: &Path) -> Result<File, CaError> {
    let failed = |error| match error {
        error if std::io::Error::kind(&error) == std::io::ErrorKind::NotFound => {
            CaError::Missing { directory: directory.to_owned() }
        }
        error => FileError::io("lock", directory, error).into(),
    };
    let file = File::open(directory).map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}
