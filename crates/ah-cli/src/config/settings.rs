//! The settings as the program uses them: one typed accessor each.
//!
//! A file that sets one to something else was refused on loading, so these cannot fail; only the
//! remote server, which points from one key to another, can.

use std::time::Duration;

use ah_hive::resident::Programs;
use ah_hive::{HostRules, LiveRules};
use ah_model::{Multiplexer, Redaction, RetentionRules};
use ah_run::AgentPrograms;

use super::error::ConfigError;
use super::origin::{Layer, Place};
use super::program::KindProgram;
use super::value::{FOREVER, Server, Value};
use super::{Config, Setting, schema};
use crate::when;

/// What an acknowledged append survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A power cut.
    Full,
    /// A crash of the program.
    Normal,
}

/// When to colour output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What is said on stderr beside results, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLevel {
    /// Errors.
    Error,
    /// And what was done.
    Info,
    /// And which files were used.
    Debug,
}

impl Config {
    /// URL of the server to work on; `None` means the local database.
    pub(crate) fn remote_server(&self) -> Result<Option<&str>, ConfigError> {
        let Some(setting) = self.named("remote-server") else {
            return Ok(None);
        };
        match setting.value {
            Value::Text(text) if text.is_empty() => Ok(None),
            Value::Text(text) if text.contains("://") => Ok(Some(text)),
            Value::Text(name) => self.server_url(name, &setting).map(Some),
            Value::Integer(_)
            | Value::Boolean(_)
            | Value::Texts(_)
            | Value::Servers(_)
            | Value::Programs(_)
            | Value::AgentKinds(_) => Ok(None),
        }
    }

    /// Whether the remote server's address is this person's own choice. Project files come with a
    /// clone: one of them may name a server, but no token goes to an address that only it knows.
    pub(crate) fn trusts_remote_server(&self) -> bool {
        let own =
            |setting: Setting<'_>| !matches!(setting.layer, Layer::Project | Layer::ProjectUser);
        match self.named("remote-server") {
            None => true,
            Some(setting) => match setting.value {
                Value::Text(text) if !text.contains("://") => self.named("server").is_none_or(own),
                _ => own(setting),
            },
        }
    }

    /// The named servers.
    pub(crate) fn servers(&self) -> &[Server] {
        match self.named("server").map(|setting| setting.value) {
            Some(Value::Servers(servers)) => servers,
            Some(_) | None => &[],
        }
    }

    /// What is run for turns of resident agents.
    pub(crate) fn programs(&self) -> Programs {
        let set = match self.named("program").map(|setting| setting.value) {
            Some(Value::Programs(programs)) => programs.as_slice(),
            Some(_) | None => &[],
        };
        let add = |all: Programs, one: &KindProgram| all.with(&one.kind, one.program.clone());
        set.iter().fold(Programs::default(), add)
    }

    /// What is run for agent kinds besides what is `known`.
    pub(crate) fn agent_kinds(&self, known: AgentPrograms) -> AgentPrograms {
        let set = match self.named("agent-kind").map(|setting| setting.value) {
            Some(Value::AgentKinds(kinds)) => kinds.as_slice(),
            Some(_) | None => &[],
        };
        set.iter().fold(known, |all, one| all.with(&one.name, one.program.clone()))
    }

    /// What keeps the terminals of agents, when nobody says.
    pub(crate) fn multiplexer(&self) -> Option<Multiplexer> {
        self.text("run.multiplexer").and_then(|word| word.parse().ok())
    }

    /// Agent kind used when none is given.
    pub(crate) fn default_agent(&self) -> &str {
        self.text("repo.default-agent").unwrap_or("claude-code")
    }

    /// What an acknowledged append survives.
    pub(crate) fn durability(&self) -> Durability {
        match self.text("store.durability") {
            Some("normal") => Durability::Normal,
            Some(_) | None => Durability::Full,
        }
    }

    /// Whether secrets are taken out of what is written.
    pub(crate) fn redaction(&self) -> Redaction {
        match self.text("secrets.redact") {
            Some("off") => Redaction::Off,
            Some(_) | None => Redaction::On,
        }
    }

    /// PostgreSQL database to use instead of the local one; it may hold a password.
    pub(crate) fn database_url(&self) -> Option<&str> {
        self.text("store.database-url")
    }

    /// How long to wait for another writer.
    pub(crate) fn busy_timeout(&self) -> Duration {
        Duration::from_millis(self.integer("store.busy-timeout-ms"))
    }

    /// A whole number; all of them have a default.
    fn integer(&self, path: &str) -> u64 {
        match self.named(path).map(|setting| setting.value) {
            Some(Value::Integer(number)) => u64::try_from(*number).unwrap_or(0),
            Some(_) | None => 0,
        }
    }

    /// Where state bundles are when no flag says it.
    pub(crate) fn bundle_state_dir(&self) -> Option<&str> {
        self.text("bundle.state-dir")
    }

    /// Who keeps snapshots of files when no flag says it.
    pub(crate) fn snapshot_provider(&self) -> Option<&str> {
        self.text("snapshot.provider")
    }

    /// Authorities to trust for https servers, besides the public ones.
    pub(crate) fn ca_file(&self) -> Option<&str> {
        self.text("tls.ca-file")
    }

    /// How long things are kept.
    pub(crate) fn retention(&self) -> HostRules {
        let newest = self.integer("retention.live-events-newest");
        HostRules {
            store: RetentionRules {
                messages_ms: self.keep("retention.messages"),
                sessions_ms: self.keep("retention.sessions"),
                changes_ms: self.keep("retention.changes"),
            },
            live: LiveRules {
                max_age_ms: self.keep("retention.live-events"),
                newest: Some(newest),
            },
        }
    }

    /// The milliseconds of a span; nothing for ever.
    fn keep(&self, path: &str) -> Option<u64> {
        self.text(path).filter(|text| *text != FOREVER).and_then(|text| when::span(text).ok())
    }

    /// When to colour output.
    pub(crate) fn color(&self) -> Color {
        match self.text("ui.color") {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
            Some(_) | None => Color::Auto,
        }
    }

    /// What is said beside results.
    pub(crate) fn log_level(&self) -> LogLevel {
        match self.text("log-level") {
            Some("error") => LogLevel::Error,
            Some("debug") => LogLevel::Debug,
            Some(_) | None => LogLevel::Info,
        }
    }

    /// Whether the program must never ask.
    pub(crate) fn non_interactive(&self) -> bool {
        let setting = self.named("non-interactive");
        setting.is_some_and(|setting| *setting.value == Value::Boolean(true))
    }

    fn named(&self, path: &str) -> Option<Setting<'_>> {
        self.setting(schema::find(path)?)
    }

    /// The text of a key; an empty one switches the setting off.
    fn text(&self, path: &str) -> Option<&str> {
        match self.named(path)?.value {
            Value::Text(text) => Some(text.as_ref()).filter(|text| !text.is_empty()),
            Value::Integer(_)
            | Value::Boolean(_)
            | Value::Texts(_)
            | Value::Servers(_)
            | Value::Programs(_)
            | Value::AgentKinds(_) => None,
        }
    }

    fn server_url(&self, name: &str, setting: &Setting<'_>) -> Result<&str, ConfigError> {
        let servers = self.servers();
        let found = servers.iter().find(|server| server.name == name);
        found.map(|server| server.url.as_str()).ok_or_else(|| {
            let known = servers.iter().map(|server| server.name.clone()).collect();
            ConfigError::UnknownServer {
                place: setting.place.cloned().unwrap_or(Place::Flag("remote-server")),
                name: name.to_owned(),
                known,
            }
        })
    }
}
