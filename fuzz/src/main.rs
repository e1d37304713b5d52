//! Fuzzes parsers with mutated inputs. Deterministic: a case follows from the seed and its number.
//!
//! A mutator of our own: on a stable toolchain bolero only makes random bytes, which never get past
//! the first character of JSON.

mod allocator;
mod mutate;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use crate::mutate::{Random, mutated};
use crate::targets::{TARGETS, Target};

#[global_allocator]
static ALLOCATOR: allocator::Counting = allocator::Counting;

struct Arguments {
    targets: Vec<&'static Target>,
    first: u64,
    cases: u64,
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    for target in &arguments.targets {
        match fuzz(target, &arguments) {
            Ok(most) => {
                println!("{}: {} cases, at most {most} bytes held", target.name, arguments.cases)
            }
            Err(message) => {
                eprintln!("error: {message}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { targets: Vec::new(), first: 0, cases: 100_000, seed: 1 };
    while let Some(word) = words.next() {
        let mut number = || {
            let given = words.next().unwrap_or_default();
            given.parse::<u64>().map_err(|error| format!("{word} {given:?}: {error}"))
        };
        match word.as_str() {
            "--cases" => arguments.cases = number()?,
            "--seed" => arguments.seed = number()?,
            "--case" => (arguments.first, arguments.cases) = (number()?, 1),
            name => {
                let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
                let target = TARGETS.iter().find(|target| target.name == name);
                let unknown = || format!("unknown target `{name}`; one of {}", known.join(", "));
                arguments.targets.push(target.ok_or_else(unknown)?);
            }
        }
    }
    if arguments.targets.is_empty() {
        arguments.targets = TARGETS.iter().collect();
    }
    Ok(arguments)
}

/// The most bytes that a case held, or which case failed.
fn fuzz(target: &Target, arguments: &Arguments) -> Result<usize, String> {
    let seeds = (target.seeds)();
    // What is set up once is no case's.
    seeds.iter().for_each(|seed| (target.run)(seed));
    let mut most = 0;
    for case in arguments.first..arguments.first + arguments.cases {
        let input = mutated(&seeds, target.words, &mut Random::new(arguments.seed, case));
        let run = AssertUnwindSafe(|| (target.run)(&input));
        let (result, held) = allocator::peak(|| catch_unwind(run));
        let allowed = target.held_min + target.held_per_byte * input.len();
        let place = || {
            let (name, seed) = (target.name, arguments.seed);
            format!(
                "cargo xtask fuzz {name} --seed {seed} --case {case}\n  {}",
                input.escape_ascii()
            )
        };
        if result.is_err() {
            return Err(format!("a panic; again with {}", place()));
        }
        if held > allowed {
            return Err(format!("{held} bytes held, {allowed} allowed; again with {}", place()));
        }
        most = most.max(held);
    }
    Ok(most)
}
