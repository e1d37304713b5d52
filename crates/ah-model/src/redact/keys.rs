//! Which names mean a secret.
//!
//! A name is read as words, `apiKey`, `API_KEY` and `x-api-key` alike. What it names is its last
//! word: `client_secret` is a secret, `secret_name`, `token_count` and `max_tokens` are none.

use std::ops::Range;

use super::ignores_hints;

/// What the value under a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing that the name tells.
    None,
    /// Maybe a secret: if it looks random.
    Weak,
    /// A token, unless it is a short word: models and parsers call those tokens too.
    Token,
    /// A secret, whatever it looks like.
    Secret,
    /// A secret that people choose: even a plain number is one.
    Password,
    /// A scheme with credentials.
    Authorization,
}

/// Whether a value under this name is a secret.
pub fn is_secret_key(name: &str) -> bool {
    !matches!(kind(name), Kind::None | Kind::Weak)
}

/// Longest end of a name that is looked at.
const NAME_BYTES_MAX: usize = 128;

/// A part of a name.
pub(super) struct Stem {
    pub(super) word: &'static str,
    /// How a longer word with it begins behind it, where not every word with it means something.
    goes_on: Option<&'static [&'static str]>,
}

const fn stem(word: &'static str) -> Stem {
    Stem { word, goes_on: None }
}

