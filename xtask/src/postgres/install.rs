//! Installing PostgreSQL on a machine that has none.

use std::path::Path;
use std::process::Command;

use super::find::{self, Installation};
use crate::process::{self, Failure};

const ADVICE: &str = "\
no PostgreSQL server found: install one (Debian and Ubuntu: `postgresql`, Fedora: \
`postgresql-server`, Alpine: `postgresql`, Homebrew: `postgresql`; `psql` alone is not enough), \
or set AH_TEST_POSTGRES to the URL of a running server, \
or set AH_TEST_POSTGRES=skip by hand to leave those tests out";

/// Debian creates and starts a cluster of its own on installation unless this file says no.
const DEBIAN_CLUSTERS: &str = "/etc/postgresql-common/createcluster.conf";

/// Installs with the machine's package manager where we may, and finds the result.
pub(super) fn installation() -> Result<Installation, Failure> {
    let root = is_root();
    if root && has("apt-get") {
        install_with_apt()?;
    } else if root && has("dnf") {
        install(Command::new("dnf").args(["install", "-y", "postgresql-server"]))?;
    } else if root && has("apk") {
        install(Command::new("apk").args(["add", "postgresql"]))?;
    } else if !root && has("brew") {
        install(Command::new("brew").args(["install", "postgresql"]))?;
    }
    find::installation()?.ok_or_else(|| Failure::new(ADVICE))
}

fn install_with_apt() -> Result<(), Failure> {
    install(apt().arg("update"))?;
    install(apt().args(["install", "-y", "--no-install-recommends", "postgresql-common"]))?;
    let clusters = Path::new(DEBIAN_CLUSTERS);
    let original = std::fs::read_to_string(clusters).map_err(Failure::file(clusters))?;
    let without_cluster = format!("{original}\ncreate_main_cluster = false\n");
    std::fs::write(clusters, without_cluster).map_err(Failure::file(clusters))?;
    let installed = install(apt().args(["install", "-y", "--no-install-recommends", "postgresql"]));
    std::fs::write(clusters, original).map_err(Failure::file(clusters))?;
    installed
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// Runs one step of a package manager, whose own output stays off our stdout.
fn install(command: &mut Command) -> Result<(), Failure> {
    eprintln!("    {}", process::describe(command));
    process::read(command)
        .map(drop)
        .map_err(|failure| Failure::new(format!("{}\n{ADVICE}", failure.message)))
}

fn has(program: &str) -> bool {
    process::succeeds(Command::new(program).arg("--version"))
}

fn is_root() -> bool {
    process::read(Command::new("id").arg("-u")).is_ok_and(|uid| uid.trim() == "0")
}
