//! Transcripts to import, and what a store keeps of them as text.

use std::fs;
use std::path::Path;

use ah_conformance::block_on;
use ah_import::{
    ImportError, Progress, TranscriptOptions, TranscriptReport, import_claude_code, import_codex,
    import_gemini, import_goose, import_opencode,
};
use ah_model::{
    Context, ContextMessage, ContextPart, NewRepo, PageLimit, PageRequest, Session, SessionFilter,
    Timestamp, Usage, Vcs,
};
use ah_store::{ContextLimit, Store, session_context};
use tempfile::TempDir;

use crate::support::{events, ignore};

/// Whose transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    Goose,
}

impl Tool {
    /// What its sessions say they came from.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
        }
    }
}

/// A directory of transcripts.
pub(crate) struct Transcripts {
    dir: TempDir,
    tool: Tool,
}

impl Transcripts {
    pub(crate) fn new(tool: Tool) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), tool }
    }

    /// With a copy of a fixture.
    pub(crate) fn of(tool: Tool, version: &str) -> Self {
        let transcripts = Self::new(tool);
        for (name, bytes) in fixture(tool, version) {
            transcripts.write(&name, &bytes);
        }
        transcripts
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn import(&self, store: &dyn Store) -> TranscriptReport {
        self.import_with(store, &options()).unwrap()
    }

    pub(crate) fn dry_run(&self, store: &dyn Store) -> TranscriptReport {
        self.import_with(store, &TranscriptOptions { dry_run: true, ..options() }).unwrap()
    }

    pub(crate) fn import_with(
        &self,
        store: &dyn Store,
        options: &TranscriptOptions<'_>,
    ) -> Result<TranscriptReport, ImportError> {
        let mut progress: fn(Progress<'_>) = ignore;
        let root = self.path();
        block_on(async {
            match self.tool {
                Tool::ClaudeCode => import_claude_code(store, root, options, &mut progress).await,
                Tool::Codex => import_codex(store, root, options, &mut progress).await,
                Tool::Gemini => import_gemini(store, root, options, &mut progress).await,
                Tool::Opencode => import_opencode(store, root, options, &mut progress).await,
                Tool::Goose => import_goose(store, root, options, &mut progress).await,
            }
        })
    }
}

pub(crate) fn options() -> TranscriptOptions<'static> {
    TranscriptOptions { dry_run: false, since: None, only: None, repo_of: &plain }
}

fn plain(dir: &Path) -> NewRepo {
    NewRepo {
        vcs: Vcs::None,
        root_path: Some(dir.to_string_lossy().into_owned()),
        remote_url: None,
        default_branch: None,
    }
}

/// The files of a fixture by their names.
pub(crate) fn fixture(tool: Tool, version: &str) -> Vec<(String, Vec<u8>)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    let root = fixtures.join(tool.source()).join(version);
    let (mut files, mut open) = (Vec::new(), vec![root.clone()]);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            files.push((name, fs::read(path).unwrap()));
        }
    }
    assert!(!files.is_empty(), "no fixture {version}");
    files.sort();
    files
}

/// Every session by its id there.
pub(crate) fn sessions(store: &dyn Store) -> Vec<Session> {
    let all = PageRequest { limit: PageLimit::MAX, cursor: None };
    let mut sessions = block_on(store.list_sessions(SessionFilter::default(), all)).unwrap().items;
    sessions.sort_by_key(name);
    sessions
}

pub(crate) fn session(store: &dyn Store, id: &str) -> Session {
    let found = sessions(store).into_iter().find(|session| name(session).ends_with(id));
    found.unwrap_or_else(|| panic!("no session {id}"))
}

/// The id that a session has there.
pub(crate) fn name(session: &Session) -> String {
    session.origin.as_ref().unwrap().external_id.clone()
}

/// What a store keeps of each session: its row, and how many events of each type.
pub(crate) fn kept(store: &dyn Store) -> String {
    sessions(store).iter().map(|session| row(store, session)).collect::<Vec<_>>().join("\n")
}

