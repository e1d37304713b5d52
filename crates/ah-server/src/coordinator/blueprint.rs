//! Blueprints: what is known of an agent by its name. Kept whole, as they were sent, in the
//! key/value store; those that a runner brings live as long as it is registered.

use std::collections::BTreeMap;

use ah_model::{
    Demands, Executor, ExecutorFilter, ExecutorId, KvEntry, Page, PageLimit, PageRequest, RawJson,
    Timestamp,
};
use ah_store::{Store, StoreError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::demands::AskedDemands;
use super::limits::STALE_MS;
use super::words;

const SCOPE: &str = "coordinator";
const KEY_PREFIX: &str = "agent/";

/// The parts of a blueprint by name.
pub(super) type Members = BTreeMap<String, RawJson>;

/// An agent that can be run.
#[derive(Debug, Clone)]
pub(super) struct Blueprint {
    pub(super) members: Members,
    /// Who brought it, and what that offers.
    pub(super) owner: Option<Box<Executor>>,
}

impl Blueprint {
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        self.members.get(name).and_then(|part| part.read().ok())
    }

    pub(super) fn name(&self) -> String {
        self.get("name").unwrap_or_default()
    }

    /// Whether it runs a program rather than a model, and so knows no conversation to resume.
    pub(super) fn is_procedural(&self) -> bool {
        self.get::<String>("type").as_deref() == Some("procedural")
    }

    pub(super) fn parameters_schema(&self) -> Option<Value> {
        self.get("parameters_schema")
    }

    pub(super) fn demands(&self) -> Demands {
        let demands = self.get::<AskedDemands>("demands");
        demands.map(Demands::from).unwrap_or_default()
    }

    pub(super) fn tags(&self) -> Vec<String> {
        self.get("tags").unwrap_or_default()
    }

    /// The first capability it refers to. There are none here to be found.
    pub(super) fn missing_capability(&self) -> Option<String> {
        self.get::<Vec<String>>("capabilities")?.into_iter().next()
    }

    /// The first of its servers that stands in a registry. There is none here to look it up in.
    pub(super) fn server_reference(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Server {
            r#ref: Option<String>,
        }
        let servers: BTreeMap<String, Server> = self.get("mcp_servers")?;
        servers.into_values().find_map(|server| server.r#ref)
    }

    /// As its clients read it: with what is always there, and without what is null.
    pub(super) fn shape(&self) -> Members {
        let mut members = self.members.clone();
        for (name, otherwise) in [
            ("type", r#""autonomous""#),
            ("tags", "[]"),
            ("capabilities", "[]"),
            ("status", r#""active""#),
        ] {
            if members.get(name).is_none_or(|part| part.as_str() == "null") {
                members.extend(raw(name, otherwise));
            }
        }
        members.retain(|_, part| part.as_str() != "null");
        members
    }

    fn of_runner(mut members: Members, owner: &Executor) -> Self {
        let registered_at = words::time(owner.registered_at);
        members.extend(raw("type", r#""procedural""#));
        for (name, text) in [
            ("runner_id", owner.id.as_str()),
            ("created_at", registered_at.as_str()),
            ("modified_at", registered_at.as_str()),
        ] {
            members.extend(text_member(name, text));
        }
        let description = members.get("description").is_some_and(|part| part.as_str() != "null");
        if !description {
            members.extend(text_member("description", ""));
        }
        Self { members, owner: Some(Box::new(owner.clone())) }
    }
}

fn raw(name: &str, json: &str) -> Option<(String, RawJson)> {
    RawJson::from_stored(json.to_owned()).ok().map(|json| (name.to_owned(), json))
}

/// A part that is a text.
pub(super) fn text_member(name: &str, text: &str) -> Option<(String, RawJson)> {
    RawJson::of(&text).ok().map(|json| (name.to_owned(), json))
}

/// The agent of that name, kept or brought by a runner.
pub(super) async fn find(store: &dyn Store, name: &str) -> Result<Option<Blueprint>, StoreError> {
    if let Some(kept) = find_kept(store, name).await? {
        return Ok(Some(kept));
    }
    let brought = of_runners(store).await?;
    Ok(brought.into_iter().find(|blueprint| blueprint.name() == name))
}

/// The agent of that name that is kept.
pub(super) async fn find_kept(
    store: &dyn Store,
    name: &str,
) -> Result<Option<Blueprint>, StoreError> {
    match store.kv_get(SCOPE.to_owned(), format!("{KEY_PREFIX}{name}")).await {
        Ok(entry) => Ok(read(&entry)),
        Err(StoreError::NotFound { .. } | StoreError::Invalid(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// All that are kept, by name, then those that runners brought.
pub(super) async fn all(store: &dyn Store) -> Result<Vec<Blueprint>, StoreError> {
    let mut found = Vec::new();
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let Page { items, next_cursor } = store.kv_list(SCOPE.to_owned(), page.clone()).await?;
        found.extend(items.iter().filter_map(read));
        page.cursor = next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    found.extend(of_runners(store).await?);
    Ok(found)
}

fn read(entry: &KvEntry) -> Option<Blueprint> {
    entry.key.strip_prefix(KEY_PREFIX)?;
    let members = serde_json::from_str(&entry.value).ok()?;
    Some(Blueprint { members, owner: None })
}

/// Keeps an agent under its name.
pub(super) async fn keep(
    store: &dyn Store,
    name: &str,
    members: &Members,
) -> Result<(), StoreError> {
    let value = RawJson::of(members)?.as_str().to_owned();
    let (scope, key) = (SCOPE.to_owned(), format!("{KEY_PREFIX}{name}"));
    store.kv_set(KvEntry { scope, key, value }).await
}

/// Forgets the agent of that name; whether there was one.
pub(super) async fn forget(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    match store.kv_delete(SCOPE.to_owned(), format!("{KEY_PREFIX}{name}")).await {
        Ok(()) => Ok(true),
        Err(StoreError::NotFound { .. } | StoreError::Invalid(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What runners said of the agents they bring.
async fn of_runners(store: &dyn Store) -> Result<Vec<Blueprint>, StoreError> {
    let mut found = Vec::new();
    for executor in executors(store).await? {
        let brought = brought_by(&executor.details).into_iter();
        found.extend(brought.map(|members| Blueprint::of_runner(members, &executor)));
    }
    Ok(found)
}

/// The agents in what a runner says of itself.
pub(super) fn brought_by(details: &RawJson) -> Vec<Members> {
    #[derive(Deserialize)]
    struct Brings {
        agents: Option<Vec<Members>>,
    }
    let brings = details.read::<Brings>().ok();
    brings.and_then(|brings| brings.agents).unwrap_or_default()
}

/// Every executor.
pub(super) async fn executors(store: &dyn Store) -> Result<Vec<Executor>, StoreError> {
    let mut found = Vec::new();
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let Page { items, next_cursor } =
            store.list_executors(ExecutorFilter::default(), page.clone()).await?;
        found.extend(items);
        page.cursor = next_cursor;
        if page.cursor.is_none() {
            return Ok(found);
        }
    }
}

/// The name of an agent in `details` that somebody else has, and the runner that it is of. A
/// runner that nothing was heard of for long has none.
pub(super) async fn taken(
    store: &dyn Store,
    runner: &ExecutorId,
    details: &RawJson,
    now: Timestamp,
) -> Result<Option<(String, Option<ExecutorId>)>, StoreError> {
    let is_name = |members: &Members| members.get("name").and_then(|name| name.read().ok());
    let names: Vec<String> = brought_by(details).iter().filter_map(is_name).collect();
    if names.is_empty() {
        return Ok(None);
    }
    for other in all(store).await? {
        let owner = other.owner.as_ref().map(|owner| owner.id.clone());
        let fresh = |owner: &Executor| owner.seen_at >= now.minus_ms(STALE_MS);
        let counts = other.owner.as_deref().is_none_or(fresh) && owner.as_ref() != Some(runner);
        if counts && names.contains(&other.name()) {
            return Ok(Some((other.name(), owner)));
        }
    }
    Ok(None)
}
