//! Limits of the control groups that this process is in: its own and all above it. Both versions.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the groups of this process are shown.
#[derive(Debug, Default)]
pub(super) struct Cgroup {
    /// The second version: everything in one tree.
    unified: Vec<PathBuf>,
    /// The first: a tree for each.
    cpu: Vec<PathBuf>,
    memory: Vec<PathBuf>,
}

impl Cgroup {
    pub(super) fn of(root: &Path) -> Self {
        let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        let mounted = root.join("sys/fs/cgroup");
        let mut found = Self::default();
        for line in text.lines() {
            // `NUMBER:CONTROLLERS:PATH`
            let mut words = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (words.next(), words.next()) else { continue };
            if controllers.is_empty() {
                found.unified = upward(&mounted, path);
                // Both versions at once.
                found.unified.extend(upward(&mounted.join("unified"), path));
            }
            for controller in controllers.split(',') {
                match controller {
                    "cpu" => found.cpu = upward(&mounted.join("cpu"), path),
                    "memory" => found.memory = upward(&mounted.join("memory"), path),
                    _ => {}
                }
            }
        }
        found
    }

    /// Cores that there is time for, a part of one counted as one.
    pub(super) fn cores(&self) -> Option<u32> {
        let unified = self.unified.iter().filter_map(|group| {
            // `QUOTA PERIOD`, where the quota may be `max`.
            let text = fs::read_to_string(group.join("cpu.max")).ok()?;
            let (quota, period) = text.trim().split_once(' ')?;
            cores(quota.parse().ok()?, period.parse().ok()?)
        });
        let first = self.cpu.iter().filter_map(|group| {
            // The quota may be -1.
            cores(number(group, "cpu.cfs_quota_us")?, number(group, "cpu.cfs_period_us")?)
        });
        unified.chain(first).min()
    }

    pub(super) fn memory_bytes(&self) -> Option<u64> {
        self.memory().map(|(most, _)| most).min()
    }

    /// What is left where least is left.
    pub(super) fn memory_free_bytes(&self) -> Option<u64> {
        self.memory().map(|(most, used)| most.saturating_sub(used)).min()
    }

    /// The most and what is used, of each group with a limit.
    fn memory(&self) -> impl Iterator<Item = (u64, u64)> {
        let of = |groups: &[PathBuf], most: &str, used: &str| {
            let limited = groups.iter().filter_map(|group| {
                Some((number(group, most)?, number(group, used).unwrap_or_default()))
            });
            limited.collect::<Vec<_>>()
        };
        let unified = of(&self.unified, "memory.max", "memory.current");
        let first = of(&self.memory, "memory.limit_in_bytes", "memory.usage_in_bytes");
        unified.into_iter().chain(first)
    }
}

/// A group and all above it. A container may see its own group as the top one, by another name.
fn upward(mounted: &Path, group: &str) -> Vec<PathBuf> {
    let group = Path::new(group.trim_start_matches('/'));
    group.ancestors().map(|part| mounted.join(part)).collect()
}

fn cores(quota: u64, period: u64) -> Option<u32> {
    u32::try_from(quota.checked_add(period.checked_sub(1)?)?.checked_div(period)?).ok()
}

fn number(group: &Path, file: &str) -> Option<u64> {
    fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}
