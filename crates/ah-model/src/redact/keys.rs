//! Which names mean a secret.
//!
//! A name is read as words, `apiKey`, `API_KEY` and `x-api-key` alike. What it names is its last
//! word: `client_secret` is a secret, `secret_name`, `token_count` and `max_tokens` are none.

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

pub(super) fn kind(name: &str) -> Kind {
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
