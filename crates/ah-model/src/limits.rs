//! Every bound in one place, so that a body, page or batch is never unbounded by accident.

/// Longest id taken from outside, in bytes.
pub const ID_BYTES_MAX: usize = 128;
/// Longest short text: titles, branches, names, reasons.
pub const SHORT_TEXT_BYTES_MAX: usize = 4 * 1024;
/// Longest text that an index holds; PostgreSQL takes no index row over 2,704 bytes.
pub const INDEXED_TEXT_BYTES_MAX: usize = 1024;
/// Longest prompt or draft description.
pub const PROMPT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest JSON payload of one event.
pub const EVENT_DATA_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Deepest nesting of a payload: SQLite reads none deeper than 1,000.
pub const JSON_DEPTH_MAX: usize = 500;
/// Longest event type.
pub const EVENT_TYPE_BYTES_MAX: usize = 128;
/// Longest deduplication key.
pub const DEDUP_KEY_BYTES_MAX: usize = 512;
/// Most events of one append call.
pub const APPEND_EVENTS_MAX: usize = 10_000;
/// Most payload bytes of one append call.
pub const APPEND_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Longest key of the key/value store.
pub const KV_KEY_BYTES_MAX: usize = 512;
/// Longest value of the key/value store: it is for small, fast lookups.
pub const KV_VALUE_BYTES_MAX: usize = 1024 * 1024;
/// Most labels on one task or session.
pub const LABELS_MAX: usize = 64;
/// Longest label key or value.
pub const LABEL_BYTES_MAX: usize = 256;
/// Most sessions one task may start.
pub const TASK_INSTANCES_MAX: u32 = 64;
/// Most repositories with one fingerprint that are looked at, and most former paths that are shown.
pub const REPO_LOOKALIKES_MAX: usize = 1_000;
/// Most items on a page.
pub const PAGE_ITEMS_MAX: u32 = 1_000;
/// Items on a page when the caller does not say.
pub const PAGE_ITEMS_DEFAULT: u32 = 50;
/// Most event types in one filter.
pub const FILTER_TYPES_MAX: usize = 32;
/// Most payload bytes of one page of events; a page ends early rather than hold more.
pub const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Longest name of an agent: it is a directory, an address and a column of lists.
pub const AGENT_NAME_BYTES_MAX: usize = 64;
/// Longest word for an agent's type.
pub const AGENT_TYPE_BYTES_MAX: usize = 64;
/// Longest of an agent's own JSON values: descriptor, permissions, tokens, stats, metadata.
pub const AGENT_JSON_BYTES_MAX: usize = 256 * 1024;
/// Records that a context is made of, unless the caller says: the newest ones.
pub const CONTEXT_RECORDS_DEFAULT: usize = 2_000;
/// Most records that a context may be made of.
pub const CONTEXT_RECORDS_MAX: usize = 100_000;
/// Most payload bytes that a context is made of; older records are left out rather than hold more.
pub const CONTEXT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Longest chain of forks that a context is read through.
pub const FORK_DEPTH_MAX: usize = 1_000;
/// Most parts of one message of a context that are told apart.
pub const MESSAGE_PARTS_MAX: usize = 1_000;
/// Most parts of all messages of a context that are told apart.
pub const CONTEXT_PARTS_MAX: usize = 200_000;
/// Longest id of an executor.
pub const EXECUTOR_ID_BYTES_MAX: usize = 512;
/// Longest of what an executor says of itself.
pub const EXECUTOR_JSON_BYTES_MAX: usize = 1024 * 1024;
/// Most tags of an executor or of a run's demands.
pub const TAGS_MAX: usize = 64;
/// Most graphics processors, runtimes or agents that a machine names.
pub const MACHINE_LIST_MAX: usize = 256;
/// Most rules about who may do what with an executor.
pub const EXECUTOR_RULES_MAX: usize = 256;
/// Shortest lease of a run.
pub const LEASE_MS_MIN: u64 = 1_000;
/// Longest lease of a run: 7 days, for an executor that may be cut off for hours.
pub const LEASE_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Most leases that are kept in one step, which is also the most runs that one executor holds.
pub const RENEW_RUNS_MAX: usize = 1_024;
/// Most items of one report.
pub const REPORT_ITEMS_MAX: usize = 1_024;
/// How often a run is taken and lost before it fails for good.
pub const RUN_CLAIMS_MAX: u64 = 20;
/// Longest time that a run may wait to be taken: 30 days.
pub const RUN_TIMEOUT_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
/// Most arguments, and most variables, of a program beside a run.
pub const DISPATCH_TEXTS_MAX: usize = 1_024;
/// Most bytes of its arguments and variables, as JSON.
pub const DISPATCH_BYTES_MAX: usize = 1024 * 1024;
/// Longest result of a run.
pub const RUN_RESULT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest text of one result that a parent is shown.
pub const CALLBACK_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Most callbacks that one run of the parent carries.
pub const CALLBACKS_AT_ONCE: usize = 32;
/// How often a callback is given to a run that never begins, before it waits for a person.
pub const CALLBACK_ATTEMPTS_MAX: u64 = 5;
/// A holder that was asked to stop is asked again after so long.
pub const STOP_AGAIN_MS: u64 = 10_000;
/// Uses of tokens and signs of executors are noted no more often than this.
pub const SEEN_EVERY_MS: u64 = 5_000;
/// Most runs that one sweep ends or queues again.
pub const SWEEP_MAX: usize = 256;
/// Most members of a fleet.
pub const FLEET_MEMBERS_MAX: usize = 64;
/// How long the named leader of a fleet may take to come before another leads.
pub const FLEET_LEADER_WAIT_MS: u64 = 60_000;
/// Longest time that a fence may take: a day.
pub const FENCE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Most open fences that are handed out together.
pub const FENCES_OPEN_MAX: usize = 256;
/// Longest key of a request.
pub const REQUEST_KEY_BYTES_MAX: usize = 512;
/// How long the answer to a keyed request is kept: a day.
pub const REQUEST_KEY_MS: u64 = 24 * 60 * 60 * 1_000;
/// Longest message.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// Most recipients of one message.
pub const RECIPIENTS_MAX: usize = 64;
/// Most messages that are handed out, acknowledged, or given to be sent, in one step.
pub const RECEIVE_MAX: u32 = 64;
/// How often a message is handed out and not acknowledged before it is given up.
pub const MESSAGE_ATTEMPTS_MAX: u64 = 5;
/// Longest time that a message which was given back may rest: a day.
pub const MESSAGE_DELAY_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Most options of a question, and most values of an answer.
pub const OPTIONS_MAX: usize = 64;
/// Longest time to answer a question: a year.
pub const QUESTION_TTL_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1_000;
/// Most messages, approvals and questions that are brought from elsewhere in one step.
pub const HIVE_IMPORT_MAX: usize = 500;
/// Most rows that one step of a removal takes.
pub const REMOVAL_ROWS_MAX: usize = 1_000;
/// Most rows that one step of a scrub looks at.
pub const SCRUB_ROWS_MAX: usize = 500;
/// Most places of secrets that one step of a scrub tells.
pub const SCRUB_FINDINGS_MAX: usize = 1_000;
/// Most bytes that one step gives back to the file system.
pub const RECLAIM_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Longest text that is looked for.
pub const SEARCH_TEXT_BYTES_MAX: usize = 1024;
/// Most words of a text that is looked for.
pub const SEARCH_TERMS_MAX: usize = 32;
/// How much of a word counts, in bytes.
pub const SEARCH_WORD_BYTES_MAX: usize = 64;
/// How much of what an event says can be found.
pub const SEARCHED_BYTES_MAX: usize = 64 * 1024;
/// Most events that one search looks at; a page ends early rather than look at more.
pub const SEARCH_ROWS_MAX: usize = 5_000;
/// Most sums of spendings in one answer.
pub const SPENDING_SUMS_MAX: usize = 10_000;
