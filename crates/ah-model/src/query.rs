//! Filters and pages as the query of an address, the same for who asks and who answers.
//!
//! A part that may be given several times is repeated: `status=running&status=idle`.

use std::str::FromStr;

use crate::{
    AgentFilter, ApprovalFilter, Awaited, Cursor, EventQuery, ExecutorFilter, FleetFilter, Invalid,
    Labels, MessageFilter, Order, PageLimit, PageRequest, QuestionFilter, RunFilter, SearchQuery,
    SessionFilter, SpendingFilter, TaskFilter,
};

/// The parts of a query, in order.
pub type QueryPairs = Vec<(String, String)>;

/// What can be asked in an address.
pub trait Query: Sized {
    /// The parts that say it.
    fn to_query(&self) -> QueryPairs;

    /// Reads the parts that are its own and passes over others.
    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid>;
}

fn push(pairs: &mut QueryPairs, name: &str, value: impl ToString) {
    pairs.push((name.to_owned(), value.to_string()));
}

fn push_some(pairs: &mut QueryPairs, name: &str, value: Option<&impl ToString>) {
    if let Some(value) = value {
        push(pairs, name, value.to_string());
    }
}

fn all<'a>(pairs: &'a [(String, String)], name: &str) -> impl Iterator<Item = &'a str> {
    pairs.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// The last value of that name, as in most programs.
fn text(pairs: &[(String, String)], name: &str) -> Option<String> {
    all(pairs, name).last().map(str::to_owned)
}

fn parsed<T: FromStr<Err = Invalid>>(
    pairs: &[(String, String)],
    name: &str,
) -> Result<Option<T>, Invalid> {
    all(pairs, name).last().map(str::parse).transpose()
}

fn number<T: FromStr>(
    pairs: &[(String, String)],
    name: &'static str,
) -> Result<Option<T>, Invalid> {
    let wrong = |value: &str| Invalid::new(name, format!("{value:?} is not a number it can be"));
    all(pairs, name).last().map(|value| value.parse().map_err(|_| wrong(value))).transpose()
}

fn flag(pairs: &[(String, String)], name: &'static str) -> Result<Option<bool>, Invalid> {
    let wrong = |value: &str| Invalid::new(name, format!("{value:?} is none of true, false"));
    all(pairs, name).last().map(|value| value.parse().map_err(|_| wrong(value))).transpose()
}

impl Query for PageRequest {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        push(&mut pairs, "limit", self.limit.get());
        push_some(&mut pairs, "cursor", self.cursor.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        let limit = number(pairs, "limit")?.map_or(Ok(PageLimit::default()), PageLimit::new)?;
        Ok(Self { limit, cursor: parsed::<Cursor>(pairs, "cursor")? })
    }
}

impl Query for SessionFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        self.statuses.iter().for_each(|status| push(&mut pairs, "status", status));
        push_some(&mut pairs, "repoId", self.repo_id.as_ref());
        push_some(&mut pairs, "agent", self.agent.as_ref());
        push_some(&mut pairs, "agentVersion", self.agent_version.as_ref());
        for (key, value) in &self.labels.0 {
            push(&mut pairs, "label", format!("{key}={value}"));
        }
        push_some(&mut pairs, "since", self.since.as_ref());
        push_some(&mut pairs, "until", self.until.as_ref());
        push_some(&mut pairs, "title", self.title.as_ref());
        push_some(&mut pairs, "parent", self.parent.as_ref());
        push_some(&mut pairs, "forkedFrom", self.forked_from.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: all(pairs, "status").map(str::parse).collect::<Result<_, _>>()?,
            repo_id: number(pairs, "repoId")?,
            agent: text(pairs, "agent"),
            agent_version: text(pairs, "agentVersion"),
            labels: Labels::of_filter(all(pairs, "label"))?,
            since: parsed(pairs, "since")?,
            until: parsed(pairs, "until")?,
            title: text(pairs, "title"),
            parent: parsed(pairs, "parent")?,
            forked_from: parsed(pairs, "forkedFrom")?,
        })
    }
}

