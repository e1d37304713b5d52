//! The life of the original's runner, in both dialects.

use serde_json::{Value, json};

use super::given::{Coordinator, Runner, created, text};

/// The two ages of the original.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    Prompt,
    Parameters,
}

impl Dialect {
    fn run(self, more: Value) -> Value {
        let mut body = match self {
            Self::Prompt => json!({ "prompt": "do it" }),
            Self::Parameters => json!({ "parameters": { "prompt": "do it" } }),
        };
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    /// What a runner reads its task from.
    fn task(self, run: &Value) -> String {
        match self {
            Self::Prompt => text(&run["prompt"]),
            Self::Parameters => text(&run["parameters"]["prompt"]),
        }
    }

    fn registration(self, host: &str) -> Value {
        let mut body = json!({
            "hostname": host, "project_dir": "/work-dir", "executor_profile": "coding",
        });
        if self == Self::Parameters {
            body["executor"] = json!({ "type": "autonomous", "command": "ao-claude-code-exec" });
            body["agents"] = json!([]);
        }
        body
    }

    /// The runs that a poll says to stop, as this age reads it.
    fn stops(self, body: &Value) -> Vec<String> {
        let list = match self {
            Self::Prompt => &body["stop_runs"],
            Self::Parameters => &body["stop_sessions"],
        };
        list.as_array().unwrap().iter().map(text).collect()
    }
}

/// What the executor of a run does: says where it works, what happens, and what came of it.
fn execute(at: &Coordinator, dialect: Dialect, (session, host): (&str, &str), result: &str) {
    let binding = json!({
        "executor_session_id": format!("sdk-{session}"),
        "hostname": host,
        "executor_profile": "coding",
        "project_dir": "/work-dir/sub",
    });
    let (status, bound) = at.post(&format!("/sessions/{session}/bind"), binding);
    assert_eq!((status, &bound["ok"]), (200, &json!(true)), "{bound}");
    assert_eq!(bound["session"]["status"], "running");
    let tool = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_output": 0 });
    at.tell(session, "post_tool", tool);
    let content = json!([{ "type": "text", "text": result }]);
    at.tell(session, "message", json!({ "role": "assistant", "content": content }));
    match dialect {
        Dialect::Prompt => {
            at.tell(session, "session_stop", json!({ "exit_code": 0, "reason": "completed" }));
        }
        Dialect::Parameters => {
            let data = json!({ "answer": 42 });
            at.tell(session, "result", json!({ "result_text": result, "result_data": data }));
        }
    }
}

fn result(at: &Coordinator, session: &str) -> Value {
    let (status, body) = at.get(&format!("/sessions/{session}/result"));
    assert_eq!(status, 200, "{body}");
    body
}

/// Two runners on two hosts.
struct Life<'a> {
    at: &'a Coordinator,
    dialect: Dialect,
    runner: Runner<'a>,
    elsewhere: Runner<'a>,
}

