-- Search: an index of the words of events, brought up to date beside the writers, never by them.

-- Rows are numbered as events are. It is given words that we split ourselves, so the plainest
-- tokenizer does; which of the rows it names are meant is decided by the events themselves, so
-- neither their text nor the order of their words is kept.
CREATE VIRTUAL TABLE search_words USING fts5(
  words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

-- One row.
CREATE TABLE search_index (
  position INTEGER NOT NULL,                  -- the number of the last event that was read
  rules    INTEGER NOT NULL,                  -- how events were read
  merging  INTEGER NOT NULL                   -- 0: no; 1: to begin; 2: what is gone is being written out
);
INSERT INTO search_index VALUES (0, 0, 0);

-- Events that are gone and may still be in the index.
CREATE TABLE search_gone (
  id INTEGER PRIMARY KEY
);
CREATE TRIGGER events_gone AFTER DELETE ON events BEGIN
  INSERT OR IGNORE INTO search_gone VALUES (old.id);
END;
