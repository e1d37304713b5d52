//! What must always be true of a store, as statements that return the rows that break it.

use ah_store::StoreError;

use crate::migration::{MIGRATIONS, checksum};
use crate::tx::{Dialect, More, Row, Tx, query_all};
use crate::{Engine, SqlStore};

/// Most offenders named per rule.
const NAMED_MAX: usize = 20;

/// A row that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule, in words.
    pub rule: &'static str,
    /// What breaks it.
    pub subject: String,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The rules that were checked.
    pub rules: Vec<&'static str>,
    /// What breaks them; empty when all hold.
    pub violations: Vec<Violation>,
}

/// A rule and the statement that names, in one text column, what breaks it.
struct Rule {
    text: &'static str,
    sql: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        // A removal that is under way takes the oldest events of a session first.
        text: "events of a session are numbered from 1 without gaps",
        sql: "SELECT 'session ' || session_id || ': ' || count(*) || ' events from seq ' || \
              min(seq) || ' to ' || max(seq) FROM events GROUP BY session_id \
              HAVING max(seq) - min(seq) + 1 <> count(*) OR (min(seq) <> 1 AND \
              NOT EXISTS (SELECT 1 FROM receipts WHERE finished_at IS NULL))",
    },
    Rule {
        text: "last_seq of a session is the seq of its newest event",
        sql: "SELECT 'session ' || s.id || ': last_seq ' || s.last_seq || ', newest event ' || \
              coalesce(e.newest, 0) FROM sessions s LEFT JOIN \
              (SELECT session_id, max(seq) AS newest FROM events GROUP BY session_id) e \
              ON e.session_id = s.id WHERE s.last_seq <> coalesce(e.newest, 0) AND (e.newest IS NOT \
              NULL OR NOT EXISTS (SELECT 1 FROM receipts WHERE finished_at IS NULL))",
    },
    Rule {
        text: "a session has a status of the state machine",
        sql: "SELECT 'session ' || id || ': status ' || status FROM sessions WHERE status NOT IN \
              ('created', 'running', 'idle', 'stopping', 'succeeded', 'failed', 'cancelled')",
    },
    Rule {
        text: "a session has an end exactly when it is finished",
        sql: "SELECT 'session ' || id || ': ' || status || CASE WHEN ended_at IS NULL \
              THEN ' without an end' ELSE ' with an end' END FROM sessions \
              WHERE (status IN ('succeeded', 'failed', 'cancelled')) <> (ended_at IS NOT NULL)",
    },
    Rule {
        // As fractions, for a sum of whole numbers may not fit; those are exact up to 2^53.
        text: "what a session spent by day and model adds up to its totals",
        sql: "SELECT 'session ' || s.id || ': ' || s.input_tokens || ' input and ' || \
              s.output_tokens || ' output tokens, other sums by day' FROM sessions s LEFT JOIN \
              (SELECT session_id, sum(input_tokens * 1.0) AS input, \
              sum(output_tokens * 1.0) AS output, sum(cache_read_tokens * 1.0) AS cache_read, \
              sum(cache_write_tokens * 1.0) AS cache_write, \
              sum(reasoning_tokens * 1.0) AS reasoning FROM spendings GROUP BY session_id) p \
              ON p.session_id = s.id WHERE \
              (s.input_tokens < 9007199254740992 AND s.input_tokens <> coalesce(p.input, 0)) OR \
              (s.output_tokens < 9007199254740992 AND s.output_tokens <> coalesce(p.output, 0)) OR \
              (s.cache_read_tokens < 9007199254740992 \
              AND s.cache_read_tokens <> coalesce(p.cache_read, 0)) OR \
              (s.cache_write_tokens < 9007199254740992 \
              AND s.cache_write_tokens <> coalesce(p.cache_write, 0)) OR \
              (s.reasoning_tokens < 9007199254740992 \
              AND s.reasoning_tokens <> coalesce(p.reasoning, 0))",
    },
    Rule {
        text: "a repository has a known version control system",
        sql: "SELECT 'repo ' || id || ': vcs ' || vcs FROM repos WHERE vcs NOT IN \
              ('git', 'hg', 'jj', 'bzr', 'fossil', 'pijul', 'svn', 'none')",
    },
    Rule {
        text: "a runtime has a known type",
        sql: "SELECT 'runtime ' || id || ': type ' || type FROM runtimes \
              WHERE type NOT IN ('local', 'devcontainer', 'disabled')",
    },
    Rule {
        text: "a run has a status of the state machine",
        sql: "SELECT 'run ' || id || ': status ' || status FROM runs WHERE status NOT IN \
              ('pending', 'claimed', 'running', 'stopping', 'completed', 'failed', 'stopped')",
    },
    Rule {
        text: "a run has an end exactly when it is over, and a lease exactly while it is held",
        sql: "SELECT 'run ' || id || ': ' || status FROM runs \
              WHERE (status IN ('completed', 'failed', 'stopped')) <> (ended_at IS NOT NULL) \
              OR (status IN ('claimed', 'running', 'stopping')) <> (lease_expires_at IS NOT NULL)",
    },
    Rule {
        text: "a session has at most one live run, those of its fleet aside",
        sql: "SELECT 'session ' || session_id || ': ' || count(*) || ' live runs' FROM runs \
              WHERE member IS NULL AND status IN ('pending', 'claimed', 'running', 'stopping') \
              GROUP BY session_id HAVING count(*) > 1",
    },
    Rule {
        text: "a fleet and a fence have a status of the state machine",
        sql: "SELECT 'fleet of session ' || session_id || ': status ' || status FROM fleets \
              WHERE status NOT IN ('live', 'ended') \
              UNION ALL SELECT 'fence ' || id || ': status ' || status FROM fences WHERE status \
              NOT IN ('snapshot', 'pull', 'consistent', 'timeout', 'error')",
    },
    Rule {
        text: "a live fleet is led by one of its members",
        sql: "SELECT 'fleet of session ' || f.session_id || ': led by run ' || f.leader_run_id \
              FROM fleets f LEFT JOIN runs r ON r.id = f.leader_run_id \
              AND r.session_id = f.session_id AND r.member IS NOT NULL \
              WHERE f.status = 'live' AND r.id IS NULL",
    },
    Rule {
        text: "a fence is open only in a live fleet, and alone",
        sql: "SELECT 'session ' || n.session_id || ': ' || count(*) || ' open fences' \
              FROM fences n LEFT JOIN fleets f ON f.session_id = n.session_id \
              AND f.status = 'live' WHERE n.status IN ('snapshot', 'pull') \
              GROUP BY n.session_id HAVING count(*) > 1 OR count(f.session_id) = 0",
    },
    Rule {
        text: "a callback that is carried names a run of its parent",
        sql: "SELECT 'callback of run ' || c.run_id || ': carried by ' || c.delivered_by \
              FROM callbacks c LEFT JOIN runs r ON r.id = c.delivered_by \
              WHERE c.delivered_by IS NOT NULL AND \
              (r.id IS NULL OR r.session_id <> c.parent_session_id)",
    },
    Rule {
        text: "an executor has a status of the state machine",
        sql: "SELECT 'executor ' || executor_id || ': status ' || status FROM executors \
              WHERE status NOT IN ('active', 'draining', 'disabled', 'revoked')",
    },
    Rule {
        text: "an executor that may not connect holds no run",
        sql: "SELECT 'run ' || r.id || ': held by ' || e.executor_id || ', which is ' || e.status \
              FROM runs r JOIN executors e ON e.executor_id = r.executor_id \
              WHERE r.status IN ('claimed', 'running', 'stopping') \
              AND e.status IN ('disabled', 'revoked')",
    },
    Rule {
        text: "a token has a known role",
        sql: "SELECT 'token ' || id || ': role ' || role FROM tokens \
              WHERE role NOT IN ('admin', 'operator', 'viewer', 'executor', 'agent')",
    },
    Rule {
        text: "a fork point lies within the session forked from",
        sql: "SELECT 'session ' || f.id || ': forked at ' || f.forked_at_seq || ' of ' || s.last_seq \
              FROM sessions f JOIN sessions s ON s.id = f.forked_from \
              WHERE f.forked_at_seq > s.last_seq OR f.forked_at_seq < 0",
    },
    Rule {
        text: "an agent has a lifecycle of the state machine",
        sql: "SELECT 'agent ' || name || ': lifecycle ' || lifecycle FROM agent_instances \
              WHERE lifecycle NOT IN ('active', 'sleeping', 'dead')",
    },
    Rule {
        text: "an agent goes on in a session of its own",
        sql: "SELECT 'agent ' || i.name || ': goes on in ' || coalesce(i.active_session_id, 'none') \
              FROM agent_instances i LEFT JOIN sessions s ON s.id = i.active_session_id \
              WHERE (s.instance_id IS NULL OR s.instance_id <> i.id) AND NOT EXISTS \
              (SELECT 1 FROM receipts r WHERE r.finished_at IS NULL AND r.subject = i.name)",
    },
    Rule {
        text: "an agent that was destroyed is dead",
        sql: "SELECT 'agent ' || name || ': ' || lifecycle FROM agent_instances \
              WHERE destroyed_at IS NOT NULL AND lifecycle <> 'dead'",
    },
    Rule {
        text: "a message has a kind and a status of the state machine",
        sql: "SELECT 'message ' || id || ': ' || kind || ', ' || status FROM messages \
              WHERE kind NOT IN ('mail', 'bounce', 'question', 'answer', 'decision') \
              OR status NOT IN ('queued', 'leased', 'acked', 'dead')",
    },
    Rule {
        text: "a message has a lease exactly while it is held, and an end exactly when it is over",
        sql: "SELECT 'message ' || id || ': ' || status FROM messages \
              WHERE (status = 'leased') <> (lease_expires_at IS NOT NULL) \
              OR (status = 'acked') <> (acked_at IS NOT NULL) \
              OR (status = 'dead') <> (dead_at IS NOT NULL)",
    },
    Rule {
        text: "an approval has a status of the state machine, and an end exactly when it is decided",
        sql: "SELECT 'approval ' || id || ': ' || status FROM approvals WHERE status NOT IN \
              ('pending', 'approved', 'denied', 'failed', 'withdrawn') \
              OR (status = 'pending') <> (resolved_at IS NULL)",
    },
    Rule {
        text: "a question has a status of the state machine, and an end exactly when it is over",
        sql: "SELECT 'question ' || id || ': ' || status FROM questions WHERE status NOT IN \
              ('open', 'answered', 'expired', 'withdrawn') \
              OR (status = 'open') <> (resolved_at IS NULL)",
    },
    Rule {
        text: "a receipt says why things were removed",
        sql: "SELECT 'receipt ' || id || ': kind ' || kind FROM receipts \
              WHERE kind NOT IN ('retention', 'purge', 'scrub')",
    },
    Rule {
        text: "search says once how far its index reaches",
        sql: "SELECT 'search_index: ' || count(*) || ' rows' FROM search_index HAVING count(*) <> 1 \
              UNION ALL SELECT 'search_index: position ' || position FROM search_index \
              WHERE position < 0",
    },
    Rule {
        text: "sessions of an agent have numbers it has given",
        sql: "SELECT 'session ' || s.id || ': number ' || coalesce(s.instance_number, 0) || ' of ' || \
              i.session_count FROM sessions s JOIN agent_instances i ON i.id = s.instance_id \
              WHERE s.instance_number IS NULL OR s.instance_number < 1 \
              OR s.instance_number > i.session_count",
    },
];

