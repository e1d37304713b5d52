-- Search: an index of the words of events, brought up to date beside the writers, never by them.

-- Rows are numbered as events are. It is given words that we split ourselves; which of the rows it
-- names are meant is decided by the events themselves, so the places of the words are not kept.
CREATE TABLE search_words (
  id    bigint PRIMARY KEY,
  words tsvector NOT NULL
);
CREATE INDEX search_words_words ON search_words USING gin (words);

-- One row.
CREATE TABLE search_index (
  position bigint NOT NULL,                   -- the number of the last event that was read
  rules    bigint NOT NULL,                   -- how events were read
  merging  bigint NOT NULL                    -- of SQLite
);
INSERT INTO search_index VALUES (0, 0, 0);

-- Events that are gone and may still be in the index.
CREATE TABLE search_gone (
  id bigint PRIMARY KEY
);
CREATE FUNCTION note_gone_events() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT
AS $$
BEGIN
  INSERT INTO search_gone SELECT id FROM gone ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER events_gone AFTER DELETE ON events REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION note_gone_events();
