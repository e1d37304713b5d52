//! Chooses operations on runs and tokens: mostly what the holder of a run would do
//! next, sometimes what somebody does who has lost it.

use ah_model::limits::{CALLBACK_ATTEMPTS_MAX, STOP_AGAIN_MS};
use ah_model::{
    Demands, ExecutionMode, ExecutorId, Exit, Lease, NewRun, NewSession, NewToken, Offer,
    RequestKey, Run, RunClaim, RunEnd, RunFilter, RunId, RunKind, RunOutcome, RunStatus, SessionId,
    SessionStatus, SessionUpdate, TokenId, TokenRole, TokenSecret,
};

use super::super::operation::RunOperation;
use super::{Chooser, METADATA, Operation, PAYLOADS};
use crate::given::{draft_fields, json, kind, new_task, note, repo};

pub(super) const EXECUTORS: [&str; 4] = ["e1", "e2", "E1", "spiffe://x/y?z=%20"];
const TOKENS: [&str; 4] = ["t1", "t2", "T1", "t~"];
/// Sessions that are brought by their first run.
const BROUGHT: [&str; 8] = ["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"];

impl Chooser<'_> {
    /// One flat table, the frequent first.
    pub(super) fn run_operation(&mut self) -> Operation {
        use RunOperation as Op;
        let operation = match self.random.below(87) {
            0..=11 => Op::Create(Box::new(self.new_run())),
            12..=22 => Op::Claim(self.claim()),
            23..=29 => Op::Start(self.lease()),
            30..=36 => Op::Finish(self.lease(), self.run_end()),
            37..=39 => Op::Sweep,
            40..=42 => Op::Renew(self.lease(), self.lease_ms()),
            43..=45 => Op::Bind(self.lease(), Box::new(self.session_update())),
            46..=48 => Op::Append(self.lease(), self.events()),
            49 | 50 => Op::StopSession(self.live_session()),
            51 | 52 => Op::Stop(self.lease().run_id),
            53..=55 => Op::StopOrders(self.asked_executor()),
            56 | 57 => Op::Callbacks(self.parent()),
            58 => Op::List(self.run_filter(), self.start()),
            59 => match self.random.one_in(2) {
                true => Op::OfSession(self.run_session()),
                false => Op::Run(self.run_id()),
            },
            60 => Op::Restore(Box::new(self.elsewhere())),
            61 => return Operation::DeleteSession(self.run_session()),
            62..=65 => return self.keyed_operation(),
            66..=83 => return Operation::Executors(self.executor_operation()),
            _ => self.token_operation(),
        };
        Operation::Runs(operation)
    }

    fn token_operation(&mut self) -> RunOperation {
        use RunOperation as Op;
        let id: TokenId = self.random.pick(&TOKENS).parse().unwrap();
        match self.random.below(6) {
            0 | 1 => Op::CreateToken(NewToken {
                hash: TokenSecret::new(id.clone(), [self.random.pick(&[1, 2]); 32]).hash(),
                id,
                role: self.random.pick(&TokenRole::ALL),
                agent: self.random.one_in(4).then(|| "mira".to_owned()),
                name: self.random.one_in(2).then(|| "☃".to_owned()),
                expires_at: self.random.one_in(2).then(|| self.time()),
            }),
            2 => Op::Credentials(id),
            3 => Op::ListTokens(self.start()),
            4 => Op::RevokeToken(id),
            _ => Op::TokenUsed(id),
        }
    }

    /// One of a few requests under a key that changes with the half hour, so that many come twice and
    /// some meet the key of another.
    fn keyed_operation(&mut self) -> Operation {
        use Operation as Op;
        let number = self.random.below(7);
        let other = match self.random.one_in(4) {
            true => "2",
            false => "1",
        };
        let mut session = NewSession::new(repo("/r/1"), kind("codex"));
        session.title = Some(other.to_owned());
        let events = vec![note(other)];
        let operation = match number {
            0 => Op::CreateSession(Box::new(session)),
            1 => Op::AppendEvents("s1".parse().unwrap(), events),
            2 => Op::AppendEvents("w1".parse().unwrap(), events),
            3 => Op::Runs(RunOperation::Claim(RunClaim {
                executor_id: "e1".parse().unwrap(),
                offer: Offer { tags: vec![other.to_owned()], ..Offer::default() },
                lease_ms: 5_000,
                run_id: None,
            })),
            4 => Op::CreateTask(new_task(other)),
            5 => Op::SaveDraft(None, draft_fields(other)),
            _ => Op::Runs(RunOperation::StopSession(format!("w{other}").parse().unwrap())),
        };
        self.under_key(&number.to_string(), operation)
    }

    /// The operation under a key that changes with the half hour.
    pub(super) fn under_key(&mut self, name: &str, operation: Operation) -> Operation {
        let name = format!("{name} at {}", self.now.unix_ms() / 1_800_000);
        let request = format!("{operation:?}");
        let key = RequestKey::new(name, [request.as_bytes()]).unwrap();
        Operation::Keyed(key, Box::new(operation))
    }

    pub(super) fn executor_id(&mut self) -> ExecutorId {
        if self.executors.is_empty() || self.random.one_in(2) {
            return self.random.pick(&EXECUTORS).parse().unwrap();
        }
        self.random.pick(&self.executors)
    }

    pub(super) fn offer(&mut self) -> Offer {
        let host = self.random.pick(&["h1", "h2", "Fix ☃"]);
        let tags: &[&str] = match self.random.one_in(20) {
            true => &[""],
            false => self.random.pick(&[&[], &["a"][..], &["a", "b"]]),
        };
        Offer {
            hostname: self.random.one_in(2).then(|| host.to_owned()),
            executor_profile: self.random.one_in(4).then(|| "p".to_owned()),
            tags: tags.iter().map(ToString::to_string).collect(),
            require_matching_tags: self.random.one_in(8),
            ..Offer::default()
        }
    }

    /// Mostly nothing; a resume demands its host anyway.
    fn demands(&mut self) -> Demands {
        let host = self.random.pick(&["h1", "h2"]);
        let tags: &[&str] = self.random.pick(&[&[], &[], &["a"][..], &["b", "a"]]);
        match self.random.one_in(4) {
            false => Demands::default(),
            true => Demands {
                hostname: self.random.one_in(2).then(|| host.to_owned()),
                tags: tags.iter().map(ToString::to_string).collect(),
                labels: self.executor_labels(),
                os: self.random.one_in(6).then(|| "linux".to_owned()),
                cpu_cores: self.random.pick(&[None, None, None, Some(4)]),
                ..Demands::default()
            },
        }
    }

    fn claim(&mut self) -> RunClaim {
        let waiting = self.runs.iter().filter(|run| run.status == RunStatus::Pending);
        let waiting: Vec<Run> = waiting.cloned().collect();
        let offer = match waiting.is_empty() || self.random.one_in(3) {
            true => self.offer(),
            false => offer_for(&self.random.pick(&waiting).demands),
        };
        RunClaim {
            executor_id: self.executor_id(),
            offer,
            lease_ms: self.lease_ms(),
            run_id: self.random.one_in(4).then(|| self.run_id()),
        }
    }

    /// Seldom one that is too short.
    pub(super) fn lease_ms(&mut self) -> u64 {
        match self.random.one_in(15) {
            true => 999,
            false => self.random.pick(&[1_000, 9_000, 9_000, 30_000, 90_000]),
        }
    }

    /// Mostly that of a run that somebody holds.
    pub(super) fn lease(&mut self) -> Lease {
        let held = self.runs.iter().filter(|run| {
            matches!(run.status, RunStatus::Claimed | RunStatus::Running | RunStatus::Stopping)
        });
        let held: Vec<Run> = held.cloned().collect();
        let run = match held.is_empty() || self.random.one_in(8) {
            true if self.runs.is_empty() => return unknown(),
            true => self.random.pick(&self.runs),
            false => self.random.pick(&held),
        };
        let epoch = match self.random.below(12) {
            0 => run.lease_epoch.saturating_sub(1),
            1 => run.lease_epoch + 1,
            _ => run.lease_epoch,
        };
        Lease { epoch, ..run.lease() }
    }

    fn run_id(&mut self) -> RunId {
        match self.runs.is_empty() || self.random.one_in(12) {
            true => unknown().run_id,
            false => self.random.pick(&self.runs).id,
        }
    }

    /// Mostly a session that has, or had, a run.
    fn run_session(&mut self) -> SessionId {
        match self.runs.is_empty() || self.random.one_in(5) {
            true => self.session_id(),
            false => self.random.pick(&self.runs).session_id,
        }
    }

    /// Mostly a session that is at work.
    fn live_session(&mut self) -> SessionId {
        let live = self.runs.iter().filter(|run| run.status.is_live() && run.lease_epoch > 0);
        let live: Vec<_> = live.map(|run| run.session_id.clone()).collect();
        match live.is_empty() || self.random.one_in(3) {
            true => self.run_session(),
            false => self.random.pick(&live),
        }
    }

    /// Mostly a session that somebody may call back.
    fn parent(&mut self) -> SessionId {
        let parents = self.runs.iter().filter_map(|run| run.parent_session_id.clone());
        let parents: Vec<_> = parents.collect();
        match parents.is_empty() || self.random.one_in(5) {
            true => self.run_session(),
            false => self.random.pick(&parents),
        }
    }

    /// Mostly an executor that has something to stop.
    fn asked_executor(&mut self) -> ExecutorId {
        let asked = self.runs.iter().filter(|run| run.status == RunStatus::Stopping);
        let asked: Vec<_> = asked.filter_map(|run| run.executor_id.clone()).collect();
        match asked.is_empty() || self.random.one_in(5) {
            true => self.executor_id(),
            false => self.random.pick(&asked),
        }
    }

    /// Of a session that fits, half of the time; one that it brings; or of any.
    fn new_run(&mut self) -> NewRun {
        let live: Vec<_> = self.runs.iter().filter(|run| run.status.is_live()).collect();
        let free = self.sessions.iter().filter(|session| {
            !matches!(session.status, SessionStatus::Running | SessionStatus::Stopping)
                && !live.iter().any(|run| run.session_id == session.id)
        });
        let free: Vec<_> = free.cloned().collect();
        let parameters = json(self.random.pick(&METADATA));
        let mut new = match self.random.below(8) {
            0..=3 if !free.is_empty() => {
                let session = self.random.pick(&free);
                let kind = match session.status {
                    SessionStatus::Created => RunKind::Start,
                    _ => RunKind::Resume,
                };
                NewRun::new(session.id, kind, parameters)
            }
            4..=6 => {
                let id: SessionId = self.random.pick(&BROUGHT).parse().unwrap();
                let mut new = NewRun::new(id.clone(), RunKind::Start, parameters);
                new.session = Some(Box::new(NewSession { id: Some(id), ..self.new_session() }));
                new
            }
            _ => {
                let kind = self.random.pick(&[RunKind::Start, RunKind::Resume]);
                NewRun::new(self.session_id(), kind, parameters)
            }
        };
        let number = self.random.number();
        new.id = match self.random.below(12) {
            // Never one that was there before and went with its session.
            0 | 1 => Some(format!("x{number}").parse().unwrap()),
            2 if !self.runs.is_empty() => Some(self.random.pick(&self.runs).id),
            _ => None,
        };
        let modes = [ExecutionMode::AsyncCallback, ExecutionMode::AsyncCallback];
        let modes = [&modes[..], &[ExecutionMode::Sync, ExecutionMode::AsyncPoll]].concat();
        new.execution_mode = self.random.pick(&modes);
        new.demands = self.demands();
        new.parent_session_id = (!self.random.one_in(4)).then(|| self.run_session());
        new.timeout_ms = match self.random.one_in(25) {
            true => Some(0),
            false => self.random.pick(&[None, None, None, Some(1), Some(20_000)]),
        };
        new.requeue = self.random.one_in(3);
        new.requested_by = self.maybe_user();
        new
    }

    pub(super) fn run_end(&mut self) -> RunEnd {
        let outcomes = [RunOutcome::Completed, RunOutcome::Completed, RunOutcome::Failed];
        let failed = self.random.one_in(3);
        let code = self.random.pick(&[None, Some(0), Some(-1)]);
        RunEnd {
            outcome: match self.random.one_in(6) {
                true => RunOutcome::Stopped,
                false => self.random.pick(&outcomes),
            },
            error: failed.then(|| self.text()),
            result: self.random.one_in(2).then(|| json(self.random.pick(&PAYLOADS))),
            idle: self.random.one_in(2),
            exit: Exit { code, signal: None, reason: self.maybe_text() },
        }
    }

    pub(super) fn session_update(&mut self) -> SessionUpdate {
        let host = self.random.pick(&["h1", "h2"]);
        SessionUpdate {
            project_dir: self.maybe_text(),
            hostname: self.random.one_in(3).then(|| host.to_owned()),
            executor_profile: self.random.one_in(6).then(|| "p".to_owned()),
            log_path: self.maybe_text(),
            pid_agent: self.random.one_in(3).then_some(7),
            agent: self.random.one_in(6).then(|| self.agent()),
            last_resumed_at: self.random.one_in(6).then(|| self.time()),
            ..SessionUpdate::default()
        }
    }

    fn run_filter(&mut self) -> RunFilter {
        let mut filter = RunFilter::default();
        for _ in 0..self.random.below(3) {
            match self.random.below(3) {
                0 => filter.statuses.push(self.random.pick(&RunStatus::ALL)),
                1 => filter.session_id = Some(self.run_session()),
                _ => filter.executor_id = Some(self.executor_id()),
            }
        }
        filter
    }

    /// A run as an export would have it: one that ended here, or that ended elsewhere.
    fn elsewhere(&mut self) -> Run {
        let ended = self.runs.iter().filter(|run| !run.status.is_live());
        let mut ended: Vec<Run> = ended.cloned().collect();
        ended.truncate(20);
        if let Some(run) = ended.first().filter(|_| self.random.one_in(4)) {
            return run.clone();
        }
        let number = self.random.number();
        let new = NewRun {
            execution_mode: ExecutionMode::AsyncCallback,
            parent_session_id: self.random.one_in(2).then(|| self.run_session()),
            ..NewRun::new(self.run_session(), RunKind::Start, json("{}"))
        };
        let at = self.time();
        let id: RunId = format!("x{number}").parse().unwrap();
        let session = ah_model::Session::created(
            NewSession::new(repo("/r/1"), kind("codex")),
            new.session_id.clone(),
            0,
            at,
        );
        let mut run = Run::queued(new, id, &session, at);
        run.end(&RunEnd { error: None, ..self.run_end() }, at);
        run
    }
}

/// What meets `demands` and nothing more.
fn offer_for(demands: &Demands) -> Offer {
    let demands = demands.clone();
    Offer {
        hostname: demands.hostname,
        project_dir: demands.project_dir,
        executor_profile: demands.executor_profile,
        executor_type: demands.executor_type,
        tags: demands.tags,
        require_matching_tags: false,
    }
}

fn unknown() -> Lease {
    Lease { run_id: "r1".parse().unwrap(), epoch: 1 }
}

/// How far a clock jumps so that something becomes due, and no further.
pub(in super::super) const JUMPS_MS: [u64; 3] =
    [STOP_AGAIN_MS + 1, 31_001, 7_001 * CALLBACK_ATTEMPTS_MAX];
