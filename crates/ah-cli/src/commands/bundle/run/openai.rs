//! The pre-stage that is built in: asks the model itself, by the chat completions of OpenAI.
//!
//! Invariants: every wait and every answer is bounded; the key is in no message; a redirect is not
//! followed with it.

use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use ah_model::redact;
use serde::Deserialize;
use serde_json::json;
use ureq::http::header::{AUTHORIZATION, RETRY_AFTER};
use ureq::http::{HeaderMap, StatusCode, Uri};
use ureq::{Agent, Error};

use super::flow::{Input, KeyUse};
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::secret::find_model_key;

/// What the model is told to do.
const SYSTEM: &str = "\
You prepare the state of an AI coding agent. The user message is one JSON document with model_id, \
tools (a manifest or null), prompt (what the run is about, or null), action, refine_text and bundle \
(the state there is, or null). Answer with one JSON object and nothing else. Its keys, all optional \
but at least one: \"prompts\" (object of strings; \"system\" and \"developer\" are used by agents), \
\"prep_settings\" (object, such as temperature), \"context\" (object), \"tool_caps\" (object, by \
name of tool) and \"custom\" (object). If action is \"derive\", make them from the prompt and the \
tools. If action is \"refine\", change the given bundle as refine_text asks: repeat a key whole if \
you change it, leave out those that stay as they are. Never put keys, passwords or tokens into it.";

/// Most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most characters that are shown of an answer that says no.
const EXCERPT_CHARS: usize = 300;
/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a server that is busy is asked.
const TRIES_MAX: u32 = 5;
/// The first wait before it is asked again, when it does not say how long; the next are doubled.
const PAUSE: Duration = Duration::from_millis(500);

/// The shortest key that is taken out of what is shown; a shorter one is no secret.
const HIDDEN_KEY_BYTES_MIN: usize = 8;

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

/// A server and what is shown to it.
struct Server {
    agent: Agent,
    address: String,
    key: Option<String>,
    deadline: Instant,
}

/// What came back.
struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

/// Asks the model; the text of its answer.
pub(super) fn run(
    app: &App,
    key: &KeyUse,
    input: Input<'_>,
    timeout: Duration,
) -> Result<Vec<u8>, CommandError> {
    let server = Server::new(app, key, input.base_url, timeout)?;
    // The server knows where it is; what stands in front of its name is not for the model.
    let shown = redact::text(input.base_url).text.into_owned();
    let mut input = input;
    input.base_url = &shown;
    let body = json!({
        "model": input.model_id,
        "messages": [
            { "role": "system", "content": SYSTEM },
            { "role": "user", "content": input.encode()? },
        ],
        "response_format": { "type": "json_object" },
    });
    let reply = server.ask(&body.to_string())?;
    server.content(&reply)
}

