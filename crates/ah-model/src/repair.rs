//! Repair: the events that close what a crash left open. Running it twice gives the same history:
//! what is closed is not found again, and two at once write the same keys.

use serde_json::json;

use crate::{Context, Invalid, NewEvent, OpenRlm, PendingCall, RawJson};

/// The events to append so that every call in `context` has an answer and every program that
/// cannot be resumed an end. The newest open program that has a step to go on from is left, and so
/// is the call it runs for. What no event could hold stays open.
pub fn repairs(context: &Context) -> Result<Vec<NewEvent>, Invalid> {
    let resumable = context.open_rlms.iter().rfind(|rlm| rlm.resume.is_some());
    let kept = |id: &str| resumable.is_some_and(|rlm| rlm.tool_call_id == id);
    let calls = context.pending_calls.iter().filter(|call| !kept(&call.id));
    let rlms = context.open_rlms.iter().filter(|rlm| Some(*rlm) != resumable);
    let events: Result<Vec<_>, _> = calls.map(answer).chain(rlms.map(end)).collect();
    Ok(events?.into_iter().filter(|event| event.check().is_ok()).collect())
}

fn answer(call: &PendingCall) -> Result<NewEvent, Invalid> {
    let PendingCall { id, name, session_id, seq, place } = call;
    let data = json!({
        "toolCallId": id,
        "toolName": name,
        "content": [{ "type": "text", "text": "no result: the agent stopped before it came" }],
        "isError": true,
        "repaired": true,
    });
    event("tool_result", &data, format!("repair:{session_id}:{seq}:{place}"))
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
