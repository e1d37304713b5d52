-- Spendings: what a session spent per UTC day and model. Costs that were told stand apart from tokens
-- whose cost a price list says.

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

-- Of sessions from before only totals are known: they count on the day of the last activity.
INSERT INTO spendings
  SELECT s.id,
    CASE WHEN s.last_activity_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*'
      THEN substr(s.last_activity_at, 1, 10) ELSE '1970-01-01' END,
    0, coalesce(l.v, ''),
    s.input_tokens, s.output_tokens, s.cache_read_tokens, s.cache_write_tokens, s.reasoning_tokens, 0
  FROM sessions s LEFT JOIN session_labels l ON l.session_id = s.id AND l.k = 'model'
  WHERE s.input_tokens > 0 OR s.output_tokens > 0 OR s.cache_read_tokens > 0
    OR s.cache_write_tokens > 0 OR s.reasoning_tokens > 0;
