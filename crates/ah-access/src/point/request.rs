//! Requests to executors: each on a stream of its own, with a deadline, answered once.

use ah_model::{Lease, RequestId, Run, RunId};

use super::Point;
use super::input::{Answer, Ask, Asked, ConnectionId, FenceAsk, Output, Stream};
use super::presence::Presence;
use super::work::Work;
use crate::frame::{
    Cancel, Fence, Frame, Launch, Pause, Progress, Reply, ReplyCode, RequestHead, Resume, Stop,
};
use crate::moment::Moment;

/// A request that is not answered.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) until_ms: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    Launch(Lease),
    Stop,
    Asked { token: u64, epoch: u64 },
}

/// How much longer an answer is awaited than the executor may take.
const ANSWER_MS: u64 = 1_000;
/// How long an executor that would not take a run is not asked for it again.
const AVOID_MS: u64 = 30_000;

impl Point {
    pub(super) fn launch(&mut self, now: Moment, id: ConnectionId, run: &Run) {
        let (request, lease_ms) = (self.head(now, None, None), self.options.connection.lease_ms);
        let launch = Launch {
            request: request.clone(),
            run_id: run.id.clone(),
            epoch: run.lease_epoch,
            lease_ms,
            session_id: run.session_id.clone(),
            kind: run.kind,
            parameters: run.parameters.clone(),
            member: run.member.clone(),
        };
        self.counts.launched += 1;
        self.request(now, id, request, What::Launch(run.lease()), launch);
    }

    pub(super) fn stop(&mut self, now: Moment, id: ConnectionId, run_id: &RunId, epoch: u64) {
        let request = self.head(now, None, None);
        let grace_ms = self.options.grace_ms;
        let (run_id, reason) = (run_id.clone(), None);
        let stop = Stop { request: request.clone(), run_id, epoch, grace_ms, reason };
        self.request(now, id, request, What::Stop, stop);
    }

    /// Somebody wants something of the holder of a run.
    pub(super) fn ask(&mut self, now: Moment, ask: Ask) {
        let token = ask.token;
        let holder = self.present.values().copied().find_map(|id| {
            let assignment = self.presence(id)?.assignments.get(&ask.run_id)?;
            Some((id, assignment.epoch))
        });
        let Some((id, epoch)) = holder else {
            return self.out.push(Output::Answer { token, answer: Answer::NotHere });
        };
        let mut request = self.head(now, Some(ask.deadline_ms), ask.actor);
        if let Asked::Dispatch(dispatch) = &ask.what {
            // Who asks again names the same request, and so the same program.
            request.id = dispatch.request.id.clone();
        }
        let (head, run_id) = (request.clone(), ask.run_id);
        let frame: Frame = match ask.what {
            Asked::Pause(mode) => Pause { request, run_id, epoch, mode }.into(),
            Asked::Resume => Resume { request, run_id, epoch }.into(),
            Asked::Cancel => Cancel { request, run_id, epoch, reason: None }.into(),
            Asked::Dispatch(mut dispatch) => {
                (dispatch.request, dispatch.run_id) = (request, run_id);
                Frame::Dispatch(dispatch)
            }
            Asked::Fence(ask) => {
                let FenceAsk { fence_id, step, snapshot, leader } = *ask;
                let (files, bytes) =
                    (snapshot.as_ref().map(|it| it.files), snapshot.as_ref().map(|it| it.bytes));
                let (snapshot, leader) = (snapshot.map(|it| it.name), Some(leader));
                Fence { request, run_id, epoch, fence_id, step, snapshot, files, bytes, leader }
                    .into()
            }
        };
        self.request(now, id, head, What::Asked { token, epoch }, frame);
    }

    fn head(
        &mut self,
        now: Moment,
        deadline_ms: Option<u64>,
        actor: Option<String>,
    ) -> RequestHead {
        self.requests += 1;
        RequestHead {
            id: self.request_id(now),
            deadline_ms: deadline_ms.unwrap_or(self.options.request_ms),
            actor,
            trace: None,
        }
    }

