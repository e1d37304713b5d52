//! The dashboard in a real browser, clicked through against a real `ah up --demo`.
//!
//! `cargo xtask test` finds or installs Chromium and node and names them to the test. The script is
//! `ah-server/browser/dashboard.mjs`; it starts the server itself, because it also kills it.

use std::ffi::OsString;
use std::path::Path;

use crate::support::Home;

/// As many events as a machine that is busy with other tests appends in good time. Run by hand, the
/// script is given 100,000.
const LONG: &str = "20000";

/// What the environment names; nothing, said aloud, where it does not.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "who starts the tests names the programs, and is told where they are not used"
)]
fn named(variable: &str) -> Option<OsString> {
    let program = std::env::var_os(variable).filter(|path| !path.is_empty());
    if program.is_none() {
        eprintln!("NOT RUN: {variable} names no program; see `cargo xtask browser`");
    }
    program
}

#[test]
fn every_job_of_the_dashboard_can_be_done_in_a_browser() {
    let (Some(chromium), Some(node)) = (named("AH_TEST_CHROMIUM"), named("AH_TEST_NODE")) else {
        return;
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-server/browser");
    // Kept after the test, for who wants to see what went wrong.
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard");
    let home = Home::new();
    let mut command = home.clean(node);
    command.arg(scripts.join("dashboard.mjs")).arg("--chromium").arg(chromium);
    command.args(["--long", LONG, "--ah", env!("CARGO_BIN_EXE_ah"), "--shots"]).arg(&shots);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}\npictures are in {}", shots.display());
    assert!(said.ends_with("all jobs done\n"), "{said}{errors}");
}
