-- Mail, approvals, questions, tombstones of agents, and receipts of what was removed.
--
-- Parties are names: `operator`, or an agent's as it is spelt in agent_instances. A name is free again
-- only after a purge, which removes what is addressed to it.

ALTER TABLE agent_instances ADD COLUMN protected INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_instances ADD COLUMN destroyed_at TEXT;

CREATE TABLE messages (
  number           INTEGER PRIMARY KEY AUTOINCREMENT,
  id               TEXT NOT NULL UNIQUE,
  kind             TEXT NOT NULL,
  sender           TEXT NOT NULL,
  recipient        TEXT NOT NULL,
  body             TEXT NOT NULL,
  in_reply_to      TEXT,
  about            TEXT,
  status           TEXT NOT NULL,
  deliveries       INTEGER NOT NULL DEFAULT 0,
  attempts         INTEGER NOT NULL DEFAULT 0,
  not_before       TEXT,
  holder           TEXT,
  lease_expires_at TEXT,
  sent_at          TEXT NOT NULL,
  delivered_at     TEXT,
  acked_at         TEXT,
  dead_at          TEXT,
  note             TEXT
);
-- Lists take a name in any case of its letters, also one whose agent was purged.
CREATE INDEX messages_to ON messages(lower(recipient), number);
CREATE INDEX messages_from ON messages(lower(sender), number);
CREATE INDEX messages_replies ON messages(in_reply_to) WHERE in_reply_to IS NOT NULL;
-- What a party still has to handle: however long its history is, this stays short. A hand-out does
-- not touch it.
CREATE INDEX messages_open ON messages(lower(recipient), number)
  WHERE acked_at IS NULL AND dead_at IS NULL;
CREATE INDEX messages_leases ON messages(lease_expires_at) WHERE lease_expires_at IS NOT NULL;
CREATE INDEX messages_dead ON messages(number) WHERE status = 'dead';
CREATE INDEX messages_acked ON messages(acked_at) WHERE acked_at IS NOT NULL;

CREATE TABLE approvals (
  number         INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT NOT NULL UNIQUE,
  agent          TEXT NOT NULL,
  kind           TEXT NOT NULL,
  commit_ref     TEXT,
  commit_hash    TEXT,
  reason         TEXT,
  details        TEXT NOT NULL,
  status         TEXT NOT NULL,
  requested_at   TEXT NOT NULL,
  resolved_at    TEXT,
  resolved_by    TEXT,
  resolver       TEXT,
  note           TEXT,
  carried_out_at TEXT,
  problem        TEXT
);
CREATE INDEX approvals_agent ON approvals(lower(agent), number);
CREATE INDEX approvals_pending ON approvals(number) WHERE status = 'pending';
CREATE INDEX approvals_to_carry_out ON approvals(number)
    WHERE status = 'approved' AND carried_out_at IS NULL AND kind IN ('apply_commit', 'spawn');

CREATE TABLE questions (
  number      INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  asker       TEXT NOT NULL,
  target      TEXT NOT NULL,
  question    TEXT NOT NULL,
  options     TEXT NOT NULL,
  multi       INTEGER NOT NULL,
  free_text   INTEGER NOT NULL,
  status      TEXT NOT NULL,
  asked_at    TEXT NOT NULL,
  deadline_at TEXT,
  resolved_at TEXT,
  answer      TEXT,
  late_answer TEXT
);
CREATE INDEX questions_asker ON questions(lower(asker), number);
CREATE INDEX questions_target ON questions(lower(target), number);
CREATE INDEX questions_open ON questions(number) WHERE status = 'open';
CREATE INDEX questions_deadlines ON questions(deadline_at) WHERE status = 'open' AND deadline_at IS NOT NULL;

CREATE TABLE receipts (
  number      INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  kind        TEXT NOT NULL,
  subject     TEXT,
  started_at  TEXT NOT NULL,
  finished_at TEXT,
  removed     TEXT NOT NULL
);
-- One removal of a kind is under way at a time.
CREATE UNIQUE INDEX receipts_open ON receipts(kind, coalesce(subject, '')) WHERE finished_at IS NULL;

ALTER TABLE changes ADD COLUMN party TEXT;
ALTER TABLE changes ADD COLUMN subject TEXT;
