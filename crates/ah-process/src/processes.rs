//! The processes of this machine, as Linux shows them below `/proc`. Elsewhere none are seen.

use serde::{Deserialize, Serialize};

/// What tells a process from all others that had or will have its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Born {
    /// Its number.
    pub id: u32,
    /// When it began, in ticks since the machine did.
    pub start: u64,
    /// Which start of the machine that was.
    boot: String,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Who started it, or took it over.
    pub parent: u32,
    /// Its group.
    pub group: u32,
    /// When it began, in ticks since the machine did.
    pub start: u64,
    /// One that has ended is there until somebody asks how.
    pub lives: bool,
}

impl Born {
    /// The process, if it is there still: not another one of its number.
    pub fn process(&self) -> Option<Process> {
        let is_same = |one: &Process| one.start == self.start;
        look(self.id).filter(is_same).filter(|_| self.is_of_this_boot())
    }

    /// Whether the machine has not begun again since.
    pub fn is_of_this_boot(&self) -> bool {
        boot().is_some_and(|boot| boot == self.boot)
    }
}

/// How the process of that number is known again.
pub fn born(id: u32) -> Option<Born> {
    Some(Born { id, start: look(id)?.start, boot: boot()? })
}

/// All that can be seen.
pub fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(look).collect()
}

impl Process {
    /// The environment that it began with; empty if it cannot be seen.
    fn environment(&self) -> Vec<u8> {
        std::fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default()
    }

    /// Whether it began with all of these variables.
    pub fn has(&self, variables: &[(&str, &str)]) -> bool {
        let environment = self.environment();
        variables.iter().all(|(name, value)| {
            let entry = format!("{name}={value}");
            environment.split(|byte| *byte == 0).any(|other| other == entry.as_bytes())
        })
    }
}

/// The process of that number.
fn look(id: u32) -> Option<Process> {
    parse(id, &std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// `stat` is `ID (NAME) STATE PARENT GROUP …`, and the start is its 22nd word. The name may hold
/// anything.
fn parse(id: u32, stat: &str) -> Option<Process> {
    let words: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let parent = words.get(1)?.parse().ok()?;
    let group = words.get(2)?.parse().ok()?;
    let start = words.get(19)?.parse().ok()?;
    let lives = !matches!(*words.first()?, "Z" | "X" | "x");
    Some(Process { id, parent, group, start, lives })
}

fn boot() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_rest_of_the_line() {
        let rest = "4 5 6 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 777 8192 1";
        for (state, lives) in [("S", true), ("R", true), ("Z", false)] {
            let stat = format!("12 (a) Z 1 2 (b) {state} {rest}\n");
            let wanted = Process { id: 12, parent: 4, group: 5, start: 777, lives };
            assert_eq!(parse(12, &stat), Some(wanted));
        }
        assert_eq!(parse(12, "12 (a) S 4"), None);
    }
}
