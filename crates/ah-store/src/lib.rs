//! The contract: what every store of Agent Harbor does, whatever is behind it.
//!
//! [`Store`] is a sum of small facets, a file each. A method is a whole use case in one
//! transaction, never row access, because a remote store cannot span one. This room knows no
//! backend and no async runtime: futures of any store can be driven by [`block_on`].
#![warn(missing_docs)]

mod agent;
mod agent_kind;
mod approval;
mod block_on;
mod capabilities;
mod clock;
mod context;
mod draft;
mod error;
mod event;
mod executor;
mod export;
mod feed;
mod fleet;
mod hive;
mod ids;
mod kv;
mod message;
mod question;
mod repo;
mod restore;
mod retention;
mod run;
mod runtime;
mod scrub;
mod search;
mod session;
mod spending;
mod task;
mod token;
mod workspace;

pub use agent::Agents;
pub use agent_kind::AgentKinds;
pub use approval::Approvals;
pub use block_on::block_on;
pub use capabilities::Capabilities;
pub use clock::{Clock, SystemClock};
pub use context::{ContextLimit, Restored, repair_session, session_context};
pub use draft::Drafts;
pub use error::{BoxError, Feature, Kind, Problem, StoreError};
pub use event::{EventWatch, Events};
pub use executor::Executors;
pub use export::{ImportReport, SessionExport, check_export, export_session, import_session};
pub use feed::{Feed, FeedWatch};
pub use fleet::Fleets;
pub use hive::Hive;
pub use ids::{IdSource, Ids, SystemIds};
pub use kv::KeyValues;
pub use message::{Messages, check_receive};
pub use question::Questions;
pub use repo::Repos;
pub use restore::{Roster, load_agents, restore_agent};
pub use retention::Retention;
pub use run::Runs;
pub use runtime::Runtimes;
pub use scrub::Scrubs;
pub use search::Searches;
pub use session::{SessionFork, Sessions};
pub use spending::Spendings;
pub use task::Tasks;
pub use token::Tokens;
pub use workspace::Workspaces;

use ah_model::RequestKey;

/// Everything a harbor keeps.
pub trait Store:
    AgentKinds
    + Agents
    + Approvals
    + Drafts
    + Events
    + Executors
    + Feed
    + Fleets
    + Hive
    + KeyValues
    + Messages
    + Questions
    + Repos
    + Retention
    + Runs
    + Runtimes
    + Scrubs
    + Searches
    + Sessions
    + Spendings
    + Tasks
    + Tokens
    + Workspaces
    + Send
    + Sync
{
    /// What this store can do that others cannot.
    fn capabilities(&self) -> Capabilities;

    /// The same store for one request of that key. What it creates, appends, claims or reports of a
    /// run is done once:
    /// the same request again gets the first answer, another one with the same key is invalid.
    /// The answer is kept with what was done, for [`ah_model::limits::REQUEST_KEY_MS`].
    fn keyed(&self, key: RequestKey) -> Box<dyn Store>;
}
