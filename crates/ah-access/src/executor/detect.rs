//! What this machine is and has, and how busy it is.
//!
//! Read from files below a root, which is `/` but in tests; no other program is needed. What cannot be
//! told is left out, or 0 where a number must be said. Limits of the control group that we are in count:
//! what a container may not use is not offered.

mod cgroup;
mod gpu;

use std::fs;
use std::path::{Path, PathBuf};

use ah_model::Machine;

use self::cgroup::Cgroup;
use crate::frame::Load;

/// Programs that run agents in something else than the machine itself.
const RUNTIMES: [&str; 3] = ["devcontainer", "docker", "podman"];
/// Programs of agents.
const AGENTS: [&str; 11] = [
    "aider",
    "amp",
    "claude",
    "codex",
    "copilot",
    "crush",
    "cursor-agent",
    "gemini",
    "goose",
    "opencode",
    "qwen",
];

/// Looks at a machine.
#[derive(Debug, Clone)]
pub struct Detector {
    /// Below it is what the system shows: `/`.
    pub root: PathBuf,
    /// Where programs are looked for.
    pub search: Vec<PathBuf>,
    /// Where runs keep their files.
    pub storage: PathBuf,
}

impl Detector {
    /// What the machine is and has.
    pub fn machine(&self) -> Machine {
        let programs = |names: &[&str]| -> Vec<String> {
            let found = names.iter().filter(|name| ah_process::is_found(name, &self.search));
            found.map(|name| (*name).to_owned()).collect()
        };
        Machine {
            os_name: std::env::consts::OS.to_owned(),
            os_version: os_version(&self.root),
            architecture: std::env::consts::ARCH.to_owned(),
            cpu_cores: self.cores(),
            memory_bytes: self.memory().unwrap_or_default(),
            storage_bytes: storage(&self.storage).map_or(0, |(all, _)| all),
            gpus: gpu::all(&self.root),
            runtimes: [vec!["bare".to_owned()], programs(&RUNTIMES)].concat(),
            agents: programs(&AGENTS),
            network_tier: None,
            ssh_endpoint: None,
        }
    }

    /// Cores that this process may be run on, and no more than its control group has time for.
    fn cores(&self) -> u32 {
        let allowed = field(&self.root.join("proc/self/status"), "Cpus_allowed_list:");
        let allowed = allowed.and_then(|list| count(&list)).unwrap_or_else(|| {
            let cores = std::thread::available_parallelism();
            cores.map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
        });
        let quota = Cgroup::of(&self.root).cores().unwrap_or(u32::MAX);
        allowed.min(quota).max(1)
    }

    fn memory(&self) -> Option<u64> {
        let all = meminfo(&self.root, "MemTotal:")?;
        Some(Cgroup::of(&self.root).memory_bytes().map_or(all, |most| most.min(all)))
    }

    fn memory_free(&self) -> Option<u64> {
        let free = meminfo(&self.root, "MemAvailable:")?;
        Some(Cgroup::of(&self.root).memory_free_bytes().map_or(free, |left| left.min(free)))
    }
}

/// How busy a machine is, from one look to the next.
#[derive(Debug, Clone)]
pub struct Meter {
    detector: Detector,
    before: Option<Times>,
}

impl Meter {
    /// A meter that has not looked yet.
    pub fn new(detector: Detector) -> Self {
        Self { detector, before: None }
    }

    /// How busy the machine was since the last look; of the cores nothing is known at the first.
    pub fn load(&mut self) -> Load {
        let now = times(&self.detector.root);
        let before = std::mem::replace(&mut self.before, now);
        Load {
            cpu: before.zip(now).and_then(|(before, now)| now.share_since(before)),
            memory_free_bytes: self.detector.memory_free(),
            storage_free_bytes: storage(&self.detector.storage).map(|(_, free)| free),
        }
    }
}

/// Time of all cores since the machine began, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    all: u64,
    idle: u64,
}

impl Times {
    /// The share of time that was used. `None` if none has passed.
    fn share_since(self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        // Time that waits for disks may be counted back a little.
        let idle = self.idle.saturating_sub(before.idle).min(all);
        let parts = u32::try_from((all - idle) * 10_000 / all).ok()?;
        Some(f64::from(parts) / 10_000.0)
    }
}

/// `cpu` and times as user, nice, system, idle, waiting for disks, two sorts of interrupts, stolen. What
/// follows is counted in user already.
fn times(root: &Path) -> Option<Times> {
    let line = field(&root.join("proc/stat"), "cpu ")?;
    let words: Option<Vec<u64>> =
        line.split_whitespace().take(8).map(|word| word.parse().ok()).collect();
    let words = words?;
    let idle = words.get(3)?.saturating_add(*words.get(4)?);
    Some(Times { all: words.iter().sum(), idle })
}

/// What follows `name` on its line of a file.
fn field(path: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}

/// A line of `/proc/meminfo`, which counts in KiB.
fn meminfo(root: &Path, name: &str) -> Option<u64> {
    let value = field(&root.join("proc/meminfo"), name)?;
    value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// How many numbers a list like `0-3,8` has.
fn count(list: &str) -> Option<u32> {
    let mut all = 0_u32;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        all = all.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(all)
}

/// What a distribution calls itself; else the kernel's version.
fn os_version(root: &Path) -> String {
    let files = ["etc/os-release", "usr/lib/os-release"].map(|file| root.join(file));
    let named = files.iter().find_map(|file| field(file, "PRETTY_NAME="));
    let named = named.map(|name| name.trim_matches(['"', '\'']).to_owned());
    let kernel = || rustix::system::uname().release().to_string_lossy().into_owned();
    named.filter(|name| !name.is_empty()).unwrap_or_else(kernel)
}

/// Bytes of the file system that holds `path`: all, and those that we may still use.
fn storage(path: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(path).ok()?;
    let bytes = |blocks: u64| blocks.checked_mul(found.f_frsize);
    Some((bytes(found.f_blocks)?, bytes(found.f_bavail)?))
}

#[cfg(test)]
mod tests;
