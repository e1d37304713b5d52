//! Programs beside runs, asked for until somebody says whether they were started.

use std::time::{Duration, Instant};

use super::input::{Answer, Asked};
use super::serve::PointHandle;
use crate::frame::{Dispatch, Reply, ReplyCode};

/// How long an executor may take to start a program.
const TRY: Duration = Duration::from_secs(8);
/// How long it is tried in all: longer than an executor needs to come again.
const TRIES: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_millis(200);

/// What came of a dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispatchEnd {
    /// It was started, or had been.
    Begun,
    /// Nothing was started, for that reason.
    Refused(String),
    /// Nobody who is connected here holds the run.
    NotHere,
    /// It may have been started: the same request asked for again finds it.
    Unknown,
}

impl PointHandle {
    /// Has a program started beside a run. An executor that goes away before it has answered is asked
    /// again when it is back: its request is known by its id, and starts nothing twice.
    pub async fn dispatch(&self, dispatch: Dispatch) -> DispatchEnd {
        let until = Instant::now() + TRIES;
        let mut is_sent = false;
        loop {
            let end = match self.dispatch_once(dispatch.clone()).await {
                Answer::Reply { reply: Reply { code: ReplyCode::Done, .. }, .. } => {
                    return DispatchEnd::Begun;
                }
                Answer::Reply { reply: Reply { code, detail, .. }, .. } => {
                    let detail = detail.unwrap_or_default();
                    return DispatchEnd::Refused(format!("{}: {detail}", code.as_str()));
                }
                Answer::NotHere if !is_sent => return DispatchEnd::NotHere,
                Answer::NotHere | Answer::Gone | Answer::TimedOut | Answer::Progress(_) => {
                    DispatchEnd::Unknown
                }
            };
            is_sent = true;
            if Instant::now() + PAUSE >= until {
                return end;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn dispatch_once(&self, dispatch: Dispatch) -> Answer {
        let (run_id, actor) = (dispatch.run_id.clone(), dispatch.request.actor.clone());
        let asked = Asked::Dispatch(Box::new(dispatch));
        let mut answers = self.ask(run_id, actor, TRY, asked).await;
        loop {
            match answers.recv().await {
                Some(Answer::Progress(_)) => {}
                Some(answer) => return answer,
                // The access point has stopped.
                None => return Answer::Gone,
            }
        }
    }
}
