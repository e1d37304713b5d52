-- Executor identity and enrollment
CREATE TABLE IF NOT EXISTS executors (
  executor_id         TEXT PRIMARY KEY,           -- SPIFFE ID (e.g., spiffe://org/ah/agent/node-123)
  enrollment_timestamp TEXT NOT NULL,             -- ISO 8601 timestamp
  identity_provider   TEXT NOT NULL,             -- spiffe|files|vault|exec
  identity_metadata   TEXT,                       -- JSON: cert info, SPIFFE details, etc.
  friendly_name       TEXT,                       -- Optional human-readable name
  owner_user          TEXT,                       -- Who enrolled this executor
  created_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  updated_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

-- Hardware capabilities and resources (static)
CREATE TABLE IF NOT EXISTS executor_capabilities (
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

-- Labels, tags, and authorization policies (configurable)
CREATE TABLE IF NOT EXISTS executor_metadata (
  executor_id         TEXT PRIMARY KEY REFERENCES executors(executor_id) ON DELETE CASCADE,
  labels              TEXT,                       -- JSON: {"region": "us-west", "gpu": "true"}
  tags                TEXT,                       -- JSON: ["production", "high-mem"]
  authorization_rules TEXT,                       -- JSON: user→executor→verb permissions
  custom_config       TEXT,                       -- JSON: executor-specific settings
  security_policy     TEXT,                       -- JSON: sandbox policies, auth rules
  created_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  updated_at          TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

-- Historical enrollment and authorization events
CREATE TABLE IF NOT EXISTS executor_history (
  id                  INTEGER PRIMARY KEY AUTOINCREMENT,
  executor_id         TEXT NOT NULL REFERENCES executors(executor_id) ON DELETE CASCADE,
  event_type          TEXT NOT NULL,              -- enrolled|re_enrolled|revoked|disabled|etc.
  event_data          TEXT,                       -- JSON: details about the event
  event_timestamp     TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);

CREATE INDEX IF NOT EXISTS idx_executor_history_executor_ts ON executor_history(executor_id, event_timestamp);
