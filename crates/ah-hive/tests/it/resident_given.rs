//! A hive whose agents are resident: the oracle, homes, and loops that end by themselves.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ah_conformance::{Harness, ModelHarness, TestClock};
use ah_hive::resident::{
    CommandProgram, Pace, Programs, Ran, Resident, ResidentError, ResidentOptions, Stop, Until,
};
use ah_hive::{Delivery, Host, Subscription};
use ah_model::{
    Agent, Event, EventQuery, Message, MessageFilter, MessageId, NewAgent, NewMessage, NewRepo,
    NewSession, PageLimit, PageRequest, Party, Receive, Vcs,
};
use ah_store::{Capabilities, Store, block_on};

use crate::given::State;

/// Long enough for any machine; nothing waits so long unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Hive {
    pub(crate) state: State,
    harness: ModelHarness,
}

impl Hive {
    pub(crate) fn new() -> Self {
        let harness = ModelHarness::new(Capabilities { workspaces: false }, 11);
        Self { state: State::new(), harness }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        self.harness.store()
    }

    pub(crate) fn clock(&self) -> &TestClock {
        self.harness.clock()
    }

    pub(crate) fn host(&self) -> Host {
        Host::new(self.store(), Some(self.state.homes()))
    }

    /// An agent of a kind.
    pub(crate) fn agent(&self, name: &str, kind: &str) -> Agent {
        let repo = NewRepo {
            vcs: Vcs::None,
            root_path: Some("/srv/work".to_owned()),
            remote_url: None,
            default_branch: None,
        };
        let session = NewSession::new(repo, kind.parse().unwrap());
        block_on(self.store().create_agent(NewAgent::new(name, session))).unwrap()
    }

    /// An agent that does what a script says.
    pub(crate) fn scripted(&self, name: &str, script: &str) -> Agent {
        let agent = self.agent(name, "scripted");
        let home = self.state.home(name);
        std::fs::write(home.config().join("script.json"), script).unwrap();
        agent
    }

    pub(crate) fn send(&self, to: &str, body: &str) -> Message {
        let to = Party::Agent(to.to_owned());
        let new = NewMessage::new(Party::Operator, to, body);
        block_on(self.store().send_message(new)).unwrap().remove(0)
    }

    pub(crate) fn message(&self, id: &MessageId) -> Message {
        block_on(self.store().message(id.clone())).unwrap()
    }

    /// Takes the next message of an agent, as a process that then crashes.
    pub(crate) fn take(&self, name: &str) -> Vec<Message> {
        let party = Party::Agent(name.to_owned());
        block_on(self.store().receive_messages(Receive::next(party, "crashed", 60_000)))
            .unwrap()
            .messages
    }

    /// The bodies of all messages to somebody, oldest first.
    pub(crate) fn mail(&self, to: &str) -> Vec<String> {
        let filter = MessageFilter { to: Some(to.parse().unwrap()), ..MessageFilter::default() };
        let page = PageRequest { limit: PageLimit::MAX, cursor: None };
        let page = block_on(self.store().list_messages(filter, page)).unwrap();
        page.items.into_iter().rev().map(|message| message.body).collect()
    }

    /// What an agent's session holds: types and the parts that matter.
    pub(crate) fn log(&self, name: &str) -> Vec<String> {
        let agent = block_on(self.store().agent_of_name(name.to_owned())).unwrap().unwrap();
        let session = agent.active_session_id.unwrap();
        let query = EventQuery { limit: PageLimit::MAX, ..EventQuery::default() };
        let events = block_on(self.store().events(session, query)).unwrap();
        events.iter().map(shown).collect()
    }

    pub(crate) fn resident(
        &self,
        agent: &Agent,
        options: ResidentOptions,
        stop: &Stop,
    ) -> Resident {
        Resident::new(self.host(), agent, options, stop.clone()).unwrap()
    }

    /// Handles what mail there is.
    pub(crate) fn run(&self, agent: &Agent, options: ResidentOptions) -> Ran {
        self.resident(agent, options, &Stop::default()).run().unwrap()
    }

    /// Begins a loop that goes on.
    pub(crate) fn start(&self, agent: &Agent, options: ResidentOptions) -> Started {
        let stop = Stop::default();
        let resident = self.resident(agent, options, &stop);
        let live = resident.bus().subscribe();
        Started { live, stop, thread: std::thread::spawn(move || resident.run()) }
    }
}

fn shown(event: &Event) -> String {
    let data: serde_json::Value = event.data.read().unwrap();
    let parts = match event.kind.as_str() {
        "turn_end" => {
            let code = &data["exitCode"];
            let note = data["note"].as_str().unwrap_or_default();
            format!("{} {code} {note}", data["outcome"].as_str().unwrap())
        }
        _ => data["text"].as_str().unwrap().lines().last().unwrap_or_default().to_owned(),
    };
    format!("{} {}", event.kind, parts).trim_end().to_owned()
}

/// A loop in a thread.
pub(crate) struct Started {
    pub(crate) stop: Stop,
    live: Subscription,
    thread: JoinHandle<Result<Ran, ResidentError>>,
}

impl Started {
    /// Waits for a live event of that kind.
    pub(crate) fn hear(&self, kind: &str) -> serde_json::Value {
        loop {
            match self.live.next(PATIENCE) {
                Some(Delivery::Event(event)) if event.kind == kind => {
                    return event.payload.read().unwrap();
                }
                Some(_) => {}
                None => panic!("no {kind} came"),
            }
        }
    }

    pub(crate) fn end(self) -> Ran {
        self.thread.join().unwrap().unwrap()
    }
}

/// Options for what mail there is.
pub(crate) fn options() -> ResidentOptions {
    ResidentOptions {
        programs: Programs::default(),
        script: None,
        search: vec![PathBuf::from("/bin"), PathBuf::from("/usr/bin")],
        environment: vec![("EXTRA".to_owned(), "given".to_owned())],
        holder: "test".to_owned(),
        pace: Pace { look_ms: 3_600_000, ..Pace::default() },
        until: Until { turns: None, no_mail: true },
        tell: Arc::new(|_| {}),
        events: None,
    }
}

/// Options for so many turns.
pub(crate) fn turns(most: u64) -> ResidentOptions {
    ResidentOptions { until: Until { turns: Some(most), no_mail: false }, ..options() }
}

/// Options with a shell script as the program of the kind `shell`.
pub(crate) fn shell(script: &str, options: ResidentOptions) -> ResidentOptions {
    let program = CommandProgram::new(["sh", "-c", script]);
    ResidentOptions { programs: Programs::default().with("shell", program), ..options }
}

/// Options that keep what a loop tells.
pub(crate) fn telling(options: ResidentOptions) -> (ResidentOptions, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    let tell = Arc::new(move |line: &str| kept.lock().unwrap().push(line.to_owned()));
    (ResidentOptions { tell, ..options }, told)
}
