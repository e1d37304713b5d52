//! The one door through which randomness enters: minted ids.

use std::sync::{Mutex, PoisonError};

use ah_model::{
    AgentId, ApprovalId, BatchId, DraftId, FenceId, MessageId, QuestionId, ReceiptId, RunId,
    SessionId, Timestamp, TokenId,
};

use crate::StoreError;

/// A source of random bytes.
pub trait IdSource: Send + Sync {
    /// Ten random bytes.
    fn random(&self) -> Result<[u8; 10], StoreError>;
}

/// The operating system's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn random(&self) -> Result<[u8; 10], StoreError> {
        let mut bytes = [0; 10];
        getrandom::fill(&mut bytes)
            .map_err(|error| StoreError::backend("read random bytes", error.to_string()))?;
        Ok(bytes)
    }
}

/// Mints ids that sort by the time of their minting, even when the clock goes back.
pub struct Ids {
    source: Box<dyn IdSource>,
    /// Milliseconds and counter of the last id.
    last: Mutex<(u64, u16)>,
}

impl std::fmt::Debug for Ids {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ids")
    }
}

impl Ids {
    /// Ids from `source`.
    pub fn new(source: Box<dyn IdSource>) -> Self {
        Self { source, last: Mutex::new((0, 0)) }
    }

    /// A fresh session id.
    pub fn session(&self, now: Timestamp) -> Result<SessionId, StoreError> {
        self.mint(now).map(|(ms, random)| SessionId::mint(ms, random))
    }

    /// A fresh agent id.
    pub fn agent(&self, now: Timestamp) -> Result<AgentId, StoreError> {
        self.mint(now).map(|(ms, random)| AgentId::mint(ms, random))
    }

    /// A fresh run id.
    pub fn run(&self, now: Timestamp) -> Result<RunId, StoreError> {
        self.mint(now).map(|(ms, random)| RunId::mint(ms, random))
    }

    /// A fresh fence id.
    pub fn fence(&self, now: Timestamp) -> Result<FenceId, StoreError> {
        self.mint(now).map(|(ms, random)| FenceId::mint(ms, random))
    }

    /// A fresh draft id.
    pub fn draft(&self, now: Timestamp) -> Result<DraftId, StoreError> {
        self.mint(now).map(|(ms, random)| DraftId::mint(ms, random))
    }

    /// A fresh batch id.
    pub fn batch(&self, now: Timestamp) -> Result<BatchId, StoreError> {
        self.mint(now).map(|(ms, random)| BatchId::mint(ms, random))
    }

    /// A fresh token id.
    pub fn token(&self, now: Timestamp) -> Result<TokenId, StoreError> {
        self.mint(now).map(|(ms, random)| TokenId::mint(ms, random))
    }

    /// A fresh message id.
    pub fn message(&self, now: Timestamp) -> Result<MessageId, StoreError> {
        self.mint(now).map(|(ms, random)| MessageId::mint(ms, random))
    }

    /// A fresh approval id.
    pub fn approval(&self, now: Timestamp) -> Result<ApprovalId, StoreError> {
        self.mint(now).map(|(ms, random)| ApprovalId::mint(ms, random))
    }

    /// A fresh question id.
    pub fn question(&self, now: Timestamp) -> Result<QuestionId, StoreError> {
        self.mint(now).map(|(ms, random)| QuestionId::mint(ms, random))
    }

    /// A fresh receipt id.
    pub fn receipt(&self, now: Timestamp) -> Result<ReceiptId, StoreError> {
        self.mint(now).map(|(ms, random)| ReceiptId::mint(ms, random))
    }

    /// Time and randomness of the next id. The first 12 random bits of a UUIDv7 count up within a
    /// millisecond; a full counter or a clock that went back borrows from the future.
    fn mint(&self, now: Timestamp) -> Result<(u64, [u8; 10]), StoreError> {
        let mut random = self.source.random()?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let ms = u64::try_from(now.unix_ms()).unwrap_or(0);
        *last = match *last {
            (before, _) if ms > before => (ms, 0),
            (before, 0x0fff) => (before + 1, 0),
            (before, counter) => (before, counter + 1),
        };
        random[..2].copy_from_slice(&last.1.to_be_bytes());
        Ok((last.0, random))
    }
}
