-- Executors that enrol, report from outboxes and keep a history; runs that say who asked for them.

ALTER TABLE executors ADD COLUMN status TEXT NOT NULL DEFAULT 'active';
ALTER TABLE executors ADD COLUMN capacity INTEGER;

ALTER TABLE runs ADD COLUMN requested_by TEXT;

-- How far the reports of an executor are kept. It outlives the executor: one that comes again goes
-- on behind what it has forgotten.
CREATE TABLE outboxes (
  executor_id TEXT NOT NULL,
  outbox_id   TEXT NOT NULL,
  through     INTEGER NOT NULL,
  updated_at  TEXT NOT NULL,
  PRIMARY KEY (executor_id, outbox_id)
) WITHOUT ROWID;

-- History outlives its executor, and names peers that never enrolled: nothing is referred to.
CREATE TABLE executor_history_8 (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  executor_id     TEXT NOT NULL,
  event_type      TEXT NOT NULL,              -- enrolled|re_enrolled|changed|revoked|disabled|etc.
  event_data      TEXT,                       -- JSON: details about the event
  event_timestamp TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now'))
);
INSERT INTO executor_history_8 (id, executor_id, event_type, event_data, event_timestamp)
  SELECT id, executor_id, event_type, event_data, event_timestamp FROM executor_history;
DROP TABLE executor_history;
ALTER TABLE executor_history_8 RENAME TO executor_history;
CREATE INDEX executor_history_executor ON executor_history(executor_id, id);
