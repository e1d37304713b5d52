//! What a side brings to connections, kept fresh: its identity, and whom it lets in.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ah_store::Clock;

use crate::identity::{Identity, IdentityError, ProviderKind, TrustDomain, Watched};
use crate::peer::{AllowedName, PeerId, PeerPolicy, PeerSide, Revocations};
use crate::tls::{OnRefusal, Terms};

/// Whom a side lets in.
pub struct Admittance {
    /// Those of this side.
    pub side: PeerSide,
    /// SPIFFE ids of this trust domain; of the own one when absent.
    pub trust_domain: Option<TrustDomain>,
    /// These names, too.
    pub allowed: Vec<AllowedName>,
    /// But none that this list has.
    pub crl_file: Option<PathBuf>,
    /// Who is told of peers that are not let in.
    pub on_refusal: OnRefusal,
}

/// Why a side has nothing to bring.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// There is no identity.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Nobody could be let in.
    #[error("nobody can be let in: {reason}")]
    Policy {
        /// Why.
        reason: String,
    },
}

/// An identity that is kept fresh, and what follows from it.
pub struct Keyring {
    admittance: Admittance,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

struct Kept {
    watched: Watched,
    terms: Arc<Terms>,
}

impl Keyring {
    /// With the first identity.
    pub fn new(
        watched: Watched,
        admittance: Admittance,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KeyringError> {
        let terms = terms(watched.current(), &admittance, &clock)?;
        let kept = Mutex::new(Kept { watched, terms });
        Ok(Self { admittance, clock, kept })
    }

    /// What to bring now.
    pub fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.kept().terms)
    }

    /// Who this side is.
    pub fn id(&self) -> PeerId {
        self.kept().watched.current().id.clone()
    }

    /// Where its identity comes from.
    pub fn kind(&self) -> ProviderKind {
        self.kept().watched.kind()
    }

    /// Fetches the identity again if it is time; the answer is what to bring from here on. May wait
    /// for a program or a server.
    pub fn refresh(&self) -> Result<Option<Arc<Terms>>, KeyringError> {
        let mut kept = self.kept();
        let Some(identity) = kept.watched.poll(self.clock.now())? else { return Ok(None) };
        kept.terms = terms(&identity, &self.admittance, &self.clock)?;
        Ok(Some(Arc::clone(&kept.terms)))
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn terms(
    identity: &Arc<Identity>,
    admittance: &Admittance,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<Terms>, KeyringError> {
    let Admittance { side, trust_domain, allowed, crl_file, on_refusal } = admittance;
    let policy = PeerPolicy::new(*side, &identity.roots);
    let policy = policy.map_err(|refusal| KeyringError::Policy { reason: refusal.to_string() })?;
    let own = match &identity.id {
        PeerId::Spiffe(id) => id.trust_domain().parse().ok(),
        PeerId::Named(_) => None,
    };
    let policy = match trust_domain.clone().or(own) {
        Some(domain) => policy.trust_domain(domain),
        None if allowed.is_empty() => {
            let reason = "an identity without SPIFFE needs names that are allowed (`--allow`)";
            return Err(KeyringError::Policy { reason: reason.to_owned() });
        }
        None => policy,
    };
    let policy = policy.allow(allowed.iter().cloned());
    let policy = match crl_file {
        Some(file) => policy.revocations(Revocations::default().crl_file(file)),
        None => policy,
    };
    Ok(Arc::new(Terms {
        identity: Arc::clone(identity),
        policy: Arc::new(policy),
        clock: Arc::clone(clock),
        on_refusal: Arc::clone(on_refusal),
    }))
}
