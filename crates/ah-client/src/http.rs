//! Requests and answers.
//!
//! Invariants: every wait and every answer is bounded; the token is in no message. A request whose
//! answer was lost may have been done, so it is sent again only if that is no harm: a GET, or one
//! with a key, which the server does once. One that found nobody was not sent, so any is tried again.

use std::io::Read;
use std::thread;
use std::time::Duration;

use ah_model::{Invalid, Page, RequestKey, limits};
use ah_store::{BoxError, Problem, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};
use ureq::http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, AsSendBody, Body, Error, Timeout};

use crate::address::{Target, normal_server};
use crate::resolver::CallersResolver;
use crate::{RestOptions, tls};

/// Most bytes of one thing: a text of [`limits::PROMPT_BYTES_MAX`] whose every byte is escaped to
/// six (`\u0001`), what a run was told and gave back, and what stands around it.
pub(crate) const VALUE_BYTES_MAX: u64 = 40 * 1024 * 1024;
/// Most bytes of a page: what a store puts on it, each byte escaped to six.
const LIST_BYTES_MAX: u64 = 6 * limits::PAGE_BYTES_MAX as u64;
/// Most bytes of what a task started: its prompt stands in it once for each session. Twice as much
/// as unescaped, not six times: a prompt has few control characters, and memory is not endless.
pub(crate) const BATCH_BYTES_MAX: u64 =
    2 * limits::TASK_INSTANCES_MAX as u64 * limits::PROMPT_BYTES_MAX as u64;
/// Most bytes that are read of an answer that says no.
const REFUSAL_BYTES_MAX: u64 = 1024 * 1024;
/// Most bytes that are shown of an answer that is no problem of ours.
const EXCERPT_BYTES_MAX: usize = 200;

/// Shortest token that is taken out of what a server says. A shorter one is no secret, and taking it
/// out might change what is said.
const HIDDEN_TOKEN_BYTES_MIN: usize = 8;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const KEY: &str = "idempotency key";
/// Longest key that is sent as it is; servers take no longer one.
const KEY_BYTES_MAX: usize = 255;
/// What a key begins with that stands for a longer one, or one that no header can hold.
const KEY_DIGEST: &str = "sha256:";

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait before a request is sent again, and with their number how often.
const RETRY_PAUSES: [Duration; 3] =
    [Duration::from_millis(25), Duration::from_millis(100), Duration::from_millis(250)];
/// Connections that are kept for the next request, as many as threads may well ask at once.
const IDLE_CONNECTIONS_MAX: usize = 16;

/// A server and the connections to it.
pub(crate) struct Http {
    agent: Agent,
    server: String,
    token: Option<Token>,
    timeout: Duration,
}

struct Token {
    text: String,
    header: HeaderValue,
}

/// A list that has no further pages.
#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

/// An answer: all of a success, of a refusal as much as is looked at.
struct Reply {
    status: StatusCode,
    body: Vec<u8>,
}

/// One request.
struct Call<'a> {
    method: Method,
    target: &'a Target,
    body: Option<Vec<u8>>,
    /// Names the request, so that the server does it once.
    key: Option<HeaderValue>,
    timeout: Duration,
}

impl<'a> Call<'a> {
    fn new(method: Method, target: &'a Target, body: Option<Vec<u8>>, timeout: Duration) -> Self {
        Self { method, target, body, key: None, timeout }
    }

    /// Whether sending it again after `error` does no harm.
    fn can_be_repeated(&self, error: &Error) -> bool {
        let harmless = self.method == Method::GET || self.key.is_some();
        is_unsent(error) || harmless && is_lost(error)
    }
}

