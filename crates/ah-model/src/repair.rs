//! Repair: the events that close what a crash left open. Running it twice gives the same history:
//! what is closed is not found again, and two at once write the same keys.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::{Context, Invalid, NewEvent, OpenRlm, PendingCall, RawJson, to_hex};

/// The events to append so that every call in `context` has an answer and every program that
/// cannot be resumed an end. The newest open program is left when it has a step to go on from,
/// and so is the call it runs for.
pub fn repairs(context: &Context) -> Result<Vec<NewEvent>, Invalid> {
    let resumable = context.open_rlms.last().filter(|rlm| rlm.resume_seq.is_some());
    let kept = |id: &str| resumable.is_some_and(|rlm| rlm.tool_call_id == id);
    let calls = context.pending_calls.iter().filter(|call| !kept(&call.id));
    let rlms = context.open_rlms.iter().filter(|rlm| Some(*rlm) != resumable);
    calls.map(answer).chain(rlms.map(end)).collect()
}

fn answer(call: &PendingCall) -> Result<NewEvent, Invalid> {
    let PendingCall { id, name, session_id, seq } = call;
    let data = json!({
        "toolCallId": id,
        "toolName": name,
        "content": [{ "type": "text", "text": "no result: the agent stopped before it came" }],
        "isError": true,
        "repaired": true,
    });
    event("tool_result", &data, format!("repair:{session_id}:{seq}:{}", key_of(id)))
}

fn end(rlm: &OpenRlm) -> Result<NewEvent, Invalid> {
    let OpenRlm { tool_call_id, session_id, seq, .. } = rlm;
    let data = json!({
        "toolCallId": tool_call_id,
        "output": "",
        "printOutput": [],
        "toolCallCount": 0,
        "isError": true,
        "error": "the agent stopped before it completed",
        "repaired": true,
    });
    event("rlm_complete", &data, format!("repair:{session_id}:{seq}:rlm"))
}

fn event(kind: &str, data: &serde_json::Value, key: String) -> Result<NewEvent, Invalid> {
    Ok(NewEvent { kind: kind.to_owned(), data: RawJson::of(data)?, dedup_key: Some(key), ts: None })
}

/// What tells the calls of one event apart: their ids, which may be longer than a key.
fn key_of(id: &str) -> String {
    const ID_BYTES_MAX: usize = 200;
    match id.len() <= ID_BYTES_MAX && !id.contains('\0') {
        true => id.to_owned(),
        false => to_hex(&Sha256::digest(id.as_bytes())),
    }
}
