-- Numbered logs, lineage and origin of sessions, batches of tasks, leased runs.

-- Two clones of one remote are two repositories; one that has no local root is known by its URL.
CREATE TABLE repos_3 (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  vcs            TEXT NOT NULL,
  root_path      TEXT UNIQUE,
  remote_url     TEXT,
  default_branch TEXT,
  created_at     TEXT NOT NULL
);
INSERT INTO repos_3 (id, vcs, root_path, remote_url, default_branch, created_at)
  SELECT id, vcs, root_path, remote_url, default_branch,
    coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at), '1970-01-01T00:00:00.000Z') FROM repos;
DROP TABLE repos;
ALTER TABLE repos_3 RENAME TO repos;
CREATE UNIQUE INDEX repos_remote_url ON repos(remote_url) WHERE root_path IS NULL;

ALTER TABLE sessions ADD COLUMN title TEXT;
ALTER TABLE sessions ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';
ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN parent_session_id TEXT REFERENCES sessions(id) ON DELETE SET NULL;
ALTER TABLE sessions ADD COLUMN forked_from TEXT REFERENCES sessions(id) ON DELETE RESTRICT;
ALTER TABLE sessions ADD COLUMN forked_at_seq INTEGER;
ALTER TABLE sessions ADD COLUMN source TEXT;
ALTER TABLE sessions ADD COLUMN external_id TEXT;
ALTER TABLE sessions ADD COLUMN project_dir TEXT;
ALTER TABLE sessions ADD COLUMN hostname TEXT;
ALTER TABLE sessions ADD COLUMN executor_session_id TEXT;
ALTER TABLE sessions ADD COLUMN executor_profile TEXT;
ALTER TABLE sessions ADD COLUMN executor_type TEXT;
ALTER TABLE sessions ADD COLUMN inference_session_id TEXT;
ALTER TABLE sessions ADD COLUMN reset_message TEXT;
ALTER TABLE sessions ADD COLUMN exit_code INTEGER;
ALTER TABLE sessions ADD COLUMN exit_signal INTEGER;
ALTER TABLE sessions ADD COLUMN exit_reason TEXT;
ALTER TABLE sessions ADD COLUMN last_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cache_read_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN created_at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z';
ALTER TABLE sessions ADD COLUMN last_resumed_at TEXT;
ALTER TABLE sessions ADD COLUMN last_activity_at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z';

-- The log: seq counts from 1 per session without gaps, in the order the rows were written.
ALTER TABLE events ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN dedup_key TEXT;
UPDATE events SET seq = numbered.seq,
  ts = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ts), '1970-01-01T00:00:00.000Z')
  FROM (SELECT id, row_number() OVER (PARTITION BY session_id ORDER BY id) AS seq FROM events) AS numbered
  WHERE numbered.id = events.id;
DROP INDEX idx_events_session_ts;
CREATE UNIQUE INDEX events_session_seq ON events(session_id, seq);
CREATE UNIQUE INDEX events_dedup_key ON events(session_id, dedup_key) WHERE dedup_key IS NOT NULL;

-- Times become UTC with milliseconds. Status words of other vocabularies become ours; one that
-- nobody knows is a failure that says so. The backup made before keeps what stood here.
UPDATE sessions SET
  started_at = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', started_at), '1970-01-01T00:00:00.000Z'),
  ended_at = strftime('%Y-%m-%dT%H:%M:%fZ', ended_at),
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
  last_activity_at = max(started_at, coalesce(ended_at, started_at)),
  last_seq = (SELECT count(*) FROM events WHERE events.session_id = sessions.id);
CREATE INDEX sessions_activity ON sessions(last_activity_at, id);
CREATE UNIQUE INDEX sessions_origin ON sessions(source, external_id) WHERE source IS NOT NULL;
CREATE INDEX sessions_parent ON sessions(parent_session_id) WHERE parent_session_id IS NOT NULL;
CREATE INDEX sessions_forked_from ON sessions(forked_from) WHERE forked_from IS NOT NULL;

UPDATE drafts SET
  created_at = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at), '1970-01-01T00:00:00.000Z'),
  updated_at = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', updated_at), '1970-01-01T00:00:00.000Z');
UPDATE workspaces SET
  created_at = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', created_at), '1970-01-01T00:00:00.000Z');

-- The labels of sessions once more, to find sessions by.
CREATE TABLE session_labels (
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  k          TEXT NOT NULL,
  v          TEXT NOT NULL,
  PRIMARY KEY (session_id, k)
) WITHOUT ROWID;
CREATE INDEX session_labels_k_v ON session_labels(k, v);

ALTER TABLE tasks ADD COLUMN batch_id TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN created_at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z';
UPDATE tasks SET
  batch_id = 'task-' || id,
  created_at = (SELECT created_at FROM sessions WHERE sessions.id = tasks.session_id);
CREATE INDEX tasks_session ON tasks(session_id);
CREATE INDEX tasks_batch ON tasks(batch_id);

-- One execution of a session by somebody, held under a lease.
CREATE TABLE runs (
  id                TEXT PRIMARY KEY,
  session_id        TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  kind              TEXT NOT NULL,
  status            TEXT NOT NULL,
  parameters        TEXT NOT NULL,
  demands           TEXT,
  executor_id       TEXT,
  lease_epoch       INTEGER NOT NULL DEFAULT 0,
  lease_expires_at  TEXT,
  stop_requested_at TEXT,
  execution_mode    TEXT,
  error             TEXT,
  result            TEXT,
  created_at        TEXT NOT NULL,
  claimed_at        TEXT,
  started_at        TEXT,
  ended_at          TEXT
);
CREATE INDEX runs_session ON runs(session_id);
CREATE UNIQUE INDEX runs_live ON runs(session_id)
  WHERE status IN ('pending', 'claimed', 'running', 'stopping');

-- What was applied here, by content: user_version alone cannot tell two histories apart.
CREATE TABLE schema_migrations (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  sha256     TEXT NOT NULL,
  applied_at TEXT NOT NULL
);

-- "AHDB": tells this file from other programs' databases.
PRAGMA application_id = 1095255106;
