TABLE agent_instances
  id text NOT NULL
  name text NOT NULL
  kind_id bigint NOT NULL
  type text NOT NULL
  descriptor text NOT NULL
  permissions text NOT NULL
  tokens text NOT NULL
  stats text NOT NULL
  metadata text NOT NULL
  lifecycle text NOT NULL
  model text
  source text
  external_id text
  active_session_id text
  session_count bigint NOT NULL
  input_tokens bigint NOT NULL
  output_tokens bigint NOT NULL
  cache_read_tokens bigint NOT NULL
  cache_write_tokens bigint NOT NULL
  reasoning_tokens bigint NOT NULL
  revision bigint NOT NULL
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  protected boolean NOT NULL
  destroyed_at timestamp with time zone
TABLE agents
  id bigint NOT NULL
  name text NOT NULL
  version text NOT NULL
  metadata text
TABLE approvals
  number bigint NOT NULL
  id text NOT NULL
  agent text NOT NULL
  kind text NOT NULL
  commit_ref text
  commit_hash text
  reason text
  details text NOT NULL
  status text NOT NULL
  requested_at timestamp with time zone NOT NULL
  resolved_at timestamp with time zone
  resolved_by text
  resolver text
  note text
  carried_out_at timestamp with time zone
  problem text
TABLE callbacks
  run_id text NOT NULL
  number bigint NOT NULL
  child_session_id text NOT NULL
  parent_session_id text NOT NULL
  status text NOT NULL
  error text
  result text
  attempts bigint NOT NULL
  created_at timestamp with time zone NOT NULL
  delivered_by text
TABLE changes
  id bigint NOT NULL
  kind text NOT NULL
  session_id text
  run_id text
  executor_id text
  at timestamp with time zone NOT NULL
  party text
  subject text
TABLE drafts
  id text NOT NULL
  description text NOT NULL
  repository text NOT NULL
  branch text
  models jsonb NOT NULL
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
TABLE events
  id bigint NOT NULL
  session_id text NOT NULL
  ts timestamp with time zone NOT NULL
  type text NOT NULL
  data text
  seq bigint NOT NULL
  dedup_key text
TABLE executor_capabilities
  executor_id text NOT NULL
  os_name text NOT NULL
  os_version text NOT NULL
  architecture text NOT NULL
  cpu_cores bigint NOT NULL
  memory_bytes bigint NOT NULL
  storage_bytes bigint NOT NULL
  gpu_info text
  supported_runtimes text NOT NULL
  supported_agents text NOT NULL
  network_tier text
  ssh_endpoint text
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
TABLE executor_history
  id bigint NOT NULL
  executor_id text NOT NULL
  event_type text NOT NULL
  event_data text
  event_timestamp timestamp with time zone NOT NULL
TABLE executor_metadata
  executor_id text NOT NULL
  labels text
  tags text
  authorization_rules text
  custom_config text
  security_policy text
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
TABLE executors
  executor_id text NOT NULL
  enrollment_timestamp timestamp with time zone NOT NULL
  identity_provider text NOT NULL
  identity_metadata text
  friendly_name text
  owner_user text
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  offer text
  details text
  generation bigint NOT NULL
  seen_at timestamp with time zone
  removal_requested_at timestamp with time zone
  status text NOT NULL
  capacity bigint
TABLE fences
  id text NOT NULL
  session_id text NOT NULL
  status text NOT NULL
  deadline_at timestamp with time zone NOT NULL
  document text NOT NULL
TABLE fleets
  session_id text NOT NULL
  status text NOT NULL
  leader_run_id text NOT NULL
  created_at timestamp with time zone NOT NULL
  document text NOT NULL
TABLE kv
  scope text NOT NULL
  k text NOT NULL
  v text
TABLE messages
  number bigint NOT NULL
  id text NOT NULL
  kind text NOT NULL
  sender text NOT NULL
  recipient text NOT NULL
  body text NOT NULL
  in_reply_to text
  about text
  status text NOT NULL
  deliveries bigint NOT NULL
  attempts bigint NOT NULL
  not_before timestamp with time zone
  holder text
  lease_expires_at timestamp with time zone
  sent_at timestamp with time zone NOT NULL
  delivered_at timestamp with time zone
  acked_at timestamp with time zone
  dead_at timestamp with time zone
  note text
TABLE outboxes
  executor_id text NOT NULL
  outbox_id text NOT NULL
  through bigint NOT NULL
  updated_at timestamp with time zone NOT NULL
TABLE questions
  number bigint NOT NULL
  id text NOT NULL
  asker text NOT NULL
  target text NOT NULL
  question text NOT NULL
  options text NOT NULL
  multi boolean NOT NULL
  free_text boolean NOT NULL
  status text NOT NULL
  asked_at timestamp with time zone NOT NULL
  deadline_at timestamp with time zone
  resolved_at timestamp with time zone
  answer text
  late_answer text
