//! A session as a document to keep, part by part: no memory of its length, and no thread for a slow
//! reader.

use ah_model::SessionId;
use ah_store::{BoxError, SessionExport};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::answer::Answer;
use crate::extract::PathId;
use crate::parts::{self, Parts};
use crate::problem::Failure;
use crate::state::ServerState;

/// A value of JSON in every line.
pub(super) const LINES: &str = "application/x-ndjson";

pub(super) async fn export(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
) -> Answer {
    let file = attachment(&id)?;
    let begun = state.call(|store| async move { SessionExport::begin(&*store, id).await });
    let export = begun.await?;
    let mut answer = Response::new(parts::body(Exporting { state, export }));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(LINES));
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, file);
    Ok(answer)
}

/// What a browser calls the file. Ids may hold what names of files may not.
fn attachment(id: &SessionId) -> Result<HeaderValue, Failure> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = id.as_str().chars().map(plain).collect();
    let value = format!("attachment; filename=\"session-{name}.jsonl\"");
    HeaderValue::from_str(&value).map_err(|error| Failure::internal(error.to_string()))
}

struct Exporting {
    state: ServerState,
    export: SessionExport,
}

impl Parts for Exporting {
    async fn part(self) -> Result<Option<(Bytes, Self)>, BoxError> {
        let Self { state, mut export } = self;
        let read = state.call(|store| async move {
            let part = export.part(&*store).await?;
            Ok(part.map(|part| (part, export)))
        });
        let read = read.await.map_err(|failure| failure.problem().title.clone())?;
        Ok(read.map(|(part, export)| (part.into(), Self { state, export })))
    }
}
