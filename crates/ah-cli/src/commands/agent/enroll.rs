use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

use ah_access::executor::core::{AgentOptions, Said};
use ah_access::executor::detect::{Detector, Meter};
use ah_access::executor::host::{Host, HostOptions, Programs};
use ah_access::executor::outbox::{Outbox, OutboxOptions};
use ah_access::executor::{Mailbox, Parts, Servers};
use ah_access::keyring::Keyring;
use ah_access::link::Way;
use ah_access::peer::PeerSide;
use ah_access::run::start_executor;
use ah_model::{Lease, Offer, OutboxId, RawJson};
use ah_store::{IdSource, SystemClock, SystemIds};
use serde_json::json;

use crate::app::App;
use crate::commands::identity::IdentityArgs;
use crate::environment::hostname;
use crate::error::{CommandError, Exit};
use crate::keeper::KEEPER;

const RETRY_MS: u64 = 500;
const RETRY_MAX_MS: u64 = 30_000;
const GREETING_MS: u64 = 15_000;
/// How long programs that were found again go on unasked.
const UNSURE_MS: u64 = 60_000;
const OUTPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The access point, as HOST:PORT; several are tried in turn
    #[arg(long, value_name = "HOST:PORT", required = true)]
    server: Vec<String>,
    /// How many runs to work on at a time; as many as there are cores when not given
    #[arg(long, value_name = "N")]
    capacity: Option<u32>,
    /// A tag that runs may demand
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Take only runs that demand one of the tags
    #[arg(long)]
    require_tag: bool,
    /// The profile that runs may demand
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// The only directory that is served
    #[arg(long, value_name = "DIR")]
    project_dir: Option<PathBuf>,
    /// What runs with a prompt for an agent of this kind start, as KIND=PROGRAM and its arguments;
    /// {prompt}, {model}, {session} and {run} stand for what they say, and without {prompt} the
    /// program reads it
    #[arg(long, value_name = "KIND=COMMAND")]
    program: Vec<String>,
    /// Over TLS on TCP only, where UDP does not get through
    #[arg(long)]
    tcp: bool,
    /// Keep runs and reports here; below the state directory when not given
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let keyring = args.identity.keyring(app, PeerSide::Server, Arc::new(|_| {}))?;
    let keyring = Arc::new(keyring);
    let mailbox = Mailbox::new();
    let parts = parts(app, args, &keyring, &mailbox)?;
    let id = parts.options.executor_id.clone();
    let answer = json!({ "executorId": id, "servers": args.server });
    let running = start_executor(parts, mailbox, Arc::clone(&keyring)).map_err(|e| failed(&e))?;
    app.output.result(&answer, |_| {
        format!("{id} works for {}; Ctrl-C ends it, its programs go on", args.server.join(", "))
    })?;
    let (asked, ended) = sync_channel(1);
    ah_server::when_asked_to_end(move || {
        // One word is enough.
        let _ = asked.try_send(());
    })
    .map_err(|e| failed(&e))?;
    // Nothing is said when nobody can ask any more.
    let _ = ended.recv();
    running.end();
    Ok(())
}

