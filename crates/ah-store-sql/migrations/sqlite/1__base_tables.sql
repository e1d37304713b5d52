-- Schema versioning (incremented to 2 for access point executor tables)
PRAGMA user_version = 2;

-- Repositories known to the system (local path and/or remote URL)
CREATE TABLE IF NOT EXISTS repos (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  vcs           TEXT NOT NULL,                 -- git|hg|pijul|...
  root_path     TEXT,                          -- local filesystem root (nullable in REST)
  remote_url    TEXT,                          -- canonical remote URL (nullable in local)
  default_branch TEXT,
  created_at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  UNIQUE(root_path),
  UNIQUE(remote_url)
);

-- Workspaces are named logical groupings on some servers. Optional locally.
CREATE TABLE IF NOT EXISTS workspaces (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  name         TEXT NOT NULL,
  external_id  TEXT,                           -- server-provided ID (REST)
  created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  UNIQUE(name)
);

-- Agents catalog (type + version descriptor)
CREATE TABLE IF NOT EXISTS agents (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  name         TEXT NOT NULL,                  -- e.g., 'openhands', 'claude-code'
  version      TEXT NOT NULL,                  -- 'latest' or semver-like
  metadata     TEXT,                           -- JSON string for extra capabilities
  UNIQUE(name, version)
);

-- Runtime definitions (devcontainer, local, disabled, etc.)
CREATE TABLE IF NOT EXISTS runtimes (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  type         TEXT NOT NULL,                  -- devcontainer|local|disabled
  devcontainer_path TEXT,                      -- when type=devcontainer
  metadata     TEXT                            -- JSON string
);

-- Sessions are concrete agent runs bound to a repo (and optionally a workspace)
CREATE TABLE IF NOT EXISTS sessions (
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
);

-- Tasks capture user intent and parameters used to launch a session
CREATE TABLE IF NOT EXISTS tasks (
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
);

-- Event log per session for diagnostics and incremental state
CREATE TABLE IF NOT EXISTS events (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id   TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  ts           TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  type         TEXT NOT NULL,
  data         TEXT                             -- JSON payload
);

CREATE INDEX IF NOT EXISTS idx_events_session_ts ON events(session_id, ts);

-- Draft tasks that can be saved and resumed later
CREATE TABLE IF NOT EXISTS drafts (
  id           TEXT PRIMARY KEY,               -- stable ULID/UUID string
  description  TEXT NOT NULL,                  -- user-provided task description
  repository   TEXT NOT NULL,                  -- repository identifier (ID or URL)
  branch       TEXT,                           -- target branch name
  models       TEXT NOT NULL,                  -- JSON array of selected models
  created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  updated_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

-- Key/value subsystem for small, fast lookups (scoped configuration, caches)
CREATE TABLE IF NOT EXISTS kv (
  scope        TEXT NOT NULL,                  -- user|repo|repo-user|system|...
  k            TEXT NOT NULL,
  v            TEXT,
  PRIMARY KEY (scope, k)
);
