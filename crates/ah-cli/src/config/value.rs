//! Values of settings: from text, from TOML, and shown.
//!
//! Invariant: what is shown has no password in it, so a value may be printed anywhere. Code that
//! needs the secret itself takes it through an accessor of `Config`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use ah_model::AgentKindRef;
use serde::{Serialize, Serializer};
use toml_edit::{Item, TableLike};

use super::agent_kind::{RunKindProgram, agent_kinds};
use super::program::{KindProgram, programs};
use super::schema::Kind;

/// Nothing is removed.
pub(super) const FOREVER: &str = "forever";

/// A setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// Text, whatever its kind allows.
    Text(Cow<'static, str>),
    /// A whole number.
    Integer(i64),
    /// Yes or no.
    Boolean(bool),
    /// A list of texts.
    Texts(Vec<String>),
    /// Named servers.
    Servers(Vec<Server>),
    /// Programs of agent kinds.
    Programs(Vec<KindProgram>),
    /// Agent kinds with what is run for them.
    AgentKinds(Vec<RunKindProgram>),
}

/// A name for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// What `remote-server` may say.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) url: String,
}

/// A value in a file that its kind does not allow.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// What is allowed.
    pub(super) expected: String,
    /// Where in the file, when not at the key itself.
    pub(super) at: Option<usize>,
}

impl<T: Into<String>> From<T> for Mismatch {
    fn from(expected: T) -> Self {
        Self { expected: expected.into(), at: None }
    }
}

impl Value {
    /// Reads a value of `kind` from a variable, a flag or a command line; the error says what was
    /// expected.
    pub(crate) fn from_text(kind: Kind, text: &str) -> Result<Self, String> {
        match kind {
            Kind::Text => Ok(Self::Text(Cow::Owned(text.to_owned()))),
            Kind::Choice(words) => choice(words, text),
            Kind::Agent => agent_kind(text),
            Kind::Integer { max } => integer(max, text.trim().parse().ok()),
            Kind::Keep => keep(text),
            Kind::Boolean => boolean(text),
            Kind::Texts => Ok(Self::Texts(split(text))),
            Kind::Servers => Err("edited in the file, as [[server]] tables".to_owned()),
            Kind::AgentKinds => Err("edited in the file, as [[agent-kind]] tables".to_owned()),
            Kind::Programs => Err("edited in the file, as [[program]] tables".to_owned()),
        }
    }

    /// Reads a value of `kind` from a file.
    pub(super) fn from_toml(kind: Kind, item: &Item) -> Result<Self, Mismatch> {
        let text = || item.as_str().ok_or("text");
        let value = match kind {
            Kind::Text | Kind::Choice(_) | Kind::Agent | Kind::Keep => {
                Self::from_text(kind, text()?)?
            }
            Kind::Integer { max } => integer(max, item.as_integer())?,
            Kind::Boolean => Self::Boolean(item.as_bool().ok_or("true or false")?),
            Kind::Texts => Self::Texts(texts(item).ok_or("an array of texts")?),
            Kind::Servers => Self::Servers(servers(item)?),
            Kind::Programs => Self::Programs(programs(item)?),
            Kind::AgentKinds => Self::AgentKinds(agent_kinds(item)?),
        };
        Ok(value)
    }

