//! Who an agent is, from the JSON values that Daycare kept of it, in files or in columns.
//!
//! Reading never fails. What cannot be taken as it is becomes a default, and is kept: in the agent's
//! metadata, or, when it is too large for that, as a leftover that becomes an event.

use std::path::PathBuf;

use ah_model::limits::{
    AGENT_JSON_BYTES_MAX, AGENT_NAME_BYTES_MAX, INDEXED_TEXT_BYTES_MAX, JSON_DEPTH_MAX,
    SHORT_TEXT_BYTES_MAX,
};
use ah_model::{
    Agent, AgentKindRef, AgentType, NewAgent, NewRepo, NewSession, Origin, RawJson, Vcs,
    check_text, to_hex,
};

use crate::raw_object::{RawObject, json_of};
use crate::report::Tally;

/// The type of an agent that does not say it.
const UNKNOWN: &str = "unknown";
/// The name of an agent that has none that could be one.
const NAMELESS: &str = "agent";

/// Something that has no place in an agent.
#[derive(Debug)]
pub(crate) struct Leftover {
    /// The file or table it stood in.
    pub(crate) file: String,
    pub(crate) reason: String,
    pub(crate) body: Body,
}

/// The bytes of a leftover.
#[derive(Debug)]
pub(crate) enum Body {
    Held(Vec<u8>),
    /// All of a file, and how long it is.
    File(PathBuf, u64),
}

/// What is kept of an agent beside its own values, in its metadata.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    members: Vec<(&'static str, RawJson)>,
    bytes: usize,
    pub(crate) leftovers: Vec<Leftover>,
}

impl Extras {
    /// Keeps `value` under `key`, or as a leftover of `file` when there is no room for it.
    pub(crate) fn keep(&mut self, file: &str, key: &'static str, value: RawJson) {
        let bytes = value.as_str().as_bytes().to_vec();
        self.keep_or_leave(file, key, value, bytes);
    }

    /// Keeps the text of a file or column that cannot be read under `keyRaw`, and under `keyHex`
    /// when it is no text.
    pub(crate) fn keep_text(&mut self, file: &str, keys: [&'static str; 2], bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let [raw, hex] = keys;
        let text = String::from_utf8_lossy(bytes);
        if std::str::from_utf8(bytes).is_err() {
            let digits = json_of(format!("\"{}\"", to_hex(bytes)));
            self.keep_or_leave(file, hex, digits, bytes.to_vec());
        }
        let text = RawJson::of(&text).unwrap_or_else(|_| RawJson::null());
        self.keep_or_leave(file, raw, text, bytes.to_vec());
    }

    fn keep_or_leave(&mut self, file: &str, key: &'static str, value: RawJson, bytes: Vec<u8>) {
        // `{"daycare":{..}}` around it, and its key.
        let around = 32;
        let more = self.bytes + key.len() + value.as_str().len() + around;
        if more > AGENT_JSON_BYTES_MAX || value.depth() + 2 > JSON_DEPTH_MAX {
            let reason = format!("no room for {key} in the metadata");
            return self.leave(file, reason, bytes);
        }
        self.bytes = more;
        self.members.push((key, value));
    }

    pub(crate) fn leave(&mut self, file: &str, reason: impl Into<String>, bytes: Vec<u8>) {
        let (file, reason) = (file.to_owned(), reason.into());
        // The same bytes are kept once.
        let same = |left: &Leftover| matches!(&left.body, Body::Held(held) if *held == bytes);
        if !self.leftovers.iter().any(same) {
            self.leftovers.push(Leftover { file, reason, body: Body::Held(bytes) });
        }
    }

    /// `json` if an agent may have it, else `default`, and the value is left over.
    pub(crate) fn fit(
        &mut self,
        file: &str,
        key: &str,
        json: RawJson,
        default: RawJson,
    ) -> RawJson {
        let (bytes, depth) = (json.as_str().len(), json.depth());
        let reason = if bytes > AGENT_JSON_BYTES_MAX {
            format!("{key}: {bytes} bytes, at most {AGENT_JSON_BYTES_MAX} are allowed")
        } else if depth > JSON_DEPTH_MAX {
            format!("{key}: nested {depth} deep, at most {JSON_DEPTH_MAX} are allowed")
        } else {
            return json;
        };
        self.leave(file, reason, json.as_str().as_bytes().to_vec());
        default
    }

    /// The metadata.
    pub(crate) fn metadata(&self) -> RawJson {
        if self.members.is_empty() {
            return RawJson::empty_object();
        }
        let members = self.members.iter();
        let members = members.map(|(key, value)| format!("\"{key}\":{}", value.as_str()));
        json_of(format!("{{\"daycare\":{{{}}}}}", members.collect::<Vec<_>>().join(",")))
    }
}

/// One JSON value, or why `bytes` are none.
pub(crate) fn json(bytes: &[u8]) -> Result<RawJson, String> {
    if bytes.is_empty() {
        return Err("is empty".to_owned());
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("is not UTF-8 from byte {} on", error.valid_up_to()))?;
    RawJson::parse("", text, usize::MAX).map_err(|error| format!("is not JSON: {}", error.reason))
}

/// What was found where a JSON value should be.
#[derive(Debug)]
pub(crate) enum Found {
    /// These bytes.
    Bytes(Vec<u8>),
    /// None, for this reason.
    Nothing(String),
}

impl Found {
    /// The JSON object, or why there is none.
    pub(crate) fn object(&self) -> Result<RawJson, String> {
        let json = match self {
            Self::Bytes(bytes) => json(bytes)?,
            Self::Nothing(reason) => return Err(reason.clone()),
        };
        match json.as_str().starts_with('{') {
            true => Ok(json),
            false => Err("is not a JSON object".to_owned()),
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Nothing(_) => &[],
        }
    }
}

/// Who an agent is.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) agent_type: AgentType,
    pub(crate) descriptor: RawJson,
    /// What it could be called, best first.
    names: Vec<String>,
}

