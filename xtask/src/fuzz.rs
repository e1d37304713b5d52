//! `cargo xtask fuzz`: the fuzzers, which are a workspace of their own.

use crate::process::{self, Failure, cargo, describe, step};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml", "--"]);
    command.args(arguments);
    step("fuzz", || {
        eprintln!("    {}", describe(&command));
        process::run(&mut command)
    })
}
