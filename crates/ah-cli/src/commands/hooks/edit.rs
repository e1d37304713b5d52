//! Our hooks in the text of a coding agent's settings: put in behind all others, taken out again,
//! and nothing else touched.
//!
//! All agents that are known keep them in one shape: `hooks` has a list of groups for each event, and
//! a group a list of `hooks`, of which ours is a command.

use std::ops::Range;

use serde_json::{Value, json};

use super::json_text::{Member, add, cut, elements, members, refuse, root};
use super::settings::Hook;

/// The member that hooks are in, of settings and of groups.
pub(super) const HOOKS: &str = "hooks";

/// `text` with `hooks` in it; the reason when it is not what an agent would read.
pub(super) fn install(text: &str, hooks: &[Hook]) -> Result<String, String> {
    let mut text = match text.trim().is_empty() {
        true => "{}\n".to_owned(),
        false => text.to_owned(),
    };
    refuse(&text)?;
    if object(&text)?.is_none() {
        let all = hooks.iter().map(|hook| format!("    {}", member(hook)));
        let all = all.collect::<Vec<_>>().join(",\n");
        let new = format!("\"{HOOKS}\": {{\n{all}\n  }}");
        let place = root(&text);
        let parts = wholes(&members(&text, &place).unwrap_or_default());
        return Ok(add(&text, &place, &parts, &new, &format!("\n  {new}\n")));
    }
    for hook in hooks {
        text = put(&text, hook)?;
    }
    Ok(text)
}

/// Puts one hook into settings that have `hooks`.
fn put(text: &str, hook: &Hook) -> Result<String, String> {
    let Some(Hooks { place, events }) = object(text)? else { return Ok(text.to_owned()) };
    match events.iter().find(|event| event.key == hook.event) {
        None => {
            let new = member(hook);
            Ok(add(text, &place, &wholes(&events), &new, &format!("\n    {new}\n  ")))
        }
        Some(event) => {
            let groups = elements(text, &event.value)
                .ok_or_else(|| format!("has no list as hooks.{}", event.key))?;
            let new = group(hook);
            Ok(add(text, &event.value, &groups, &new, &new))
        }
    }
}

/// `text` without our hooks.
pub(super) fn remove(text: &str, is_ours: impl Fn(&str) -> bool) -> Result<String, String> {
    refuse(text)?;
    let mut text = text.to_owned();
    while let Some(shorter) = cut_one(&text, &is_ours)? {
        text = shorter;
    }
    Ok(text)
}

/// The hooks in `text` that are ours: the event, and the handler as it is.
pub(super) fn ours(
    text: &str,
    is_ours: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Value)>, String> {
    refuse(text)?;
    let mut found = Vec::new();
    for handler in handlers(text)? {
        let value = value(text, &handler.place);
        if is_command(&value, &is_ours) {
            found.push((handler.event, value));
        }
    }
    Ok(found)
}

/// A handler in its group in its event.
struct Handler {
    event: String,
    place: Range<usize>,
    number: usize,
    /// The list it stands in, and all of that.
    list: Range<usize>,
    all: Vec<Range<usize>>,
    group: usize,
    groups: Vec<Range<usize>>,
}

/// Every handler.
fn handlers(text: &str) -> Result<Vec<Handler>, String> {
    let mut found = Vec::new();
    for event in object(text)?.map_or_else(Vec::new, |hooks| hooks.events) {
        let groups = elements(text, &event.value).unwrap_or_default();
        for (group, place) in groups.iter().enumerate() {
            let list = members(text, place).unwrap_or_default();
            let Some(list) = list.into_iter().find(|member| member.key == HOOKS) else { continue };
            let all = elements(text, &list.value).unwrap_or_default();
            for (number, place) in all.iter().enumerate() {
                let (list, place) = (list.value.clone(), place.clone());
                let (all, groups, event) = (all.clone(), groups.clone(), event.key.clone());
                found.push(Handler { event, place, number, list, all, group, groups });
            }
        }
    }
    Ok(found)
}

/// `text` without one of our hooks, and without what is empty then; nothing when there is none.
fn cut_one(text: &str, is_ours: &impl Fn(&str) -> bool) -> Result<Option<String>, String> {
    for handler in handlers(text)? {
        let Handler { event, place, number, list, all, group, groups } = handler;
        if !is_command(&value(text, &place), is_ours) {
            continue;
        }
        if all.len() > 1 {
            return Ok(Some(cut(text, &list, &all, number)));
        }
        let Some(Hooks { place, events }) = object(text)? else { return Ok(None) };
        let at = events.iter().position(|member| member.key == event).unwrap_or_default();
        if groups.len() > 1 {
            let list = events.get(at).map(|member| member.value.clone()).unwrap_or_default();
            return Ok(Some(cut(text, &list, &groups, group)));
        }
        if events.len() > 1 {
            return Ok(Some(cut(text, &place, &wholes(&events), at)));
        }
        let whole = root(text);
        let all = members(text, &whole).unwrap_or_default();
        let at = all.iter().position(|member| member.key == HOOKS).unwrap_or_default();
        return Ok(Some(cut(text, &whole, &wholes(&all), at)));
    }
    Ok(None)
}

/// The object of hooks, and the events in it.
struct Hooks {
    place: Range<usize>,
    events: Vec<Member>,
}

/// The hooks of settings; nothing when there is no such member.
fn object(text: &str) -> Result<Option<Hooks>, String> {
    let all = members(text, &root(text)).unwrap_or_default();
    let Some(hooks) = all.into_iter().find(|member| member.key == HOOKS) else { return Ok(None) };
    match members(text, &hooks.value) {
        Some(events) => Ok(Some(Hooks { place: hooks.value, events })),
        None => Err("has no object as hooks".to_owned()),
    }
}

fn wholes(members: &[Member]) -> Vec<Range<usize>> {
    members.iter().map(|member| member.whole.clone()).collect()
}

fn value(text: &str, place: &Range<usize>) -> Value {
    let text = text.get(place.clone()).unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn is_command(handler: &Value, is_ours: &impl Fn(&str) -> bool) -> bool {
    handler["command"].as_str().is_some_and(is_ours)
}

fn member(hook: &Hook) -> String {
    format!("\"{}\": [{}]", hook.event, group(hook))
}

fn group(hook: &Hook) -> String {
    json!({ HOOKS: [hook.handler()] }).to_string()
}
