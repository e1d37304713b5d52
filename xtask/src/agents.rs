//! The coding agents that tests drive: given, installed with npm below the target directory, or not
//! to be had, which is said and makes the tests use what was recorded of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, Failure, describe, variable, workspace_root};

/// Tests read the programs' paths here.
const VARIABLES: [&str; 2] = ["AH_TEST_CLAUDE", "AH_TEST_CODEX"];
/// `skip` leaves the programs out by hand.
const SWITCH: &str = "AH_TEST_AGENTS";
/// What is installed, and the program that each brings.
const PACKAGES: [(&str, &str); 2] =
    [("@anthropic-ai/claude-code@2.1.325", "claude"), ("@openai/codex@0.166.0", "codex")];

/// Where the children of this process find the programs.
pub(crate) struct Agents(Vec<(&'static str, PathBuf)>);

impl Agents {
    /// Those that the environment names, else ours, which are installed once.
    pub(crate) fn obtain() -> Self {
        if VARIABLES.iter().any(|name| variable(name).is_some()) {
            return Self(Vec::new());
        }
        if variable(SWITCH).as_deref() == Some("skip") {
            eprintln!("    {SWITCH}=skip: what was recorded of agents is tested instead of them");
            return Self(Vec::new());
        }
        match install(&place()) {
            Ok(programs) => Self(VARIABLES.into_iter().zip(programs).collect()),
            Err(failure) => {
                let reason = failure.message.lines().next().unwrap_or_default().to_owned();
                eprintln!("    no agents ({reason}): what was recorded of them is tested instead");
                Self(Vec::new())
            }
        }
    }

    /// Tells `command` where the programs are.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.0.iter().map(|(name, path)| (name, path)));
    }
}

/// `cargo xtask agents -- PROGRAM`: runs a program that finds the agents in its environment.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let arguments = match arguments.split_first() {
        Some((dashes, rest)) if dashes == "--" => rest,
        _ => arguments,
    };
    let Some((program, rest)) = arguments.split_first() else {
        return Err(Failure::usage("name a program: `cargo xtask agents -- cargo nextest run`"));
    };
    let mut command = Command::new(program);
    command.args(rest);
    Agents::obtain().apply(&mut command);
    process::run(&mut command)
}

fn place() -> PathBuf {
    let target = variable("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| workspace_root().join("target")).join("agents")
}

/// The programs in `place`, installed if they are not there.
fn install(place: &Path) -> Result<Vec<PathBuf>, Failure> {
    let program = |name: &str| place.join("node_modules/.bin").join(name);
    let programs: Vec<_> = PACKAGES.iter().map(|(_, name)| program(name)).collect();
    let works = |path: &PathBuf| process::succeeds(Command::new(path).arg("--version"));
    // A file that is written last names the packages: other versions are installed anew.
    let done = place.join("installed");
    let wanted = PACKAGES.map(|(package, _)| package).join("\n");
    if std::fs::read_to_string(&done).is_ok_and(|text| text == wanted) && programs.iter().all(works)
    {
        return Ok(programs);
    }
    std::fs::create_dir_all(place).map_err(Failure::file(place))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(place);
    npm.args(PACKAGES.map(|(package, _)| package)).current_dir(place);
    eprintln!("    {}", describe(&npm));
    process::read(&mut npm)?;
    if let Some(broken) = programs.iter().find(|path| !works(path)) {
        return Err(Failure::new(format!("{} does not start", broken.display())));
    }
    std::fs::write(&done, wanted).map_err(Failure::file(&done))?;
    Ok(programs)
}
