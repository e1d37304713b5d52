//! Tokens that were proved a moment ago.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ah_model::{AgentId, Token, TokenHash, TokenId};
use tokio::time::Instant;

use crate::limits::VERIFIED_TOKENS_MAX;

/// A token that was proved.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(super) token: Token,
    /// Of the secret that proved it.
    pub(super) hash: TokenHash,
    /// The agent that it is for, if that is there.
    pub(super) of: Option<AgentId>,
}

impl Deref for Verified {
    type Target = Token;

    fn deref(&self) -> &Token {
        &self.token
    }
}

impl Verified {
    /// Whether its agent is not there, or not yet.
    pub(super) fn waits_for_agent(&self) -> bool {
        self.token.agent.is_some() && self.of.is_none()
    }
}

/// The tokens that are believed for a while, at most [`VERIFIED_TOKENS_MAX`] of them. Only what was
/// proved gets in, so nobody can fill it with guesses.
#[derive(Default)]
pub(crate) struct VerifiedTokens {
    known: Mutex<Known>,
    /// Who looks up what is not believed any more for streams: of many streams of a token one.
    turns: [tokio::sync::Mutex<()>; TURNS],
}

/// How many tokens are looked up at once for streams.
const TURNS: usize = 16;

#[derive(Default)]
struct Known {
    /// Rises whenever all is forgotten: what was read before that is not kept after it.
    generation: u64,
    tokens: HashMap<TokenId, Entry>,
}

struct Entry {
    verified: Arc<Verified>,
    until: Instant,
}

impl VerifiedTokens {
    /// The token of `id`, if `hash` proved it a moment ago, and until when it is believed.
    pub(super) fn find(&self, id: &TokenId, hash: &TokenHash) -> Option<(Arc<Verified>, Instant)> {
        let known = self.known();
        let entry = known.tokens.get(id).filter(|entry| entry.verified.hash == *hash)?;
        (Instant::now() < entry.until).then(|| (Arc::clone(&entry.verified), entry.until))
    }

    /// Waits for the turn to look up the token of `id` for a stream.
    pub(super) async fn turn(&self, id: &TokenId) -> tokio::sync::MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        let place = usize::try_from(hasher.finish() % TURNS as u64).unwrap_or(0);
        self.turns[place].lock().await
    }

    /// The number to [`Self::keep`] with, taken before the token is read.
    pub(super) fn generation(&self) -> u64 {
        self.known().generation
    }

    /// Believes it until then. An agent that is not there may come any moment, so its token is
    /// looked up again.
    pub(super) fn keep(&self, verified: &Arc<Verified>, generation: u64, until: Instant) {
        let mut known = self.known();
        if known.generation != generation || verified.waits_for_agent() {
            return;
        }
        let now = Instant::now();
        if known.tokens.len() >= VERIFIED_TOKENS_MAX {
            known.tokens.retain(|_, entry| now < entry.until);
        }
        if known.tokens.len() >= VERIFIED_TOKENS_MAX {
            known.tokens.clear();
        }
        let entry = Entry { verified: Arc::clone(verified), until };
        known.tokens.insert(verified.token.id.clone(), entry);
    }

    /// Believes nothing any more: tokens have changed.
    pub(crate) fn forget(&self) {
        let mut known = self.known();
        known.generation += 1;
        known.tokens.clear();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use ah_model::{Timestamp, TokenRole, TokenSecret};

    use super::*;
    use crate::limits::VERIFIED_MAX;

    fn proved(id: &str, agent: Option<&str>) -> (TokenSecret, Arc<Verified>) {
        let id: TokenId = id.parse().unwrap();
        let token = Token {
            id: id.clone(),
            role: TokenRole::Viewer,
            agent: agent.map(str::to_owned),
            name: None,
            created_at: Timestamp::EPOCH,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        };
        let secret = TokenSecret::new(id, [7; 32]);
        let verified = Arc::new(Verified { token, hash: secret.hash(), of: None });
        (secret, verified)
    }

    fn keep(tokens: &VerifiedTokens, verified: &Arc<Verified>, generation: u64) {
        tokens.keep(verified, generation, Instant::now() + VERIFIED_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_believed_for_a_while_and_only_with_its_own_secret() {
        let tokens = VerifiedTokens::default();
        let (secret, verified) = proved("t1", None);
        let other = TokenSecret::new(secret.id().clone(), [8; 32]);
        keep(&tokens, &verified, tokens.generation());
        assert!(tokens.find(secret.id(), &secret.hash()).is_some());
        assert!(tokens.find(other.id(), &other.hash()).is_none());
        tokio::time::advance(VERIFIED_MAX).await;
        assert!(tokens.find(secret.id(), &secret.hash()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_read_before_tokens_changed_is_not_believed_after() {
        let tokens = VerifiedTokens::default();
        let (secret, verified) = proved("t1", None);
        let before = tokens.generation();
        keep(&tokens, &verified, before);
        tokens.forget();
        assert!(tokens.find(secret.id(), &secret.hash()).is_none());
        keep(&tokens, &verified, before);
        assert!(tokens.find(secret.id(), &secret.hash()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_whose_agent_is_not_there_is_looked_up_again() {
        let tokens = VerifiedTokens::default();
        let (secret, verified) = proved("t1", Some("late"));
        keep(&tokens, &verified, tokens.generation());
        assert!(tokens.find(secret.id(), &secret.hash()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_than_so_many_are_kept() {
        let tokens = VerifiedTokens::default();
        for number in 0..=VERIFIED_TOKENS_MAX {
            let (secret, verified) = proved(&format!("t{number}"), None);
            keep(&tokens, &verified, 0);
            assert!(tokens.known().tokens.len() <= VERIFIED_TOKENS_MAX);
            assert!(tokens.find(secret.id(), &secret.hash()).is_some());
        }
    }
}
