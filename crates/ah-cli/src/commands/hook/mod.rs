//! `ah hook`: one payload of a coding agent's hook on standard input, into the store.
//!
//! It is what runs most, and it must never be in the agent's way: it prints nothing unless it
//! answers, ends within 200 ms with exit code 0, and what cannot be written now is kept in a
//! file that the next call brings in. The ways, in order: the socket of this machine's server, the
//! store itself, the file.

mod answer;
mod deliver;
pub(crate) mod desk;
mod gate;
mod guard;
#[cfg(unix)]
mod handover;
pub(crate) mod spool;

use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::Duration;

use ah_import::{HookCall, HookTool};
use ah_model::{RawJson, Redaction, Redactor, to_hex};
use ah_store::{Clock, IdSource, SystemClock, SystemIds};

pub(crate) use self::gate::TIMEOUT_SECONDS;

use self::deliver::{Delivered, Outcome};
use self::guard::Guard;
use self::spool::Spool;
use crate::app::App;
use crate::cli::GlobalArgs;
use crate::config::Config;
use crate::environment::{AH_SESSION_ID, Environment};
use crate::error::CommandError;

/// The word that a fast start is for.
const HOOK: &str = "hook";
/// How long an agent may take to say all of a payload.
const READ_MAX: Duration = Duration::from_secs(5);
/// When a call gives up on the store: what is left of 200 ms is for the file.
const STORE_UNTIL: Duration = Duration::from_millis(130);
/// When it gives up on the file being on disk, too.
const FILE_UNTIL: Duration = Duration::from_millis(180);
/// Longest payload that is taken.
const PAYLOAD_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Whose hook calls: claude-code, codex, gemini or goose
    #[arg(value_name = "KIND")]
    kind: HookTool,
    /// Hand the mail and late answers that wait for this agent to it, as additional context
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Make an approval of a permission request, and wait for the operator's decision
    #[arg(long)]
    approvals: bool,
}

/// Takes a call without the grammar of all commands, if that is what this process was started for.
/// Whatever else is wrong with the arguments, the agent is not to be held up: exit code 2 would be.
pub(crate) fn main(arguments: &[OsString], other: fn() -> ExitCode) -> Option<ExitCode> {
    let (word, rest) = arguments.split_first()?;
    if word != HOOK {
        return None;
    }
    let Some(args) = Args::read(rest) else {
        other();
        return Some(ExitCode::SUCCESS);
    };
    take(&args, &GlobalArgs::default(), &Environment::capture());
    Some(ExitCode::SUCCESS)
}

/// As [`main`], for calls with flags that every command takes.
pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    take(args, &app.global, &app.environment);
    Ok(())
}

impl Args {
    /// The plain form, as it is installed; nothing when there is more to it.
    fn read(arguments: &[OsString]) -> Option<Self> {
        let mut words = arguments.iter().map(|word| word.to_str());
        let kind = words.next()??.parse().ok()?;
        let mut args = Self { kind, agent: None, approvals: false };
        while let Some(word) = words.next() {
            match word? {
                "--agent" => args.agent = Some(words.next()??.to_owned()),
                "--approvals" => args.approvals = true,
                _ => return None,
            }
        }
        Some(args)
    }
}

/// Takes the call, under guard, so that nothing it waits for keeps the agent waiting.
fn take(args: &Args, global: &GlobalArgs, environment: &Environment) {
    let spool = Spool::of(environment);
    let Some(guard) = Guard::start(args, global, environment) else {
        // A machine without room for a thread: the next call brings this one in.
        if let Some(call) = read(args.kind, environment, &spool, Redaction::On) {
            keep(&call, environment, STORE_UNTIL);
        }
        return;
    };
    let app = App::new(global.clone(), environment.clone());
    let redaction = app.config().map_or(Redaction::On, Config::redaction);
    let Some(call) = read(args.kind, environment, &spool, redaction) else { return };
    // Counted from here: before, it was the agent's turn.
    let (began, call) = guard.watch(call);
    let Outcome { delivered, store } = deliver::deliver(&app, args, call, &spool);
    guard.relieve();
    match delivered {
        Delivered::Recorded => {}
        Delivered::Nothing => return,
        Delivered::NotYet => keep(call, environment, FILE_UNTIL.saturating_sub(began.elapsed())),
    }
    if gate::is_asked(args, call) {
        gate::wait(args, global, environment, call);
    }
    // Last, because it is nobody's loss if there is no time for it.
    if let Some(store) = store {
        store.leave();
    }
}

/// Reads the payload. One that is no JSON belongs to no session: it is put aside, to be looked at.
///
/// Secrets go here, before anything is written: the file must not hold them either, and the key that
/// is made of a payload must be the same on every way into the store.
fn read(
    tool: HookTool,
    environment: &Environment,
    spool: &Spool,
    redaction: Redaction,
) -> Option<HookCall> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(PAYLOAD_BYTES_MAX).read_to_end(&mut bytes);
    read.ok().filter(|_| !bytes.trim_ascii().is_empty())?;
    let id = to_hex(&SystemIds.random().ok()?);
    let at = SystemClock.now();
    let text = std::str::from_utf8(&bytes).ok();
    let payload = text.and_then(|text| RawJson::parse("payload", text, usize::MAX).ok());
    let Some(payload) = payload else {
        let (text, redacted) =
            Redactor::clean(redaction, String::from_utf8_lossy(&bytes).into_owned());
        spool.count_redacted(&redacted);
        spool.put_aside(at, &id, text.as_bytes());
        return None;
    };
    let (payload, redacted) = Redactor::clean(redaction, payload);
    spool.count_redacted(&redacted);
    let dir = environment.current_dir().ok().and_then(|dir| dir.to_str()).map(str::to_owned);
    let session = environment.var(AH_SESSION_ID).and_then(|id| id.parse().ok());
    Some(HookCall { tool, id, at, dir, session, payload })
}

/// Keeps a call for the next one to bring in, and waits so long for the disk: from when the file has
/// its name only a power cut can take it.
fn keep(call: &HookCall, environment: &Environment, wait: Duration) {
    // There is nobody to tell but the agent, whom it must not disturb.
    let Ok(kept) = Spool::of(environment).keep(call) else { return };
    let (tell, told) = channel();
    let sync = move || drop(tell.send(kept.sync()));
    if std::thread::Builder::new().name("ah-spool".to_owned()).spawn(sync).is_ok() {
        let _ = told.recv_timeout(wait);
    }
}

/// Prints an answer; an agent that does not listen is no error.
fn print(answer: &serde_json::Value) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(format!("{answer}\n").as_bytes()).and_then(|()| stdout.flush());
}
