//! A session's log that is followed over HTTP: the server is asked again and again, and waits a
//! while before it says that there is nothing.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ah_model::{Event, EventQuery, PageLimit, SessionId};
use ah_store::{EventWatch, StoreError};
use async_trait::async_trait;

use crate::http::Http;
use crate::session::session_target;

/// How long the server may wait before it answers that nothing came.
pub(crate) const WAIT: Duration = Duration::from_secs(20);
/// Shortest time between two empty answers: a server that does not wait, because it goes down or
/// knows no waiting, is not asked without a pause.
pub(crate) const EMPTY_PAUSE: Duration = Duration::from_millis(200);

/// Reads behind `after`. An error changes nothing: the next call goes on where this one was.
pub(crate) struct RestWatch {
    http: Arc<Http>,
    session: SessionId,
    after: u64,
}

impl RestWatch {
    pub(crate) fn new(http: Arc<Http>, session: SessionId, after: u64) -> Self {
        Self { http, session, after }
    }

    fn poll(&self) -> Result<Vec<Event>, StoreError> {
        let (after, limit) = (self.after, PageLimit::MAX);
        let target = session_target(&self.session, "events")
            .query(&EventQuery { after, limit, ..EventQuery::default() })
            .pair("wait", WAIT.as_secs().to_string());
        self.http.items_within(target, WAIT)
    }
}

#[async_trait]
impl EventWatch for RestWatch {
    async fn next(&mut self) -> Result<Vec<Event>, StoreError> {
        loop {
            let asked = Instant::now();
            let events = self.poll()?;
            if let Some(last) = events.last() {
                self.after = last.seq;
                return Ok(events);
            }
            thread::sleep(EMPTY_PAUSE.saturating_sub(asked.elapsed()));
        }
    }
}

#[cfg(test)]
mod tests {
    use ah_model::{NewRepo, NewSession, Session, Timestamp, Vcs};
    use ah_store::{Events, Kind, block_on};

    use super::*;
    use crate::test_server::{Answer, TestServer};

    const MISSING: &str = r#"{"code":"not-found","kind":"session","id":"s"}"#;

    fn id() -> SessionId {
        "s".parse().unwrap()
    }

    fn session() -> String {
        let root_path = Some("/r".to_owned());
        let repo = NewRepo { vcs: Vcs::Git, root_path, remote_url: None, default_branch: None };
        let new = NewSession::new(repo, "codex".parse().unwrap());
        serde_json::to_string(&Session::created(new, id(), 1, Timestamp::EPOCH)).unwrap()
    }

    fn events(seqs: &[u64]) -> Answer {
        let event = |seq| {
            let ts = "2026-01-01T00:00:00Z";
            format!(r#"{{"sessionId":"s","seq":{seq},"ts":"{ts}","type":"x","data":0}}"#)
        };
        let items: Vec<_> = seqs.iter().map(event).collect();
        Answer::json(&format!(r#"{{"items":[{}]}}"#, items.join(",")))
    }

    #[test]
    fn a_session_that_is_not_there_cannot_be_followed() {
        let server = TestServer::new(|_, _| Answer::problem(404, MISSING));
        let refused = block_on(server.store().watch_events(id(), 0)).err();
        assert!(matches!(refused, Some(StoreError::NotFound { kind: Kind::Session, .. })));
    }

    #[test]
    fn a_log_is_followed_through_silence_and_errors_until_it_is_gone() {
        let session = session();
        let server = TestServer::new(move |n, _| match n {
            0 => Answer::json(&session),
            1 => events(&[3, 4]),
            2 => events(&[]),
            3 => Answer::HangUp,
            4 => Answer::problem(503, r#"{"code":"busy"}"#),
            5 => events(&[5]),
            _ => Answer::problem(404, MISSING),
        });
        let mut watch = block_on(server.store().watch_events(id(), 2)).unwrap();
        let mut next = || {
            let events = block_on(watch.next())?;
            Ok::<_, StoreError>(events.iter().map(|event| event.seq).collect::<Vec<_>>())
        };
        assert_eq!(next().unwrap(), [3, 4]);
        assert!(matches!(next(), Err(StoreError::Busy { .. })));
        assert_eq!(next().unwrap(), [5]);
        assert!(matches!(next(), Err(StoreError::NotFound { kind: Kind::Session, .. })));
        let ask = |after| {
            format!("GET /api/v1/sessions/s/events?after={after}&order=oldest&limit=1000&wait=20")
        };
        let asked = [2, 4, 4, 4, 4, 5].map(ask);
        assert_eq!(server.lines()[1..], asked);
    }

    #[test]
    fn a_server_may_wait_longer_than_other_requests_may_take() {
        let session = session();
        let timeout = Duration::from_millis(100);
        let server = TestServer::new(move |n, _| match n {
            0 => Answer::json(&session),
            _ => {
                thread::sleep(timeout * 3);
                events(&[1])
            }
        });
        let options = crate::RestOptions { timeout, ..server.options() };
        let store = crate::RestStore::connect(options).unwrap();
        let mut watch = block_on(store.watch_events(id(), 0)).unwrap();
        assert_eq!(block_on(watch.next()).unwrap().len(), 1);
    }
}
