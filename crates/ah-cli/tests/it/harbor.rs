//! An access point that lets executors in, and executors, as processes.

use std::fs::File;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ah_client::{RestOptions, RestStore};
use ah_store::{Runs, block_on};
use serde_json::Value;

use crate::support::{Home, succeeded};

const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends with the test.
pub(crate) struct Process(Child);

impl Process {
    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A home with an authority, an access point and the executors of one machine.
pub(crate) struct Harbor {
    pub(crate) home: Home,
    bind: String,
    executors: String,
}

impl Harbor {
    pub(crate) fn new() -> Self {
        let home = Home::new();
        home.json(&["ca", "init", "--trust-domain", "example.org"]);
        succeeded(&home.run(&["ca", "issue", "harbor", "--server", "--out", "server"]), "server");
        let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let (bind, executors) = (port(), port());
        Self { home, bind, executors }
    }

    pub(crate) fn access_point(&self) -> Process {
        self.access_point_with_lease("10m")
    }

    /// As [`Self::access_point`], keeping runs for so long for executors that are not heard.
    pub(crate) fn access_point_with_lease(&self, lease: &str) -> Process {
        let crl = self.home.json(&["ca", "show"])["crl"].as_str().unwrap().to_owned();
        let mut command =
            self.home.ah(&["agent", "access-point", "--no-auth", "--bind", &self.bind]);
        command.args(["--executors", &self.executors, "--identity-dir", "server", "--crl", &crl]);
        command.args(["--heartbeat", "1s", "--lease", lease]);
        let log = self.log("access-point");
        Process(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// Has the access point call runs lost whose lease is over. It does so by itself as well, but not
    /// soon after its start.
    pub(crate) fn sweep(&self) {
        let store = RestStore::connect(RestOptions::new(self.url())).unwrap();
        // One that has not begun to listen is asked again.
        let _ = block_on(store.sweep_runs());
    }

    /// Where the access point's server is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.bind)
    }

    /// The identity of a node.
    pub(crate) fn issue(&self, node: &str) {
        succeeded(&self.home.run(&["ca", "issue", node]), node);
    }

    pub(crate) fn executor(&self, node: &str, more: &[&str]) -> Process {
        self.executor_in(&self.home.work(), node, more)
    }

    /// An executor whose programs run in a directory.
    pub(crate) fn executor_in(&self, directory: &Path, node: &str, more: &[&str]) -> Process {
        let identity = self.home.work().join(node).display().to_string();
        let arguments = [&["--identity-dir", &identity][..], more].concat();
        self.enroll_in(directory, node, &arguments)
    }

    /// An executor whose identity the arguments name.
    pub(crate) fn enroll(&self, node: &str, arguments: &[&str]) -> Process {
        self.enroll_in(&self.home.work(), node, arguments)
    }

    fn enroll_in(&self, directory: &Path, node: &str, arguments: &[&str]) -> Process {
        let mut command = self.home.ah(&["agent", "enroll", "--server", &self.executors]);
        command.arg("--dir").arg(self.home.work().join(format!("kept-{node}"))).args(arguments);
        command.current_dir(directory);
        let log = self.log(node);
        Process(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    fn log(&self, name: &str) -> File {
        let path = self.log_path(name);
        File::options().create(true).append(true).open(path).unwrap()
    }

    fn log_path(&self, name: &str) -> PathBuf {
        self.home.path().join(format!("{name}.log"))
    }

    /// What a process has said so far.
    pub(crate) fn said(&self, name: &str) -> String {
        let mut text = String::new();
        if let Ok(mut file) = File::open(self.log_path(name)) {
            file.read_to_string(&mut text).unwrap();
        }
        text
    }

    /// Queues a run of a new session, which runs a script.
    pub(crate) fn queue(&self, session: &str, script: &str) -> String {
        self.home.create_session(session);
        let parameters = serde_json::json!({ "argv": ["sh", "-c", script] }).to_string();
        let run = self.home.json(&["run", "create", session, "--parameters", &parameters]);
        run["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn run(&self, id: &str) -> Value {
        self.home.json(&["run", "show", id])
    }

    /// The run once it is over.
    pub(crate) fn ended(&self, id: &str) -> Value {
        until(|| {
            let run = self.run(id);
            let is_over = ["completed", "failed", "stopped"].contains(&run["status"].as_str()?);
            is_over.then_some(run)
        })
    }

    /// What a session's programs wrote.
    pub(crate) fn written(&self, session: &str) -> String {
        let logs = self.events(session, "hostLog").into_iter();
        logs.map(|event| event["data"]["text"].as_str().unwrap().to_owned()).collect()
    }

    /// How many programs began for a session.
    pub(crate) fn begun(&self, session: &str) -> usize {
        self.events(session, "hostStarted").len()
    }

    fn events(&self, session: &str, kind: &str) -> Vec<Value> {
        let events = self.home.json(&["session", "events", session]);
        let events = events["items"].as_array().unwrap().clone().into_iter();
        events.filter(|event| event["type"] == kind).collect()
    }
}

/// Looks again and again until there is an answer.
pub(crate) fn until<T>(look: impl Fn() -> Option<T>) -> T {
    within(PATIENCE, look)
}

/// As [`until`], for so long.
pub(crate) fn within<T>(patience: Duration, look: impl Fn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < patience, "it did not happen");
        thread::sleep(Duration::from_millis(50));
    }
}
