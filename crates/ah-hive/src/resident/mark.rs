//! Which agents are resident: a mark in their metadata.

use ah_model::{Agent, Invalid, Lifecycle, RawJson};

/// The member of the metadata.
const RESIDENT: &str = "resident";

/// Whether the harbor keeps a loop running for `agent`.
pub fn is_resident(agent: &Agent) -> bool {
    let marked = agent.metadata.slice().object().get(&[RESIDENT]);
    agent.lifecycle == Lifecycle::Active && marked.is_some_and(|value| value.as_str() == "true")
}

/// `metadata` with the mark, or without it; every other byte of its members stays.
pub fn marked(metadata: &RawJson, resident: bool) -> Result<RawJson, Invalid> {
    let members = metadata.slice().members();
    let members = members.ok_or_else(|| Invalid::new("metadata", "must be a JSON object"))?;
    let others = members.iter().filter(|member| !member.is(RESIDENT));
    let others = others.map(|member| format!("{}:{}", member.key, member.value));
    let mark = resident.then(|| format!("\"{RESIDENT}\":true"));
    let text: Vec<String> = others.chain(mark).collect();
    RawJson::parse("metadata", &format!("{{{}}}", text.join(",")), usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_comes_and_goes_and_the_rest_stays() {
        let json = |text: &str| RawJson::parse("", text, usize::MAX).unwrap();
        for (given, on, off) in [
            ("{}", r#"{"resident":true}"#, "{}"),
            (r#"{"a":1.00}"#, r#"{"a":1.00,"resident":true}"#, r#"{"a":1.00}"#),
            (r#"{"resident":false,"b":{}}"#, r#"{"b":{},"resident":true}"#, r#"{"b":{}}"#),
        ] {
            assert_eq!(marked(&json(given), true).unwrap().as_str(), on);
            assert_eq!(marked(&json(given), false).unwrap().as_str(), off);
        }
    }
}