fn parts(
    app: &App,
    args: &Args,
    keyring: &Arc<Keyring>,
    mailbox: &Mailbox,
) -> Result<Parts, CommandError> {
    let state = app.environment.state_dir()?.join("executor");
    let directory = args.dir.as_deref().map_or(Ok(state), |dir| app.environment.absolute(dir))?;
    std::fs::create_dir_all(&directory).map_err(|error| failed(&error))?;
    let path = app.environment.var_os("PATH");
    let search: Vec<PathBuf> =
        path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let detector =
        Detector { root: PathBuf::from("/"), search: search.clone(), storage: directory.clone() };
    let programs = programs(&args.program)?;
    let mut machine = detector.machine();
    // Runs may demand an agent kind by its name, whatever its program is called.
    let kinds = programs.by_kind.keys().filter(|kind| !machine.agents.contains(kind)).cloned();
    let kinds: Vec<String> = kinds.collect();
    machine.agents.extend(kinds);
    let id = keyring.id().executor_id()?;
    let holder = format!("process {}", std::process::id());
    let handle = mailbox.handle();
    let tell = Box::new(move |lease: &Lease| handle.ended(lease));
    let options = HostOptions {
        keeper: keeper()?,
        work: app.environment.current_dir()?.to_owned(),
        programs,
        search,
        environment: Vec::new(),
        withheld: vec!["AH_TOKEN".to_owned(), "VAULT_TOKEN".to_owned()],
        output_bytes_max: OUTPUT_BYTES_MAX,
    };
    let clock = Arc::new(SystemClock);
    let host = Host::open(&directory.join("host"), options, clock, &holder, tell);
    let host = host.map_err(|error| failed(&error))?;
    let random = SystemIds.random()?;
    let now_ms = app.now().unix_ms().unsigned_abs();
    let outbox = Outbox::open(&directory.join("outbox"), OutboxOptions::default(), &holder, || {
        OutboxId::mint(now_ms, random)
    });
    let (outbox, _) = outbox.map_err(|error| failed(&error))?;
    let meter = Mutex::new(Meter::new(detector));
    let terms = Arc::clone(keyring);
    let output = app.output;
    Ok(Parts {
        options: AgentOptions {
            executor_id: id,
            software: concat!("ah ", env!("CARGO_PKG_VERSION")).to_owned(),
            identity_provider: keyring.kind().as_str().to_owned(),
            offer: offer(app, args)?,
            capacity: args.capacity.unwrap_or(machine.cpu_cores),
            machine: Some(machine),
            details: RawJson::null(),
            retry_ms: RETRY_MS,
            retry_max_ms: RETRY_MAX_MS,
            greeting_ms: GREETING_MS,
            unsure_ms: UNSURE_MS,
            seed: u64::from_be_bytes([random[0], random[1], random[2], random[3], 0, 0, 0, 1]),
        },
        servers: Servers {
            hosts: args.server.clone(),
            way: if args.tcp { Way::Tcp } else { Way::QuicThenTcp },
            terms: Box::new(move || terms.terms()),
        },
        host,
        outbox,
        clock: Arc::new(SystemClock),
        load: Box::new(move || meter.lock().unwrap_or_else(PoisonError::into_inner).load()),
        tell: Box::new(move |said| output.talk(&sentence(&said))),
    })
}

fn offer(app: &App, args: &Args) -> Result<Offer, CommandError> {
    let project_dir = args.project_dir.as_deref().map(|dir| app.environment.absolute(dir));
    let offer = Offer {
        hostname: hostname(),
        project_dir: project_dir.transpose()?.map(|dir| dir.display().to_string()),
        executor_profile: args.profile.clone(),
        executor_type: None,
        tags: args.tag.clone(),
        require_matching_tags: args.require_tag,
    };
    offer.check()?;
    Ok(offer)
}

fn programs(texts: &[String]) -> Result<Programs, CommandError> {
    let mut programs = Programs::default();
    for text in texts {
        let (kind, command) = text.split_once('=').unwrap_or((text, ""));
        let argv: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if kind.is_empty() || argv.is_empty() {
            let message = format!("--program {text:?} is not KIND=COMMAND");
            return Err(CommandError::new(Exit::Usage, message));
        }
        programs.by_kind.insert(kind.to_owned(), argv);
    }
    Ok(programs)
}

/// Our own program, as the keeper of others.
fn keeper() -> Result<Vec<String>, CommandError> {
    let own = std::env::current_exe().map_err(|error| failed(&error))?;
    let own = own.into_os_string().into_string().map_err(|path| {
        let message = format!("the path of this program is no text: {}", path.display());
        CommandError::new(Exit::Failed, message)
    })?;
    Ok(vec![own, KEEPER.to_owned()])
}

fn sentence(said: &Said) -> String {
    match said {
        Said::Connected { server, ahead_ms } => {
            format!("connected with {server}; its clock is {ahead_ms} ms ahead of ours")
        }
        Said::Refused { word, detail } => format!("refused ({word}): {detail}"),
        Said::Goodbye { word, detail } => format!("sent away ({word}): {detail}"),
        Said::Unreachable { detail } => format!("no access point: {detail}"),
        Said::Trouble { run_id, detail } => format!("{run_id}: {detail}"),
        Said::OutboxTrouble { detail } => format!("outbox: {detail}"),
        Said::OutboxRolledBack { kept, last } => format!(
            "the outbox is older than what was sent of it: the access point has {kept} reports, here \
             were {last}; another outbox is begun with what was not reported"
        ),
        Said::Lost { run_id } => format!("{run_id} is no longer ours; its program is ended"),
        Said::Fenced { run_id } => {
            format!("the lease of {run_id} could not be prolonged in time; its program is ended")
        }
    }
}

fn failed(error: &dyn std::error::Error) -> CommandError {
    let mut message = error.to_string();
    if let Some(cause) = error.source() {
        message = format!("{message}: {cause}");
    }
    CommandError::new(Exit::Failed, message)
}
