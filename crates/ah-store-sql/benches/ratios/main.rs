//! What our store costs over the raw engine: the same rows, the same durability, the same run.
//!
//! Rounds of ours and raw alternate, so that a busy machine slows both; figures are medians. A
//! figure is never asserted here: `cargo xtask bench` prints it beside its goal.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

mod agents;
mod append;
mod figure;
mod given;
mod history;
mod mail;
mod postgres;
mod processes;
mod raw;
mod search;

use figure::Figure;

type Bench = fn() -> Vec<Figure>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == processes::WORKER) {
        return processes::work(&arguments[1..]);
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let names: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| name.contains(n.as_str()));
    let benches: [(&str, Bench); 9] = [
        ("append-single", append::single),
        ("append-batch", append::batch),
        ("append-threads", append::threads),
        ("append-processes", processes::run),
        ("history", history::run),
        ("agents", agents::run),
        ("mail", mail::run),
        ("search", search::run),
        ("postgres", postgres::run),
    ];
    for (_, bench) in benches.iter().filter(|(name, _)| wanted(name)) {
        for figure in bench() {
            figure.print(json);
        }
    }
}
