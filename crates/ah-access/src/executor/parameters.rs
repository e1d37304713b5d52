//! What a run is to execute: read from its parameters, with an error that says what is missing.
//!
//! `{"argv": […]}` names a program; `{"prompt": …}` gives a text to the program that is configured
//! for the agent kind `agent`, or for all that name none. `env`, `directory`, `stdin` and `limits`
//! go with both. `{"hold": {…}}` runs nothing of the user's: it waits in its `directory` until it is
//! ended, and says how the directory gets the files of a fleet's leader. Other keys are not ours.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use ah_model::{Invalid, RawJson};
use serde::{Deserialize, Serialize};

use super::keep::HOLD;
use super::limits::Limits;

/// Most arguments, and most variables.
const COUNT_MAX: usize = 1_024;
/// Longest argument or variable: what Linux takes, with the byte that ends it.
const TEXT_BYTES_MAX: usize = 128 * 1024 - 1;
/// Most bytes of all arguments and variables: half of what Linux takes, for the executor's own.
const TEXTS_BYTES_MAX: usize = 1024 * 1024;

/// The programs that take prompts, by agent kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// Program and arguments of each kind. `{prompt}`, `{model}`, `{session}` and `{run}` stand for
    /// what they say. Where no argument holds the prompt, the program reads it from its input.
    pub by_kind: BTreeMap<String, Vec<String>>,
    /// The kind of runs that name none.
    pub default_kind: Option<String>,
}

/// How the directory of a run that only holds its executor gets and compares files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Hold {
    /// The program that brings the leader's files, and its arguments; something else does when empty.
    pub(super) pull: Vec<String>,
    /// Names that are not compared.
    pub(super) ignore: Vec<String>,
}

/// Where a run is, for placeholders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) session: &'a str,
    pub(super) run: &'a str,
}

/// What programs a machine has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    /// Those that take prompts.
    pub(super) programs: &'a Programs,
    /// The command that is our own program as a keeper: it also holds places.
    pub(super) keeper: &'a [String],
    /// Where programs run that are not told where.
    pub(super) work: &'a Path,
}

/// What a run is to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) program: Program,
    /// What the program reads.
    pub(super) stdin: Option<String>,
    /// How its directory gets files, of one that only holds its executor.
    pub(super) hold: Option<Hold>,
}

/// A program to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Program {
    /// The program and its arguments, never empty.
    pub(super) argv: Vec<String>,
    /// Variables besides the executor's own.
    pub(super) env: BTreeMap<String, String>,
    /// Where it runs.
    pub(super) directory: PathBuf,
    /// How much of the machine it may use.
    pub(super) limits: Limits,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Parameters {
    argv: Option<Vec<String>>,
    prompt: Option<String>,
    hold: Option<Hold>,
    agent: Option<String>,
    model: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    directory: Option<PathBuf>,
    stdin: Option<String>,
    #[serde(default)]
    limits: Limits,
}

/// What `parameters` say; a relative directory is below the one for programs.
pub(super) fn read(
    parameters: &RawJson,
    known: Known<'_>,
    names: Names<'_>,
) -> Result<Task, Invalid> {
    let read: Result<Parameters, _> = serde_json::from_str(parameters.as_str());
    let mut given = read.map_err(|error| Invalid::new("parameters", error.to_string()))?;
    let (stdin, hold) = (given.stdin.take(), given.hold.take());
    let (argv, stdin) = match (given.argv.take(), given.prompt.take(), &hold) {
        (Some(argv), None, None) => (argv, stdin),
        (None, Some(prompt), None) => prompted(&given, known.programs, names, (prompt, stdin))?,
        (None, None, Some(hold)) => {
            check_texts("parameters.hold", hold.pull.iter().chain(&hold.ignore))?;
            (known.keeper.iter().cloned().chain([HOLD.to_owned()]).collect(), None)
        }
        (None, None, None) => {
            let reason = r#"neither "argv" (a program and its arguments) nor "prompt" nor "hold""#;
            return Err(Invalid::new("parameters", reason));
        }
        (..) => {
            let reason = "argv, prompt and hold: one of them says what to run";
            return Err(Invalid::new("parameters", reason));
        }
    };
    given.limits.check()?;
    check_program("parameters.argv", &argv)?;
    check_variables("parameters.env", &given.env)?;
    let directory = known.work.join(given.directory.unwrap_or_default());
    let directory = check_directory("parameters.directory", directory)?;
    let program = Program { argv, env: given.env, directory, limits: given.limits };
    Ok(Task { program, stdin, hold })
}