impl Http {
    /// Checks `options`; asks nobody yet.
    pub(crate) fn new(options: RestOptions) -> Result<Self, Invalid> {
        let RestOptions { base_url, token, ca_file, timeout } = options;
        if timeout.is_zero() {
            return Err(Invalid::new("timeout", "0, no answer comes that fast"));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // The environment's proxy is not asked: only ah-cli reads the environment.
            .proxy(None)
            // A redirect is followed by nobody who holds a token.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(tls::config(ca_file.as_deref())?)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .max_idle_connections(IDLE_CONNECTIONS_MAX)
            .max_idle_connections_per_host(IDLE_CONNECTIONS_MAX)
            .user_agent(concat!("agent-harbor/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build();
        Ok(Self {
            agent: Agent::with_parts(
                config,
                DefaultConnector::default(),
                CallersResolver::default(),
            ),
            server: normal_server(&base_url)?,
            token: token.map(Token::new).transpose()?,
            timeout,
        })
    }

    /// The server's address.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Reads something.
    pub(crate) fn get<T: DeserializeOwned>(&self, target: &Target) -> Result<T, StoreError> {
        self.ask(Call::new(Method::GET, target, None, self.timeout))
    }

    /// Reads a page of a list.
    pub(crate) fn list<T: DeserializeOwned>(&self, target: Target) -> Result<Page<T>, StoreError> {
        self.get(&target.up_to(LIST_BYTES_MAX))
    }

    /// Reads a list that has no further pages.
    pub(crate) fn items<T: DeserializeOwned>(&self, target: Target) -> Result<Vec<T>, StoreError> {
        self.items_within(target, Duration::ZERO)
    }

    /// As [`Self::items`], from a server that may first wait that long.
    pub(crate) fn items_within<T: DeserializeOwned>(
        &self,
        target: Target,
        wait: Duration,
    ) -> Result<Vec<T>, StoreError> {
        self.get_within(target, wait).map(|Items { items }| items)
    }

    /// Reads something with a list in it, from a server that may first wait that long.
    pub(crate) fn get_within<T: DeserializeOwned>(
        &self,
        target: Target,
        wait: Duration,
    ) -> Result<T, StoreError> {
        let target = target.up_to(LIST_BYTES_MAX);
        self.ask(Call::new(Method::GET, &target, None, self.timeout.saturating_add(wait)))
    }

    /// Has something done and reads what became of it.
    pub(crate) fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        target: &Target,
        body: &impl Serialize,
    ) -> Result<T, StoreError> {
        self.ask(Call::new(method, target, Some(json(body)?), self.timeout))
    }

    /// As [`Self::send`], to a server that may first wait that long.
    pub(crate) fn send_within<T: DeserializeOwned>(
        &self,
        target: &Target,
        body: &impl Serialize,
        wait: Duration,
    ) -> Result<T, StoreError> {
        let timeout = self.timeout.saturating_add(wait);
        self.ask(Call::new(Method::POST, target, Some(json(body)?), timeout))
    }

    /// Has something done that needs no words, and reads what became of it.
    pub(crate) fn order<T: DeserializeOwned>(
        &self,
        method: Method,
        target: &Target,
    ) -> Result<T, StoreError> {
        self.ask(Call::new(method, target, None, self.timeout))
    }

    /// As [`Self::order`], for a list that has no further pages.
    pub(crate) fn order_items<T: DeserializeOwned>(
        &self,
        method: Method,
        target: Target,
    ) -> Result<Vec<T>, StoreError> {
        self.order(method, &target.up_to(LIST_BYTES_MAX)).map(|Items { items }| items)
    }

    /// As [`Self::send`] or, without a body, [`Self::order`]; done once for the same key.
    pub(crate) fn once<T: DeserializeOwned>(
        &self,
        key: Option<&str>,
        method: Method,
        target: &Target,
        body: Option<Vec<u8>>,
    ) -> Result<T, StoreError> {
        let key = key.map(key_header).transpose()?;
        self.ask(Call { key, ..Call::new(method, target, body, self.timeout) })
    }

    /// As [`Self::once`], for a list that has no further pages.
    pub(crate) fn items_once<T: DeserializeOwned>(
        &self,
        key: Option<&str>,
        target: Target,
        body: Vec<u8>,
    ) -> Result<Vec<T>, StoreError> {
        let target = target.up_to(LIST_BYTES_MAX);
        self.once(key, Method::POST, &target, Some(body)).map(|Items { items }| items)
    }

    /// Notes something that is answered by nothing.
    pub(crate) fn note(&self, target: &Target) -> Result<(), StoreError> {
        self.call(&Call::new(Method::POST, target, None, self.timeout)).map(drop)
    }

    /// Writes something over what is there.
    pub(crate) fn put(&self, target: &Target, body: &impl Serialize) -> Result<(), StoreError> {
        self.call(&Call::new(Method::PUT, target, Some(json(body)?), self.timeout)).map(drop)
    }

    /// Removes something.
    pub(crate) fn delete(&self, target: &Target) -> Result<(), StoreError> {
        self.call(&Call::new(Method::DELETE, target, None, self.timeout)).map(drop)
    }

    fn ask<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, StoreError> {
        let body = self.call(&call)?;
        serde_json::from_slice(&body).map_err(|error| self.unusable(&call, error.to_string()))
    }

    /// The body of a success.
    fn call(&self, call: &Call<'_>) -> Result<Vec<u8>, StoreError> {
        let address = call.target.on(&self.server)?;
        let mut pauses = RETRY_PAUSES.into_iter();
        let reply = loop {
            match self.exchange(call, &address) {
                Ok(reply) => break reply,
                Err(error) => match pauses.next().filter(|_| call.can_be_repeated(&error)) {
                    Some(pause) => thread::sleep(pause),
                    None => return Err(self.failure(call, error)),
                },
            }
        };
        if reply.status.is_success() {
            return Ok(reply.body);
        }
        Err(self.refusal(call, &reply))
    }

    /// Sends once and reads the whole answer, so that the connection is free for the next request.
    ///
    /// A connection that the server has closed meanwhile is not used: ureq looks at it before.
    fn exchange(&self, call: &Call<'_>, address: &str) -> Result<Reply, Error> {
        let mut request = Request::builder().method(&call.method).uri(address);
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, &token.header);
        }
        if let Some(key) = &call.key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        let response = match &call.body {
            None if call.method == Method::POST => {
                // Without a word about its length an empty body would be sent in chunks.
                self.run(request.body(&[][..])?, call.timeout)
            }
            None => self.run(request.body(())?, call.timeout),
            Some(body) => {
                let request = request.header(CONTENT_TYPE, "application/json");
                self.run(request.body(body.as_slice())?, call.timeout)
            }
        }?;
        read(response, call.target.bytes_max())
    }