TABLE receipts
  number bigint NOT NULL
  id text NOT NULL
  kind text NOT NULL
  subject text
  started_at timestamp with time zone NOT NULL
  finished_at timestamp with time zone
  removed text NOT NULL
TABLE repo_paths
  id bigint NOT NULL
  repo_id bigint NOT NULL
  path text NOT NULL
  host text
  since timestamp with time zone NOT NULL
  until timestamp with time zone NOT NULL
TABLE repos
  id bigint NOT NULL
  vcs text NOT NULL
  root_path text
  remote_url text
  default_branch text
  created_at timestamp with time zone NOT NULL
  fingerprint text
  remote_key text
  host text
  moved_at timestamp with time zone
TABLE request_keys
  k text NOT NULL
  fingerprint text NOT NULL
  answer text NOT NULL
  created_at timestamp with time zone NOT NULL
TABLE runs
  id text NOT NULL
  session_id text NOT NULL
  kind text NOT NULL
  status text NOT NULL
  parameters text NOT NULL
  demands text
  executor_id text
  lease_epoch bigint NOT NULL
  lease_expires_at timestamp with time zone
  stop_requested_at timestamp with time zone
  execution_mode text
  error text
  result text
  created_at timestamp with time zone NOT NULL
  claimed_at timestamp with time zone
  started_at timestamp with time zone
  ended_at timestamp with time zone
  number bigint NOT NULL
  parent_session_id text
  timeout_ms bigint
  take_by timestamp with time zone
  requeue boolean NOT NULL
  stop_told_at timestamp with time zone
  requested_by text
  member text
TABLE runtimes
  id bigint NOT NULL
  type text NOT NULL
  devcontainer_path text
  metadata text
TABLE schema_migrations
  version bigint NOT NULL
  name text NOT NULL
  sha256 text NOT NULL
  applied_at timestamp with time zone NOT NULL
TABLE search_gone
  id bigint NOT NULL
TABLE search_index
  position bigint NOT NULL
  rules bigint NOT NULL
  merging bigint NOT NULL
TABLE search_words
  id bigint NOT NULL
  words tsvector NOT NULL
TABLE session_labels
  session_id text NOT NULL
  k text NOT NULL
  v text NOT NULL
TABLE sessions
  id text NOT NULL
  repo_id bigint NOT NULL
  workspace_id bigint
  agent_id bigint NOT NULL
  runtime_id bigint NOT NULL
  multiplexer_kind text
  mux_session text
  mux_window bigint
  pane_left text
  pane_right text
  pid_agent bigint
  status text NOT NULL
  log_path text
  workspace_path text
  started_at timestamp with time zone NOT NULL
  ended_at timestamp with time zone
  title text
  labels jsonb NOT NULL
  pinned boolean NOT NULL
  parent_session_id text
  forked_from text
  forked_at_seq bigint
  source text
  external_id text
  project_dir text
  hostname text
  executor_session_id text
  executor_profile text
  executor_type text
  inference_session_id text
  reset_message text
  exit_code bigint
  exit_signal bigint
  exit_reason text
  last_seq bigint NOT NULL
  input_tokens bigint NOT NULL
  output_tokens bigint NOT NULL
  cache_read_tokens bigint NOT NULL
  cache_write_tokens bigint NOT NULL
  reasoning_tokens bigint NOT NULL
  created_at timestamp with time zone NOT NULL
  last_resumed_at timestamp with time zone
  last_activity_at timestamp with time zone NOT NULL
  instance_id text
  instance_number bigint
  begun_by text
TABLE spendings
  session_id text NOT NULL
  day text NOT NULL
  told boolean NOT NULL
  model text NOT NULL
  input_tokens bigint NOT NULL
  output_tokens bigint NOT NULL
  cache_read_tokens bigint NOT NULL
  cache_write_tokens bigint NOT NULL
  reasoning_tokens bigint NOT NULL
  cost_nanos bigint NOT NULL
TABLE tasks
  id bigint NOT NULL
  session_id text NOT NULL
  prompt text NOT NULL
  branch text
  delivery text
  instances bigint
  labels jsonb
  browser_automation boolean NOT NULL
  browser_profile text
  chatgpt_username text
  codex_workspace text
  batch_id text NOT NULL
  created_at timestamp with time zone NOT NULL
TABLE tokens
  id text NOT NULL
  hash text NOT NULL
  role text NOT NULL
  agent text
  name text
  created_at timestamp with time zone NOT NULL
  expires_at timestamp with time zone
  revoked_at timestamp with time zone
  last_used_at timestamp with time zone
TABLE workspaces
  id bigint NOT NULL
  name text NOT NULL
  external_id text
  created_at timestamp with time zone NOT NULL