/// A program to be started beside that of a run: in its directory or below, with its variables and
/// its limits.
pub(super) fn beside(
    run: &Program,
    argv: Vec<String>,
    env: BTreeMap<String, String>,
    below: Option<&str>,
) -> Result<Program, Invalid> {
    check_program("argv", &argv)?;
    let mut all = run.env.clone();
    all.extend(env);
    check_variables("env", &all)?;
    let below = Path::new(below.unwrap_or_default());
    if !below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        let reason = format!("{} is not below the directory of the run", below.display());
        return Err(Invalid::new("directory", reason));
    }
    let directory = check_directory("directory", run.directory.join(below))?;
    Ok(Program { argv, env: all, directory, limits: run.limits.clone() })
}

fn check_program(field: &'static str, argv: &[String]) -> Result<(), Invalid> {
    check_texts(field, argv.iter())?;
    match argv.first().is_none_or(String::is_empty) {
        true => Err(Invalid::new(field, "names no program")),
        false => Ok(()),
    }
}

fn check_variables(field: &'static str, env: &BTreeMap<String, String>) -> Result<(), Invalid> {
    check_texts(field, env.iter().flat_map(|(name, value)| [name, value]))?;
    match env.keys().find(|name| name.is_empty() || name.contains('=')) {
        Some(name) => Err(Invalid::new(field, format!("{name:?} is no name of a variable"))),
        None => Ok(()),
    }
}

fn check_directory(field: &'static str, directory: PathBuf) -> Result<PathBuf, Invalid> {
    match directory.is_dir() {
        true => Ok(directory),
        false => {
            let reason = format!("{} is no directory on this machine", directory.display());
            Err(Invalid::new(field, reason))
        }
    }
}

/// The program that takes the prompt, and its input.
fn prompted(
    given: &Parameters,
    programs: &Programs,
    names: Names<'_>,
    (prompt, stdin): (String, Option<String>),
) -> Result<(Vec<String>, Option<String>), Invalid> {
    let known = || programs.by_kind.keys().cloned().collect::<Vec<_>>().join(", ");
    let Some(kind) = given.agent.as_ref().or(programs.default_kind.as_ref()) else {
        let reason = format!("missing: no kind is the default here; known are: {}", known());
        return Err(Invalid::new("parameters.agent", reason));
    };
    let Some(template) = programs.by_kind.get(kind) else {
        let reason = format!("no program is configured here for {kind:?}; known are: {}", known());
        return Err(Invalid::new("parameters.agent", reason));
    };
    let values = [
        ("model", given.model.as_deref()),
        ("session", Some(names.session)),
        ("run", Some(names.run)),
        // Last: nothing in it is a placeholder.
        ("prompt", Some(prompt.as_str())),
    ];
    let argv = template.iter().map(|argument| ah_process::fill(argument, &values)).collect();
    if template.iter().any(|argument| argument.contains("{prompt}")) {
        return Ok((argv, stdin));
    }
    match stdin {
        Some(_) => {
            let reason = format!("the program of {kind:?} reads the prompt from its input");
            Err(Invalid::new("parameters.stdin", reason))
        }
        None => Ok((argv, Some(prompt))),
    }
}