fn row(store: &dyn Store, session: &Session) -> String {
    let of = |id| name(&block_on(store.session(id)).unwrap());
    let parent = session.parent_session_id.clone().map(|id| format!(" of {}", of(id)));
    let fork = session.forked_from.clone();
    let fork = fork.map(|fork| format!(" from {} at {}", of(fork.session_id), fork.at_seq));
    let labels: Vec<_> =
        session.labels.0.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!(
        "{}{}{} {} {} {:?} in {} [{}] {} {}..{}",
        name(session),
        parent.unwrap_or_default(),
        fork.unwrap_or_default(),
        session.agent,
        session.status,
        session.title.as_deref().unwrap_or_default(),
        session.repo.root_path.as_deref().unwrap_or_default(),
        labels.join(" "),
        tokens(session.usage),
        clock(session.created_at),
        clock(session.last_activity_at),
    )
}

/// Input, output, cache read, cache written, reasoning.
pub(crate) fn tokens(usage: Usage) -> String {
    let Usage { input_tokens, output_tokens, .. } = usage;
    let Usage { cache_read_tokens, cache_write_tokens, reasoning_tokens, .. } = usage;
    format!(
        "{input_tokens}/{output_tokens}/{cache_read_tokens}/{cache_write_tokens}/{reasoning_tokens}"
    )
}

/// All tokens of all sessions.
pub(crate) fn total(store: &dyn Store) -> Usage {
    sessions(store).iter().fold(Usage::default(), |sum, session| sum.plus(session.usage))
}

fn clock(time: Timestamp) -> String {
    time.to_string()[11..19].to_owned()
}

/// The types of a session's events in order, each with how often it comes in a row.
pub(crate) fn kinds(store: &dyn Store, session: &Session) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for event in events(store, session) {
        match runs.last_mut() {
            Some((kind, count)) if *kind == event.kind => *count += 1,
            _ => runs.push((event.kind, 1)),
        }
    }
    let shown = |(kind, count): &(String, usize)| match count {
        1 => kind.clone(),
        count => format!("{kind}*{count}"),
    };
    runs.iter().map(shown).collect::<Vec<_>>().join(" ")
}

/// All events as text, which two stores have alike if they were told the same.
pub(crate) fn log(store: &dyn Store) -> String {
    let line = |session: &Session| -> String {
        let shown = events(store, session).into_iter().map(|event| {
            let key = event.dedup_key.unwrap_or_default();
            format!("  {} {} {} {key} {}\n", event.seq, event.ts, event.kind, event.data.as_str())
        });
        format!("{}\n{}", name(session), shown.collect::<String>())
    };
    sessions(store).iter().map(line).collect()
}

pub(crate) fn context(store: &dyn Store, session: &Session) -> Context {
    let limit = ContextLimit::of_records(100_000).unwrap();
    block_on(session_context(store, session.id.clone(), limit)).unwrap()
}

/// What a model is shown again, a line for each part.
pub(crate) fn told(store: &dyn Store, session: &Session) -> String {
    let context = context(store, session);
    let mut lines: Vec<_> = context.messages.iter().flat_map(message).collect();
    lines.extend(context.pending_calls.iter().map(|call| format!("pending {}", call.id)));
    if context.unread > 0 {
        lines.push(format!("unread {}", context.unread));
    }
    lines.join("\n")
}

fn message(message: &ContextMessage) -> Vec<String> {
    let role = format!("{:?}", message.role).to_lowercase();
    let failed = if message.is_error == Some(true) { " failed" } else { "" };
    let details = message.details.as_ref().map(|json| format!(" {}", json.as_str()));
    let id = message.tool_call_id.as_ref().map(|id| format!(" {id}{failed}")).unwrap_or_default();
    let who = format!("{role}{id}{}", details.unwrap_or_default());
    let part = |part: &ContextPart| match part {
        ContextPart::Text(text) => format!("{who}: {}", short(&text.to_string())),
        ContextPart::ToolCall(call) => {
            format!("{who}: {} {} {}", call.name, call.id, short(call.arguments.as_str()))
        }
        ContextPart::File(json) => format!("{who}: file {}", json.as_str()),
        ContextPart::Other(json) => format!("{who}: other {}", short(json.as_str())),
    };
    match message.content.is_empty() {
        true => vec![format!("{who}:")],
        false => message.content.iter().map(part).collect(),
    }
}

fn short(text: &str) -> String {
    let line: String = text.replace('\n', "\\n").chars().take(60).collect();
    line.trim_end().to_owned()
}