    fn request_id(&self, now: Moment) -> RequestId {
        let mut bytes = [0; 10];
        let count = self.requests.to_be_bytes();
        let parts = self.options.boot.iter().chain(count.iter().skip(4));
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = *part);
        RequestId::mint(u64::try_from(now.wall.unix_ms()).unwrap_or(0), bytes)
    }

    fn request(
        &mut self,
        now: Moment,
        connection: ConnectionId,
        head: RequestHead,
        what: What,
        frame: impl Into<Frame>,
    ) {
        let Some(presence) = self.presence_mut(connection) else { return };
        // Who is asked answers when its time is over, and that has to come.
        let longer_ms = if let What::Asked { .. } = what { ANSWER_MS } else { 0 };
        let open = Open { until_ms: now.ms + head.deadline_ms + longer_ms, what };
        let before = presence.requests.insert(head.id.clone(), open);
        if let Some(Open { what: What::Asked { token, .. }, .. }) = before {
            // The same is asked for again: the answer is for who asked last.
            self.out.push(Output::Answer { token, answer: Answer::Gone });
        }
        self.send(connection, Stream::Request(head.id), frame);
    }

    pub(super) fn replied(
        &mut self,
        now: Moment,
        id: ConnectionId,
        request: &RequestId,
        reply: Reply,
    ) {
        let Some(presence) = self.presence_mut(id) else { return };
        // One that was given up meanwhile.
        let Some(open) = presence.requests.remove(request) else { return };
        match open.what {
            What::Launch(lease) if reply.code != ReplyCode::Done => {
                self.not_taken(now, id, lease);
            }
            What::Launch(_) | What::Stop => {}
            What::Asked { token, epoch } => {
                let answer = Answer::Reply { epoch, reply };
                self.out.push(Output::Answer { token, answer });
            }
        }
    }

    /// Another may take the run.
    fn not_taken(&mut self, now: Moment, id: ConnectionId, lease: Lease) {
        let Some(presence) = self.presence_mut(id) else { return };
        presence.assignments.remove(&lease.run_id);
        presence.avoid.insert(lease.run_id.clone(), now.ms + AVOID_MS);
        self.out.push(Output::Work(Work::Lose { lease }));
        self.want_look();
    }

    pub(super) fn progressed(&mut self, id: ConnectionId, request: &RequestId, said: Progress) {
        let Some(presence) = self.presence_mut(id) else { return };
        if let Some(Open { what: What::Asked { token, .. }, .. }) = presence.requests.get(request) {
            let token = *token;
            self.out.push(Output::Answer { token, answer: Answer::Progress(said) });
        }
    }

    pub(super) fn request_dropped(&mut self, id: ConnectionId, request: &RequestId) {
        let Some(presence) = self.presence_mut(id) else { return };
        if let Some(Open { what: What::Asked { token, .. }, .. }) =
            presence.requests.remove(request)
        {
            self.out.push(Output::Answer { token, answer: Answer::Gone });
        }
    }

    /// Whoever asked wants it no more: the executor hears so by its stream.
    pub(super) fn take_back(&mut self, token: u64) {
        let present: Vec<ConnectionId> = self.present.values().copied().collect();
        for connection in present {
            let Some(presence) = self.presence_mut(connection) else { continue };
            let is_it = |_: &RequestId, open: &mut Open| matches!(open.what, What::Asked { token: its, .. } if its == token);
            let over: Vec<_> = presence.requests.extract_if(.., is_it).collect();
            let drops =
                over.into_iter().map(|(request, _)| Output::DropRequest { connection, request });
            self.out.extend(drops);
        }
    }

    pub(super) fn expire_requests(&mut self, now: Moment, id: ConnectionId) {
        let Some(presence) = self.presence_mut(id) else { return };
        presence.avoid.retain(|_, until_ms| !now.is_past(*until_ms));
        let over = presence.requests.extract_if(.., |_, open| now.is_past(open.until_ms));
        let over: Vec<(RequestId, Open)> = over.collect();
        for (request, open) in over {
            self.out.push(Output::DropRequest { connection: id, request });
            if let What::Asked { token, .. } = open.what {
                self.out.push(Output::Answer { token, answer: Answer::TimedOut });
            }
        }
    }

    /// Whoever waits for an executor that went hears so.
    pub(super) fn answer_gone(&mut self, presence: &mut Presence) {
        for open in std::mem::take(&mut presence.requests).into_values() {
            if let What::Asked { token, .. } = open.what {
                self.out.push(Output::Answer { token, answer: Answer::Gone });
            }
        }
    }
}
