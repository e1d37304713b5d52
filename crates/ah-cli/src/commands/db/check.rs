use ah_store::block_on;
use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::printable;

/// How much of what SQLite says about one damaged file is shown to people.
const SUBJECT_LINES: usize = 10;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let report = block_on(app.sql_store()?.check())?;
    let ok = report.violations.is_empty();
    let violations: Vec<_> = report
        .violations
        .iter()
        .map(|broken| json!({ "rule": broken.rule, "subject": broken.subject }))
        .collect();
    let answer = json!({ "ok": ok, "rules": report.rules, "violations": violations });
    app.output.result(&answer, |_| {
        let mut text = String::new();
        for rule in &report.rules {
            let broken: Vec<_> = report.violations.iter().filter(|v| v.rule == *rule).collect();
            let mark = if broken.is_empty() { "ok    " } else { "BROKEN" };
            text.push_str(&format!("{mark} {rule}\n"));
            for violation in broken {
                let mut lines = violation.subject.lines();
                for line in lines.by_ref().take(SUBJECT_LINES) {
                    text.push_str(&format!("         {}\n", printable(line)));
                }
                match lines.count() {
                    0 => {}
                    more => text.push_str(&format!("         and {more} more\n")),
                }
            }
        }
        text
    })?;
    if ok {
        return Ok(());
    }
    let is_broken = |rule: &&&str| report.violations.iter().any(|v| v.rule == **rule);
    let message = match report.rules.iter().filter(is_broken).count() {
        1 => "1 rule is broken".to_owned(),
        count => format!("{count} rules are broken"),
    };
    Err(CommandError::new(Exit::Store, format!("the database is damaged: {message}"))
        .hint("`ah db restore FILE` puts a backup in its place and keeps this one"))
}
