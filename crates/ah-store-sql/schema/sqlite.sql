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
, protected INTEGER NOT NULL DEFAULT 0, destroyed_at TEXT);

CREATE INDEX agent_instances_active ON agent_instances(active_session_id) WHERE active_session_id IS NOT NULL;

CREATE UNIQUE INDEX agent_instances_any_case ON agent_instances(lower(name));

CREATE INDEX agent_instances_name ON agent_instances(name);

CREATE UNIQUE INDEX agent_instances_origin ON agent_instances(source, external_id) WHERE source IS NOT NULL;

CREATE TABLE agents (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  name         TEXT NOT NULL,                  -- e.g., 'openhands', 'claude-code'
  version      TEXT NOT NULL,                  -- 'latest' or semver-like
  metadata     TEXT,                           -- JSON string for extra capabilities
  UNIQUE(name, version)
);

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

CREATE INDEX callbacks_carrier ON callbacks(delivered_by) WHERE delivered_by IS NOT NULL;

CREATE INDEX callbacks_parent ON callbacks(parent_session_id, number);

CREATE INDEX callbacks_waiting ON callbacks(parent_session_id) WHERE delivered_by IS NULL;

CREATE TABLE changes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  kind        TEXT NOT NULL,
  session_id  TEXT,
  run_id      TEXT,
  executor_id TEXT,
  at          TEXT NOT NULL
, party TEXT, subject TEXT);

