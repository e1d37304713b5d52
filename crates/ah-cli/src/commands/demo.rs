//! `ah up --demo`: three agents that follow scripts, so that there is something to see without a
//! model and without a network.

use ah_hive::Host;
use ah_hive::resident::{SCRIPTED, marked};
use ah_model::{NewAgent, NewMessage, NewRepo, NewSession, Party, RawJson, Vcs};
use ah_store::{StoreError, block_on};

use crate::app::App;
use crate::config::write_private;
use crate::error::{CommandError, Exit};

/// The first message: a second start does not send it again.
const BEGIN: &str = "demo-begin";
/// The script, in the configuration of an agent.
const SCRIPT: &str = "script.json";

const HARBOR_MASTER: &str = r#"{"rules": [
  {"when": {"from": "operator", "kind": "mail"}, "do": [
    {"say": "a new pier: alice finds its name, bob opens it"},
    {"send": {"to": "alice", "text": "find a name for the new pier"}},
    {"send": {"to": "bob", "text": "open the new pier"}}]},
  {"when": {"from": "bob", "contains": "approved"}, "do": [
    {"say": "{from}: {body}"},
    {"send": {"to": "operator", "text": "the new pier is open"}}]},
  {"do": [{"say": "{from}: {body}"}]}
]}
"#;

const ALICE: &str = r#"{"rules": [
  {"when": {"from": "harbor-master"}, "do": [
    {"ask": {"to": "operator", "text": "What shall the new pier be called?",
             "options": ["North Pier", "South Pier"]}},
    {"reply": "I asked the operator for a name"}]},
  {"when": {"kind": "answer"}, "do": [
    {"say": "it is called {body}"},
    {"send": {"to": "bob", "text": "the new pier is called {body}"}},
    {"send": {"to": "harbor-master", "text": "the new pier is called {body}"}}]}
]}
"#;

const BOB: &str = r#"{"rules": [
  {"when": {"from": "harbor-master"}, "do": [
    {"request": {"kind": "open-pier", "reason": "{from} wants the new pier open"}},
    {"reply": "I wait for the operator's approval"}]},
  {"when": {"kind": "decision"}, "do": [{"send": {"to": "harbor-master", "text": "{body}"}}]},
  {"when": {"from": "alice"}, "do": [{"reply": "noted: {body}"}]}
]}
"#;

const AGENTS: [(&str, &str); 3] =
    [("harbor-master", HARBOR_MASTER), ("alice", ALICE), ("bob", BOB)];

/// Makes the agents that are missing, gives them something to do once, and says what to try.
pub(crate) fn prepare(app: &App, host: &Host) -> Result<(), CommandError> {
    for (name, script) in AGENTS {
        match ensure(host, name, script)? {
            true => app.output.talk(&format!("made the agent {name}")),
            false => app.output.talk(&format!("the agent {name} is there already")),
        }
    }
    begin(host)?;
    app.output.talk(
        "the demo runs; in another terminal try\n  \
         ah message list                          what they write to each other\n  \
         ah question list                         alice asks: ah question answer ID \"North Pier\"\n  \
         ah approval list                         bob waits: ah approval approve ID\n  \
         ah message inbox operator                what you are told\n  \
         ah agent history harbor-master           what an agent remembers",
    );
    Ok(())
}

/// Whether the agent was missing.
fn ensure(host: &Host, name: &str, script: &str) -> Result<bool, CommandError> {
    let homes = host.homes().ok_or_else(|| CommandError::new(Exit::Failed, "no homes here"))?;
    if let Some(agent) = block_on(host.store().agent_of_name(name.to_owned()))? {
        if agent.kind.name != SCRIPTED {
            let message = format!("an agent {name} is there already that is not the demo's");
            return Err(CommandError::new(Exit::Conflict, message)
                .hint("a harbor of its own: `AH_HOME=$(mktemp -d) ah up --demo --port 0`"));
        }
        return Ok(false);
    }
    // The script is there before the agent: a loop may begin as soon as it is.
    let home = homes.create(name)?;
    let file = home.config().join(SCRIPT);
    write_private(&file, script).map_err(|error| CommandError::file("write", &file, &error))?;
    let repo = NewRepo {
        vcs: Vcs::None,
        root_path: Some(home.state().to_string_lossy().into_owned()),
        remote_url: None,
        default_branch: None,
    };
    let session = NewSession::new(repo, SCRIPTED.parse()?);
    let metadata = marked(&RawJson::empty_object(), true)?;
    let agent = NewAgent { metadata, ..NewAgent::new(name, session) };
    block_on(host.store().create_agent(agent))?;
    Ok(true)
}

fn begin(host: &Host) -> Result<(), CommandError> {
    let to = Party::Agent("harbor-master".to_owned());
    let text = "we need a new pier";
    let message =
        NewMessage { id: Some(BEGIN.parse()?), ..NewMessage::new(Party::Operator, to, text) };
    match block_on(host.store().send_message(message)) {
        Ok(_) | Err(StoreError::Conflict { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
