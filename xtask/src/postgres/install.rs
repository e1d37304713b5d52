//! Installing PostgreSQL on a machine that has none.

use std::path::Path;

use super::find::{self, Installation};
use crate::packages::{Manager, apt, install, manager};
use crate::process::Failure;

const ADVICE: &str = "\
no PostgreSQL server found: install one (Debian and Ubuntu: `postgresql`, Fedora: \
`postgresql-server`, Alpine: `postgresql`, Homebrew: `postgresql`; `psql` alone is not enough), \
or set AH_TEST_POSTGRES to the URL of a running server, \
or set AH_TEST_POSTGRES=skip by hand to leave those tests out";

/// Debian creates and starts a cluster of its own on installation unless this file says no.
const DEBIAN_CLUSTERS: &str = "/etc/postgresql-common/createcluster.conf";

/// Installs with the machine's package manager where we may, and finds the result.
pub(super) fn installation() -> Result<Installation, Failure> {
    match manager() {
        Some(Manager::Apt) => install_with_apt()?,
        Some(Manager::Other(mut command)) => {
            let dnf = command.get_program() == "dnf";
            let package = if dnf { "postgresql-server" } else { "postgresql" };
            install(command.arg(package), ADVICE)?;
        }
        None => {}
    }
    find::installation()?.ok_or_else(|| Failure::new(ADVICE))
}

fn install_with_apt() -> Result<(), Failure> {
    let package =
        |name| install(apt().args(["install", "-y", "--no-install-recommends", name]), ADVICE);
    install(apt().arg("update"), ADVICE)?;
    package("postgresql-common")?;
    let clusters = Path::new(DEBIAN_CLUSTERS);
    let original = std::fs::read_to_string(clusters).map_err(Failure::file(clusters))?;
    let without_cluster = format!("{original}\ncreate_main_cluster = false\n");
    std::fs::write(clusters, without_cluster).map_err(Failure::file(clusters))?;
    let installed = package("postgresql");
    std::fs::write(clusters, original).map_err(Failure::file(clusters))?;
    installed
}
