-- Numbered logs, lineage and origin of sessions, batches of tasks, leased runs.

-- Two clones of one remote are two repositories; one that has no local root is known by its URL.
ALTER TABLE repos DROP CONSTRAINT repos_remote_url_key;
CREATE UNIQUE INDEX repos_remote_url ON repos(remote_url) WHERE root_path IS NULL;

ALTER TABLE sessions
  ADD COLUMN title text,
  ADD COLUMN labels jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN pinned boolean NOT NULL DEFAULT false,
  ADD COLUMN parent_session_id text COLLATE "C" REFERENCES sessions(id) ON DELETE SET NULL,
  ADD COLUMN forked_from text COLLATE "C" REFERENCES sessions(id) ON DELETE RESTRICT,
  ADD COLUMN forked_at_seq bigint,
  ADD COLUMN source text,
  ADD COLUMN external_id text,
  ADD COLUMN project_dir text,
  ADD COLUMN hostname text,
  ADD COLUMN executor_session_id text,
  ADD COLUMN executor_profile text,
  ADD COLUMN executor_type text,
  ADD COLUMN inference_session_id text,
  ADD COLUMN reset_message text,
  ADD COLUMN exit_code bigint,
  ADD COLUMN exit_signal bigint,
  ADD COLUMN exit_reason text,
  ADD COLUMN last_seq bigint NOT NULL DEFAULT 0,
  ADD COLUMN input_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN output_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN cache_read_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN reasoning_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN created_at timestamptz NOT NULL DEFAULT 'epoch',
  ADD COLUMN last_resumed_at timestamptz,
  ADD COLUMN last_activity_at timestamptz NOT NULL DEFAULT 'epoch';

-- The log: seq counts from 1 per session without gaps, in the order the rows were written.
ALTER TABLE events ADD COLUMN seq bigint NOT NULL DEFAULT 0, ADD COLUMN dedup_key text;
UPDATE events SET seq = numbered.seq
  FROM (SELECT id, row_number() OVER (PARTITION BY session_id ORDER BY id) AS seq FROM events) AS numbered
  WHERE numbered.id = events.id;
DROP INDEX idx_events_session_ts;
CREATE UNIQUE INDEX events_session_seq ON events(session_id, seq);
CREATE UNIQUE INDEX events_dedup_key ON events(session_id, dedup_key) WHERE dedup_key IS NOT NULL;

-- Status words of other vocabularies become ours; one that nobody knows is a failure that says so.
UPDATE sessions SET
  status = CASE status
    WHEN 'pending' THEN 'created' WHEN 'queued' THEN 'created'
    WHEN 'finished' THEN 'succeeded' WHEN 'completed' THEN 'succeeded'
    WHEN 'stopped' THEN 'cancelled' WHEN 'error' THEN 'failed'
    WHEN 'created' THEN status WHEN 'running' THEN status WHEN 'idle' THEN status
    WHEN 'stopping' THEN status WHEN 'succeeded' THEN status WHEN 'failed' THEN status
    WHEN 'cancelled' THEN status ELSE 'failed' END,
  exit_reason = CASE WHEN status NOT IN ('pending', 'queued', 'finished', 'completed', 'stopped',
    'error', 'created', 'running', 'idle', 'stopping', 'succeeded', 'failed', 'cancelled')
    THEN 'status was ' || status END;
-- A session has an end exactly when it is finished.
UPDATE sessions SET ended_at = CASE
  WHEN status IN ('succeeded', 'failed', 'cancelled') THEN coalesce(ended_at, started_at) END;
UPDATE sessions SET
  created_at = started_at,
  last_activity_at = greatest(started_at, coalesce(ended_at, started_at)),
  last_seq = (SELECT count(*) FROM events WHERE events.session_id = sessions.id);
CREATE INDEX sessions_activity ON sessions(last_activity_at, id);
CREATE UNIQUE INDEX sessions_origin ON sessions(source, external_id) WHERE source IS NOT NULL;
CREATE INDEX sessions_parent ON sessions(parent_session_id) WHERE parent_session_id IS NOT NULL;
CREATE INDEX sessions_forked_from ON sessions(forked_from) WHERE forked_from IS NOT NULL;

-- The labels of sessions once more, to find sessions by.
CREATE TABLE session_labels (
  session_id text COLLATE "C" NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  k          text NOT NULL,
  v          text NOT NULL,
  PRIMARY KEY (session_id, k)
);
CREATE INDEX session_labels_k_v ON session_labels(k, v);

ALTER TABLE tasks
  ADD COLUMN batch_id text NOT NULL DEFAULT '',
  ADD COLUMN created_at timestamptz NOT NULL DEFAULT 'epoch';
UPDATE tasks SET
  batch_id = 'task-' || id,
  created_at = (SELECT created_at FROM sessions WHERE sessions.id = tasks.session_id);
CREATE INDEX tasks_session ON tasks(session_id);
CREATE INDEX tasks_batch ON tasks(batch_id);

-- One execution of a session by somebody, held under a lease.
CREATE TABLE runs (
  id                text COLLATE "C" PRIMARY KEY,
  session_id        text COLLATE "C" NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  kind              text NOT NULL,
  status            text NOT NULL,
  parameters        text NOT NULL,
  demands           text,
  executor_id       text,
  lease_epoch       bigint NOT NULL DEFAULT 0,
  lease_expires_at  timestamptz,
  stop_requested_at timestamptz,
  execution_mode    text,
  error             text,
  result            text,
  created_at        timestamptz NOT NULL,
  claimed_at        timestamptz,
  started_at        timestamptz,
  ended_at          timestamptz
);
CREATE INDEX runs_session ON runs(session_id);
CREATE UNIQUE INDEX runs_live ON runs(session_id)
  WHERE status IN ('pending', 'claimed', 'running', 'stopping');

-- What was applied here, by content.
CREATE TABLE schema_migrations (
  version    bigint PRIMARY KEY,
  name       text NOT NULL,
  sha256     text NOT NULL,
  applied_at timestamptz NOT NULL
);
