//! The smallest keeper: what the command of [`HostOptions::keeper`] must do. Tests run it.
//!
//! [`HostOptions::keeper`]: ah_access::executor::host::HostOptions::keeper

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    ah_access::executor::keep::main(&arguments)
}