    fn run(
        &self,
        request: Request<impl AsSendBody>,
        timeout: Duration,
    ) -> Result<Response<Body>, Error> {
        let config = self.agent.configure_request(request);
        self.agent.run(config.timeout_global(Some(timeout)).build())
    }

    /// What an answer says that is no success.
    fn refusal(&self, call: &Call<'_>, reply: &Reply) -> StoreError {
        let text = self.without_token(&String::from_utf8_lossy(&reply.body));
        if let Some(problem) = problem(reply.status, &text) {
            return problem.into();
        }
        let end = text.floor_char_boundary(EXCERPT_BYTES_MAX);
        match &text[..end] {
            "" => self.unusable(call, format!("status {}", reply.status)),
            excerpt => self.unusable(call, format!("status {}: {excerpt:?}", reply.status)),
        }
    }

    /// What it means that there is no answer.
    fn failure(&self, call: &Call<'_>, error: Error) -> StoreError {
        let source: BoxError = match error {
            Error::Io(error) => error.into(),
            Error::Timeout(Timeout::Connect) => {
                format!("no connection within {CONNECT_TIMEOUT:?}").into()
            }
            Error::Timeout(_) => format!("no answer within {:?}", call.timeout).into(),
            Error::HostNotFound | Error::ConnectionFailed => error.into(),
            other => return self.unusable(call, other.to_string()),
        };
        StoreError::Unreachable { server: self.server.clone(), source }
    }

