//! The machine's package manager: what the tests need and the machine does not have.

use std::process::Command;

use crate::process::{self, Failure};

/// Installs git, which agents' configurations are kept in, unless it is there.
pub(crate) fn git() -> Result<(), Failure> {
    if has("git") {
        return Ok(());
    }
    let advice = "no git found, and none could be installed: install it";
    match manager() {
        Some(Manager::Apt) => {
            install(apt().arg("update"), advice)?;
            install(apt().args(["install", "-y", "--no-install-recommends", "git"]), advice)
        }
        Some(Manager::Other(mut command)) => install(command.arg("git"), advice),
        None => Err(Failure::new(advice)),
    }
}

/// How packages are installed here.
pub(crate) enum Manager {
    /// Debian's, which is asked in several steps.
    Apt,
    /// Another, ready for the name of a package.
    Other(Command),
}

/// The machine's package manager, if we may use it.
pub(crate) fn manager() -> Option<Manager> {
    let root = is_root();
    let other = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments);
        Some(Manager::Other(command))
    };
    if root && has("apt-get") {
        Some(Manager::Apt)
    } else if root && has("dnf") {
        other("dnf", &["install", "-y"])
    } else if root && has("apk") {
        other("apk", &["add"])
    } else if !root && has("brew") {
        other("brew", &["install"])
    } else {
        None
    }
}

pub(crate) fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Runs one step of a package manager, whose own output stays off our stdout.
pub(crate) fn install(command: &mut Command, advice: &str) -> Result<(), Failure> {
    eprintln!("    {}", process::describe(command));
    process::read(command)
        .map(drop)
        .map_err(|failure| Failure::new(format!("{}\n{advice}", failure.message)))
}

/// Whether a program starts.
pub(crate) fn has(program: &str) -> bool {
    process::succeeds(Command::new(program).arg("--version"))
}

fn is_root() -> bool {
    process::read(Command::new("id").arg("-u")).is_ok_and(|uid| uid.trim() == "0")
}
