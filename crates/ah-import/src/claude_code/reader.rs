//! Reads a transcript line by line.

use std::collections::{BTreeMap, HashMap, VecDeque};

use ah_model::{RawJson, Timestamp, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::SOURCE;
use super::fork::copied;
use super::line::{Message, What, unexplained, what};
use crate::transcript::{
    Entry, Facts, Lineage, Reader, Spent, Title, TitleRank, View, foreign, over,
};

/// Lines of children in the same file that are remembered over the end of an import: a line names
/// the one it follows, which is among the last.
const CHAIN_MAX: usize = 256;

/// What a reader has to know of the lines before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct State {
    time: Option<Timestamp>,
    /// The newest line that has an id, and how often each line without one came since.
    uuid: Option<String>,
    repeats: BTreeMap<String, u32>,
    /// The lines of children in the same file, with the first line of their child.
    chain: VecDeque<(String, String)>,
    pub(super) title: Option<Title>,
    /// The newest compaction whose cost no total has told yet.
    compaction: Option<String>,
    /// What the totals had beyond all answers when nothing was compacted.
    unexplained: Usage,
}

/// A reader of one file.
pub(crate) struct ClaudeReader {
    /// The session of the file.
    session: String,
    /// Whether the file is that of a child: all of its lines are.
    is_child: bool,
    created_at: Timestamp,
    /// The lines of the session that this one was forked from.
    stem: Lineage,
    state: State,
    /// The children that lines in the same file belong to.
    child_of: HashMap<String, String>,
    ledger: Usage,
    /// The lines that nothing comes before: a fork is known by having one of them too.
    pub(super) roots: Vec<String>,
}

/// Most of them that are kept.
const ROOTS_MAX: usize = 64;

impl ClaudeReader {
    /// A reader of lines that stand by themselves.
    pub(crate) fn fresh(session: &str, at: Timestamp) -> Self {
        Self::new(session, false, at, Lineage::default(), State::default())
    }

    pub(super) fn new(
        session: &str,
        is_child: bool,
        created_at: Timestamp,
        stem: Lineage,
        state: State,
    ) -> Self {
        let child_of = state.chain.iter().cloned().collect();
        let session = session.to_owned();
        let (ledger, roots) = (Usage::default(), Vec::new());
        Self { session, is_child, created_at, stem, state, child_of, ledger, roots }
    }

    /// The session of a line: a child's lines may stand among those of its parent.
    fn session_of(&mut self, line: &View<'_>, uuid: Option<&str>) -> String {
        if self.is_child || !line.is("isSidechain") {
            return self.session.clone();
        }
        let child = line.id("agentId").or_else(|| self.chained(line, uuid));
        child.map_or_else(|| self.session.clone(), |child| format!("{}/{child}", self.session))
    }

    /// The first line of the chain that a line belongs to.
    fn chained(&mut self, line: &View<'_>, uuid: Option<&str>) -> Option<String> {
        let newest = || self.state.chain.back().map(|(_, first)| first.clone());
        let first = match line.text("parentUuid") {
            None => uuid.map(str::to_owned),
            Some(parent) => self.child_of.get(&parent).cloned().or_else(newest),
        };
        let (uuid, first) = (uuid?.to_owned(), first.or_else(|| uuid.map(str::to_owned))?);
        self.child_of.insert(uuid.clone(), first.clone());
        self.state.chain.push_back((uuid, first.clone()));
        if self.state.chain.len() > CHAIN_MAX {
            self.state.chain.pop_front();
        }
        Some(first)
    }

    /// The key of a line without an id: what it is, behind which line, and the how manieth.
    fn repeated(&mut self, fingerprint: &[u8]) -> String {
        let mut digest = Sha256::new_with_prefix(self.state.uuid.as_deref().unwrap_or_default());
        digest.update(fingerprint);
        let bits =
            digest.finalize().iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        let line = format!("{bits:016x}");
        let count = self.state.repeats.entry(line.clone()).or_default();
        *count += 1;
        format!("line/{line}/{count}")
    }