const fn only(word: &'static str, goes_on: &'static [&'static str]) -> Stem {
    Stem { word, goes_on: Some(goes_on) }
}

/// One of these is in every name that means something; most names have none.
pub(super) const STEMS: [Stem; 12] = [
    only("pass", &["w", "phrase", "code"]),
    stem("pwd"),
    only("token", &[]),
    only("key", &["s"]),
    only("auth", &["orization"]),
    stem("secret"),
    stem("bearer"),
    stem("cookie"),
    stem("credential"),
    stem("jwt"),
    only("pat", &[]),
    stem("sessionid"),
];

/// Where `stem` stands in a text, if it does so at `at`.
pub(super) fn stem_at(stem: &Stem, text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_at = |at: usize, word: &str| {
        let found = text.get(at..at + word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    let end = at + stem.word.len();
    // A word ends at a capital: only a small letter makes it another one.
    let ends = || !text.get(end).is_some_and(u8::is_ascii_lowercase);
    let goes_on = || stem.goes_on.is_none_or(|words| words.iter().any(|word| is_at(end, word)));
    (is_at(at, stem.word) && (ends() || goes_on())).then_some(at..end)
}

pub(super) fn kind(name: &str) -> Kind {
    match ignores_hints() || has_stem(name.as_bytes()) {
        true => kind_by_words(name),
        false => Kind::None,
    }
}

/// Whether a stem is in a name. Two bytes tell most names from those.
fn has_stem(name: &[u8]) -> bool {
    let begins = |pair: &[u8]| match pair.first().map(u8::to_ascii_lowercase) {
        Some(b'p') => matches!(pair.get(1), Some(b'a' | b'A' | b'w' | b'W')),
        Some(b't') => matches!(pair.get(1), Some(b'o' | b'O')),
        Some(b'c') => matches!(pair.get(1), Some(b'o' | b'O' | b'r' | b'R')),
        Some(b'k' | b's' | b'b') => matches!(pair.get(1), Some(b'e' | b'E')),
        Some(b'a') => matches!(pair.get(1), Some(b'u' | b'U')),
        Some(b'j') => matches!(pair.get(1), Some(b'w' | b'W')),
        _ => false,
    };
    let mut places = name.windows(2).enumerate().filter(|(_, pair)| begins(pair));
    places.any(|(at, _)| STEMS.iter().any(|stem| stem_at(stem, name, at).is_some()))
}

/// As [`kind`], of a name that a stem is in.
pub(super) fn kind_by_words(name: &str) -> Kind {
    let words = words(name);
    let mut words = words.as_slice();
    // `PASSWORD_2`, `api_key_prod`, `tokenValue`.
    while let [before @ .., last] = words
        && (ENDINGS.contains(&last.as_str()) || last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        words = before;
    }
    let Some((last, before)) = words.split_last() else { return Kind::None };
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    kind_of(before.last().map_or("", String::as_str), last)
}

fn kind_of(before: &str, last: &str) -> Kind {
    let is = |list: &[&str], word: &str| list.contains(&word);
    match last {
        "pass" if is(&BEFORE_PASS, before) => Kind::Password,
        "token" if is(&BEFORE_NO_SECRET_TOKEN, before) => Kind::None,
        "token" if is(&BEFORE_SECRET_TOKEN, before) => Kind::Secret,
        "token" => Kind::Token,
        "key" | "keys" if is(&BEFORE_SECRET_KEY, before) => Kind::Secret,
        "key" | "keys" if is(&BEFORE_WEAK_KEY, before) => Kind::Weak,
        "authorization" => Kind::Authorization,
        _ if is(&PASSWORDS, last) => Kind::Password,
        _ if is(&SECRETS, last) => Kind::Secret,
        _ if is(&WEAK, last) => Kind::Weak,
        _ => Kind::None,
    }
}

const PASSWORDS: [&str; 6] = ["password", "passwords", "passwd", "pwd", "passphrase", "passcode"];

const SECRETS: [&str; 21] = [
    "secret",
    "secrets",
    "apikey",
    "apikeys",
    "xapikey",
    "apitoken",
    "apisecret",
    "accesskey",
    "accesstoken",
    "authtoken",
    "bearertoken",
    "clientsecret",
    "idtoken",
    "oauthtoken",
    "privatekey",
    "refreshtoken",
    "secretaccesskey",
    "secretkey",
    "sessiontoken",
    "sharedaccesskey",
    "signingkey",
];

const WEAK: [&str; 10] = [
    "accountkey",
    "auth",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "jwt",
    "pat",
    "sessionid",
];

const BEFORE_SECRET_KEY: [&str; 14] = [
    "access",
    "admin",
    "api",
    "auth",
    "decryption",
    "encryption",
    "license",
    "master",
    "private",
    "root",
    "secret",
    "shared",
    "signing",
    "subscription",
];

const BEFORE_WEAK_KEY: [&str; 6] =
    ["account", "client", "service", "session", "storage", "webhook"];

const BEFORE_SECRET_TOKEN: [&str; 11] = [
    "access", "api", "auth", "bearer", "bot", "id", "oauth", "oauth2", "refresh", "secret",
    "session",
];

/// Tokens of models, parsers and pages.
const BEFORE_NO_SECRET_TOKEN: [&str; 33] = [
    "begin",
    "bos",
    "cancel",
    "cancellation",
    "class",
    "cls",
    "continuation",
    "cursor",
    "each",
    "end",
    "eos",
    "expected",
    "first",
    "illegal",
    "last",
    "lexer",
    "mask",
    "max",
    "min",
    "next",
    "pad",
    "page",
    "per",
    "position",
    "previous",
    "resume",
    "sep",
    "special",
    "start",
    "stop",
    "sync",
    "unexpected",
    "unk",
];

const BEFORE_PASS: [&str; 20] = [
    "admin", "api", "auth", "basic", "database", "db", "email", "ftp", "http", "ldap", "login",
    "mail", "mongo", "mysql", "pg", "postgres", "proxy", "redis", "smtp", "user",
];

/// Words behind a name that do not change what it names.
const ENDINGS: [&str; 21] = [
    "b64",
    "backup",
    "base64",
    "current",
    "default",
    "dev",
    "development",
    "live",
    "new",
    "old",
    "plain",
    "primary",
    "prod",
    "production",
    "raw",
    "secondary",
    "staging",
    "str",
    "string",
    "test",
    "value",
];

/// The words of a name, in lower case: split at anything but letters and digits, and where capitals
/// begin.
fn words(name: &str) -> Vec<String> {
    let from = name.len().saturating_sub(NAME_BYTES_MAX);
    let bytes = name.as_bytes().get(from..).unwrap_or_default();
    let mut words = Vec::new();
    let mut word = String::new();
    for (at, &byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let next = bytes.get(at + 1);
        let begins = byte.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || next.is_some_and(u8::is_ascii_lowercase)
            });
        if (begins || !byte.is_ascii_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_however_they_are_written() {
        for name in [
            "api_key",
            "apikey",
            "apiKey",
            "API_KEY",
            "APIKey",
            "x-api-key",
            "X-Api-Key",
            "api key",
            "OPENAI_API_KEY",
            "password",
            "Password",
            "passwd",
            "DB_PASSWORD",
            "db_pass",
            "userPwd",
            "secret",
            "client_secret",
            "clientSecret",
            "AWS_SECRET_ACCESS_KEY",
            "access_token",
            "accessToken",
            "refresh_token",
            "auth_token",
            "_authToken",
            "token",
            "GITHUB_TOKEN",
            "botToken",
            "authorization",
            "Proxy-Authorization",
            "private_key",
            "privateKey",
            "password2",
            "API_KEY_2",
            "token_value",
            "spring.datasource.password",
            "id_token",
            "secretKey",
            "passphrase",
            "csrfToken",
            "X-Amz-Security-Token",
        ] {
            assert!(is_secret_key(name), "{name}");
        }
    }

    #[test]
    fn names_that_only_mention_a_secret_are_none() {
        for name in [
            "",
            "max_tokens",
            "maxTokens",
            "max_token",
            "token_count",
            "tokens",
            "tokenCount",
            "total_tokens",
            "prompt_tokens",
            "tokenizer",
            "token_type",
            "token_id",
            "tokenId",
            "token_hash",
            "secret_name",
            "secretary",
            "password_reset_url",
            "password_hash",
            "nextPageToken",
            "next_token",
            "eos_token",
            "cost_per_token",
            "public_key",
            "key",
            "primary_key",
            "api_key_id",
            "access_key_id",
            "private_key_path",
            "authorization_url",
            "author",
            "keyboard",
            "monkey",
            "bypass",
            "compass",
            "first_pass",
            "session_key",
            "hash",
            "sha256",
            "apikeyname",
            "passwordless",
            "2",
        ] {
            assert!(!is_secret_key(name), "{name}");
        }
    }

    #[test]
    fn a_name_of_any_length_and_script_is_read() {
        assert!(is_secret_key(&format!("{}_password", "ä".repeat(10_000))));
        assert!(!is_secret_key(&"ß".repeat(10_000)));
    }
}
