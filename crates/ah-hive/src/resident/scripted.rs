//! Runs the steps of a script. What a step creates has a key, so that a turn that is run again does
//! not do it again.

use std::time::{Duration, Instant};

use ah_model::{
    Answer, NewApproval, NewMessage, NewQuestion, Party, QuestionId, RawJson, RequestKey,
};
use ah_store::{Store, StoreError, block_on};
use serde_json::json;

use super::script::{Script, Step, filled};
use super::turn::{End, Ended, Heard, Turn};

/// Why a step ends the turn.
enum Halt {
    End(End),
    Store(StoreError),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ah_model::Invalid> for Halt {
    fn from(invalid: ah_model::Invalid) -> Self {
        Self::Store(invalid.into())
    }
}

pub(super) fn run(turn: &mut Turn<'_>, script: &Script) -> Ended {
    let mut said = String::new();
    for (number, step) in script.steps(turn.message).iter().enumerate() {
        match one(turn, number, step, &mut said) {
            Ok(()) => {}
            Err(Halt::End(end)) => return Ended::of(end),
            Err(Halt::Store(error)) => {
                return Ended::of(End::Failed(format!("step {}: {error}", number + 1)));
            }
        }
    }
    Ended::of(End::Succeeded(said.trim_end().to_owned()))
}

fn one(turn: &mut Turn<'_>, number: usize, step: &Step, said: &mut String) -> Result<(), Halt> {
    let text = |text: &str| filled(text, turn.message, &turn.agent.name);
    let me = Party::Agent(turn.agent.name.clone());
    match step {
        Step::Send { to, text: body } => {
            let message = NewMessage::new(me, to.clone(), text(body));
            block_on(once(turn, number)?.send_message(message))?;
        }
        Step::Reply(body) => {
            let message = NewMessage {
                in_reply_to: Some(turn.message.id.clone()),
                ..NewMessage::new(me, turn.message.from.clone(), text(body))
            };
            block_on(once(turn, number)?.send_message(message))?;
        }
        Step::Ask { to, text: body, options, ttl_ms } => {
            let question = NewQuestion {
                options: options.clone(),
                ttl_ms: *ttl_ms,
                ..NewQuestion::new(me, to.clone(), text(body))
            };
            block_on(once(turn, number)?.ask_question(question))?;
        }
        Step::Answer(body) => {
            let id: QuestionId = turn.message.about.clone().unwrap_or_default().parse()?;
            let answer = Answer { by: me, resolver: None, values: vec![text(body)] };
            block_on(turn.store().answer_question(id, answer))?;
        }
        Step::Request { kind, reason } => {
            let reason = reason.as_deref().map(text);
            let approval = NewApproval { reason, ..NewApproval::new(&turn.agent.name, kind) };
            block_on(once(turn, number)?.request_approval(approval))?;
        }
        Step::Say(body) => {
            let body = text(body);
            turn.live("stream", &json!({ "text": body }));
            said.push_str(&body);
            said.push('\n');
        }
        Step::Sleep(ms) => return sleep(turn, Duration::from_millis(*ms)),
        Step::Fail(why) => return Err(Halt::End(End::Failed(text(why)))),
    }
    Ok(())
}

/// The store for one step of one turn.
fn once(turn: &Turn<'_>, number: usize) -> Result<Box<dyn Store>, Halt> {
    let key = format!("turn/{}/step/{number}", turn.message.id);
    let name = RawJson::of(&turn.agent.name)?;
    Ok(turn.store().keyed(RequestKey::new(key, [name.as_str().as_bytes()])?))
}

fn sleep(turn: &mut Turn<'_>, time: Duration) -> Result<(), Halt> {
    let until = Instant::now() + time;
    loop {
        match turn.hear(until) {
            Heard::Time => return Ok(()),
            Heard::Stop => return Err(Halt::End(End::Stopped)),
            Heard::Lost(reason) => return Err(Halt::End(End::Lost(reason))),
            Heard::Program(_) => {}
        }
    }
}
