//! The original's way to write flags: words behind one dash or two, as Go programs have them.

use std::ffi::{OsStr, OsString};

use clap::Error;
use clap::error::ErrorKind;

/// The command whose flags are spelled so.
const COMMAND: &str = "agentcli";

/// The original's flags that take a value.
const VALUES: [&str; 8] = [
    "state-dir",
    "state-scope",
    "state-refine-text",
    "state-refine-file",
    "prompt",
    "tools",
    "model",
    "base-url",
];
/// Those that are on or off.
const SWITCHES: [&str; 3] = ["state-refine", "dry-run", "debug"];
/// What every command here takes, with a value.
const GLOBAL_VALUES: [&str; 5] = ["repo", "remote-server", "database-url", "workspace", "config"];
/// What every command here takes, without one.
const GLOBAL_SWITCHES: [&str; 7] =
    ["json", "non-interactive", "quiet", "no-color", "help", "q", "h"];

/// The arguments as the grammar has them. Those of other commands are left alone.
pub(crate) fn spelled_out(arguments: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    let at = command(&arguments);
    let is_ours = |at: &usize| arguments.get(*at).is_some_and(|name| name == COMMAND);
    let Some(at) = at.filter(is_ours) else {
        return Ok(arguments);
    };
    let mut rest = arguments.into_iter();
    let mut spelled: Vec<OsString> = rest.by_ref().take(at + 1).collect();
    while let Some(argument) = rest.next() {
        match flag(&argument) {
            _ if argument == "--" => {
                spelled.push(argument);
                break;
            }
            None => spelled.push(argument),
            Some((name, value)) => spelled.extend(one(name, value, &mut rest)?),
        }
    }
    spelled.extend(rest);
    Ok(spelled)
}

/// Where the name of the command stands.
fn command(arguments: &[OsString]) -> Option<usize> {
    let mut at = 1;
    loop {
        match flag(arguments.get(at)?) {
            None => return Some(at),
            Some((name, None)) if GLOBAL_VALUES.contains(&name) => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// The name of a flag and the value behind its `=`; nothing for what is none.
fn flag(argument: &OsStr) -> Option<(&str, Option<&str>)> {
    let text = argument.to_str()?.strip_prefix('-')?;
    let text = text.strip_prefix('-').unwrap_or(text);
    let (name, value) =
        text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    (!text.is_empty()).then_some((name, value))
}

/// One flag, and its value that may be the next argument, whatever that looks like.
fn one(
    name: &str,
    value: Option<&str>,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<Option<OsString>, Error> {
    let spelled = OsString::from(format!("--{name}"));
    let is_value = VALUES.contains(&name) || GLOBAL_VALUES.contains(&name);
    if is_value {
        let value = value.map(OsString::from).or_else(|| rest.next());
        let Some(value) = value else {
            return Err(wrong(
                ErrorKind::MissingRequiredArgument,
                &format!("-{name} needs a value"),
            ));
        };
        let parts = [spelled, OsString::from("="), value];
        return Ok(Some(parts.into_iter().collect()));
    }
    if !SWITCHES.contains(&name) && !GLOBAL_SWITCHES.contains(&name) {
        return Err(unknown(name));
    }
    // As Go reads them.
    match value {
        None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") if name.len() == 1 => {
            Ok(Some(OsString::from(format!("-{name}"))))
        }
        None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(Some(spelled)),
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(None),
        Some(other) => Err(wrong(
            ErrorKind::InvalidValue,
            &format!("-{name} is on or off: true or false, not {other:?}"),
        )),
    }
}

fn unknown(name: &str) -> Error {
    let supported: Vec<String> =
        VALUES.iter().chain(&SWITCHES).map(|name| format!("-{name}")).collect();
    let key = match name.ends_with("api-key") {
        true => "; a key is never an argument: set OAI_API_KEY or OPENAI_API_KEY",
        false => "",
    };
    let message = format!(
        "-{name} is not supported, only the flags of the state are: {}{key}",
        supported.join(", ")
    );
    wrong(ErrorKind::UnknownArgument, &message)
}

fn wrong(kind: ErrorKind, message: &str) -> Error {
    Error::raw(kind, format!("{message}\n\nFor more information, try 'ah {COMMAND} --help'.\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(line: &[&str]) -> Result<Vec<String>, String> {
        let arguments = line.iter().map(OsString::from).collect();
        let spelled = spelled_out(arguments).map_err(|error| error.to_string())?;
        Ok(spelled.into_iter().map(|argument| argument.into_string().unwrap()).collect())
    }

    #[test]
    fn flags_with_one_dash_or_two_become_those_of_the_grammar() {
        let line = ["ah", "--json", "agentcli", "-state-dir", "d", "--model=m", "-dry-run"];
        let expected = ["ah", "--json", "agentcli", "--state-dir=d", "--model=m", "--dry-run"];
        assert_eq!(spelled(&line).unwrap(), expected);
        let line =
            ["ah", "--config", "f", "agentcli", "-q", "-prompt", "-model", "--json", "-help"];
        let expected =
            ["ah", "--config", "f", "agentcli", "-q", "--prompt=-model", "--json", "--help"];
        assert_eq!(spelled(&line).unwrap(), expected);
    }

    #[test]
    fn switches_may_be_said_to_be_off() {
        let line = ["ah", "agentcli", "-debug=true", "-dry-run=false", "-state-refine=1"];
        assert_eq!(spelled(&line).unwrap(), ["ah", "agentcli", "--debug", "--state-refine"]);
        assert!(spelled(&["ah", "agentcli", "-debug=maybe"]).unwrap_err().contains("\"maybe\""));
    }

    #[test]
    fn a_command_behind_two_dashes_and_other_commands_are_left_alone() {
        let line = ["ah", "agentcli", "--", "sh", "-temp", "-model"];
        assert_eq!(spelled(&line).unwrap(), line);
        let line = ["ah", "kv", "set", "agentcli", "-temp"];
        assert_eq!(spelled(&line).unwrap(), line);
        assert_eq!(spelled(&["ah"]).unwrap(), ["ah"]);
    }

    #[test]
    fn what_is_not_supported_is_refused_with_what_is() {
        let error = spelled(&["ah", "agentcli", "-temp", "0.1"]).unwrap_err();
        assert!(
            error.contains("-temp is not supported") && error.contains("-state-dir"),
            "{error}"
        );
        let error = spelled(&["ah", "agentcli", "-api-key", "x"]).unwrap_err();
        assert!(error.contains("OAI_API_KEY"), "{error}");
        let error = spelled(&["ah", "agentcli", "-prompt"]).unwrap_err();
        assert!(error.contains("-prompt needs a value"), "{error}");
    }
}
