//! `cargo xtask bench`: the benches of every room, merged into one document on request.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::postgres::{Database, IfMissing, Sync};
use crate::process::{self, Failure, cannot_start, cargo, check_status, describe, step};

/// Package and bench target, in the order they run.
const BENCHES: [(&str, &str); 6] = [
    ("ah-store-sql", "ratios"),
    ("ah-bundle", "ratios"),
    ("ah-import", "ratios"),
    ("ah-snapshot", "tree"),
    ("ah-server", "http"),
    ("ah-cli", "process"),
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let database = step("postgres", || Database::obtain(Sync::On, IfMissing::Skip))?;
    let json = arguments.iter().any(|argument| argument == "--json");
    let mut results = Vec::new();
    for (package, bench) in BENCHES {
        let mut command = cargo();
        command.args(["bench", "--package", package, "--bench", bench, "--"]).args(arguments);
        database.apply(&mut command);
        step(bench, || {
            eprintln!("    {}", describe(&command));
            if !json {
                return process::run(&mut command);
            }
            results.extend(collect(&mut command)?);
            Ok(())
        })?;
    }
    if json {
        println!("{}", document(&results));
    }
    Ok(())
}

/// Runs a bench and returns the JSON lines of its stdout; its other lines go to stderr as they come.
fn collect(command: &mut Command) -> Result<Vec<String>, Failure> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| cannot_start(command, &error))?;
    let mut results = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        let line = line.map_err(|error| Failure::new(format!("reading the bench: {error}")))?;
        if line.starts_with('{') {
            results.push(line);
        } else {
            eprintln!("{line}");
        }
    }
    let status = child.wait().map_err(|error| cannot_start(command, &error))?;
    check_status(command, status)?;
    Ok(results)
}

fn document(results: &[String]) -> String {
    if results.is_empty() {
        return "{\"benches\":[]}".to_owned();
    }
    format!("{{\"benches\":[\n{}\n]}}", results.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_become_one_document() {
        assert_eq!(document(&[]), r#"{"benches":[]}"#);
        let lines = [r#"{"name":"a"}"#.to_owned(), r#"{"name":"b"}"#.to_owned()];
        assert_eq!(document(&lines), "{\"benches\":[\n{\"name\":\"a\"},\n{\"name\":\"b\"}\n]}");
    }

    #[test]
    fn only_the_json_lines_of_a_bench_are_collected() {
        let mut command = Command::new("sh");
        command.args(["-c", r#"echo warming up; echo '{"name":"a"}'"#]);
        let lines = collect(&mut command).map_err(|failure| failure.message);
        assert_eq!(lines, Ok(vec![r#"{"name":"a"}"#.to_owned()]));
    }
}