    /// This value as TOML; lists of tables are only ever written by hand.
    pub(super) fn to_toml(&self) -> Option<toml_edit::Value> {
        match self {
            Self::Text(text) => Some(text.as_ref().into()),
            Self::Integer(number) => Some((*number).into()),
            Self::Boolean(flag) => Some((*flag).into()),
            Self::Texts(texts) => Some(toml_edit::Value::Array(texts.iter().collect())),
            Self::Servers(_) | Self::Programs(_) | Self::AgentKinds(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&without_password(text)),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Boolean(flag) => write!(f, "{flag}"),
            Self::Texts(texts) => f.write_str(&texts.join(",")),
            Self::Servers(servers) => {
                let shown: Vec<_> = servers.iter().map(Server::to_string).collect();
                f.write_str(&shown.join(", "))
            }
            Self::AgentKinds(kinds) => {
                let shown = kinds
                    .iter()
                    .map(|one| format!("{} = {}", one.name, one.program.command.join(" ")));
                f.write_str(&shown.collect::<Vec<_>>().join(", "))
            }
            Self::Programs(programs) => {
                let shown = programs
                    .iter()
                    .map(|one| format!("{} = {}", one.kind, one.program.command.join(" ")));
                f.write_str(&shown.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(&without_password(text)),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Boolean(flag) => serializer.serialize_bool(*flag),
            Self::Texts(texts) => texts.serialize(serializer),
            Self::Servers(servers) => servers.serialize(serializer),
            Self::Programs(programs) => programs.serialize(serializer),
            Self::AgentKinds(kinds) => kinds.serialize(serializer),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, without_password(&self.url))
    }
}

impl Serialize for Server {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = [("name", self.name.as_str()), ("url", &without_password(&self.url))];
        serializer.collect_map(shown)
    }
}

fn choice(words: &'static [&'static str], text: &str) -> Result<Value, String> {
    match words.iter().find(|word| **word == text) {
        Some(word) => Ok(Value::Text(Cow::Borrowed(word))),
        None => Err(format!("one of {}", words.join(", "))),
    }
}

fn keep(text: &str) -> Result<Value, String> {
    if text == FOREVER || crate::when::span(text).is_ok() {
        return Ok(Value::Text(Cow::Owned(text.to_owned())));
    }
    Err(format!("a span like 12h or 30d, or {FOREVER}"))
}

fn agent_kind(text: &str) -> Result<Value, String> {
    match text.parse::<AgentKindRef>() {
        Ok(_) => Ok(Value::Text(Cow::Owned(text.to_owned()))),
        Err(_) => Err("an agent kind, NAME or NAME@VERSION".to_owned()),
    }
}

fn integer(max: i64, number: Option<i64>) -> Result<Value, String> {
    let fitting = number.filter(|number| (0..=max).contains(number));
    let fitting = fitting.map(Value::Integer);
    fitting.ok_or_else(|| format!("a whole number from 0 to {max}"))
}

fn boolean(text: &str) -> Result<Value, String> {
    match text {
        "true" | "1" => Ok(Value::Boolean(true)),
        "false" | "0" => Ok(Value::Boolean(false)),
        _ => Err("true or false".to_owned()),
    }
}

fn split(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim);
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

pub(super) fn texts(item: &Item) -> Option<Vec<String>> {
    let texts = item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned));
    texts.collect()
}

fn servers(item: &Item) -> Result<Vec<Server>, Mismatch> {
    let tables = tables(item).ok_or("a list of [[server]] tables")?;
    let mut servers: Vec<Server> = Vec::with_capacity(tables.len());
    for (span, table) in tables {
        let read = server(table).and_then(|server| {
            if servers.iter().any(|known| known.name == server.name) {
                return Err(format!(
                    "tables with different names ({:?} is there twice)",
                    server.name
                ));
            }
            Ok(server)
        });
        let at = span.map(|span| span.start);
        servers.push(read.map_err(|expected| Mismatch { expected, at })?);
    }
    Ok(servers)
}

pub(super) type Spanned<'a> = (Option<Range<usize>>, &'a dyn TableLike);

/// Both ways to write a list of tables: `[[server]]` headers and an array of inline tables.
pub(super) fn tables(item: &Item) -> Option<Vec<Spanned<'_>>> {
    if let Some(tables) = item.as_array_of_tables() {
        let spanned = tables.iter().map(|table| (table.span(), table as &dyn TableLike));
        return Some(spanned.collect());
    }
    let values = item.as_array()?.iter();
    let spanned = values.map(|value| Some((value.span(), value.as_inline_table()? as _)));
    spanned.collect()
}