impl Life<'_> {
    fn ask(&self, more: Value) -> (String, String) {
        created(&self.at.post("/runs", self.dialect.run(more)))
    }

    /// A session, whose run is taken, begun, bound, told of and ended; its id.
    fn run_parent(&self) -> String {
        let Self { at, dialect, runner, .. } = self;
        assert_eq!(runner.poll(), (204, Value::Null));
        let (run, parent) = self.ask(json!({
            "type": "start_session", "project_dir": "/work-dir", "agent_name": "orchestrator",
        }));
        assert_eq!((&parent[..4], &run[..4], parent.len(), run.len()), ("ses_", "run_", 16, 16));
        assert_eq!(at.status(&parent), "pending");
        let taken = runner.take();
        assert_eq!(dialect.task(&taken), "do it");
        assert_eq!(
            [&taken["run_id"], &taken["session_id"], &taken["agent_name"], &taken["project_dir"]],
            [&json!(run), &json!(parent), &json!("orchestrator"), &json!("/work-dir")]
        );
        runner.done(&run, "started", json!({}));
        assert_eq!(at.status(&parent), "running");
        execute(at, *dialect, (&parent, "h1"), "planned");
        runner.done(&run, "completed", json!({ "status": "success" }));
        assert_eq!((at.status(&parent).as_str(), at.run_status(&run).as_str()), ENDED);
        assert_eq!(result(at, &parent)["result"], "planned");
        parent
    }

    /// A child on the other host, whose end is told to its parent, where the parent ran.
    fn call_back(&self, parent: &str) {
        let Self { at, dialect, runner, elsewhere } = self;
        let (run, child) = self.ask(json!({
            "type": "start_session",
            "parent_session_id": parent,
            "execution_mode": "async_callback",
            "additional_demands": { "hostname": "h2" },
        }));
        assert_eq!(runner.poll().0, 204, "it is for another host");
        assert_eq!(elsewhere.begin(), run);
        execute(at, *dialect, (&child, "h2"), "child says hello");
        elsewhere.done(&run, "completed", json!({}));
        assert_eq!(elsewhere.poll().0, 204, "the parent ran on another host");
        let callback = runner.take();
        assert_eq!(callback["type"], "resume_session");
        assert_eq!(callback["session_id"], json!(parent));
        assert!(dialect.task(&callback).contains("child says hello"), "{callback}");
        let callback = text(&callback["run_id"]);
        runner.done(&callback, "started", json!({}));
        let (after, status) = match dialect {
            Dialect::Prompt => (json!({}), "finished"),
            Dialect::Parameters => (json!({ "session_status": "idle" }), "idle"),
        };
        runner.done(&callback, "completed", after);
        assert_eq!(at.status(parent), status);
        assert!(at.session(parent)["last_resumed_at"].is_string());
    }

    /// A person resumes a session, which goes where it was, and stops it.
    fn resume_and_stop(&self, session: &str) {
        let Self { at, dialect, runner, elsewhere } = self;
        let (run, same) = self.ask(json!({ "type": "resume_session", "session_id": session }));
        assert_eq!(same, session);
        assert_eq!(elsewhere.poll().0, 204, "a resume goes where the session was");
        let taken = runner.take();
        assert_eq!(
            [&taken["agent_name"], &taken["project_dir"], &taken["demands"]["hostname"]],
            [&json!("orchestrator"), &json!("/work-dir/sub"), &json!("h1")]
        );
        runner.done(&run, "started", json!({}));
        assert_eq!(at.post(&format!("/runs/{run}/stop"), json!({})).1["status"], "stopping");
        let (status, told) = runner.poll();
        let wanted = match dialect {
            Dialect::Prompt => run.clone(),
            Dialect::Parameters => session.to_owned(),
        };
        assert_eq!((status, dialect.stops(&told)), (200, vec![wanted]));
        runner.done(&run, "stopped", json!({ "signal": "SIGTERM" }));
        assert_eq!((at.status(session).as_str(), at.run_status(&run).as_str()), STOPPED);
    }

    /// One goes by itself, the other is asked to.
    fn leave(&self) {
        let Self { at, runner, elsewhere, .. } = self;
        let path = format!("/runners/{}?self=true", runner.id);
        assert_eq!(at.ask("DELETE", &path, &Value::Null).0, 200);
        assert_eq!(runner.poll(), (401, json!({ "detail": "Runner not registered" })));
        let path = format!("/runners/{}", elsewhere.id);
        let (status, body) = at.ask("DELETE", &path, &Value::Null);
        assert_eq!((status, &body["initiated_by"]), (200, &json!("external")));
        assert_eq!(elsewhere.poll(), (200, json!({ "deregistered": true })));
        assert_eq!(elsewhere.poll().0, 401);
        assert_eq!(at.get("/runners"), (200, json!({ "runners": [] })));
    }
}

fn live(dialect: Dialect) {
    let at = Coordinator::new();
    let register = |host| Runner::register(&at, dialect.registration(host));
    let (runner, elsewhere) = (register("h1"), register("h2"));
    let life = Life { at: &at, dialect, runner, elsewhere };
    let parent = life.run_parent();
    life.call_back(&parent);
    life.resume_and_stop(&parent);
    life.leave();
}

const ENDED: (&str, &str) = ("finished", "completed");
const STOPPED: (&str, &str) = ("stopped", "stopped");

#[test]
fn a_runner_of_the_older_age_lives_here() {
    live(Dialect::Prompt);
}

#[test]
fn a_runner_of_the_newer_age_lives_here() {
    live(Dialect::Parameters);
}

#[test]
fn a_poll_that_waits_is_woken_by_a_run_a_stop_and_a_removal() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let wait = || at.get(&format!("/runner/runs?runner_id={}", runner.id));
    std::thread::scope(|scope| {
        let poll = scope.spawn(wait);
        let (run, _) = at.start(json!({}));
        assert_eq!(poll.join().unwrap().1["run"]["run_id"], json!(run));
        runner.done(&run, "started", json!({}));

        let poll = scope.spawn(wait);
        assert_eq!(at.post(&format!("/runs/{run}/stop"), json!({})).0, 200);
        assert_eq!(poll.join().unwrap().1["stop_runs"], json!([run]));
        runner.done(&run, "stopped", json!({}));

        let poll = scope.spawn(wait);
        assert_eq!(at.ask("DELETE", &format!("/runners/{}", runner.id), &Value::Null).0, 200);
        assert_eq!(poll.join().unwrap().1, json!({ "deregistered": true }));
    });
}

#[test]
fn an_idle_process_is_told_to_end_and_says_that_it_did() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.begin(), run);
    runner.done(&run, "completed", json!({ "session_status": "idle" }));
    std::thread::scope(|scope| {
        let path = format!("/runner/runs?runner_id={}", runner.id);
        let poll = scope.spawn({
            let at = &at;
            move || at.get(&path)
        });
        let (status, body) = at.post(&format!("/sessions/{session}/stop"), json!({}));
        assert_eq!((status, &body["status"]), (200, &json!("stopped")));
        let told = json!({ "stop_runs": [], "stop_sessions": [session] });
        assert_eq!(poll.join().unwrap(), (200, told));
    });
    let path = format!("/runner/sessions/{session}/status");
    let ended = json!({ "runner_id": runner.id, "status": "finished" });
    assert_eq!(at.post(&path, ended), (200, json!({ "ok": true })));
    assert_eq!(runner.poll().0, 204, "it is not told again");
    assert_eq!(at.status(&session), "stopped", "it was stopped before");
}