CREATE INDEX agent_instances_active ON agent_instances USING btree (active_session_id) WHERE (active_session_id IS NOT NULL)
CREATE UNIQUE INDEX agent_instances_any_case ON agent_instances USING btree (lower(name))
CREATE INDEX agent_instances_name ON agent_instances USING btree (name)
CREATE UNIQUE INDEX agent_instances_origin ON agent_instances USING btree (source, external_id) WHERE (source IS NOT NULL)
CREATE UNIQUE INDEX agent_instances_pkey ON agent_instances USING btree (id)
CREATE UNIQUE INDEX agents_name_version_key ON agents USING btree (name, version)
CREATE UNIQUE INDEX agents_pkey ON agents USING btree (id)
CREATE INDEX approvals_agent ON approvals USING btree (lower(agent), number)
CREATE UNIQUE INDEX approvals_id_key ON approvals USING btree (id)
CREATE INDEX approvals_pending ON approvals USING btree (number) WHERE (status = 'pending'::text)
CREATE UNIQUE INDEX approvals_pkey ON approvals USING btree (number)
CREATE INDEX approvals_to_carry_out ON approvals USING btree (number) WHERE ((status = 'approved'::text) AND (carried_out_at IS NULL) AND (kind = ANY (ARRAY['apply_commit'::text, 'spawn'::text])))
CREATE INDEX callbacks_carrier ON callbacks USING btree (delivered_by) WHERE (delivered_by IS NOT NULL)
CREATE INDEX callbacks_parent ON callbacks USING btree (parent_session_id, number)
CREATE UNIQUE INDEX callbacks_pkey ON callbacks USING btree (run_id)
CREATE INDEX callbacks_waiting ON callbacks USING btree (parent_session_id) WHERE (delivered_by IS NULL)
CREATE UNIQUE INDEX changes_pkey ON changes USING btree (id)
CREATE UNIQUE INDEX drafts_pkey ON drafts USING btree (id)
CREATE UNIQUE INDEX events_dedup_key ON events USING btree (session_id, dedup_key) WHERE (dedup_key IS NOT NULL)
CREATE UNIQUE INDEX events_pkey ON events USING btree (id)
CREATE UNIQUE INDEX events_session_seq ON events USING btree (session_id, seq)
CREATE UNIQUE INDEX executor_capabilities_pkey ON executor_capabilities USING btree (executor_id)
CREATE INDEX executor_history_executor ON executor_history USING btree (executor_id, id)
CREATE UNIQUE INDEX executor_history_pkey ON executor_history USING btree (id)
CREATE UNIQUE INDEX executor_metadata_pkey ON executor_metadata USING btree (executor_id)
CREATE UNIQUE INDEX executors_pkey ON executors USING btree (executor_id)
CREATE INDEX fences_due ON fences USING btree (deadline_at, id) WHERE (status = ANY (ARRAY['snapshot'::text, 'pull'::text]))
CREATE UNIQUE INDEX fences_open ON fences USING btree (session_id) WHERE (status = ANY (ARRAY['snapshot'::text, 'pull'::text]))
CREATE UNIQUE INDEX fences_pkey ON fences USING btree (id)
CREATE INDEX fences_session ON fences USING btree (session_id, id)
CREATE INDEX fleets_live ON fleets USING btree (session_id) WHERE (status = 'live'::text)
CREATE INDEX fleets_newest ON fleets USING btree (created_at, session_id)
CREATE UNIQUE INDEX fleets_pkey ON fleets USING btree (session_id)
CREATE UNIQUE INDEX kv_pkey ON kv USING btree (scope, k)
CREATE INDEX messages_acked ON messages USING btree (acked_at) WHERE (acked_at IS NOT NULL)
CREATE INDEX messages_dead ON messages USING btree (number) WHERE (status = 'dead'::text)
CREATE INDEX messages_from ON messages USING btree (lower(sender), number)
CREATE UNIQUE INDEX messages_id_key ON messages USING btree (id)
CREATE INDEX messages_leases ON messages USING btree (lease_expires_at) WHERE (lease_expires_at IS NOT NULL)
CREATE INDEX messages_open ON messages USING btree (lower(recipient), number) WHERE ((acked_at IS NULL) AND (dead_at IS NULL))
CREATE UNIQUE INDEX messages_pkey ON messages USING btree (number)
CREATE INDEX messages_replies ON messages USING btree (in_reply_to) WHERE (in_reply_to IS NOT NULL)
CREATE INDEX messages_to ON messages USING btree (lower(recipient), number)
CREATE UNIQUE INDEX outboxes_pkey ON outboxes USING btree (executor_id, outbox_id)
CREATE INDEX questions_asker ON questions USING btree (lower(asker), number)
CREATE INDEX questions_deadlines ON questions USING btree (deadline_at) WHERE ((status = 'open'::text) AND (deadline_at IS NOT NULL))
CREATE UNIQUE INDEX questions_id_key ON questions USING btree (id)
CREATE INDEX questions_open ON questions USING btree (number) WHERE (status = 'open'::text)
CREATE UNIQUE INDEX questions_pkey ON questions USING btree (number)
CREATE INDEX questions_target ON questions USING btree (lower(target), number)
CREATE UNIQUE INDEX receipts_id_key ON receipts USING btree (id)
CREATE UNIQUE INDEX receipts_open ON receipts USING btree (kind, COALESCE(subject, ''::text)) WHERE (finished_at IS NULL)
CREATE UNIQUE INDEX receipts_pkey ON receipts USING btree (number)
CREATE INDEX repo_paths_path ON repo_paths USING btree (path, until)
CREATE UNIQUE INDEX repo_paths_pkey ON repo_paths USING btree (id)
CREATE INDEX repo_paths_repo ON repo_paths USING btree (repo_id, until)
CREATE INDEX repos_fingerprint ON repos USING btree (fingerprint) WHERE (fingerprint IS NOT NULL)
CREATE UNIQUE INDEX repos_pkey ON repos USING btree (id)
CREATE UNIQUE INDEX repos_remote_url ON repos USING btree (remote_url) WHERE (root_path IS NULL)
CREATE UNIQUE INDEX repos_root_path_key ON repos USING btree (root_path)
CREATE INDEX request_keys_created ON request_keys USING btree (created_at)
CREATE UNIQUE INDEX request_keys_pkey ON request_keys USING btree (k)
CREATE UNIQUE INDEX runs_by_number ON runs USING btree (number)
CREATE INDEX runs_holder ON runs USING btree (executor_id) WHERE (status = ANY (ARRAY['claimed'::text, 'running'::text, 'stopping'::text]))
CREATE INDEX runs_leases ON runs USING btree (lease_expires_at) WHERE (lease_expires_at IS NOT NULL)
CREATE UNIQUE INDEX runs_live ON runs USING btree (session_id) WHERE ((member IS NULL) AND (status = ANY (ARRAY['pending'::text, 'claimed'::text, 'running'::text, 'stopping'::text])))
CREATE INDEX runs_parent ON runs USING btree (parent_session_id) WHERE (parent_session_id IS NOT NULL)
CREATE UNIQUE INDEX runs_pkey ON runs USING btree (id)
CREATE INDEX runs_queue ON runs USING btree (number) WHERE (status = 'pending'::text)
CREATE INDEX runs_session ON runs USING btree (session_id)
CREATE INDEX runs_take_by ON runs USING btree (take_by) WHERE ((status = 'pending'::text) AND (take_by IS NOT NULL))
CREATE UNIQUE INDEX runtimes_pkey ON runtimes USING btree (id)
CREATE UNIQUE INDEX schema_migrations_pkey ON schema_migrations USING btree (version)
CREATE UNIQUE INDEX search_gone_pkey ON search_gone USING btree (id)
CREATE UNIQUE INDEX search_words_pkey ON search_words USING btree (id)
CREATE INDEX search_words_words ON search_words USING gin (words)
CREATE INDEX session_labels_k_v ON session_labels USING btree (k, v)
CREATE UNIQUE INDEX session_labels_pkey ON session_labels USING btree (session_id, k)
CREATE INDEX sessions_activity ON sessions USING btree (last_activity_at, id)
CREATE INDEX sessions_forked_from ON sessions USING btree (forked_from) WHERE (forked_from IS NOT NULL)
CREATE UNIQUE INDEX sessions_instance ON sessions USING btree (instance_id, instance_number) WHERE (instance_id IS NOT NULL)
CREATE INDEX sessions_live ON sessions USING btree (last_activity_at, id) WHERE (status = ANY (ARRAY['running'::text, 'stopping'::text]))
CREATE UNIQUE INDEX sessions_origin ON sessions USING btree (source, external_id) WHERE (source IS NOT NULL)
CREATE INDEX sessions_parent ON sessions USING btree (parent_session_id) WHERE (parent_session_id IS NOT NULL)
CREATE UNIQUE INDEX sessions_pkey ON sessions USING btree (id)
CREATE INDEX spendings_day ON spendings USING btree (day, told, model)
CREATE UNIQUE INDEX spendings_pkey ON spendings USING btree (session_id, day, told, model)
CREATE INDEX tasks_batch ON tasks USING btree (batch_id)
CREATE UNIQUE INDEX tasks_pkey ON tasks USING btree (id)
CREATE INDEX tasks_session ON tasks USING btree (session_id)
CREATE UNIQUE INDEX tokens_pkey ON tokens USING btree (id)
CREATE UNIQUE INDEX workspaces_name_key ON workspaces USING btree (name)
CREATE UNIQUE INDEX workspaces_pkey ON workspaces USING btree (id)
