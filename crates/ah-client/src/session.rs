//! Sessions.

use ah_model::{
    ExportHeader, NewSession, Origin, Page, PageRequest, Session, SessionFilter, SessionId,
    SessionUpdate, StatusChange,
};
use ah_store::{SessionFork, Sessions, StoreError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Deserialize)]
struct Found {
    // Without this an absent key would be taken for none.
    #[serde(deserialize_with = "Option::deserialize")]
    session: Option<Session>,
}

#[derive(Serialize)]
struct Title {
    title: String,
}

#[derive(Serialize)]
struct Pinned {
    pinned: bool,
}

/// The session itself.
pub(crate) fn session_of(id: &SessionId) -> Target {
    Target::new(["sessions", id.as_str()])
}

/// A part of the session.
pub(crate) fn session_target(id: &SessionId, part: &str) -> Target {
    Target::new(["sessions", id.as_str(), part])
}

#[async_trait]
impl Sessions for RestStore {
    async fn create_session(&self, session: NewSession) -> Result<Session, StoreError> {
        self.create(Method::POST, &Target::new(["sessions"]), &session)
    }

    async fn session(&self, id: SessionId) -> Result<Session, StoreError> {
        self.http.get(&session_of(&id))
    }

    async fn session_of_origin(&self, origin: Origin) -> Result<Option<Session>, StoreError> {
        let target = Target::new(["session-origins"])
            .pair("source", origin.source)
            .pair("externalId", origin.external_id);
        self.http.get(&target).map(|Found { session }| session)
    }

    async fn session_ids_with_prefix(&self, prefix: String) -> Result<Vec<SessionId>, StoreError> {
        self.http.items(Target::new(["session-ids"]).pair("prefix", prefix))
    }

    async fn list_sessions(
        &self,
        filter: SessionFilter,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        self.http.list(Target::new(["sessions"]).query(&filter).query(&page))
    }

    async fn set_session_status(
        &self,
        id: SessionId,
        change: StatusChange,
    ) -> Result<Session, StoreError> {
        self.http.send(Method::PUT, &session_target(&id, "status"), &change)
    }

    async fn update_session(
        &self,
        id: SessionId,
        update: SessionUpdate,
    ) -> Result<Session, StoreError> {
        self.http.send(Method::PATCH, &session_of(&id), &update)
    }

    async fn rename_session(&self, id: SessionId, title: String) -> Result<Session, StoreError> {
        self.http.send(Method::PUT, &session_target(&id, "title"), &Title { title })
    }

    async fn pin_session(&self, id: SessionId, pinned: bool) -> Result<Session, StoreError> {
        self.http.send(Method::PUT, &session_target(&id, "pinned"), &Pinned { pinned })
    }

    async fn fork_session(&self, id: SessionId, fork: SessionFork) -> Result<Session, StoreError> {
        self.create(Method::POST, &session_target(&id, "fork"), &fork)
    }

    async fn delete_session(&self, id: SessionId) -> Result<(), StoreError> {
        self.http.delete(&session_of(&id))
    }

    async fn restore_session(&self, header: ExportHeader) -> Result<Session, StoreError> {
        self.http.send(Method::PUT, &session_target(&header.session.id, "export"), &header)
    }
}