    fn unusable(&self, call: &Call<'_>, reason: String) -> StoreError {
        let (server, method, path) = (&self.server, &call.method, call.target.path());
        let operation = format!("use what {server} answered to {method} {path}");
        StoreError::backend(operation, self.without_token(&reason))
    }

    /// `text` as it may be shown: a server may send back what it was sent.
    fn without_token(&self, text: &str) -> String {
        match self.token.as_ref().filter(|token| token.is_secret()) {
            Some(token) => text.replace(&token.text, "(token)"),
            None => text.to_owned(),
        }
    }
}

impl Token {
    fn new(text: String) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Err(Invalid::new("token", "must not be empty"));
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {text}"))
            .map_err(|_| Invalid::new("token", "has a character that no header can have"))?;
        header.set_sensitive(true);
        Ok(Self { text, header })
    }

    fn is_secret(&self) -> bool {
        self.text.len() >= HIDDEN_TOKEN_BYTES_MIN
    }
}

/// A key as a header: itself where a header can be that, else a digest of it, so that any key a store
/// takes can be sent.
fn key_header(key: &str) -> Result<HeaderValue, Invalid> {
    let plain = key.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && key.trim() == key;
    if plain && key.len() <= KEY_BYTES_MAX && !key.starts_with(KEY_DIGEST) {
        return HeaderValue::from_str(key).map_err(|error| Invalid::new(KEY, error.to_string()));
    }
    let digest = RequestKey::new(KEY_DIGEST, [key.as_bytes()])?.fingerprint;
    HeaderValue::from_str(&format!("{KEY_DIGEST}{digest}"))
        .map_err(|error| Invalid::new(KEY, error.to_string()))
}

pub(crate) fn json(body: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(body).map_err(|error| StoreError::backend("write the request", error))
}

fn read(response: Response<Body>, bytes_max: u64) -> Result<Reply, Error> {
    let status = response.status();
    let body = response.into_body();
    if status.is_success() {
        // ureq's limit is the first size that is too much.
        let body = body.into_with_config().limit(bytes_max.saturating_add(1)).read_to_vec()?;
        return Ok(Reply { status, body });
    }
    let mut start = Vec::new();
    body.into_reader().take(REFUSAL_BYTES_MAX).read_to_end(&mut start)?;
    Ok(Reply { status, body: start })
}

/// Whether nobody was there to be sent anything.
fn is_unsent(error: &Error) -> bool {
    match error {
        Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Error::ConnectionFailed => true,
        _ => false,
    }
}

/// Whether the connection could not be made or broke: what another try may well cure, other than a
/// name that nobody knows or a time that is over.
fn is_lost(error: &Error) -> bool {
    use std::io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected,
        UnexpectedEof,
    };
    match error {
        Error::Io(error) => matches!(
            error.kind(),
            ConnectionRefused
                | ConnectionReset
                | ConnectionAborted
                | NotConnected
                | BrokenPipe
                | UnexpectedEof
        ),
        Error::ConnectionFailed => true,
        _ => false,
    }
}

/// Reads a problem, whatever its content type: a JSON object with a `code` is one. What other
/// servers leave out is filled in.
fn problem(status: StatusCode, text: &str) -> Option<Problem> {
    let mut object: Map<String, Value> = serde_json::from_str(text).ok()?;
    if !object.get("code").is_some_and(Value::is_string) {
        return None;
    }
    object.entry("title").or_insert_with(|| status.to_string().into());
    object.entry("status").or_insert_with(|| status.as_u16().into());
    object.entry("detail").or_insert_with(|| status.to_string().into());
    serde_json::from_value(Value::Object(object)).ok()
}

#[cfg(test)]
mod tests;