impl Query for AgentFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        self.lifecycles.iter().for_each(|word| push(&mut pairs, "lifecycle", word));
        push_some(&mut pairs, "type", self.agent_type.as_ref());
        push_some(&mut pairs, "kind", self.kind.as_ref());
        push_some(&mut pairs, "name", self.name.as_ref());
        push_some(&mut pairs, "destroyed", self.destroyed.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            lifecycles: all(pairs, "lifecycle").map(str::parse).collect::<Result<_, _>>()?,
            // Any word may be asked for; one that no agent can have finds none.
            agent_type: text(pairs, "type").map(|word| crate::AgentType::of(&word)),
            kind: text(pairs, "kind"),
            name: text(pairs, "name"),
            destroyed: flag(pairs, "destroyed")?,
        })
    }
}

impl Query for SpendingFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        push_some(&mut pairs, "since", self.since.as_ref());
        push_some(&mut pairs, "until", self.until.as_ref());
        push_some(&mut pairs, "sessionId", self.session.as_ref());
        push_some(&mut pairs, "repoId", self.repo_id.as_ref());
        push_some(&mut pairs, "agent", self.agent.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            since: parsed(pairs, "since")?,
            until: parsed(pairs, "until")?,
            session: parsed(pairs, "sessionId")?,
            repo_id: number(pairs, "repoId")?,
            agent: text(pairs, "agent"),
        })
    }
}

impl Query for TaskFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        push_some(&mut pairs, "batchId", self.batch_id.as_ref());
        push_some(&mut pairs, "sessionId", self.session_id.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        let (batch_id, session_id) = (parsed(pairs, "batchId")?, parsed(pairs, "sessionId")?);
        Ok(Self { batch_id, session_id })
    }
}

impl Query for ExecutorFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        self.statuses.iter().for_each(|status| push(&mut pairs, "status", status));
        self.tags.iter().for_each(|tag| push(&mut pairs, "tag", tag));
        for (key, value) in &self.labels.0 {
            push(&mut pairs, "label", format!("{key}={value}"));
        }
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: all(pairs, "status").map(str::parse).collect::<Result<_, _>>()?,
            tags: all(pairs, "tag").map(str::to_owned).collect(),
            labels: Labels::of_filter(all(pairs, "label"))?,
        })
    }
}

impl Query for RunFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        self.statuses.iter().for_each(|status| push(&mut pairs, "status", status));
        push_some(&mut pairs, "sessionId", self.session_id.as_ref());
        push_some(&mut pairs, "executorId", self.executor_id.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: all(pairs, "status").map(str::parse).collect::<Result<_, _>>()?,
            session_id: parsed(pairs, "sessionId")?,
            executor_id: parsed(pairs, "executorId")?,
        })
    }
}

impl Query for FleetFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        push_some(&mut pairs, "status", self.status.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self { status: parsed(pairs, "status")? })
    }
}

impl Query for MessageFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        self.statuses.iter().for_each(|status| push(&mut pairs, "status", status));
        push_some(&mut pairs, "from", self.from.as_ref());
        push_some(&mut pairs, "to", self.to.as_ref());
        push_some(&mut pairs, "party", self.party.as_ref());
        push_some(&mut pairs, "inReplyTo", self.in_reply_to.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: all(pairs, "status").map(str::parse).collect::<Result<_, _>>()?,
            from: parsed(pairs, "from")?,
            to: parsed(pairs, "to")?,
            party: parsed(pairs, "party")?,
            in_reply_to: parsed(pairs, "inReplyTo")?,
        })
    }
}

impl Query for ApprovalFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        self.statuses.iter().for_each(|status| push(&mut pairs, "status", status));
        push_some(&mut pairs, "agent", self.agent.as_ref());
        push_some(&mut pairs, "kind", self.kind.as_ref());
        push_some(&mut pairs, "toCarryOut", self.to_carry_out.then_some(&true));
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: all(pairs, "status").map(str::parse).collect::<Result<_, _>>()?,
            agent: text(pairs, "agent"),
            kind: text(pairs, "kind"),
            to_carry_out: flag(pairs, "toCarryOut")?.unwrap_or_default(),
        })
    }
}