fn check_texts<'a>(
    field: &'static str,
    texts: impl Iterator<Item = &'a String>,
) -> Result<(), Invalid> {
    let (mut count, mut bytes) = (0, 0);
    for text in texts {
        if text.contains('\0') {
            return Err(Invalid::new(field, "holds a NUL byte, which no process takes"));
        }
        if text.len() > TEXT_BYTES_MAX {
            let reason = format!("{} bytes in one text, {TEXT_BYTES_MAX} are taken", text.len());
            return Err(Invalid::new(field, format!("{reason}; a long text goes to stdin")));
        }
        count += 1;
        bytes += text.len();
    }
    if count > COUNT_MAX || bytes > TEXTS_BYTES_MAX {
        let reason = format!("{count} texts of {bytes} bytes; {COUNT_MAX} of {TEXTS_BYTES_MAX}");
        return Err(Invalid::new(field, format!("{reason} are taken")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn programs() -> Programs {
        let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Programs {
            by_kind: BTreeMap::from([
                ("codex".to_owned(), argv(&["codex", "exec", "--as={session}", "-"])),
                ("say".to_owned(), argv(&["echo", "{prompt}", "{model}{run}"])),
            ]),
            default_kind: Some("codex".to_owned()),
        }
    }

    fn task(parameters: &serde_json::Value) -> Result<Task, Invalid> {
        let names = Names { session: "s1", run: "r1" };
        let keeper = ["/bin/ah".to_owned(), "keeper".to_owned()];
        let (programs, work) = (&programs(), Path::new("/"));
        let known = Known { programs, keeper: &keeper, work };
        read(&RawJson::of(parameters).unwrap(), known, names)
    }

    fn parse(parameters: &serde_json::Value) -> Result<(Program, Option<String>), Invalid> {
        task(parameters).map(|task| (task.program, task.stdin))
    }

    #[test]
    fn a_hold_waits_as_our_own_program_and_says_how_files_come() {
        let pull = ["cp".to_owned(), "-a".to_owned()];
        let held = json!({ "hold": { "pull": pull, "ignore": ["target"] }, "directory": "tmp" });
        let task = task(&held).unwrap();
        assert_eq!(task.program.argv, ["/bin/ah", "keeper", "hold"]);
        assert_eq!(task.program.directory, Path::new("/tmp"));
        let hold = Hold { pull: pull.to_vec(), ignore: vec!["target".to_owned()] };
        assert_eq!((task.stdin, task.hold), (None, Some(hold)));
    }

    #[test]
    fn a_program_is_taken_as_it_is_named() {
        let (program, stdin) = parse(&json!({
            "argv": ["cat", "-"], "env": {"A": "1"}, "directory": "tmp", "stdin": "in",
            "limits": {"openFiles": 64}, "other": 1,
        }))
        .unwrap();
        let limits = Limits { open_files: Some(64), ..Limits::default() };
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let (argv, directory) = (vec!["cat".to_owned(), "-".to_owned()], "/tmp".into());
        assert_eq!(program, Program { argv, env, directory, limits });
        assert_eq!(stdin.as_deref(), Some("in"));
    }

    #[test]
    fn a_prompt_goes_to_the_program_of_its_kind() {
        let (program, stdin) = parse(&json!({ "prompt": "do {run}" })).unwrap();
        assert_eq!(program.argv, ["codex", "exec", "--as=s1", "-"]);
        assert_eq!(stdin.as_deref(), Some("do {run}"));
        let say = json!({ "prompt": "do {run}", "agent": "say", "model": "m", "stdin": "more" });
        let (program, stdin) = parse(&say).unwrap();
        assert_eq!(program.argv, ["echo", "do {run}", "mr1"]);
        assert_eq!(stdin.as_deref(), Some("more"));
    }

    #[test]
    fn what_cannot_be_run_is_refused_with_what_is_missing() {
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        for (parameters, says) in [
            (json!({}), "neither \"argv\""),
            (json!([]), "invalid"),
            (json!({ "argv": ["a"], "prompt": "b" }), "one of them"),
            (json!({ "argv": ["a"], "hold": {} }), "one of them"),
            (json!({ "hold": { "pull": ["a\0"] } }), "NUL"),
            (json!({ "argv": [] }), "names no program"),
            (json!({ "argv": [""] }), "names no program"),
            (json!({ "argv": ["a\0"] }), "NUL"),
            (json!({ "argv": [long] }), "goes to stdin"),
            (json!({ "argv": vec!["a"; 1_025] }), "1025 texts"),
            (json!({ "argv": ["a"], "env": { "A=B": "1" } }), "no name of a variable"),
            (json!({ "argv": ["a"], "directory": "no/such" }), "/no/such is no directory"),
            (json!({ "argv": ["a"], "limits": { "cpu": 1 } }), "unknown field `cpu`"),
            (json!({ "argv": ["a"], "limits": { "openFiles": 0 } }), "openFiles"),
            (json!({ "prompt": "a", "agent": "other" }), "\"other\"; known are: codex, say"),
            (json!({ "prompt": "a", "stdin": "b" }), "reads the prompt from its input"),
        ] {
            let error = parse(&parameters).unwrap_err().to_string();
            assert!(error.contains(says), "{parameters}: {error}");
        }
    }
}
