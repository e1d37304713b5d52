//! Fences: which member is asked for what, and what of its answer the store hears.
//!
//! No sockets and no store in here, as in [`super::Point`]. All truth is the store's: what is known here
//! is only who is being asked, so that an access point that begins again asks again, and several of
//! them that share a store do no harm to each other.
//!
//! Invariants: a member is asked one thing at a time; what is reported shows the claim under which the
//! executor that answered holds the member's run.

mod drive;

use std::collections::BTreeMap;

use ah_model::{
    Fence, FenceId, FenceMember, FenceReport, FenceSaid, FenceStatus, Lease, RunId, Snapshot,
};
use ah_store::StoreError;

pub(super) use self::drive::drive;
use super::input::{Answer, FenceAsk};
use crate::frame::{FenceStep, Reply, ReplyCode};
use crate::moment::Moment;

/// Most members that are asked at a time.
const ASKS_MAX: usize = 256;
/// When a member is asked again that could not be asked, or did not answer.
const AGAIN_MS: u64 = 500;
/// How long a request may take at most; a fence may take longer.
const ASK_MS_MAX: u64 = 60 * 60 * 1_000;
/// What is left of a fence's time for the answer: a quarter, at most so much.
const ANSWER_MS_MAX: u64 = 1_000;

/// A member at a fence, by its run.
pub type Key = (FenceId, RunId);

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// Ask the holder of a member's run.
    Ask {
        /// Whom: comes back with the answer.
        key: Key,
        /// On whose behalf.
        actor: Option<String>,
        /// How long it may take.
        deadline_ms: u64,
        /// What.
        what: Box<FenceAsk>,
    },
    /// What was asked is wanted no more.
    TakeBack(Key),
    /// Tell the store.
    Report {
        /// Of whom: comes back with what the store says.
        key: Key,
        /// What.
        report: FenceReport,
    },
}

/// How things stand with a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// It is being asked; `is_last` if the fence is over with the request.
    Asked { is_last: bool },
    /// The store is being told what it said.
    Reported,
    /// To be asked from then on.
    Later { at_ms: u64 },
}

/// Brings open fences to their end.
#[derive(Debug, Default)]
pub struct Fencer {
    fences: BTreeMap<FenceId, Fence>,
    members: BTreeMap<Key, Standing>,
    out: Vec<Deed>,
}

impl Fencer {
    /// Whether there is a fence to watch.
    pub fn is_at_work(&self) -> bool {
        !self.fences.is_empty()
    }

    /// These are all fences that are open.
    pub fn looked(&mut self, now: Moment, open: Vec<Fence>) -> Vec<Deed> {
        self.fences = open.into_iter().map(|fence| (fence.id.clone(), fence)).collect();
        self.go_on(now)
    }

    /// A member has answered.
    pub fn answered(&mut self, now: Moment, key: &Key, answer: Answer) -> Vec<Deed> {
        let Some(Standing::Asked { is_last }) = self.members.get(key).copied() else {
            return Vec::new();
        };
        let said =
            self.fences.get(&key.0).zip(reply_of(answer)).and_then(|(fence, (epoch, reply))| {
                let lease = Lease { run_id: key.1.clone(), epoch };
                let what = said(fence, reply, is_last)?;
                Some(FenceReport { fence_id: key.0.clone(), lease, what })
            });
        match said {
            Some(report) => {
                self.members.insert(key.clone(), Standing::Reported);
                self.out.push(Deed::Report { key: key.clone(), report });
            }
            None => self.ask_later(now, key),
        }
        self.go_on(now)
    }

    /// The store has heard what a member said, or has not.
    pub fn reported(
        &mut self,
        now: Moment,
        key: &Key,
        result: Result<Fence, StoreError>,
    ) -> Vec<Deed> {
        // Whatever the store did not take: the next look shows whether the member is still awaited.
        self.ask_later(now, key);
        if let Ok(fence) = result {
            if fence.status.is_open() {
                self.fences.insert(fence.id.clone(), fence);
            } else {
                self.fences.remove(&fence.id);
            }
        }
        self.go_on(now)
    }

    fn ask_later(&mut self, now: Moment, key: &Key) {
        self.members.insert(key.clone(), Standing::Later { at_ms: now.ms + AGAIN_MS });
    }