CREATE TABLE drafts (
  id           TEXT PRIMARY KEY,               -- stable ULID/UUID string
  description  TEXT NOT NULL,                  -- user-provided task description
  repository   TEXT NOT NULL,                  -- repository identifier (ID or URL)
  branch       TEXT,                           -- target branch name
  models       TEXT NOT NULL,                  -- JSON array of selected models
  created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  updated_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

CREATE TRIGGER events_gone AFTER DELETE ON events BEGIN
  INSERT OR IGNORE INTO search_gone VALUES (old.id);
END;

CREATE TABLE events (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id   TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  ts           TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  type         TEXT NOT NULL,
  data         TEXT                             -- JSON payload
, seq INTEGER NOT NULL DEFAULT 0, dedup_key TEXT);

CREATE UNIQUE INDEX events_dedup_key ON events(session_id, dedup_key) WHERE dedup_key IS NOT NULL;

CREATE UNIQUE INDEX events_session_seq ON events(session_id, seq);

CREATE TABLE executor_capabilities (
  executor_id         TEXT PRIMARY KEY REFERENCES executors(executor_id) ON DELETE CASCADE,
  os_name             TEXT NOT NULL,              -- linux|macos|windows
  os_version          TEXT NOT NULL,
  architecture        TEXT NOT NULL,              -- x86_64|arm64|aarch64
  cpu_cores           INTEGER NOT NULL,           -- Logical cores available
  memory_bytes        INTEGER NOT NULL,           -- Total RAM in bytes
  storage_bytes       INTEGER NOT NULL,           -- Ephemeral storage capacity
  gpu_info            TEXT,                       -- JSON: [{vendor, model, vram, driver}]
  supported_runtimes  TEXT NOT NULL,              -- JSON: ["devcontainer", "vm", "bare"]
  supported_agents    TEXT NOT NULL,              -- JSON: ["claude", "codex", "openhands"]
  network_tier        TEXT,                       -- bandwidth/latency classification
  ssh_endpoint        TEXT,                       -- host:port for SSH tunneling
  created_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  updated_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

CREATE TABLE "executor_history" (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  executor_id     TEXT NOT NULL,
  event_type      TEXT NOT NULL,              -- enrolled|re_enrolled|changed|revoked|disabled|etc.
  event_data      TEXT,                       -- JSON: details about the event
  event_timestamp TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

CREATE INDEX executor_history_executor ON executor_history(executor_id, id);

CREATE TABLE executor_metadata (
  executor_id         TEXT PRIMARY KEY REFERENCES executors(executor_id) ON DELETE CASCADE,
  labels              TEXT,                       -- JSON: {"region": "us-west", "gpu": "true"}
  tags                TEXT,                       -- JSON: ["production", "high-mem"]
  authorization_rules TEXT,                       -- JSON: user→executor→verb permissions
  custom_config       TEXT,                       -- JSON: executor-specific settings
  security_policy     TEXT,                       -- JSON: sandbox policies, auth rules
  created_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  updated_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

CREATE TABLE executors (
  executor_id         TEXT PRIMARY KEY,           -- SPIFFE ID (e.g., spiffe://org/ah/agent/node-123)
  enrollment_timestamp TEXT NOT NULL,             -- ISO 8601 timestamp
  identity_provider   TEXT NOT NULL,             -- spiffe|files|vault|exec
  identity_metadata   TEXT,                       -- JSON: cert info, SPIFFE details, etc.
  friendly_name       TEXT,                       -- Optional human-readable name
  owner_user          TEXT,                       -- Who enrolled this executor
  created_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  updated_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
, offer TEXT, details TEXT, generation INTEGER NOT NULL DEFAULT 0, seen_at TEXT, removal_requested_at TEXT, status TEXT NOT NULL DEFAULT 'active', capacity INTEGER);

CREATE TABLE fences (
  id          TEXT NOT NULL PRIMARY KEY,
  session_id  TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  status      TEXT NOT NULL,                  -- snapshot|pull|consistent|timeout|error
  deadline_at TEXT NOT NULL,
  document    TEXT NOT NULL                   -- JSON
) WITHOUT ROWID;

CREATE INDEX fences_due ON fences(deadline_at, id) WHERE status IN ('snapshot', 'pull');

CREATE UNIQUE INDEX fences_open ON fences(session_id) WHERE status IN ('snapshot', 'pull');

CREATE INDEX fences_session ON fences(session_id, id);

CREATE TABLE fleets (
  session_id    TEXT NOT NULL PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
  status        TEXT NOT NULL,                -- live|ended
  leader_run_id TEXT NOT NULL,
  created_at    TEXT NOT NULL,
  document      TEXT NOT NULL                 -- JSON
) WITHOUT ROWID;

CREATE INDEX fleets_live ON fleets(session_id) WHERE status = 'live';

CREATE INDEX fleets_newest ON fleets(created_at, session_id);

CREATE TABLE kv (
  scope        TEXT NOT NULL,                  -- user|repo|repo-user|system|...
  k            TEXT NOT NULL,
  v            TEXT,
  PRIMARY KEY (scope, k)
);

CREATE TABLE message_blocks (
  party TEXT NOT NULL,
  block INTEGER NOT NULL,
  PRIMARY KEY (party, block)
) WITHOUT ROWID;

CREATE TRIGGER messages_into_block AFTER INSERT ON messages WHEN new.in_blocks = 0 BEGIN
  INSERT OR IGNORE INTO message_blocks
    VALUES (lower(new.sender), new.number >> 10), (lower(new.recipient), new.number >> 10);
END;

CREATE TRIGGER messages_out_of_block AFTER DELETE ON messages
  WHEN old.number >> 10 < (SELECT seq >> 10 FROM sqlite_sequence WHERE name = 'messages')
  AND NOT EXISTS (SELECT 1 FROM messages
    WHERE number BETWEEN (old.number >> 10) << 10 AND ((old.number >> 10) << 10) + 1023)
BEGIN
  DELETE FROM message_blocks WHERE block = old.number >> 10;
END;

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
, in_blocks INTEGER NOT NULL DEFAULT 0);

CREATE INDEX messages_acked ON messages(acked_at) WHERE acked_at IS NOT NULL;

CREATE INDEX messages_dead ON messages(number) WHERE status = 'dead';

CREATE INDEX messages_leases ON messages(lease_expires_at) WHERE lease_expires_at IS NOT NULL;

CREATE INDEX messages_open ON messages(lower(recipient), number)
  WHERE acked_at IS NULL AND dead_at IS NULL;

CREATE INDEX messages_replies ON messages(in_reply_to) WHERE in_reply_to IS NOT NULL;

CREATE TABLE outboxes (
  executor_id TEXT NOT NULL,
  outbox_id   TEXT NOT NULL,
  through     INTEGER NOT NULL,
  updated_at  TEXT NOT NULL,
  PRIMARY KEY (executor_id, outbox_id)
) WITHOUT ROWID;

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

CREATE INDEX questions_deadlines ON questions(deadline_at) WHERE status = 'open' AND deadline_at IS NOT NULL;

CREATE INDEX questions_open ON questions(number) WHERE status = 'open';

CREATE INDEX questions_target ON questions(lower(target), number);

CREATE TABLE receipts (
  number      INTEGER PRIMARY KEY AUTOINCREMENT,
  id          TEXT NOT NULL UNIQUE,
  kind        TEXT NOT NULL,
  subject     TEXT,
  started_at  TEXT NOT NULL,
  finished_at TEXT,
  removed     TEXT NOT NULL
);

CREATE UNIQUE INDEX receipts_open ON receipts(kind, coalesce(subject, '')) WHERE finished_at IS NULL;

CREATE TABLE repo_paths (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  repo_id INTEGER NOT NULL REFERENCES repos(id) ON DELETE CASCADE,
  path    TEXT NOT NULL,
  host    TEXT,
  since   TEXT NOT NULL,
  until   TEXT NOT NULL
);

CREATE INDEX repo_paths_path ON repo_paths(path, until);

CREATE INDEX repo_paths_repo ON repo_paths(repo_id, until);

CREATE TABLE "repos" (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  vcs            TEXT NOT NULL,
  root_path      TEXT UNIQUE,
  remote_url     TEXT,
  default_branch TEXT,
  created_at     TEXT NOT NULL
, fingerprint TEXT, remote_key TEXT, host TEXT, moved_at TEXT);

CREATE INDEX repos_fingerprint ON repos(fingerprint) WHERE fingerprint IS NOT NULL;

CREATE UNIQUE INDEX repos_remote_url ON repos(remote_url) WHERE root_path IS NULL;

CREATE TABLE request_keys (
  k           TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  answer      TEXT NOT NULL,
  created_at  TEXT NOT NULL
);

CREATE INDEX request_keys_created ON request_keys(created_at);

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
, number INTEGER NOT NULL DEFAULT 0, parent_session_id TEXT REFERENCES sessions(id) ON DELETE SET NULL, timeout_ms INTEGER, take_by TEXT, requeue INTEGER NOT NULL DEFAULT 0, stop_told_at TEXT, requested_by TEXT, member TEXT);

CREATE UNIQUE INDEX runs_by_number ON runs(number);

CREATE INDEX runs_holder ON runs(executor_id) WHERE status IN ('claimed', 'running', 'stopping');

CREATE INDEX runs_leases ON runs(lease_expires_at) WHERE lease_expires_at IS NOT NULL;

CREATE UNIQUE INDEX runs_live ON runs(session_id)
  WHERE member IS NULL AND status IN ('pending', 'claimed', 'running', 'stopping');

CREATE INDEX runs_parent ON runs(parent_session_id) WHERE parent_session_id IS NOT NULL;

CREATE INDEX runs_queue ON runs(number) WHERE status = 'pending';

CREATE INDEX runs_session ON runs(session_id);

CREATE INDEX runs_take_by ON runs(take_by) WHERE status = 'pending' AND take_by IS NOT NULL;

CREATE TABLE runtimes (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  type         TEXT NOT NULL,                  -- devcontainer|local|disabled
  devcontainer_path TEXT,                      -- when type=devcontainer
  metadata     TEXT                            -- JSON string
);

CREATE TABLE schema_migrations (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  sha256     TEXT NOT NULL,
  applied_at TEXT NOT NULL
);

CREATE TABLE search_gone (
  id INTEGER PRIMARY KEY
);

CREATE TABLE search_index (
  position INTEGER NOT NULL,                  -- the number of the last event that was read
  rules    INTEGER NOT NULL,                  -- how events were read
  merging  INTEGER NOT NULL                   -- 0: no; 1: to begin; 2: what is gone is being written out
);

CREATE VIRTUAL TABLE search_words USING fts5(
  words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE 'search_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;

CREATE TABLE 'search_words_data'(id INTEGER PRIMARY KEY, block BLOB);

CREATE TABLE 'search_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB, origin INTEGER);

CREATE TABLE 'search_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;

CREATE TABLE session_labels (
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  k          TEXT NOT NULL,
  v          TEXT NOT NULL,
  PRIMARY KEY (session_id, k)
) WITHOUT ROWID;

CREATE INDEX session_labels_k_v ON session_labels(k, v);

CREATE TABLE sessions (
  id           TEXT PRIMARY KEY,               -- stable ULID/UUID string
  repo_id      INTEGER NOT NULL REFERENCES repos(id) ON DELETE RESTRICT,
  workspace_id INTEGER REFERENCES workspaces(id) ON DELETE SET NULL,
  agent_id     INTEGER NOT NULL REFERENCES agents(id) ON DELETE RESTRICT,
  runtime_id   INTEGER NOT NULL REFERENCES runtimes(id) ON DELETE RESTRICT,
  multiplexer_kind TEXT,                       -- tmux|zellij|screen
  mux_session  TEXT,
  mux_window   INTEGER,
  pane_left    TEXT,
  pane_right   TEXT,
  pid_agent    INTEGER,
  status       TEXT NOT NULL,                  -- created|running|failed|succeeded|cancelled
  log_path     TEXT,
  workspace_path TEXT,                         -- per-task filesystem workspace
  started_at   TEXT NOT NULL,
  ended_at     TEXT
, title TEXT, labels TEXT NOT NULL DEFAULT '{}', pinned INTEGER NOT NULL DEFAULT 0, parent_session_id TEXT REFERENCES sessions(id) ON DELETE SET NULL, forked_from TEXT REFERENCES sessions(id) ON DELETE RESTRICT, forked_at_seq INTEGER, source TEXT, external_id TEXT, project_dir TEXT, hostname TEXT, executor_session_id TEXT, executor_profile TEXT, executor_type TEXT, inference_session_id TEXT, reset_message TEXT, exit_code INTEGER, exit_signal INTEGER, exit_reason TEXT, last_seq INTEGER NOT NULL DEFAULT 0, input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0, cache_read_tokens INTEGER NOT NULL DEFAULT 0, cache_write_tokens INTEGER NOT NULL DEFAULT 0, reasoning_tokens INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z', last_resumed_at TEXT, last_activity_at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z', instance_id TEXT REFERENCES agent_instances(id) ON DELETE SET NULL, instance_number INTEGER, begun_by TEXT);

CREATE INDEX sessions_activity ON sessions(last_activity_at, id);

CREATE INDEX sessions_forked_from ON sessions(forked_from) WHERE forked_from IS NOT NULL;

CREATE UNIQUE INDEX sessions_instance ON sessions(instance_id, instance_number) WHERE instance_id IS NOT NULL;

CREATE INDEX sessions_live ON sessions(last_activity_at, id) WHERE status IN ('running', 'stopping');

CREATE UNIQUE INDEX sessions_origin ON sessions(source, external_id) WHERE source IS NOT NULL;

CREATE INDEX sessions_parent ON sessions(parent_session_id) WHERE parent_session_id IS NOT NULL;

CREATE TABLE spendings (
  session_id         TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  day                TEXT NOT NULL,           -- 2026-01-31, UTC
  told               INTEGER NOT NULL,        -- whether cost_nanos was told
  model              TEXT NOT NULL,           -- empty when nobody said
  input_tokens       INTEGER NOT NULL,
  output_tokens      INTEGER NOT NULL,
  cache_read_tokens  INTEGER NOT NULL,
  cache_write_tokens INTEGER NOT NULL,
  reasoning_tokens   INTEGER NOT NULL,
  cost_nanos         INTEGER NOT NULL,        -- billionths of a US dollar
  PRIMARY KEY (session_id, day, told, model)
) WITHOUT ROWID;

CREATE INDEX spendings_day ON spendings(day, told, model);

CREATE TABLE tasks (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id   TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  prompt       TEXT NOT NULL,
  branch       TEXT,
  delivery     TEXT,                           -- pr|branch|patch
  instances    INTEGER DEFAULT 1,
  labels       TEXT,                           -- JSON object k=v
  browser_automation INTEGER NOT NULL DEFAULT 1, -- 1=true, 0=false
  browser_profile  TEXT,
  chatgpt_username TEXT,
  codex_workspace  TEXT
, batch_id TEXT NOT NULL DEFAULT '', created_at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z');

CREATE INDEX tasks_batch ON tasks(batch_id);

CREATE INDEX tasks_session ON tasks(session_id);

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

CREATE TABLE workspaces (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  name         TEXT NOT NULL,
  external_id  TEXT,                           -- server-provided ID (REST)
  created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  UNIQUE(name)
);

