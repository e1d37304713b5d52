-- What overviews ask of very many rows: the sessions that are worked on, and what a day cost.

CREATE INDEX sessions_live ON sessions(last_activity_at, id) WHERE status IN ('running', 'stopping');
CREATE INDEX spendings_day ON spendings(day, told, model);
