-- Repositories are known again at another path: what they are known by, and where they were before.

ALTER TABLE repos ADD COLUMN fingerprint TEXT;    -- git:<oldest root commit>[+<worktree>]
ALTER TABLE repos ADD COLUMN remote_key TEXT;     -- host/path of the remote, whatever the scheme
ALTER TABLE repos ADD COLUMN host TEXT;           -- the machine of root_path
ALTER TABLE repos ADD COLUMN moved_at TEXT;      -- when it came to root_path, if it was elsewhere

CREATE INDEX repos_fingerprint ON repos(fingerprint) WHERE fingerprint IS NOT NULL;

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
