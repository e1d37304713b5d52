//! The flags by which executors are chosen, or say what they have.

use ah_model::{Demands, Labels};

use crate::error::CommandError;

/// What an executor must offer, or offers.
#[derive(Debug, clap::Args)]
pub(crate) struct DemandArgs {
    /// The machine
    #[arg(long, value_name = "HOST")]
    pub(crate) hostname: Option<String>,
    /// The directory the executor serves
    #[arg(long, value_name = "DIR")]
    pub(crate) project_dir: Option<String>,
    /// The executor's profile
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// The executor's type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) executor_type: Option<String>,
    /// A tag; may be given several times
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
}

/// What the machine of an executor must be or have.
#[derive(Debug, clap::Args)]
pub(crate) struct MachineArgs {
    /// A label that the operator gave it; may be given several times
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// An agent program it must have, such as claude
    #[arg(long, value_name = "PROGRAM")]
    agent: Option<String>,
    /// Its operating system: linux, macos or windows
    #[arg(long, value_name = "OS")]
    os: Option<String>,
    /// Its architecture: x86_64 or arm64
    #[arg(long, value_name = "NAME")]
    architecture: Option<String>,
    /// Cores it must have at least
    #[arg(long, value_name = "N")]
    cpu_cores: Option<u32>,
    /// Bytes of memory it must have at least
    #[arg(long, value_name = "BYTES")]
    memory_bytes: Option<u64>,
}

impl DemandArgs {
    /// These demands and those of the machine, of any executor.
    pub(crate) fn with(&self, machine: &MachineArgs) -> Result<Demands, CommandError> {
        Ok(Demands {
            hostname: self.hostname.clone(),
            project_dir: self.project_dir.clone(),
            executor_profile: self.profile.clone(),
            executor_type: self.executor_type.clone(),
            tags: self.tags.clone(),
            executor_id: None,
            labels: Labels::from_pairs(&machine.labels)?,
            agent: machine.agent.clone(),
            os: machine.os.clone(),
            architecture: machine.architecture.clone(),
            cpu_cores: machine.cpu_cores,
            memory_bytes: machine.memory_bytes,
        })
    }
}
