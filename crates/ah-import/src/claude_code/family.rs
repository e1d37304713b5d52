//! Which files belong together: the transcript of a session and those of its sub-agents.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

use ah_model::{RawJson, Timestamp};

use crate::agent::json;
use crate::transcript::{Grown, SourceFile, View, head};
use crate::writer::Stop;

/// The directory of a session's sub-agents, and the beginning of their files' names.
const CHILDREN: &str = "subagents";
const CHILD: &str = "agent-";
/// Longest file with what is known of a sub-agent.
const META_BYTES_MAX: u64 = 64 * 1024;

/// What the first lines of a file say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) first: Timestamp,
    pub(super) dir: String,
    pub(super) version: Option<String>,
    /// The first line that has an id.
    pub(super) root: String,
    /// The session that it was copied from.
    pub(super) copied_from: Option<String>,
    session: Option<String>,
    agent: Option<String>,
    is_child: bool,
}

impl Head {
    /// Reads the beginning of a file; nothing when no line says where a conversation is held.
    pub(super) fn read(file: &SourceFile) -> Result<Option<Self>, Stop> {
        let (mut first, mut found) = (None, None);
        head(file, |json| {
            let line = View::of(json);
            first = first.or(line.time());
            found = Self::of(&line, first);
            found.is_none()
        })?;
        Ok(found)
    }

    fn of(line: &View<'_>, first: Option<Timestamp>) -> Option<Self> {
        Some(Self {
            first: first?,
            dir: line.text("cwd").filter(|dir| !dir.is_empty())?,
            version: line.text("version"),
            root: line.id("uuid")?,
            copied_from: line.object("forkedFrom").id("sessionId"),
            session: line.id("sessionId"),
            agent: line.id("agentId"),
            is_child: line.is("isSidechain"),
        })
    }
}

/// A file with something new, and what its beginning says.
pub(super) struct Member {
    pub(super) grown: Grown,
    pub(super) head: Head,
}

impl Member {
    /// What its session is called.
    pub(super) fn name(&self) -> Option<String> {
        self.place().map(|(session, child)| child.unwrap_or(session))
    }

    /// The session, and the name of the child when the file is that of a child.
    fn place(&self) -> Option<(String, Option<String>)> {
        let (file, head) = (&self.grown.file, &self.head);
        if let Some((session, child)) = child_by_path(file) {
            return Some((session, Some(child)));
        }
        if let Some(agent) = file.stem().strip_prefix(CHILD).filter(|_| head.is_child) {
            let session = head.session.clone()?;
            let agent = head.agent.as_deref().unwrap_or(agent);
            let child = format!("{session}/{agent}");
            return Some((session, Some(child)));
        }
        let named = Some(file.stem()).filter(|stem| is_uuid(stem)).map(str::to_owned);
        named.or_else(|| head.session.clone()).map(|session| (session, None))
    }
}

/// The session and the child that the path of a file names.
pub(super) fn child_by_path(file: &SourceFile) -> Option<(String, String)> {
    let agent = file.stem().strip_prefix(CHILD)?;
    let session = file.above(2).filter(|_| file.above(1) == Some(CHILDREN))?;
    Some((session.to_owned(), format!("{session}/{agent}")))
}

fn is_uuid(text: &str) -> bool {
    let is_part = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(is_part)
}

/// The file of a session, and those of its children, each with its name.
pub(super) struct Family {
    pub(super) session: String,
    pub(super) main: Option<Member>,
    pub(super) children: Vec<(String, Member)>,
}

/// The families of `members`, oldest first: a fork comes after what it was forked from. Programs
/// that begin a file with a line of its own say the time; else that of the file decides.
pub(super) fn families(mut members: Vec<Member>) -> Vec<Family> {
    let age = |member: &Member| (member.head.first, member.grown.file.born);
    members.sort_by(|one, other| {
        (age(one), &one.grown.file.path).cmp(&(age(other), &other.grown.file.path))
    });
    let (mut families, mut children): (Vec<Family>, Vec<_>) = (Vec::new(), Vec::new());
    for member in members {
        match member.place() {
            Some((session, None)) => {
                families.push(Family { session, main: Some(member), children: Vec::new() });
            }
            Some((session, Some(child))) => children.push((session, child, member)),
            None => {}
        }
    }
    let mut at: HashMap<String, usize> = HashMap::new();
    for (place, family) in families.iter().enumerate() {
        at.entry(family.session.clone()).or_insert(place);
    }
    for (session, child, member) in children {
        let place = *at.entry(session.clone()).or_insert_with(|| {
            families.push(Family { session, main: None, children: Vec::new() });
            families.len() - 1
        });
        if let Some(family) = families.get_mut(place) {
            family.children.push((child, member));
        }
    }
    families
}

/// What is known of a sub-agent beside its transcript.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) agent_type: Option<String>,
    pub(super) description: Option<String>,
}

impl Meta {
    pub(super) fn read(file: &SourceFile) -> Self {
        let mut bytes = Vec::new();
        let path = file.path.with_extension("meta.json");
        let read =
            File::open(path).and_then(|input| input.take(META_BYTES_MAX).read_to_end(&mut bytes));
        let meta: Option<RawJson> = read.ok().and_then(|_| json(&bytes).ok());
        meta.map_or_else(Self::default, |meta| {
            let meta = View::of(&meta);
            Self { agent_type: meta.text("agentType"), description: meta.text("description") }
        })
    }
}