impl Identity {
    /// Reads a descriptor; any object is one.
    pub(crate) fn of(file: &str, found: &Found, extras: &mut Extras, tally: &mut Tally) -> Self {
        match found.object() {
            Ok(json) => Self::of_object(file, json, extras),
            Err(reason) => {
                tally.remark(file, None, format!("{reason}: an agent of unknown type"));
                let keys = ["descriptorRaw", "descriptorHex"];
                extras.keep_text(file, keys, found.bytes());
                Self::unknown()
            }
        }
    }

    /// Of an agent of which nothing is known.
    pub(crate) fn unknown() -> Self {
        let agent_type = AgentType::of(UNKNOWN);
        Self { agent_type, descriptor: RawJson::empty_object(), names: Vec::new() }
    }

    fn of_object(file: &str, json: RawJson, extras: &mut Extras) -> Self {
        let (mut agent_type, mut names) = (AgentType::of(UNKNOWN), Vec::new());
        if let Some(object) = RawObject::of(&json) {
            if let Some(said) = object.text("type").and_then(|word| word.parse().ok()) {
                agent_type = said;
            }
            let keys = ["name", "username", "id", "tag"];
            names = keys.iter().filter_map(|key| object.text(key)).collect();
        }
        let descriptor = extras.fit(file, "descriptor", json, RawJson::empty_object());
        Self { agent_type, descriptor, names }
    }

    /// The first of its names that an agent may have, else what can be made of its `id` there.
    pub(crate) fn name(&self, id: &str) -> String {
        let names = self.names.iter().map(String::as_str).chain([id]);
        let fits = |name: &&str| Agent::check_name(name).is_ok();
        names.clone().find(fits).map_or_else(|| made_fit(id), str::to_owned)
    }
}

/// `id` with `-` for what no name may hold.
fn made_fit(id: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = id.chars().map(allowed).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    // Every character is one byte by now.
    let name = &name[..name.len().min(AGENT_NAME_BYTES_MAX)];
    match Agent::check_name(name) {
        Ok(()) => name.to_owned(),
        Err(_) => NAMELESS.to_owned(),
    }
}

/// What an agent may do, and where it works.
#[derive(Debug)]
pub(crate) struct Permissions {
    pub(crate) json: RawJson,
    working_dir: Option<String>,
    workspace_dir: Option<String>,
}

impl Permissions {
    /// None at all.
    pub(crate) fn none() -> Self {
        Self { json: RawJson::empty_object(), working_dir: None, workspace_dir: None }
    }

    /// Brings permissions of any time to their newest shape: `web` became `network`, `events` came
    /// later. What is changed is kept as it was.
    pub(crate) fn of(file: &str, json: &RawJson, extras: &mut Extras, tally: &mut Tally) -> Self {
        let Some(mut object) = RawObject::of(json) else {
            tally.remark(file, None, "permissions: not a JSON object, none are given");
            extras.keep(file, "permissions", json.clone());
            return Self::none();
        };
        let mut repairs = Vec::new();
        if object.find("web").is_some() && object.find("network").is_none() {
            object.rename("web", "\"network\"");
            repairs.push("`web` is `network` now");
        }
        if object.find("events").is_none() {
            object.push("\"events\"", "false");
            repairs.push("`events` is missing and false");
        }
        if !repairs.is_empty() {
            tally.remark(file, None, format!("permissions: {}", repairs.join(", ")));
            extras.keep(file, "permissions", json.clone());
        }
        Self {
            working_dir: object.text("workingDir"),
            workspace_dir: object.text("workspaceDir"),
            json: extras.fit(file, "permissions", object.to_json(), RawJson::empty_object()),
        }
    }

