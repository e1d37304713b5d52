//! The browser that the tests of the dashboard click through, and the node that holds its leash:
//! given, found, installed by the machine's package manager, or not to be had, which is said.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::packages::{self, Manager, apt, has, manager};
use crate::process::{self, Failure, cargo, variable, workspace_root};

/// Tests read the programs here: browser, node.
const VARIABLES: [&str; 2] = ["AH_TEST_CHROMIUM", "AH_TEST_NODE"];
/// `skip` leaves the browser out by hand.
const SWITCH: &str = "AH_TEST_BROWSER";
/// What the browser is called; the first is what package managers call it too.
const BROWSERS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];
/// The first node that has all that the script uses.
const NODE_MIN: u32 = 18;

/// Where the children of this process find the programs.
pub(crate) enum Browser {
    /// The environment names them already.
    Given,
    /// We do.
    Found([String; 2]),
    /// There are none, for this reason.
    Missing(String),
}

impl Browser {
    /// Those that the environment names, else what is installed, else what can be.
    pub(crate) fn obtain() -> Self {
        if VARIABLES.iter().all(|name| variable(name).is_some()) {
            return Self::Given;
        }
        if variable(SWITCH).as_deref() == Some("skip") {
            return Self::Missing(format!("{SWITCH}=skip"));
        }
        let found = find().map_or_else(install, Ok);
        found.map_or_else(|failure| Self::Missing(failure.message), Self::Found)
    }

    /// Tells `command` where the programs are.
    pub(crate) fn apply(&self, command: &mut Command) {
        if let Self::Found(programs) = self {
            command.envs(VARIABLES.iter().zip(programs));
        }
    }

    /// Says what was not tested.
    pub(crate) fn warn(&self) {
        if let Self::Missing(reason) = self {
            let reason = reason.lines().next().unwrap_or_default();
            eprintln!("warning: the tests of the dashboard in a browser were NOT RUN ({reason})");
        }
    }
}

/// `cargo xtask browser -- PROGRAM`: runs a program that finds the browser in its environment.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let arguments = match arguments.split_first() {
        Some((dashes, rest)) if dashes == "--" => rest,
        _ => arguments,
    };
    let Some((program, rest)) = arguments.split_first() else {
        return Err(Failure::usage("name a program: `cargo xtask browser -- cargo nextest run`"));
    };
    let browser = Browser::obtain();
    let mut command = Command::new(program);
    browser.apply(command.args(rest));
    let ended = process::run(&mut command);
    browser.warn();
    ended
}

/// `cargo xtask dashboard`: the click-through with 100,000 events and everything measured, on a
/// release build. Arguments go to the script.
pub(crate) fn measure(arguments: &[String]) -> Result<(), Failure> {
    process::run(cargo().args(["build", "--release", "--package", "ah-cli"]))?;
    let shots = target().join("dashboard");
    let mut command = script("dashboard.mjs", "release", &shots)?;
    process::run(command.args(["--measure", "--long", "100000"]).args(arguments))
}

/// `cargo xtask tour`: makes the pictures of `docs/tour.md` anew.
pub(crate) fn tour() -> Result<(), Failure> {
    process::run(cargo().args(["build", "--package", "ah-cli"]))?;
    process::run(&mut script("tour.mjs", "debug", &workspace_root().join("docs/tour"))?)
}

fn target() -> PathBuf {
    let target = variable("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| workspace_root().join("target"))
}

/// A script of `ah-server/browser`, about to run in a home of its own.
fn script(name: &str, profile: &str, shots: &Path) -> Result<Command, Failure> {
    let [browser, node] = match Browser::obtain() {
        Browser::Given => VARIABLES.map(|name| variable(name).unwrap_or_default()),
        Browser::Found(programs) => programs,
        Browser::Missing(reason) => return Err(Failure::new(reason)),
    };
    let home = process::read(Command::new("mktemp").arg("-d"))?;
    let mut command = Command::new(node);
    command.arg(workspace_root().join("crates/ah-server/browser").join(name));
    command.args(["--chromium", &browser, "--ah"]).arg(target().join(profile).join("ah"));
    command.arg("--shots").arg(shots).env("AH_HOME", home.trim());
    command.env("XDG_RUNTIME_DIR", home.trim());
    Ok(command)
}

/// A browser and a node that start.
fn find() -> Option<[String; 2]> {
    let browser = BROWSERS.into_iter().find(|name| has(name))?;
    let version = process::read(Command::new("node").arg("--version")).ok()?;
    let major = version.trim().trim_start_matches('v').split('.').next()?.parse::<u32>().ok()?;
    (major >= NODE_MIN).then(|| [browser.to_owned(), "node".to_owned()])
}

fn install() -> Result<[String; 2], Failure> {
    let advice = "no Chromium and node found, and none could be installed";
    match manager() {
        Some(Manager::Apt) => {
            let mut packages = apt();
            packages.args(["install", "-y", "--no-install-recommends", "chromium"]);
            if !has("node") {
                packages.arg("nodejs");
            }
            packages::install(apt().arg("update"), advice)?;
            packages::install(&mut packages, advice)?;
        }
        Some(Manager::Other(mut command)) => {
            packages::install(command.args(["chromium", "nodejs"]), advice)?;
        }
        None => return Err(Failure::new(advice)),
    }
    find().ok_or_else(|| Failure::new("what was installed as Chromium and node does not start"))
}
