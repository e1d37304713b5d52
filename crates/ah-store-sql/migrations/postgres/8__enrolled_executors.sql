-- Executors that enrol, report from outboxes and keep a history; runs that say who asked for them.

ALTER TABLE executors ADD COLUMN status text NOT NULL DEFAULT 'active';
ALTER TABLE executors ADD COLUMN capacity bigint;

ALTER TABLE runs ADD COLUMN requested_by text;

-- How far the reports of an executor are kept. It outlives the executor: one that comes again goes
-- on behind what it has forgotten.
CREATE TABLE outboxes (
  executor_id text COLLATE "C" NOT NULL,
  outbox_id   text COLLATE "C" NOT NULL,
  through     bigint NOT NULL,
  updated_at  timestamptz NOT NULL,
  PRIMARY KEY (executor_id, outbox_id)
);

-- History outlives its executor, and names peers that never enrolled: nothing is referred to.
ALTER TABLE executor_history DROP CONSTRAINT executor_history_executor_id_fkey;
DROP INDEX idx_executor_history_executor_ts;
CREATE INDEX executor_history_executor ON executor_history(executor_id, id);