    /// A session that works where the agent may, else in `home`.
    fn session(&self, home: &str, kind: AgentKindRef) -> NewSession {
        let is_root = |path: &&String| {
            path.starts_with('/') && check_text("", path, INDEXED_TEXT_BYTES_MAX).is_ok()
        };
        let said = [&self.workspace_dir, &self.working_dir].into_iter().flatten().find(is_root);
        let repo = NewRepo {
            vcs: Vcs::None,
            root_path: Some(said.map_or(home, String::as_str).to_owned()),
            remote_url: None,
            default_branch: None,
        };
        let mut session = NewSession::new(repo, kind);
        session.details.project_dir.clone_from(&self.working_dir);
        session.details.project_dir.take_if(|dir| !is_short(dir));
        session
    }
}

/// Whether `text` may be a short text.
pub(crate) fn is_short(text: &str) -> bool {
    check_text("", text, SHORT_TEXT_BYTES_MAX).is_ok()
}

/// The parts of an agent that are neither its times nor its sessions.
pub(crate) struct Parts {
    pub(crate) origin: Origin,
    pub(crate) identity: Identity,
    pub(crate) permissions: Permissions,
    pub(crate) tokens: RawJson,
    pub(crate) stats: RawJson,
    pub(crate) metadata: RawJson,
    pub(crate) kind: AgentKindRef,
    /// An absolute path, for an agent that does not say where it works.
    pub(crate) home: String,
}

impl Parts {
    /// The agent.
    pub(crate) fn agent(self) -> NewAgent {
        let model = RawObject::of(&self.tokens).and_then(|tokens| tokens.text("model"));
        let id = &self.origin.external_id;
        NewAgent {
            id: id.parse().ok(),
            name: self.identity.name(id),
            agent_type: self.identity.agent_type,
            descriptor: Some(self.identity.descriptor),
            session: self.permissions.session(&self.home, self.kind),
            permissions: self.permissions.json,
            model: model.filter(|model| !model.is_empty() && is_short(model)),
            tokens: self.tokens,
            stats: self.stats,
            metadata: self.metadata,
            protected: false,
            origin: Some(self.origin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(descriptor: &str, id: &str) -> String {
        let (mut extras, mut tally) = (Extras::default(), Tally::default());
        let found = Found::Bytes(descriptor.as_bytes().to_vec());
        Identity::of("d", &found, &mut extras, &mut tally).name(id)
    }

    #[test]
    fn an_agent_is_called_by_its_best_name_that_fits() {
        for (descriptor, id, expected) in [
            (r#"{"name":"librarian","id":"x"}"#, "f", "librarian"),
            (r#"{"name":"Die Bibliothekarin","username":"lib"}"#, "f", "lib"),
            (r#"{"name":"no fit","id":"cron-1"}"#, "f", "cron-1"),
            (r#"{"type":"system","tag":"heartbeat"}"#, "f", "heartbeat"),
            (r#"{"tag":"operator"}"#, "f", "f"),
            (r#"{"name":"\ud800"}"#, "a01", "a01"),
            ("[]", "(Ordner ä)", "Ordner---"),
            ("[]", "()", "agent"),
            ("[]", &"x".repeat(70), &"x".repeat(64)),
        ] {
            assert_eq!(name(descriptor, id), expected, "{descriptor}");
        }
    }

    #[test]
    fn permissions_of_any_time_are_brought_to_the_newest_shape() {
        for (given, kept, original) in [
            (
                r#"{"workingDir":"/w","web":true,"x":1.0}"#,
                r#"{"workingDir":"/w","network":true,"x":1.0,"events":false}"#,
                true,
            ),
            (r#"{"network":false,"events":true}"#, r#"{"network":false,"events":true}"#, false),
            (r#"{"web":1,"network":2,"events":0}"#, r#"{"web":1,"network":2,"events":0}"#, false),
            (r#""all""#, "{}", true),
        ] {
            let (mut extras, mut tally) = (Extras::default(), Tally::default());
            let json = json(given.as_bytes()).unwrap();
            let permissions = Permissions::of("s", &json, &mut extras, &mut tally);
            assert_eq!(permissions.json.as_str(), kept);
            let metadata = match original {
                true => format!(r#"{{"daycare":{{"permissions":{given}}}}}"#),
                false => "{}".to_owned(),
            };
            assert_eq!(extras.metadata().as_str(), metadata);
            assert_eq!(tally.remarks.len(), usize::from(original));
        }
    }

    #[test]
    fn what_has_no_room_in_the_metadata_is_left_over_once() {
        let mut extras = Extras::default();
        let large = vec![0xff; AGENT_JSON_BYTES_MAX / 3];
        extras.keep_text("state.json", ["stateRaw", "stateHex"], &large);
        extras.keep("state.json", "state", json(b"{\"a\":1}").unwrap());
        let left: Vec<_> = extras.leftovers.iter().map(|left| left.reason.as_str()).collect();
        assert_eq!(left, ["no room for stateRaw in the metadata"]);
        assert!(extras.metadata().as_str().ends_with(r#"","state":{"a":1}}}"#));
    }
}