impl Server {
    fn new(
        app: &App,
        key: &KeyUse,
        base_url: &str,
        timeout: Duration,
    ) -> Result<Self, CommandError> {
        let KeyUse { variables, insecure } = key;
        let set = variables.iter().find(|name| app.environment.is_set(name));
        let variable = set.or(variables.first()).map_or(super::KEY_VARIABLE, String::as_str);
        let key = find_model_key(&app.environment, variable, base_url)?;
        if key.is_some() && !insecure && is_exposed(base_url) {
            let base_url = redact::text(base_url).text.into_owned();
            let message =
                format!("the key is not shown to {base_url}: plain http is open to others");
            return Err(CommandError::new(Exit::NotAllowed, message)
                .hint("use its https address, or `ah bundle run --insecure` if the line is yours")
                .hint(format!("without {variable} nothing is shown")));
        }
        let ca_file = app.config()?.ca_file();
        let ca_file = ca_file.map(|path| app.environment.absolute(path.as_ref())).transpose()?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(ah_client::tls_config(ca_file.as_deref())?)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .user_agent(concat!("agent-harbor/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build();
        let address = format!("{}/chat/completions", base_url.trim().trim_end_matches('/'));
        Ok(Self {
            agent: Agent::new_with_config(config),
            address,
            key,
            deadline: Instant::now() + timeout,
        })
    }

    /// Asks until there is an answer that is one.
    fn ask(&self, body: &str) -> Result<Reply, CommandError> {
        let mut pause = PAUSE;
        for attempt in 1.. {
            let reply = self.exchange(body).map_err(|error| self.unreachable(&error))?;
            if reply.status.is_success() {
                return Ok(reply);
            }
            let is_busy =
                reply.status == StatusCode::TOO_MANY_REQUESTS || reply.status.is_server_error();
            if !is_busy || attempt >= TRIES_MAX {
                return Err(self.refusal(&reply));
            }
            let wait = asked_wait(&reply.headers).unwrap_or(pause);
            if wait >= self.left() {
                let error = self.refusal(&reply);
                return Err(
                    error.hint(format!("it asks to wait {wait:?}, longer than `--timeout` leaves"))
                );
            }
            thread::sleep(wait);
            pause *= 2;
        }
        Err(self.refused(Exit::Failed, "was not asked"))
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn exchange(&self, body: &str) -> Result<Reply, Error> {
        let mut request = self.agent.post(&self.address).content_type("application/json");
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        // A timeout of nothing would be none.
        let timeout = self.left().max(Duration::from_millis(1));
        let request = request.config().timeout_global(Some(timeout)).build();
        let mut response = request.send(body)?;
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        Ok(Reply { status, headers, body })
    }

    /// The text that the model answered.
    fn content(&self, reply: &Reply) -> Result<Vec<u8>, CommandError> {
        let wrong = |what: &str| self.refused(Exit::Failed, what);
        let completion: Completion = serde_json::from_slice(&reply.body).map_err(|error| {
            wrong(&format!("gave an answer that is no chat completion: {error}"))
        })?;
        let Some(choice) = completion.choices.into_iter().next() else {
            return Err(wrong("gave an answer without choices"));
        };
        if let Some(refusal) = choice.message.refusal {
            return Err(wrong(&format!("refused: {}", excerpt(&refusal))));
        }
        if choice.finish_reason.as_deref() == Some("length") {
            return Err(wrong("stopped in the middle of its answer (finish_reason \"length\")"));
        }
        let content = choice.message.content.unwrap_or_default();
        let text = unfenced(content.trim());
        if text.is_empty() {
            return Err(wrong("gave an empty answer"));
        }
        Ok(text.as_bytes().to_vec())
    }

    fn unreachable(&self, error: &Error) -> CommandError {
        let exit = match error {
            Error::BadUri(_) | Error::Http(_) => Exit::Usage,
            Error::BodyExceedsLimit(_) => Exit::Failed,
            _ => Exit::Unreachable,
        };
        self.refused(exit, &format!("gave no answer: {error}"))
            .hint("`--base-url URL` names the server, such as https://api.openai.com/v1")
    }

    /// What an answer says that is no success.
    fn refusal(&self, reply: &Reply) -> CommandError {
        let text = excerpt(&String::from_utf8_lossy(&reply.body));
        let what = match text.is_empty() {
            true => format!("answered {}", reply.status),
            false => format!("answered {}: {text}", reply.status),
        };
        match reply.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let error = self.refused(Exit::NotAllowed, &what);
                let error =
                    error.hint("set OPENAI_API_KEY, or name its variable with `--key-env NAME`");
                error.hint("`ah bundle key --base-url URL` keeps a key for this server")
            }
            status if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() => {
                self.refused(Exit::Unreachable, &what)
            }
            _ => self.refused(Exit::Failed, &what),
        }
    }

    fn refused(&self, exit: Exit, what: &str) -> CommandError {
        let message = format!("the model at {} {what}; nothing was saved", self.address);
        CommandError::new(exit, self.without_key(&message))
    }

    /// A server may repeat what it was shown.
    fn without_key(&self, text: &str) -> String {
        let key = self.key.as_deref().filter(|key| key.len() >= HIDDEN_KEY_BYTES_MIN);
        let text = key.map_or_else(|| text.to_owned(), |key| text.replace(key, "****"));
        redact::text(&text).text.into_owned()
    }
}

/// Whether what is sent there can be read on the way.
fn is_exposed(base_url: &str) -> bool {
    let Ok(address) = base_url.trim().parse::<Uri>() else { return false };
    let host = address.host().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_here = literal.map_or(host == "localhost", |literal| literal.is_loopback());
    address.scheme_str() == Some("http") && !is_here
}

/// How long the server asks to be left alone; times of day are not looked at.
fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0);
    let seconds = seconds.or_else(|| number(RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The beginning of `text`, on one line.
fn excerpt(text: &str) -> String {
    crate::output::line(text, EXCERPT_CHARS)
}

/// Some models put what they were asked for into a block of Markdown.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_in_seconds_and_milliseconds() {
        let wait = |name: &'static str, value: &'static str| {
            asked_wait(&HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]))
        };
        assert_eq!(wait("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(wait("retry-after-ms", "25"), Some(Duration::from_millis(25)));
        for wrong in ["-1", "NaN", "inf", "Wed, 21 Oct 2015 07:28:00 GMT", ""] {
            assert_eq!(wait("retry-after", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_plain_http_to_other_machines_is_exposed() {
        let exposed = ["http://10.0.0.1/v1", "http://example.com:80/v1", "http://[2001:db8::1]/v1"];
        let here = [
            "https://example.com/v1",
            "http://127.0.0.1:9/v1",
            "http://[::1]:9",
            "http://localhost",
        ];
        assert_eq!(exposed.map(is_exposed), [true; 3]);
        assert_eq!(here.map(is_exposed), [false; 4]);
    }

    #[test]
    fn a_fence_around_an_answer_is_taken_off() {
        for text in ["{}", "```json\n{}\n```", "```\n{}\n```"] {
            assert_eq!(unfenced(text), "{}");
        }
        assert_eq!(unfenced("```"), "```");
    }
}
