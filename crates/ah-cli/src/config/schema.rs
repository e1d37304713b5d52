//! Every setting there is: its name, type, default and meaning.
//!
//! One table; names of variables, checks of files, `ah config` and `docs/config.md` follow from it.

use std::borrow::Cow;

use super::value::Value;
use crate::environment::{AH_EVENTS_DB, AH_HOME, AH_SESSION_ID, AH_SYSTEM_CONFIG};

/// Longest wait for another writer that a setting may ask for: ten minutes.
const BUSY_TIMEOUT_MS_MAX: i64 = 600_000;

/// Most live events of an agent that a setting may ask to keep.
const LIVE_EVENTS_MAX: i64 = 10_000_000;

/// One setting.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name, with a dot between table and name: `store.durability`.
    pub(crate) path: &'static str,
    /// What values it takes.
    pub(crate) kind: Kind,
    /// Its value when no layer sets it.
    pub(crate) default: Option<Value>,
    /// Where it may be set.
    pub(crate) scope: Scope,
    /// Its meaning in one line.
    pub(crate) doc: &'static str,
}

/// The types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text; an empty one switches the setting off.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `NAME` or `NAME@VERSION`.
    Agent,
    /// A whole number from zero to this one.
    Integer { max: i64 },
    /// How long something is kept: a span like `30d`, or `forever`.
    Keep,
    /// `true` or `false`.
    Boolean,
    /// An array of texts.
    Texts,
    /// `[[server]]` tables with `name` and `url`.
    Servers,
    /// `[[program]]` tables with `kind` and `command`.
    Programs,
    /// `[[agent-kind]]` tables with `name` and `command`.
    AgentKinds,
}

/// Which layers may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of them.
    Anywhere,
    /// All but project files: those come with a clone, and must not decide where data is sent.
    NotProject,
    /// The system file.
    SystemOnly,
}

/// The settings, in the order they are documented.
pub(crate) static KEYS: [Key; 23] = [
    Key {
        path: "remote-server",
        kind: Kind::Text,
        default: None,
        scope: Scope::Anywhere,
        doc: "Server to work on instead of the local database: a name from `[[server]]` or a URL.",
    },
    Key {
        path: "server",
        kind: Kind::Servers,
        default: None,
        scope: Scope::Anywhere,
        doc: "Names for servers: `[[server]]` tables with `name` and `url`.",
    },
    Key {
        path: "program",
        kind: Kind::Programs,
        default: None,
        scope: Scope::NotProject,
        doc: "What is run for turns of resident agents: `[[program]]` tables with `kind` and \
              `command`.",
    },
    Key {
        path: "agent-kind",
        kind: Kind::AgentKinds,
        default: None,
        scope: Scope::NotProject,
        doc: "What is run for tasks of an agent kind: `[[agent-kind]]` tables with `name` and \
              `command`.",
    },
    Key {
        path: "run.multiplexer",
        kind: Kind::Choice(&["", "tmux", "zellij", "screen"]),
        default: None,
        scope: Scope::Anywhere,
        doc: "What keeps the terminals of agents that run: `tmux`, `zellij` or `screen`.",
    },
    Key {
        path: "repo.default-agent",
        kind: Kind::Agent,
        default: text("claude-code"),
        scope: Scope::Anywhere,
        doc: "Agent kind used when `--agent` is not given.",
    },
    Key {
        path: "repo.task-runner",
        kind: Kind::Text,
        default: None,
        scope: Scope::Anywhere,
        doc: "Program that runs the project's own tasks, for example `just`.",
    },
    Key {
        path: "store.durability",
        kind: Kind::Choice(&["full", "normal"]),
        default: text("full"),
        scope: Scope::Anywhere,
        doc: "Whether an acknowledged append survives a power cut (`full`) or only a crash of the \
              program (`normal`).",
    },
    Key {
        path: "store.database-url",
        kind: Kind::Text,
        default: None,
        scope: Scope::NotProject,
        doc: "PostgreSQL database to use instead of the local one.",
    },
    Key {
        path: "store.busy-timeout-ms",
        kind: Kind::Integer { max: BUSY_TIMEOUT_MS_MAX },
        default: Some(Value::Integer(10_000)),
        scope: Scope::Anywhere,
        doc: "How long to wait for another process that writes to the local database.",
    },
    Key {
        path: "secrets.redact",
        kind: Kind::Choice(&["on", "off"]),
        default: text("on"),
        scope: Scope::NotProject,
        doc: "Whether secrets are taken out of what is written to the database (docs/secrets.md).",
    },
    Key {
        path: "retention.messages",
        kind: Kind::Keep,
        default: text("30d"),
        scope: Scope::NotProject,
        doc: "How long acknowledged messages are kept; others always are.",
    },
    Key {
        path: "retention.sessions",
        kind: Kind::Keep,
        default: text("forever"),
        scope: Scope::NotProject,
        doc: "How long sessions that ended are kept with their events; pinned ones always are.",
    },
    Key {
        path: "retention.changes",
        kind: Kind::Keep,
        default: text("30d"),
        scope: Scope::NotProject,
        doc: "How long the feed's notes of changes are kept.",
    },
    Key {
        path: "retention.live-events",
        kind: Kind::Keep,
        default: text("7d"),
        scope: Scope::NotProject,
        doc: "How long live events of agents are kept.",
    },
    Key {
        path: "retention.live-events-newest",
        kind: Kind::Integer { max: LIVE_EVENTS_MAX },
        default: Some(Value::Integer(2_000)),
        scope: Scope::NotProject,
        doc: "How many of an agent's live events are kept at most, the newest.",
    },
    Key {
        path: "bundle.state-dir",
        kind: Kind::Text,
        default: None,
        scope: Scope::NotProject,
        doc: "Directory of state bundles when `--state-dir` is not given.",
    },
    Key {
        path: "snapshot.provider",
        kind: Kind::Choice(&["git", "btrfs", "zfs"]),
        default: None,
        scope: Scope::Anywhere,
        doc: "Who keeps snapshots of files when `--provider` is not given; else the best that can.",
    },
    Key {
        path: "tls.ca-file",
        kind: Kind::Text,
        default: None,
        scope: Scope::Anywhere,
        doc: "PEM file of authorities to trust for https servers, besides the public ones.",
    },
    Key {
        path: "ui.color",
        kind: Kind::Choice(&["auto", "always", "never"]),
        default: text("auto"),
        scope: Scope::Anywhere,
        doc: "When to colour output; `--no-color` and `NO_COLOR` win.",
    },
    Key {
        path: "log-level",
        kind: Kind::Choice(&["error", "info", "debug"]),
        default: text("info"),
        scope: Scope::Anywhere,
        doc: "What is said on stderr beside results: only errors (as with `--quiet`), what was \
              done, or also which files were used.",
    },
    Key {
        path: "non-interactive",
        kind: Kind::Boolean,
        default: Some(Value::Boolean(false)),
        scope: Scope::Anywhere,
        doc: "Never ask, as with `--non-interactive`; exit code 10 when input would be needed.",
    },
    Key {
        path: "enforced",
        kind: Kind::Texts,
        default: None,
        scope: Scope::SystemOnly,
        doc: "Keys that only the system file decides.",
    },
];

