//! The machine of an executor, as it found it.

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::limits::{LABEL_BYTES_MAX, MACHINE_LIST_MAX};
use crate::text::{check_filled, check_optional};

/// What a machine is and has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// linux, macos or windows.
    pub os_name: String,
    /// Its version, as the system says it.
    pub os_version: String,
    /// x86_64, aarch64 and the like.
    pub architecture: String,
    /// Logical cores.
    pub cpu_cores: u32,
    /// Memory in all.
    pub memory_bytes: u64,
    /// Storage that runs may use, in all.
    pub storage_bytes: u64,
    /// Its graphics processors.
    #[serde(default)]
    pub gpus: Vec<Gpu>,
    /// How it can run agents: bare, devcontainer, docker.
    #[serde(default)]
    pub runtimes: Vec<String>,
    /// The agent programs it has: claude, codex.
    #[serde(default)]
    pub agents: Vec<String>,
    /// How it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_tier: Option<String>,
    /// Where SSH reaches it, `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_endpoint: Option<String>,
}

/// A graphics processor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Gpu {
    /// Who made it.
    pub vendor: String,
    /// Which one.
    pub model: String,
    /// Its own memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vram_bytes: Option<u64>,
    /// What drives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

impl Machine {
    /// Refuses texts that cannot be stored, lists that are too long, and numbers that no engine
    /// keeps.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("machine.osName", &self.os_name, LABEL_BYTES_MAX)?;
        crate::check_text("machine.osVersion", &self.os_version, LABEL_BYTES_MAX)?;
        check_filled("machine.architecture", &self.architecture, LABEL_BYTES_MAX)?;
        check_optional("machine.networkTier", self.network_tier.as_deref(), LABEL_BYTES_MAX)?;
        check_optional("machine.sshEndpoint", self.ssh_endpoint.as_deref(), LABEL_BYTES_MAX)?;
        check_stored("machine.memoryBytes", self.memory_bytes)?;
        check_stored("machine.storageBytes", self.storage_bytes)?;
        check_words("machine.runtimes", &self.runtimes)?;
        check_words("machine.agents", &self.agents)?;
        check_length("machine.gpus", self.gpus.len())?;
        self.gpus.iter().try_for_each(Gpu::check)
    }

    /// Whether it is of that system, by any of its names.
    pub fn is_os(&self, name: &str) -> bool {
        os(&self.os_name) == os(name)
    }

    /// Whether it is of that architecture, by any of its names.
    pub fn is_architecture(&self, name: &str) -> bool {
        architecture(&self.architecture) == architecture(name)
    }
}

impl Gpu {
    fn check(&self) -> Result<(), Invalid> {
        crate::check_text("machine.gpus.vendor", &self.vendor, LABEL_BYTES_MAX)?;
        crate::check_text("machine.gpus.model", &self.model, LABEL_BYTES_MAX)?;
        check_optional("machine.gpus.driver", self.driver.as_deref(), LABEL_BYTES_MAX)?;
        self.vram_bytes.map_or(Ok(()), |bytes| check_stored("machine.gpus.vramBytes", bytes))
    }
}

/// One of the names that people use for a system.
fn os(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "darwin" | "osx" => "macos".to_owned(),
        other => other.to_owned(),
    }
}

/// One of the names that people use for an architecture.
fn architecture(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "arm64" => "aarch64".to_owned(),
        "amd64" | "x64" | "x86-64" => "x86_64".to_owned(),
        other => other.to_owned(),
    }
}

fn check_stored(field: &'static str, number: u64) -> Result<(), Invalid> {
    let kept = i64::try_from(number).map(drop);
    kept.map_err(|_| Invalid::new(field, format!("{number}, at most {} are allowed", i64::MAX)))
}

fn check_length(field: &'static str, length: usize) -> Result<(), Invalid> {
    match length <= MACHINE_LIST_MAX {
        true => Ok(()),
        false => {
            let reason = format!("{length} of them, at most {MACHINE_LIST_MAX} are allowed");
            Err(Invalid::new(field, reason))
        }
    }
}

fn check_words(field: &'static str, words: &[String]) -> Result<(), Invalid> {
    check_length(field, words.len())?;
    words.iter().try_for_each(|word| check_filled(field, word, LABEL_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_and_an_architecture_have_several_names() {
        let machine = Machine {
            os_name: "macos".to_owned(),
            architecture: "aarch64".to_owned(),
            ..Machine::default()
        };
        assert!(machine.is_os("Darwin") && machine.is_os("macos") && !machine.is_os("linux"));
        assert!(machine.is_architecture("arm64") && !machine.is_architecture("x86_64"));
    }

    #[test]
    fn a_number_that_no_engine_keeps_is_refused_by_name() {
        let os_name = "linux".to_owned();
        let machine = Machine { architecture: "x86_64".to_owned(), os_name, ..Machine::default() };
        assert_eq!(machine.check(), Ok(()));
        let refused = Machine { memory_bytes: u64::MAX, ..machine.clone() }.check().unwrap_err();
        assert_eq!(refused.field, "machine.memoryBytes");
        let gpus = vec![Gpu::default(); MACHINE_LIST_MAX + 1];
        assert_eq!(Machine { gpus, ..machine }.check().unwrap_err().field, "machine.gpus");
    }
}
