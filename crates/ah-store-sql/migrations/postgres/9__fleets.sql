-- Fleets: sessions with several members, each a run, and the fences that they reach together.

ALTER TABLE runs ADD COLUMN member text;
-- A session has one live run, those of its fleet aside.
DROP INDEX runs_live;
CREATE UNIQUE INDEX runs_live ON runs(session_id)
  WHERE member IS NULL AND status IN ('pending', 'claimed', 'running', 'stopping');

-- Columns are what is looked up; the whole value is in the document.
CREATE TABLE fleets (
  session_id    text COLLATE "C" PRIMARY KEY REFERENCES sessions(id) ON DELETE CASCADE,
  status        text NOT NULL,                -- live|ended
  leader_run_id text COLLATE "C" NOT NULL,
  created_at    timestamptz NOT NULL,
  document      text NOT NULL                 -- JSON
);
CREATE INDEX fleets_newest ON fleets(created_at, session_id);
CREATE INDEX fleets_live ON fleets(session_id) WHERE status = 'live';

CREATE TABLE fences (
  id          text COLLATE "C" PRIMARY KEY,
  session_id  text COLLATE "C" NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  status      text NOT NULL,                  -- snapshot|pull|consistent|timeout|error
  deadline_at timestamptz NOT NULL,
  document    text NOT NULL                   -- JSON
);
CREATE INDEX fences_session ON fences(session_id, id);
CREATE UNIQUE INDEX fences_open ON fences(session_id) WHERE status IN ('snapshot', 'pull');
CREATE INDEX fences_due ON fences(deadline_at, id) WHERE status IN ('snapshot', 'pull');
