-- Agents: named identities that live through many sessions.

CREATE TABLE agent_instances (
  id                 text COLLATE "C" PRIMARY KEY,
  name               text COLLATE "C" NOT NULL,
  kind_id            bigint NOT NULL REFERENCES agents(id) ON DELETE RESTRICT,
  type               text NOT NULL,
  descriptor         text NOT NULL,
  permissions        text NOT NULL,
  tokens             text NOT NULL,
  stats              text NOT NULL,
  metadata           text NOT NULL,
  lifecycle          text NOT NULL,
  model              text,
  source             text,
  external_id        text,
  active_session_id  text COLLATE "C" REFERENCES sessions(id) ON DELETE SET NULL,
  session_count      bigint NOT NULL DEFAULT 0,
  input_tokens       bigint NOT NULL DEFAULT 0,
  output_tokens      bigint NOT NULL DEFAULT 0,
  cache_read_tokens  bigint NOT NULL DEFAULT 0,
  cache_write_tokens bigint NOT NULL DEFAULT 0,
  reasoning_tokens   bigint NOT NULL DEFAULT 0,
  revision           bigint NOT NULL DEFAULT 1,
  created_at         timestamptz NOT NULL,
  updated_at         timestamptz NOT NULL
);
-- A name is a directory and an address: two that differ in case only would meet in both.
CREATE UNIQUE INDEX agent_instances_any_case ON agent_instances(lower(name));
CREATE INDEX agent_instances_name ON agent_instances(name);
CREATE UNIQUE INDEX agent_instances_origin ON agent_instances(source, external_id) WHERE source IS NOT NULL;
CREATE INDEX agent_instances_active ON agent_instances(active_session_id) WHERE active_session_id IS NOT NULL;

-- The place of a session in an agent's life: numbers from 1, so that order never comes from a clock.
ALTER TABLE sessions
  ADD COLUMN instance_id text COLLATE "C" REFERENCES agent_instances(id) ON DELETE SET NULL,
  ADD COLUMN instance_number bigint,
  ADD COLUMN begun_by text;
CREATE UNIQUE INDEX sessions_instance ON sessions(instance_id, instance_number) WHERE instance_id IS NOT NULL;