impl Query for QuestionFilter {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        self.statuses.iter().for_each(|status| push(&mut pairs, "status", status));
        push_some(&mut pairs, "from", self.from.as_ref());
        push_some(&mut pairs, "to", self.to.as_ref());
        push_some(&mut pairs, "party", self.party.as_ref());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        Ok(Self {
            statuses: all(pairs, "status").map(str::parse).collect::<Result<_, _>>()?,
            from: parsed(pairs, "from")?,
            to: parsed(pairs, "to")?,
            party: parsed(pairs, "party")?,
        })
    }
}

impl Query for Awaited {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        match self {
            Self::Mail(party) => push(&mut pairs, "mail", party),
            Self::Question(id) => push(&mut pairs, "question", id),
            Self::Approval(id) => push(&mut pairs, "approval", id),
        }
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        let mail = parsed(pairs, "mail")?.map(Self::Mail);
        let question = parsed(pairs, "question")?.map(Self::Question);
        let approval = parsed(pairs, "approval")?.map(Self::Approval);
        match (mail, question, approval) {
            (Some(one), None, None) | (None, Some(one), None) | (None, None, Some(one)) => Ok(one),
            _ => Err(Invalid::new("query", "one of mail, question, approval is needed")),
        }
    }
}

impl Query for Order {
    fn to_query(&self) -> QueryPairs {
        let word = match self {
            Self::Oldest => "oldest",
            Self::Newest => "newest",
        };
        vec![("order".to_owned(), word.to_owned())]
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        match text(pairs, "order").as_deref() {
            None | Some("oldest") => Ok(Self::Oldest),
            Some("newest") => Ok(Self::Newest),
            Some(other) => {
                Err(Invalid::new("order", format!("{other:?} is none of oldest, newest")))
            }
        }
    }
}

impl Query for EventQuery {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        push(&mut pairs, "after", self.after);
        push_some(&mut pairs, "upTo", self.up_to.as_ref());
        self.types.iter().for_each(|kind| push(&mut pairs, "type", kind));
        pairs.extend(self.order.to_query());
        push(&mut pairs, "limit", self.limit.get());
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        let limit = number(pairs, "limit")?.map_or(Ok(PageLimit::default()), PageLimit::new)?;
        Ok(Self {
            after: number(pairs, "after")?.unwrap_or(0),
            up_to: number(pairs, "upTo")?,
            types: all(pairs, "type").map(str::to_owned).collect(),
            order: Order::from_query(pairs)?,
            limit,
        })
    }
}

impl Query for SearchQuery {
    fn to_query(&self) -> QueryPairs {
        let mut pairs = Vec::new();
        push(&mut pairs, "q", &self.text);
        push_some(&mut pairs, "sessionId", self.session_id.as_ref());
        push_some(&mut pairs, "repoId", self.repo_id.as_ref());
        push_some(&mut pairs, "agent", self.agent.as_ref());
        push_some(&mut pairs, "since", self.since.as_ref());
        self.types.iter().for_each(|kind| push(&mut pairs, "type", kind));
        pairs
    }

