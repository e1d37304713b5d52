-- Agents: named identities that live through many sessions.

CREATE TABLE agent_instances (
  id                 TEXT PRIMARY KEY,
  name               TEXT NOT NULL,
  kind_id            INTEGER NOT NULL REFERENCES agents(id) ON DELETE RESTRICT,
  type               TEXT NOT NULL,
  descriptor         TEXT NOT NULL,
  permissions        TEXT NOT NULL,
  tokens             TEXT NOT NULL,
  stats              TEXT NOT NULL,
  metadata           TEXT NOT NULL,
  lifecycle          TEXT NOT NULL,
  model              TEXT,
  source             TEXT,
  external_id        TEXT,
  active_session_id  TEXT REFERENCES sessions(id) ON DELETE SET NULL,
  session_count      INTEGER NOT NULL DEFAULT 0,
  input_tokens       INTEGER NOT NULL DEFAULT 0,
  output_tokens      INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens  INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens   INTEGER NOT NULL DEFAULT 0,
  revision           INTEGER NOT NULL DEFAULT 1,
  created_at         TEXT NOT NULL,
  updated_at         TEXT NOT NULL
);
-- A name is a directory and an address: two that differ in case only would meet in both.
CREATE UNIQUE INDEX agent_instances_any_case ON agent_instances(lower(name));
CREATE INDEX agent_instances_name ON agent_instances(name);
CREATE UNIQUE INDEX agent_instances_origin ON agent_instances(source, external_id) WHERE source IS NOT NULL;
CREATE INDEX agent_instances_active ON agent_instances(active_session_id) WHERE active_session_id IS NOT NULL;

-- The place of a session in an agent's life: numbers from 1, so that order never comes from a clock.
ALTER TABLE sessions ADD COLUMN instance_id TEXT REFERENCES agent_instances(id) ON DELETE SET NULL;
ALTER TABLE sessions ADD COLUMN instance_number INTEGER;
ALTER TABLE sessions ADD COLUMN begun_by TEXT;
CREATE UNIQUE INDEX sessions_instance ON sessions(instance_id, instance_number) WHERE instance_id IS NOT NULL;
