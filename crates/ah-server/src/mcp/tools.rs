//! The tools, a file per noun.

mod agents;
mod approval;
mod form;
mod history;
mod mail;
mod manage;
mod operate;
mod question;
mod shape;

pub(super) use history::sessions;

use super::tool::Tool;

/// All of them, in the order in which they are listed.
pub(super) fn all() -> Vec<Tool> {
    let files = [
        agents::tools(),
        mail::tools(),
        question::tools(),
        approval::tools(),
        history::tools(),
        manage::tools(),
        operate::tools(),
    ];
    files.into_iter().flatten().collect()
}