    fn from_query(pairs: &[(String, String)]) -> Result<Self, Invalid> {
        let words = parsed(pairs, "q")?.ok_or_else(|| Invalid::new("q", "is missing"))?;
        Ok(Self {
            text: words,
            session_id: parsed(pairs, "sessionId")?,
            repo_id: number(pairs, "repoId")?,
            agent: text(pairs, "agent"),
            since: parsed(pairs, "since")?,
            types: all(pairs, "type").map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentType, Lifecycle, SessionStatus, Timestamp};

    fn comes_back<T: Query + PartialEq + std::fmt::Debug>(value: &T) {
        assert_eq!(T::from_query(&value.to_query()).as_ref(), Ok(value));
    }

    #[test]
    fn every_part_of_a_query_comes_back() {
        comes_back(&PageRequest::default());
        comes_back(&PageRequest { limit: PageLimit::MAX, cursor: Some(Cursor::Number(-7)) });
        comes_back(&SessionFilter::default());
        comes_back(&SessionFilter {
            statuses: vec![SessionStatus::Idle, SessionStatus::Created],
            repo_id: Some(7),
            agent: Some("codex".to_owned()),
            agent_version: Some("1".to_owned()),
            labels: Labels::from_pairs(&["a=b=c".to_owned(), "d=".to_owned()]).unwrap(),
            since: Some(Timestamp::EPOCH),
            until: Some(Timestamp::MAX),
            title: Some("a & b=c ☃".to_owned()),
            parent: Some("p".parse().unwrap()),
            forked_from: Some("f".parse().unwrap()),
        });
        comes_back(&AgentFilter {
            lifecycles: Lifecycle::ALL.to_vec(),
            agent_type: Some(AgentType::Other("x".to_owned())),
            kind: Some("k".to_owned()),
            name: Some("n".to_owned()),
            destroyed: Some(true),
        });
        comes_back(&MessageFilter {
            statuses: crate::MessageStatus::ALL.to_vec(),
            from: Some(crate::Party::Operator),
            to: Some("alice".parse().unwrap()),
            party: Some("bob".parse().unwrap()),
            in_reply_to: Some("m".parse().unwrap()),
        });
        comes_back(&ApprovalFilter {
            statuses: crate::ApprovalStatus::ALL.to_vec(),
            agent: Some("alice".to_owned()),
            kind: Some("spawn".to_owned()),
            to_carry_out: true,
        });
        comes_back(&QuestionFilter {
            statuses: crate::QuestionStatus::ALL.to_vec(),
            from: Some("alice".parse().unwrap()),
            to: Some(crate::Party::Operator),
            party: Some("bob".parse().unwrap()),
        });
        comes_back(&Awaited::Mail(crate::Party::Operator));
        comes_back(&Awaited::Question("q".parse().unwrap()));
        comes_back(&Awaited::Approval("a".parse().unwrap()));
        comes_back(&SpendingFilter {
            since: Some("2026-01-01".parse().unwrap()),
            until: Some("2026-01-31".parse().unwrap()),
            session: Some("s".parse().unwrap()),
            repo_id: Some(7),
            agent: Some("codex".to_owned()),
        });
        let batch_id = Some("b".parse().unwrap());
        comes_back(&TaskFilter { batch_id, session_id: Some("s".parse().unwrap()) });
        comes_back(&RunFilter {
            statuses: vec![crate::RunStatus::Pending, crate::RunStatus::Failed],
            session_id: Some("s".parse().unwrap()),
            executor_id: Some("spiffe://x/y".parse().unwrap()),
        });
        comes_back(&SearchQuery {
            text: "two \"words here\" -not pre*".parse().unwrap(),
            session_id: Some("s".parse().unwrap()),
            repo_id: Some(7),
            agent: Some("codex".to_owned()),
            since: Some(Timestamp::from_unix_ms(5)),
            types: vec!["a".to_owned(), "b c".to_owned()],
        });
        comes_back(&FleetFilter { status: Some(crate::FleetStatus::Ended) });
        comes_back(&EventQuery {
            after: 3,
            up_to: Some(u64::MAX),
            types: vec!["a".to_owned(), "b c".to_owned()],
            order: Order::Newest,
            limit: PageLimit::MAX,
        });
    }

    #[test]
    fn a_part_that_cannot_be_read_is_named() {
        let pairs = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let refused = PageRequest::from_query(&pairs("limit", "many")).unwrap_err();
        assert_eq!(refused.field, "limit");
        assert!(SessionFilter::from_query(&pairs("status", "paused")).is_err());
        assert!(EventQuery::from_query(&pairs("order", "up")).is_err());
    }
}