/// Variables of ours that are not settings, with their meaning.
pub(crate) const OTHER_VARIABLES: [(&str, &str); 5] = [
    (AH_HOME, "Directory of `state.db` and of the user's `config.toml`."),
    (AH_EVENTS_DB, "File for the live events of `ah agent run`, instead of the agent's own."),
    (AH_SYSTEM_CONFIG, "File to read as the system file; for packagers and tests."),
    (AH_SESSION_ID, "Set for agents that `ah` runs: the session that their hooks write into."),
    ("NO_COLOR", "No colour when set to anything, as with `--no-color`."),
];

impl Key {
    /// The variable that sets this key; lists have none.
    pub(crate) fn variable(&self) -> Option<String> {
        match self.kind {
            Kind::Texts | Kind::Servers | Kind::Programs | Kind::AgentKinds => None,
            Kind::Text
            | Kind::Choice(_)
            | Kind::Agent
            | Kind::Integer { .. }
            | Kind::Keep
            | Kind::Boolean => {
                let name = self.path.to_ascii_uppercase().replace(['.', '-'], "_");
                Some(format!("AH_{name}"))
            }
        }
    }
}

/// The key of this name.
pub(crate) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

/// Whether `path` is a table that holds keys.
pub(super) fn is_section(path: &str) -> bool {
    KEYS.iter().any(|key| below(key.path, path))
}

/// The key or table that was probably meant by an unknown name.
pub(super) fn suggestion(unknown: &str) -> Option<&'static str> {
    let sections = KEYS.iter().filter_map(|key| Some(key.path.split_once('.')?.0));
    let names = KEYS.iter().map(|key| key.path).chain(sections);
    let far = (unknown.len() / 3).clamp(1, 3);
    let measured = names.map(|name| (distance(unknown, name), name));
    let near = measured.filter(|(distance, _)| *distance <= far);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

const fn text(text: &'static str) -> Option<Value> {
    Some(Value::Text(Cow::Borrowed(text)))
}

fn below(path: &str, section: &str) -> bool {
    path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// Levenshtein's distance, one row at a time.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.chars().enumerate() {
            let changed = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.chars().count()]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn variables_are_derived_from_paths() {
        let variable = |path| find(path).unwrap().variable();
        assert_eq!(variable("repo.task-runner").as_deref(), Some("AH_REPO_TASK_RUNNER"));
        assert_eq!(variable("log-level").as_deref(), Some("AH_LOG_LEVEL"));
        assert_eq!(variable("server"), None);
    }

    #[test]
    fn no_two_names_meet() {
        let variables = KEYS.iter().filter_map(Key::variable);
        let others = OTHER_VARIABLES.iter().map(|(name, _)| (*name).to_owned());
        let all: Vec<_> = variables.chain(others).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(KEYS.iter().all(|key| !is_section(key.path)));
    }

    #[test]
    fn defaults_are_values_of_their_kind() {
        for key in &KEYS {
            let Some(default) = &key.default else {
                continue;
            };
            assert_eq!(Value::from_text(key.kind, &default.to_string()).as_ref(), Ok(default));
        }
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        assert_eq!(suggestion("remote-sever"), Some("remote-server"));
        assert_eq!(suggestion("repo.taskrunner"), Some("repo.task-runner"));
        assert_eq!(suggestion("stor"), Some("store"));
        assert_eq!(suggestion("sevrer"), Some("server"));
        assert_eq!(suggestion("colour-of-the-sky"), None);
        assert_eq!(suggestion("x"), None);
    }
}