    fn go_on(&mut self, now: Moment) -> Vec<Deed> {
        let fences = &self.fences;
        let is_over = |(fence, run): &Key, _: &mut Standing| {
            let fence = fences.get(fence);
            !fence.is_some_and(|fence| fence.awaited().any(|member| member.run_id == *run))
        };
        for (key, standing) in self.members.extract_if(.., is_over) {
            if let Standing::Asked { .. } = standing {
                self.out.push(Deed::TakeBack(key));
            }
        }
        self.ask_due(now);
        std::mem::take(&mut self.out)
    }

    fn ask_due(&mut self, now: Moment) {
        let is_busy = |standing: &&Standing| !matches!(standing, Standing::Later { .. });
        let mut room = ASKS_MAX.saturating_sub(self.members.values().filter(is_busy).count());
        for fence in self.fences.values() {
            let Some(left_ms) = left_ms(fence, now) else { continue };
            let (deadline_ms, is_last) = match left_ms - (left_ms / 4).min(ANSWER_MS_MAX) {
                ms if ms > ASK_MS_MAX => (ASK_MS_MAX, false),
                ms => (ms.max(1), true),
            };
            for member in fence.awaited() {
                let key = (fence.id.clone(), member.run_id.clone());
                let is_due = match self.members.get(&key) {
                    None => true,
                    Some(Standing::Later { at_ms }) => now.is_past(*at_ms),
                    Some(Standing::Asked { .. } | Standing::Reported) => false,
                };
                if !is_due || room == 0 {
                    continue;
                }
                room -= 1;
                self.members.insert(key.clone(), Standing::Asked { is_last });
                let (actor, what) = (fence.requested_by.clone(), Box::new(ask_of(fence, member)));
                self.out.push(Deed::Ask { key, actor, deadline_ms, what });
            }
        }
    }
}

/// How much time a fence has; none when it is over, which a sweep says.
fn left_ms(fence: &Fence, now: Moment) -> Option<u64> {
    let left = fence.deadline_at.unix_ms().saturating_sub(now.wall.unix_ms());
    u64::try_from(left).ok().filter(|left| *left > 0)
}

fn ask_of(fence: &Fence, member: &FenceMember) -> FenceAsk {
    let step = if member.name == fence.leader { FenceStep::Snapshot } else { FenceStep::Pull };
    FenceAsk {
        fence_id: fence.id.clone(),
        step,
        snapshot: fence.snapshot.clone(),
        leader: fence.leader.clone(),
    }
}

/// What an executor said; nothing if it said nothing.
fn reply_of(answer: Answer) -> Option<(u64, Reply)> {
    match answer {
        Answer::Reply { epoch, reply } => Some((epoch, reply)),
        Answer::Progress(_) | Answer::TimedOut | Answer::Gone | Answer::NotHere => None,
    }
}

/// What the store hears of a reply; nothing if the member is to be asked again.
fn said(fence: &Fence, reply: Reply, is_last: bool) -> Option<FenceSaid> {
    let Reply { code, detail, data, .. } = reply;
    let word = code.as_str();
    match code {
        ReplyCode::Done => Some(match serde_json::from_str::<Snapshot>(data.as_str()) {
            Ok(snapshot) => reached(fence, snapshot),
            Err(_) => error(format!("its executor named no files: {}", data.as_str())),
        }),
        ReplyCode::Expired if is_last => Some(FenceSaid::Timeout { detail }),
        ReplyCode::Failed => Some(error(detail.unwrap_or_else(|| word.to_owned()))),
        ReplyCode::Unsupported => {
            let detail = detail.unwrap_or_else(|| "its software is older than fences".to_owned());
            Some(error(format!("its executor cannot reach fences: {detail}")))
        }
        // It may hold the run in a moment, or another may.
        ReplyCode::Expired
        | ReplyCode::Rejected
        | ReplyCode::UnknownRun
        | ReplyCode::StaleEpoch
        | ReplyCode::Cancelled
        | ReplyCode::Other => None,
    }
}

fn reached(fence: &Fence, snapshot: Snapshot) -> FenceSaid {
    match (fence.status, &fence.snapshot) {
        (FenceStatus::Snapshot, _) => FenceSaid::Snapshot(snapshot),
        (_, Some(wanted)) if wanted.name == snapshot.name => FenceSaid::Consistent {},
        (..) => error(format!("its executor reached {}, which is another snapshot", snapshot.name)),
    }
}

/// A reason of any length as the store keeps it.
fn error(detail: String) -> FenceSaid {
    let end = detail.floor_char_boundary(ah_model::limits::SHORT_TEXT_BYTES_MAX);
    FenceSaid::Error { detail: detail.get(..end).unwrap_or_default().to_owned() }
}