fn server(table: &dyn TableLike) -> Result<Server, String> {
    const FIELDS: [&str; 2] = ["name", "url"];
    if let Some((unknown, _)) = table.iter().find(|(field, _)| !FIELDS.contains(field)) {
        return Err(format!("tables with name and url only, without {unknown:?}"));
    }
    let field = |name| table.get(name).and_then(Item::as_str).filter(|text| !text.is_empty());
    match (field("name"), field("url")) {
        (Some(name), Some(url)) if url.contains("://") && !name.contains("://") => {
            Ok(Server { name: name.to_owned(), url: url.to_owned() })
        }
        _ => Err("tables with a name and a url like https://host".to_owned()),
    }
}

/// A URL with its password or token starred out; one with a password in its query, or too odd to
/// tell, is starred out whole.
fn without_password(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else {
        // `host=… password=…` is PostgreSQL's other way to write a connection.
        return if text.contains("password=") { "***".into() } else { text.into() };
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if path.contains("password=") {
        return format!("{scheme}://***").into();
    }
    let Some((user_info, host)) = authority.rsplit_once('@') else {
        // An `@` further on may end a password with an unescaped `/` in it.
        let odd = authority.contains(':') && path.contains('@');
        return if odd { format!("{scheme}://***").into() } else { text.into() };
    };
    match user_info.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***@{host}{path}").into(),
        None if scheme.starts_with("postgres") => text.into(),
        None => format!("{scheme}://***@{host}{path}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: Kind, text: &str, expected: Result<Value, &str>) {
        assert_eq!(Value::from_text(kind, text), expected.map_err(str::to_owned));
    }

    #[test]
    fn text_is_read_by_kind() {
        let yes = || Ok(Value::Boolean(true));
        check(Kind::Boolean, "true", yes());
        check(Kind::Boolean, "1", yes());
        check(Kind::Boolean, "0", Ok(Value::Boolean(false)));
        check(Kind::Boolean, "maybe", Err("true or false"));
        check(Kind::Integer { max: 9 }, "7", Ok(Value::Integer(7)));
        check(Kind::Integer { max: 9 }, "10", Err("a whole number from 0 to 9"));
        check(Kind::Integer { max: 9 }, "-1", Err("a whole number from 0 to 9"));
        check(Kind::Integer { max: 9 }, "7s", Err("a whole number from 0 to 9"));
        check(Kind::Choice(&["a", "b"]), "b", Ok(Value::Text("b".into())));
        check(Kind::Choice(&["a", "b"]), "B", Err("one of a, b"));
        check(Kind::Agent, "codex@1.2", Ok(Value::Text("codex@1.2".into())));
        check(Kind::Agent, "", Err("an agent kind, NAME or NAME@VERSION"));
        check(Kind::Texts, "a, b,", Ok(Value::Texts(vec!["a".to_owned(), "b".to_owned()])));
        check(Kind::Servers, "a", Err("edited in the file, as [[server]] tables"));
    }

    #[test]
    fn passwords_are_never_shown() {
        for (given, shown) in [
            ("postgres://me:s3@host/db", "postgres://me:***@host/db"),
            ("postgres://me:s@3@host/db", "postgres://me:***@host/db"),
            ("postgres://me:s/3@host/db", "postgres://***"),
            ("https://host/@scope/a", "https://host/@scope/a"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            ("postgres://host/db?password=s3", "postgres://***"),
            ("host=h password=s3", "***"),
            ("https://token@host/", "https://***@host/"),
            ("https://host/", "https://host/"),
            ("work", "work"),
        ] {
            let value = Value::Text(given.into());
            assert_eq!(value.to_string(), shown);
            assert_eq!(serde_json::to_value(&value).unwrap(), serde_json::json!(shown));
        }
    }

    #[test]
    fn lists_are_shown_as_json_lists() {
        let server = Server { name: "work".to_owned(), url: "https://a:b@h".to_owned() };
        let value = Value::Servers(vec![server]);
        let expected = serde_json::json!([{ "name": "work", "url": "https://a:***@h" }]);
        assert_eq!(serde_json::to_value(&value).unwrap(), expected);
        assert_eq!(value.to_string(), "work = https://a:***@h");
    }
}
