//! Fleets and fences as people read them.

use ah_model::{Fence, FenceOutcome, Fleet, MemberName, Run, RunStatus, Snapshot, Timestamp};
use ah_store::{Store, block_on};

use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes, cut, fields, printable, table};
use crate::when::ago;

/// How much of a detail or a step fits a table.
const DETAIL_CHARS: usize = 80;
/// How much of a snapshot's name tells it from others.
const SNAPSHOT_CHARS: usize = 16;

pub(super) const HEADER: &[&str] = &["SESSION", "STATUS", "LEADER", "EPOCH", "MEMBERS", "FORMED"];

pub(super) const FENCE_HEADER: &[&str] =
    &["ID", "STATUS", "EPOCH", "LEADER", "BEGAN", "CONSISTENT", "LATE", "STEP"];

const MEMBER_HEADER: &[&str] = &["NAME", "ROLE", "STATUS", "EXECUTOR", "REACHED", "RUN"];

pub(super) fn row(fleet: &Fleet, now: Timestamp) -> Vec<String> {
    let members: Vec<MemberName> = fleet.members.iter().map(|one| one.name.clone()).collect();
    vec![
        fleet.session_id.to_string(),
        fleet.status.to_string(),
        printable(fleet.leader.as_str()),
        fleet.epoch.to_string(),
        names(&members),
        ago(fleet.created_at, now),
    ]
}

/// Prints a fleet; for people with the runs that hold its members.
pub(super) fn print(app: &App, store: &dyn Store, fleet: &Fleet) -> Result<(), CommandError> {
    if app.output.is_json() {
        return app.output.json(fleet);
    }
    let run = |member: &ah_model::Member| block_on(store.run(member.run_id.clone()));
    let runs = fleet.members.iter().map(run).collect::<Result<Vec<_>, _>>()?;
    app.output.text(&whole(fleet, &runs))
}

fn whole(fleet: &Fleet, runs: &[Run]) -> String {
    let files = &fleet.files;
    let head = fields(&[
        ("session", fleet.session_id.to_string()),
        ("status", fleet.status.to_string()),
        ("leader", fleet.leader.to_string()),
        ("epoch", format!("{}, since {}", fleet.epoch, fleet.led_since)),
        ("directory", files.directory.clone().unwrap_or_default()),
        ("pull", files.pull.join(" ")),
        ("ignored", files.ignore.join(" ")),
        ("asked by", fleet.requested_by.clone().unwrap_or_default()),
        ("formed", fleet.created_at.to_string()),
        ("ended", fleet.ended_at.map(|at| at.to_string()).unwrap_or_default()),
    ]);
    let rows = fleet.members.iter().zip(runs).map(|(member, run)| {
        let is_held =
            matches!(run.status, RunStatus::Claimed | RunStatus::Running | RunStatus::Stopping);
        // Of a run that waits the executor is the one it had.
        let executor = run.executor_id.as_ref().filter(|_| is_held).map(ToString::to_string);
        vec![
            printable(member.name.as_str()),
            if member.name == fleet.leader { "leader" } else { "follower" }.to_owned(),
            run.status.to_string(),
            executor.unwrap_or_else(|| "-".to_owned()),
            member.reached.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            run.id.to_string(),
        ]
    });
    format!("{head}\n{}", table(MEMBER_HEADER, &rows.collect::<Vec<_>>()))
}

/// A fence and what became of each member.
pub(super) fn fence(fence: &Fence) -> String {
    let files = fence.snapshot.as_ref().map(snapshot).unwrap_or_default();
    let head = fields(&[
        ("fence", fence.id.to_string()),
        ("status", fence.status.to_string()),
        ("leader", format!("{} in epoch {}", fence.leader, fence.epoch)),
        ("files", files),
        ("step", step(fence)),
        ("deadline", fence.deadline_at.to_string()),
        ("ended", fence.ended_at.map(|at| at.to_string()).unwrap_or_default()),
    ]);
    let rows = fence.members.iter().map(|member| {
        vec![
            printable(member.name.as_str()),
            outcome(member.outcome).to_owned(),
            member.executor_id.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            printable(member.detail.as_deref().unwrap_or("")),
        ]
    });
    let header = ["NAME", "OUTCOME", "EXECUTOR", "DETAIL"];
    format!("{head}\n{}", table(&header, &rows.collect::<Vec<_>>()))
}

pub(super) fn fence_row(fence: &Fence, now: Timestamp) -> Vec<String> {
    let is_there = |one: &&ah_model::FenceMember| one.outcome == Some(FenceOutcome::Consistent);
    let there = fence.members.iter().filter(is_there).count();
    vec![
        fence.id.to_string(),
        fence.status.to_string(),
        fence.epoch.to_string(),
        printable(fence.leader.as_str()),
        ago(fence.created_at, now),
        format!("{there} of {}", fence.members.len()),
        names(&fence.laggards().cloned().collect::<Vec<_>>()),
        step(fence),
    ]
}

fn step(fence: &Fence) -> String {
    let argv = fence.step.as_ref().map(|step| step.argv.join(" "));
    printable(&cut(&argv.unwrap_or_default(), DETAIL_CHARS))
}

fn snapshot(snapshot: &Snapshot) -> String {
    let Snapshot { provider, name, files, bytes: count } = snapshot;
    format!("{files} files, {} ({provider} {})", bytes(*count), cut(name, SNAPSHOT_CHARS))
}

/// What became of a member, in a word.
pub(super) fn outcome(outcome: Option<FenceOutcome>) -> &'static str {
    match outcome {
        Some(FenceOutcome::Consistent) => "consistent",
        Some(FenceOutcome::Timeout) => "timeout",
        Some(FenceOutcome::Error) => "error",
        None => "-",
    }
}

/// Names in a row.
pub(super) fn names(names: &[MemberName]) -> String {
    let names: Vec<&str> = names.iter().map(MemberName::as_str).collect();
    printable(&names.join(", "))
}
