-- Fleets: sessions with several members, each a run, and the fences that they reach together.

ALTER TABLE runs ADD COLUMN member TEXT;
-- A session has one live run, those of its fleet aside.
DROP INDEX runs_live;
CREATE UNIQUE INDEX runs_live ON runs(session_id)
  WHERE member IS NULL AND status IN ('pending', 'claimed', 'running', 'stopping');

-- Columns are what is looked up; the whole value is in the document.
CREATE TABLE fleets (
  session_id    TEXT NOT NULL PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
  status        TEXT NOT NULL,                -- live|ended
  leader_run_id TEXT NOT NULL,
  created_at    TEXT NOT NULL,
  document      TEXT NOT NULL                 -- JSON
) WITHOUT ROWID;
CREATE INDEX fleets_newest ON fleets(created_at, session_id);
CREATE INDEX fleets_live ON fleets(session_id) WHERE status = 'live';

CREATE TABLE fences (
  id          TEXT NOT NULL PRIMARY KEY,
  session_id  TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  status      TEXT NOT NULL,                  -- snapshot|pull|consistent|timeout|error
  deadline_at TEXT NOT NULL,
  document    TEXT NOT NULL                   -- JSON
) WITHOUT ROWID;
CREATE INDEX fences_session ON fences(session_id, id);
CREATE UNIQUE INDEX fences_open ON fences(session_id) WHERE status IN ('snapshot', 'pull');
CREATE INDEX fences_due ON fences(deadline_at, id) WHERE status IN ('snapshot', 'pull');
