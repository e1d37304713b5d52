-- Spendings: what a session spent per UTC day and model. Costs that were told stand apart from tokens
-- whose cost a price list says.

CREATE TABLE spendings (
  session_id         text COLLATE "C" NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  day                text COLLATE "C" NOT NULL, -- 2026-01-31, UTC
  told               boolean NOT NULL,        -- whether cost_nanos was told
  model              text COLLATE "C" NOT NULL, -- empty when nobody said
  input_tokens       bigint NOT NULL,
  output_tokens      bigint NOT NULL,
  cache_read_tokens  bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  reasoning_tokens   bigint NOT NULL,
  cost_nanos         bigint NOT NULL,         -- billionths of a US dollar
  PRIMARY KEY (session_id, day, told, model)
);

-- Of sessions from before only totals are known: they count on the day of the last activity.
INSERT INTO spendings
  SELECT s.id, to_char(s.last_activity_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'),
    false, coalesce(l.v, ''),
    s.input_tokens, s.output_tokens, s.cache_read_tokens, s.cache_write_tokens, s.reasoning_tokens, 0
  FROM sessions s LEFT JOIN session_labels l ON l.session_id = s.id AND l.k = 'model'
  WHERE s.input_tokens > 0 OR s.output_tokens > 0 OR s.cache_read_tokens > 0
    OR s.cache_write_tokens > 0 OR s.reasoning_tokens > 0;
