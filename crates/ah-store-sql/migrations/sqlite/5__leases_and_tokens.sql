-- Runs as a queue of leases, callbacks to parents, registered executors, tokens, keyed requests, and
-- the feed of changes.

-- The order of the queue: a number, never a clock.
ALTER TABLE runs ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN parent_session_id TEXT REFERENCES sessions(id) ON DELETE SET NULL;
ALTER TABLE runs ADD COLUMN timeout_ms INTEGER;
ALTER TABLE runs ADD COLUMN take_by TEXT;
ALTER TABLE runs ADD COLUMN requeue INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN stop_told_at TEXT;
UPDATE runs SET number = o.place FROM
  (SELECT id, row_number() OVER (ORDER BY created_at, id) AS place FROM runs) AS o WHERE o.id = runs.id;
CREATE UNIQUE INDEX runs_by_number ON runs(number);
CREATE INDEX runs_queue ON runs(number) WHERE status = 'pending';
CREATE INDEX runs_take_by ON runs(take_by) WHERE status = 'pending' AND take_by IS NOT NULL;
CREATE INDEX runs_leases ON runs(lease_expires_at) WHERE lease_expires_at IS NOT NULL;
CREATE INDEX runs_holder ON runs(executor_id) WHERE status IN ('claimed', 'running', 'stopping');
CREATE INDEX runs_parent ON runs(parent_session_id) WHERE parent_session_id IS NOT NULL;

CREATE TABLE callbacks (
  run_id            TEXT PRIMARY KEY,
  number            INTEGER NOT NULL,
  child_session_id  TEXT NOT NULL,
  parent_session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  status            TEXT NOT NULL,
  error             TEXT,
  result            TEXT,
  attempts          INTEGER NOT NULL DEFAULT 0,
  created_at        TEXT NOT NULL,
  delivered_by      TEXT
);
CREATE INDEX callbacks_parent ON callbacks(parent_session_id, number);
CREATE INDEX callbacks_waiting ON callbacks(parent_session_id) WHERE delivered_by IS NULL;
CREATE INDEX callbacks_carrier ON callbacks(delivered_by) WHERE delivered_by IS NOT NULL;

ALTER TABLE executors ADD COLUMN offer TEXT;
ALTER TABLE executors ADD COLUMN details TEXT;
ALTER TABLE executors ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executors ADD COLUMN seen_at TEXT;
ALTER TABLE executors ADD COLUMN removal_requested_at TEXT;

-- Only the hash of a token is ever here.
CREATE TABLE tokens (
  id           TEXT PRIMARY KEY,
  hash         TEXT NOT NULL,
  role         TEXT NOT NULL,
  agent        TEXT,
  name         TEXT,
  created_at   TEXT NOT NULL,
  expires_at   TEXT,
  revoked_at   TEXT,
  last_used_at TEXT
);

CREATE TABLE request_keys (
  k           TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  answer      TEXT NOT NULL,
  created_at  TEXT NOT NULL
);
CREATE INDEX request_keys_created ON request_keys(created_at);

-- What it names may be gone, so nothing is referred to.
CREATE TABLE changes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  kind        TEXT NOT NULL,
  session_id  TEXT,
  run_id      TEXT,
  executor_id TEXT,
  at          TEXT NOT NULL
);
