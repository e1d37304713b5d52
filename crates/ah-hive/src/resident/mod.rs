//! Resident agents: a loop per agent that waits for mail and runs the program of its kind once per
//! message.
//!
//! A message is held under a lease that is renewed while its turn runs. It is acknowledged after the
//! turn has ended well and its records are in the agent's session; else it is given back, and rests
//! longer after every failure. A crash gives it back when the lease ends. A turn that had ended when
//! a crash took its acknowledgement is not run again: its records say so.
//!
//! One loop per agent and machine, by a lock on a file of the home. What a loop that was killed left
//! running is ended by the next one.

mod child;
mod input;
mod left;
mod mark;
mod output;
mod program;
mod record;
mod script;
mod scripted;
mod stop;
mod supervisor;
mod turn;
mod turn_loop;
mod wait;

use std::path::PathBuf;

use ah_store::StoreError;

use crate::HostError;

pub use mark::{is_resident, marked};
pub use program::{CommandProgram, InputForm, OutputForm, Program, Programs, SCRIPTED};
pub use script::{Rule, Script, Step, When};
pub use stop::Stop;
pub use supervisor::{MakeLoop, Supervised, Supervisor};
pub use turn_loop::{Ending, Pace, Ran, Resident, ResidentOptions, Tell, Until};

/// Why a loop does not run, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ResidentError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The home is not as it must be.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Another process runs this agent on this machine.
    #[error("agent {agent} is run by {holder} already")]
    Held {
        /// The agent.
        agent: String,
        /// Who has it.
        holder: String,
    },
    /// What a loop that was killed left running does not end.
    #[error("process {process} of a turn that broke off cannot be ended")]
    Left {
        /// The process.
        process: u32,
    },
    /// The agent takes no part now.
    #[error("agent {agent} is {lifecycle}")]
    NotActive {
        /// The agent.
        agent: String,
        /// What it is.
        lifecycle: ah_model::Lifecycle,
    },
    /// There is no program for its kind.
    #[error("no program is known for the agent kind {kind}")]
    NoProgram {
        /// The kind.
        kind: String,
    },
    /// The program of its kind is not on this machine.
    #[error("the program {program:?} of the agent kind {kind} is not there")]
    ProgramMissing {
        /// The kind.
        kind: String,
        /// What was looked for.
        program: String,
    },
    /// The script cannot be read.
    #[error("cannot read the script {}: {reason}", path.display())]
    Script {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {operation} {}", path.display())]
    File {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The host keeps no homes, so that no loop may run there.
    #[error("homes of agents are not kept here")]
    NoHomes,
    /// The system refused a thread.
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// A mistake of this program's: its thread has said where.
    #[error("the loop broke off")]
    Panicked,
}
