use ah_bundle::{BrokenLink, Note, Report};

use super::place::Place;
use super::view;
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::{bytes, counted, printable};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let report = dir.verify()?;
    app.output.result(&report, text)?;
    if report.ok {
        return Ok(());
    }
    let place = dir.path().display();
    let mut found = Vec::new();
    if !report.damage.is_empty() {
        found.push(counted(report.damage.len() as u64, "damaged file"));
    }
    if !report.broken.is_empty() {
        found.push(counted(report.broken.len() as u64, "broken link"));
    }
    let error = CommandError::new(Exit::Store, format!("{place} has {}", found.join(" and ")));
    Err(match report.damage.is_empty() {
        true => error.hint("what a broken link names may be in an export: `ah bundle import FILE`"),
        false => error.hint(view::next_command(&dir, &report.damage)),
    })
}

fn text(report: &Report) -> String {
    let mut lines = vec![format!(
        "{} of {}, {} in all",
        counted(report.snapshots as u64, "snapshot"),
        counted(report.scopes.len() as u64, "scope"),
        bytes(report.bytes)
    )];
    lines.extend(report.scopes.iter().map(|scope| {
        let count = counted(scope.snapshots as u64, "snapshot");
        format!("scope   {}: {}, {count}, {} in its chain", scope.scope, scope.head, scope.chain)
    }));
    lines.extend(report.damage.iter().map(|damage| format!("DAMAGED {damage}")));
    lines.extend(report.broken.iter().map(broken));
    lines.extend(report.notes.iter().map(|one| format!("note    {}", note(one))));
    lines.extend(report.foreign.iter().map(|name| format!("foreign {name}")));
    lines.push(if report.ok { "ok" } else { "NOT ok" }.to_owned());
    lines.iter().map(|line| format!("{}\n", printable(line))).collect()
}

fn broken(link: &BrokenLink) -> String {
    match &link.parent {
        Some(parent) => format!("BROKEN  {}: its parent {parent} cannot be used", link.file),
        None => format!("BROKEN  {}: its parent {} is not here", link.file, link.prev_sha),
    }
}

fn note(note: &Note) -> String {
    match note {
        Note::TimeNotIncreasing { file, parent } => {
            format!("{file} is not newer than its parent {parent}")
        }
        Note::Orphan { file, scope } => format!("{file} is no ancestor of where {scope} stands"),
        Note::Fork { parent, children } => {
            format!("{parent} has several children: {}", children.join(", "))
        }
        Note::HeadLags { scope, head, newest } => {
            format!("the head of {scope} names {head}, it stands at {newest}")
        }
        Note::NoHead { scope } => format!("{scope} has no head of its own yet"),
    }
}
