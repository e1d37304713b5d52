//! Where identities come from, and when they are fetched again.

use std::fmt;
use std::sync::Arc;

use ah_model::Timestamp;

use super::{Identity, IdentityError};
use crate::file::FileMark;

/// How soon a renewal that did not work is tried again, at least.
const RETRY_MS_MIN: i64 = 1_000;
/// How late, at most.
const RETRY_MS_MAX: i64 = 10 * 60 * 1_000;

/// The sorts of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// PEM files.
    Files,
    /// A program that prints PEM.
    Exec,
    /// The PKI engine of a Vault.
    Vault,
    /// The Workload API of a SPIFFE agent.
    Spiffe,
}

impl ProviderKind {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Exec => "exec",
            Self::Vault => "vault",
            Self::Spiffe => "spiffe",
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Tells one state of a source from the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(pub(crate) Vec<FileMark>);

/// Where an identity comes from.
pub trait Provider: Send + Sync {
    /// Its sort.
    fn kind(&self) -> ProviderKind;

    /// Fetches the identity. May wait for a program or a server, no longer than a bound of its own.
    fn load(&self, now: Timestamp) -> Result<Identity, IdentityError>;

    /// The state of a source that can be looked at without being asked: the identity is fetched when
    /// it changes. None for others, which are asked again before the identity expires.
    fn mark(&self) -> Result<Option<Mark>, IdentityError>;
}

/// An identity that is kept fresh by whoever calls [`Watched::poll`] now and then.
pub struct Watched {
    provider: Box<dyn Provider>,
    current: Arc<Identity>,
    mark: Option<Mark>,
    /// When a source without a mark is asked next.
    due: Timestamp,
    jitter_permille: u16,
}

impl Watched {
    /// Fetches the first identity. `jitter_permille` (0 to 1,000, random) spreads the renewals of
    /// many executors that began at the same time.
    pub fn load(
        provider: Box<dyn Provider>,
        now: Timestamp,
        jitter_permille: u16,
    ) -> Result<Self, IdentityError> {
        // The mark is older than what is read, so a change in between is seen.
        let mark = provider.mark()?;
        let current = Arc::new(provider.load(now)?);
        let due = renewal(&current, jitter_permille);
        Ok(Self { provider, current, mark, due, jitter_permille })
    }

    /// The identity to use now.
    pub fn current(&self) -> &Arc<Identity> {
        &self.current
    }

    /// Where it comes from.
    pub fn kind(&self) -> ProviderKind {
        self.provider.kind()
    }

    /// When a source that cannot be looked at is asked next.
    pub fn due(&self) -> Option<Timestamp> {
        self.mark.is_none().then_some(self.due)
    }

    /// Fetches the identity again if it is time; the answer is the new one.
    ///
    /// After an error the one before stays, and a later call tries again.
    pub fn poll(&mut self, now: Timestamp) -> Result<Option<Arc<Identity>>, IdentityError> {
        let mark = self.provider.mark()?;
        let is_due = match &mark {
            Some(_) => mark != self.mark,
            None => self.due <= now,
        };
        if !is_due {
            return Ok(None);
        }
        match self.provider.load(now) {
            Ok(identity) => {
                self.current = Arc::new(identity);
                self.mark = mark;
                self.due = renewal(&self.current, self.jitter_permille);
                Ok(Some(Arc::clone(&self.current)))
            }
            Err(error) => {
                self.due = retry(&self.current, now);
                Err(error)
            }
        }
    }
}

/// Two thirds into the lifetime, and up to a tenth of it earlier.
fn renewal(identity: &Identity, jitter_permille: u16) -> Timestamp {
    let lifetime = identity.not_after.unix_ms() - identity.not_before.unix_ms();
    let earlier = lifetime / 10 * i64::from(jitter_permille.min(1_000)) / 1_000;
    identity.not_after.minus_ms(lifetime / 3 + earlier)
}

/// A tenth of what is left, within bounds.
fn retry(identity: &Identity, now: Timestamp) -> Timestamp {
    let left = identity.not_after.unix_ms() - now.unix_ms();
    now.minus_ms(-(left / 10).clamp(RETRY_MS_MIN, RETRY_MS_MAX))
}
