//! How much of the machine a program may use, as the system enforces it for each of its processes.

use ah_model::Invalid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// Limits of a program; what is absent is as for the executor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Limits {
    /// Seconds of one core that a process may use.
    pub(super) cpu_seconds: Option<u64>,
    /// Bytes of addresses that a process may have.
    pub(super) memory_bytes: Option<u64>,
    /// Files that a process may have open.
    pub(super) open_files: Option<u64>,
    /// Processes that the executor's user may have in all.
    pub(super) processes: Option<u64>,
    /// Bytes that a file may have which a process writes.
    pub(super) file_bytes: Option<u64>,
    /// Bytes that are kept of each of its streams; no more than the executor keeps.
    pub(super) output_bytes: Option<u64>,
}

impl Limits {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let named = [
            ("limits.cpuSeconds", self.cpu_seconds),
            ("limits.memoryBytes", self.memory_bytes),
            ("limits.openFiles", self.open_files),
            ("limits.processes", self.processes),
            ("limits.fileBytes", self.file_bytes),
        ];
        match named.into_iter().find(|(_, value)| *value == Some(0)) {
            Some((name, _)) => Err(Invalid::new(name, "0, with which nothing can run")),
            None => Ok(()),
        }
    }

    /// Limits this process and whatever it becomes or starts.
    pub(super) fn apply(&self) -> std::io::Result<()> {
        let wanted = [
            (Resource::Cpu, self.cpu_seconds),
            (Resource::As, self.memory_bytes),
            (Resource::Nofile, self.open_files),
            (Resource::Nproc, self.processes),
            (Resource::Fsize, self.file_bytes),
        ];
        for (resource, value) in wanted {
            let Some(value) = value else { continue };
            // Nobody but root may have more than what is the most already.
            let most = getrlimit(resource).maximum.map_or(value, |maximum| maximum.min(value));
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
        }
        Ok(())
    }
}