    fn key(&mut self, line: &RawJson, uuid: Option<&str>) -> String {
        match uuid {
            Some(uuid) => {
                self.state.uuid = Some(uuid.to_owned());
                self.state.repeats.clear();
                line_key(uuid)
            }
            None => self.repeated(line.as_str().as_bytes()),
        }
    }

    fn user(&mut self, line: &View<'_>, said: &Message<'_>) -> (String, Facts) {
        let mut facts = Facts { branch: branch(line), ..Facts::default() };
        if line.is("isCompactSummary") || line.is("isVisibleInTranscriptOnly") {
            return (foreign(SOURCE, "user"), facts);
        }
        facts.turn = said.asks();
        if said.is_answer() {
            return ("tool_result".to_owned(), facts);
        }
        if line.is("isMeta") {
            return (foreign(SOURCE, "user"), facts);
        }
        let title = said.prompt().filter(|_| facts.turn.is_some());
        facts.title = title.and_then(|text| Title::of(TitleRank::Prompt, &text));
        ("user_message".to_owned(), facts)
    }
}

impl Reader for ClaudeReader {
    fn read(&mut self, json: &RawJson, _number: u64) -> Entry {
        let line = View::of(json);
        let (uuid, time) = (line.id("uuid"), line.time());
        self.state.time = time.or(self.state.time);
        let key = self.key(json, uuid.as_deref());
        let copied = uuid.as_ref().is_some_and(|uuid| copied(&line, uuid, &self.stem).is_some());
        let session = self.session_of(&line, uuid.as_deref());
        if let Some(uuid) = uuid.as_ref().filter(|_| session == self.session)
            && line.text("parentUuid").is_none()
            && self.roots.len() < ROOTS_MAX
        {
            self.roots.push(uuid.clone());
        }
        let (mut facts, mut spent, mut totals) = (Facts::default(), None, false);
        let kind = match what(&line) {
            What::User(said) => {
                let (kind, of_line) = self.user(&line, &said);
                facts = of_line;
                kind
            }
            What::Assistant(said) => {
                facts.model = said.model();
                facts.branch = branch(&line);
                facts.turn = Some(said.answers());
                spent = said.spent();
                "assistant_message".to_owned()
            }
            What::Compaction => {
                self.state.compaction = uuid.filter(|_| !copied).or(self.state.compaction.take());
                "compaction".to_owned()
            }
            What::Totals(ledger) => {
                (self.ledger, totals) = (ledger, true);
                foreign(SOURCE, "cost-state")
            }
            What::Title(title) => {
                facts.title = Some(title);
                foreign(SOURCE, &line.text("type").unwrap_or_default())
            }
            What::Other => foreign(SOURCE, &line.text("type").unwrap_or_default()),
        };
        if session == self.session && !copied {
            facts.title = facts.title.filter(|title| title.replaces(self.state.title.as_ref()));
            self.state.title = facts.title.clone().or(self.state.title.take());
        }
        Entry { session, kind, key, timed: time.is_some(), facts, spent, totals, copied }
    }

    fn time(&self) -> Timestamp {
        self.state.time.unwrap_or(self.created_at)
    }

    fn raw_key(&mut self, fingerprint: u64, _number: u64) -> String {
        self.repeated(&fingerprint.to_be_bytes())
    }

    /// A compaction is a call that no line tells of: only the totals have its tokens.
    fn beyond(&mut self, counted: Usage) -> Option<Spent> {
        let Some(boundary) = self.state.compaction.take() else {
            self.state.unexplained = over(self.ledger, counted);
            return None;
        };
        let usage = unexplained(self.ledger, counted, self.state.unexplained);
        Some(Spent { answer: format!("compaction/{boundary}"), usage, model: None, cost_usd: None })
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }
}

/// The key of the line of that id.
pub(crate) fn line_key(uuid: &str) -> String {
    format!("line/{uuid}")
}

fn branch(line: &View<'_>) -> Option<String> {
    line.text("gitBranch").filter(|branch| !branch.is_empty())
}