/// What no upkeep would take out of the index.
const SEARCHED: &str = "search has no event that is gone, other than those it is about to forget";

/// Rules about what each engine keeps in its own way.
const POSTGRES_RULES: &[Rule] = &[Rule {
    text: SEARCHED,
    sql: "SELECT 'search_words: event ' || w.id FROM search_words w \
          WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = w.id) \
          AND NOT EXISTS (SELECT 1 FROM search_gone g WHERE g.id = w.id)",
}];

/// Rules that only SQLite needs or can check; PostgreSQL keeps the first two itself.
const SQLITE_RULES: &[Rule] = &[
    Rule {
        text: SEARCHED,
        sql: "SELECT 'search_words: event ' || w.id FROM search_words_docsize w \
              WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.id = w.id) \
              AND NOT EXISTS (SELECT 1 FROM search_gone g WHERE g.id = w.id)",
    },
    Rule {
        text: "the file's structure is sound",
        sql: "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    },
    Rule {
        text: "every reference leads to a row",
        sql: "SELECT \"table\" || ' row ' || coalesce(rowid, '?') || ' refers to a missing row of ' || parent \
              FROM pragma_foreign_key_check",
    },
    Rule {
        text: "labels of sessions are JSON",
        sql: "SELECT 'session ' || id || ': labels are not JSON' FROM sessions \
              WHERE NOT json_valid(labels)",
    },
    Rule {
        text: "numbers of sessions are numbers",
        sql: "SELECT 'session ' || id || ': a number is not one' FROM sessions \
              WHERE typeof(coalesce(pid_agent, 0)) <> 'integer' \
              OR typeof(coalesce(mux_window, 0)) <> 'integer' \
              OR typeof(coalesce(exit_code, 0)) <> 'integer'",
    },
    Rule {
        text: "what agents are described by is JSON",
        sql: "SELECT 'agent ' || name || ': not JSON' FROM agent_instances \
              WHERE NOT (json_valid(descriptor) AND json_valid(permissions) \
              AND json_valid(tokens) AND json_valid(stats) AND json_valid(metadata))",
    },
    Rule {
        text: "what approvals, questions and receipts hold is JSON",
        sql: "SELECT 'approval ' || id || ': not JSON' FROM approvals WHERE NOT json_valid(details) \
              UNION ALL SELECT 'question ' || id || ': not JSON' FROM questions \
              WHERE NOT (json_valid(options) AND json_valid(coalesce(answer, '{}')) \
              AND json_valid(coalesce(late_answer, '{}'))) \
              UNION ALL SELECT 'receipt ' || id || ': not JSON' FROM receipts \
              WHERE NOT json_valid(removed)",
    },
    Rule {
        text: "what fleets and fences hold is JSON",
        sql: "SELECT 'fleet of session ' || session_id || ': not JSON' FROM fleets \
              WHERE NOT json_valid(document) UNION ALL \
              SELECT 'fence ' || id || ': not JSON' FROM fences WHERE NOT json_valid(document)",
    },
    Rule {
        text: "times and numbers of messages, approvals, questions and receipts are such",
        sql: "SELECT 'message ' || id || ': a time or a number is not one' FROM messages \
              WHERE typeof(deliveries) <> 'integer' OR typeof(attempts) <> 'integer' \
              OR julianday(sent_at) IS NULL \
              OR (not_before IS NOT NULL AND julianday(not_before) IS NULL) \
              OR (lease_expires_at IS NOT NULL AND julianday(lease_expires_at) IS NULL) \
              OR (delivered_at IS NOT NULL AND julianday(delivered_at) IS NULL) \
              OR (acked_at IS NOT NULL AND julianday(acked_at) IS NULL) \
              OR (dead_at IS NOT NULL AND julianday(dead_at) IS NULL) \
              UNION ALL SELECT 'approval ' || id || ': a time is not one' FROM approvals \
              WHERE julianday(requested_at) IS NULL \
              OR (resolved_at IS NOT NULL AND julianday(resolved_at) IS NULL) \
              OR (carried_out_at IS NOT NULL AND julianday(carried_out_at) IS NULL) \
              UNION ALL SELECT 'question ' || id || ': a time is not one' FROM questions \
              WHERE julianday(asked_at) IS NULL \
              OR (deadline_at IS NOT NULL AND julianday(deadline_at) IS NULL) \
              OR (resolved_at IS NOT NULL AND julianday(resolved_at) IS NULL) \
              UNION ALL SELECT 'receipt ' || id || ': a time is not one' FROM receipts \
              WHERE julianday(started_at) IS NULL \
              OR (finished_at IS NOT NULL AND julianday(finished_at) IS NULL)",
    },
    Rule {
        text: "payloads of events are JSON",
        sql: "SELECT 'session ' || session_id || ' event ' || seq || ': not JSON' FROM events \
              WHERE data IS NOT NULL AND NOT json_valid(data)",
    },
    Rule {
        text: "both parties of a message have an entry of its block",
        sql: "SELECT 'message ' || id || ': no entry of block ' || (number >> 10) FROM messages \
              WHERE NOT EXISTS (SELECT 1 FROM message_blocks \
              WHERE party = lower(sender) AND block = number >> 10) \
              OR NOT EXISTS (SELECT 1 FROM message_blocks \
              WHERE party = lower(recipient) AND block = number >> 10)",
    },
];

const APPLIED: &str = "SELECT version, sha256 FROM schema_migrations ORDER BY version";
const APPLIED_RULE: &str = "the schema came from this program's migrations";

impl SqlStore {
    /// Proves the invariants and names what breaks them.
    pub async fn check(&self) -> Result<CheckReport, StoreError> {
        self.read(|tx, _| {
            let special = match tx.dialect() {
                Dialect::Sqlite => SQLITE_RULES,
                Dialect::Postgres => POSTGRES_RULES,
            };
            let mut report = CheckReport { rules: Vec::new(), violations: Vec::new() };
            for rule in special.iter().chain(RULES) {
                report.rules.push(rule.text);
                report.violations.extend(broken(tx, rule)?);
            }
            report.rules.push(APPLIED_RULE);
            report.violations.extend(strange_migrations(tx)?);
            Ok(report)
        })
        .await
    }

    /// The SQLite engine, if this store has one.
    pub(crate) fn sqlite(&self) -> Option<&crate::sqlite::Engine> {
        match &self.inner.engine {
            Engine::Sqlite(engine) => Some(engine),
            Engine::Postgres(_) => None,
        }
    }
}

/// What breaks a rule. Where a broken page is in the way that is said, and the other rules go on.
fn broken(tx: &mut dyn Tx, rule: &Rule) -> Result<Vec<Violation>, StoreError> {
    let mut violations = Vec::new();
    let told = tx.query(rule.sql, &[], &mut |row: &dyn Row| {
        violations.push(Violation { rule: rule.text, subject: row.text(0)? });
        Ok(if violations.len() < NAMED_MAX { More::Yes } else { More::No })
    });
    match told {
        Ok(()) => Ok(violations),
        Err(StoreError::Corrupt { source, .. }) => {
            let subject = format!("cannot be told: {source}");
            violations.push(Violation { rule: rule.text, subject });
            Ok(violations)
        }
        Err(other) => Err(other),
    }
}

fn strange_migrations(tx: &mut dyn Tx) -> Result<Vec<Violation>, StoreError> {
    let dialect = tx.dialect();
    let applied = query_all(tx, APPLIED, &[], |row| Ok((row.int(0)?, row.text(1)?)))?;
    let strange = applied.into_iter().filter(|(version, sha256)| {
        let known = MIGRATIONS.iter().find(|migration| migration.version == *version);
        let text = known.map(|migration| match dialect {
            Dialect::Sqlite => migration.sqlite,
            Dialect::Postgres => migration.postgres,
        });
        text.is_none_or(|text| checksum(text) != *sha256)
    });
    let violation = |(version, _)| Violation {
        rule: APPLIED_RULE,
        subject: format!("migration {version} was another text when it was applied here"),
    };
    Ok(strange.map(violation).collect())
}
