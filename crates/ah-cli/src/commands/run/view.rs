//! Runs as people read them.

use ah_model::{Demands, Run, Timestamp};

use crate::output::{cut, fields, printable, printable_lines};
use crate::when::ago;

const REASON_CHARS: usize = 60;

pub(crate) const HEADER: &[&str] =
    &["ID", "STATUS", "KIND", "SESSION", "MEMBER", "EXECUTOR", "QUEUED", "WHY"];

pub(crate) fn row(run: &Run, now: Timestamp) -> Vec<String> {
    let why = run.error.as_deref().unwrap_or("");
    vec![
        run.id.to_string(),
        run.status.to_string(),
        run.kind.as_str().to_owned(),
        run.session_id.to_string(),
        member(run),
        run.executor_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        ago(run.created_at, now),
        printable(&cut(why, REASON_CHARS)),
    ]
}

pub(crate) fn run(run: &Run) -> String {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let head = fields(&[
        ("id", run.id.to_string()),
        ("status", run.status.to_string()),
        ("kind", run.kind.as_str().to_owned()),
        ("session", run.session_id.to_string()),
        ("member", member(run)),
        ("parent", run.parent_session_id.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("mode", run.execution_mode.as_str().to_owned()),
        ("demands", demands(&run.demands)),
        ("executor", run.executor_id.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("epoch", run.lease_epoch.to_string()),
        ("lease until", time(run.lease_expires_at)),
        ("stop asked", time(run.stop_requested_at)),
        ("queued", run.created_at.to_string()),
        ("fails if not taken by", time(run.take_by)),
        ("started", time(run.started_at)),
        ("ended", time(run.ended_at)),
        ("error", printable(run.error.as_deref().unwrap_or(""))),
        ("result", run.result.as_ref().map(|json| printable(json.as_str())).unwrap_or_default()),
    ]);
    format!("{head}\n{}", printable_lines(run.parameters.as_str()))
}

/// Whom of the session's fleet it holds, or whose step it is.
fn member(run: &Run) -> String {
    run.member.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn demands(demands: &Demands) -> String {
    let parts = [
        ("hostname", &demands.hostname),
        ("project-dir", &demands.project_dir),
        ("profile", &demands.executor_profile),
        ("type", &demands.executor_type),
    ];
    let given =
        parts.iter().filter_map(|(name, value)| Some(format!("{name}={}", value.as_ref()?)));
    let tags = demands.tags.iter().map(|tag| format!("tag={tag}"));
    let executor = demands.executor_id.iter().map(|id| format!("executor={id}"));
    printable(&given.chain(tags).chain(executor).collect::<Vec<_>>().join(" "))
}
