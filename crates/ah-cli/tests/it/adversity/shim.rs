//! The library that stands between a process and the kernel: see `shim.c`.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub(super) struct Shim {
    library: PathBuf,
    _directory: TempDir,
}

impl Shim {
    pub(super) fn build() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("shim.c");
        let library = directory.path().join("shim.so");
        std::fs::write(&source, include_str!("shim.c")).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]);
        let output = compiler.arg(&library).arg(&source).output();
        let output = output.expect("the C compiler `cc`, which SQLite needs as well");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cc cannot build the shim: {errors}");
        Self { library, _directory: directory }
    }

    /// Lets the shim stand before everything `command` does below `root`.
    pub(super) fn watch<'a>(&self, command: &'a mut Command, root: &Path) -> &'a mut Command {
        command.env("LD_PRELOAD", &self.library).env("ADVERSITY_ROOT", root)
    }
}
