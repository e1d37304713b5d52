//! What a step shows while it runs: lines of its members for people, events for programs.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use ah_model::{Event, Fence, FenceId, MemberName, RunId};
use serde::Deserialize;

use super::fencing;
use super::lines::Lines;
use crate::app::App;
use crate::error::CommandError;
use crate::output::{Stream, printable};

/// Colours that are told apart on light and dark: the names of members have them in turn.
const COLOURS: [&str; 6] = ["\x1b[36m", "\x1b[33m", "\x1b[32m", "\x1b[35m", "\x1b[34m", "\x1b[31m"];
const PLAIN: &str = "\x1b[0m";

/// Where a step is shown.
pub(super) struct Screen<'a> {
    app: &'a App,
    fence: FenceId,
    runs: BTreeMap<MemberName, RunId>,
    lines: Lines,
    is_coloured: bool,
}

/// What a program wrote.
#[derive(Deserialize)]
struct Wrote {
    stream: String,
    text: String,
}

impl<'a> Screen<'a> {
    pub(super) fn new(app: &'a App, fence: &Fence) -> Self {
        Self {
            app,
            fence: fence.id.clone(),
            runs: BTreeMap::new(),
            lines: Lines::default(),
            is_coloured: app.output.colour && std::io::stdout().is_terminal(),
        }
    }

    /// The runs of the step are known.
    pub(super) fn runs_are(&mut self, fence: &Fence) {
        self.runs = fence.step.iter().flat_map(|step| step.runs.clone()).collect();
    }

    /// Shows an event, if it is one of the fence or of a run of its step.
    pub(super) fn show(&mut self, event: &Event) -> Result<(), CommandError> {
        let member = self.member(event).cloned();
        if self.app.output.is_json() {
            let is_ours = member.is_some() || fencing::is_of(event, &self.fence);
            return if is_ours { self.app.output.json(event) } else { Ok(()) };
        }
        let Some(member) = member.filter(|_| event.kind == "hostLog") else { return Ok(()) };
        let Ok(wrote) = serde_json::from_str::<Wrote>(event.data.as_str()) else { return Ok(()) };
        let stream = if wrote.stream == "stderr" { Stream::Stderr } else { Stream::Stdout };
        for line in self.lines.put(&member, stream, &wrote.text) {
            self.print(&member, stream, &line)?;
        }
        Ok(())
    }

    /// Whether a program of the step has ended.
    pub(super) fn is_exit(&self, event: &Event) -> bool {
        event.kind == "hostExited" && self.member(event).is_some()
    }

    /// Shows what was begun and not ended.
    pub(super) fn end(&mut self) -> Result<(), CommandError> {
        let mut rest = std::mem::take(&mut self.lines).rest();
        rest.try_for_each(|(member, stream, line)| self.print(&member, stream, &line))
    }

    /// Whose event it is: what a run reports has a key that begins with its id.
    fn member(&self, event: &Event) -> Option<&MemberName> {
        let key = event.dedup_key.as_deref()?;
        let is_of =
            |run: &RunId| key.strip_prefix(run.as_str()).is_some_and(|k| k.starts_with('/'));
        self.runs.iter().find(|(_, run)| is_of(run)).map(|(member, _)| member)
    }

    fn print(&self, member: &MemberName, stream: Stream, line: &str) -> Result<(), CommandError> {
        let place = self.runs.keys().position(|name| name == member).unwrap_or(0);
        let (colour, plain) = match COLOURS.get(place % COLOURS.len()) {
            Some(colour) if self.is_coloured => (*colour, PLAIN),
            _ => ("", ""),
        };
        let name = printable(member.as_str());
        let prefix = format!("{colour}{name} |{plain} ");
        self.app.output.stored_line(stream, &prefix, line)
    }
}
