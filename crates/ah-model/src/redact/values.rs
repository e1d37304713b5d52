//! Whether a value under a name is a secret, or a word, a number, a type, code or a reference.

use std::ops::Range;

use super::is_masked;
use super::keys::{self, Kind};

/// How a value is written; the looser, the more it must look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style<'a> {
    /// Between quotes, or a string of its own.
    Quoted,
    /// `NAME=value`, as in a shell or a file of variables.
    Variable,
    /// Without quotes, before the rest of the text: code or prose as well.
    Loose(&'a str),
    /// After `--option `, without quotes.
    Option,
}

/// No reference and no word of code is longer, so only this much is looked at to tell.
const TOLD_BY_BYTES: usize = 256;

/// The part of `value` to mask, if it is a secret under a name of `kind`.
pub(super) fn secret_in(kind: Kind, value: &str, style: Style<'_>) -> Option<Range<usize>> {
    if kind == Kind::None {
        return None;
    }
    let start = value.len() - value.trim_start().len();
    let end = start + value.trim().len();
    let scheme = scheme(&value[start..end]);
    let start = start + scheme.bytes;
    let secret = &value[start..end];
    if secret.is_empty() || is_masked(secret) {
        return None;
    }
    let is_one_word =
        matches!(style, Style::Loose(_)) && kind == Kind::Authorization && !scheme.has_many_parts;
    let first_word = |text: &str| match is_one_word {
        true => text.find(char::is_whitespace).unwrap_or(text.len()),
        false => text.len(),
    };
    let start_of_it = start_of(secret, TOLD_BY_BYTES);
    let told_by = &start_of_it[..first_word(start_of_it)];
    super::looked_at(told_by.len());
    let is_all = told_by.len() < start_of_it.len() || start_of_it.len() == secret.len();
    if (is_all && is_harmless(told_by)) || !is_secret(kind, told_by, style, scheme.bytes > 0) {
        return None;
    }
    Some(start..start + first_word(secret))
}

fn is_harmless(value: &str) -> bool {
    is_masked(value)
        || is_reference(value)
        || BENIGN.iter().any(|word| word.eq_ignore_ascii_case(value))
}

fn is_secret(kind: Kind, value: &str, style: Style<'_>, has_scheme: bool) -> bool {
    match (kind, style) {
        (Kind::None, _) => false,
        (Kind::Weak, _) => value
            .split(|c: char| !is_token_char(c))
            .any(|piece| looks_random(piece) && !is_id(piece)),
        (_, Style::Option) => is_credential(value),
        (Kind::Authorization, Style::Loose(_)) => match has_scheme {
            true => is_credential(value) || has_digit(value),
            false => has_digit(value) && value.len() >= 8,
        },
        (Kind::Token, Style::Loose(rest)) => is_token(value) && !is_loose_word(value, kind, rest),
        (Kind::Token, Style::Quoted | Style::Variable) => is_token(value),
        (Kind::Secret | Kind::Password, Style::Loose(rest)) => !is_loose_word(value, kind, rest),
        (Kind::Secret | Kind::Password | Kind::Authorization, _) => true,
    }
}

/// Whether what is called a token is more than a word or two of a text.
fn is_token(value: &str) -> bool {
    value.len() >= 16 || (value.len() >= 6 && has_digit(value) && !value.contains(' '))
}

/// Whether a value without quotes is rather code, a number, or a word of a sentence.
fn is_loose_word(value: &str, kind: Kind, rest: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let letters = value.chars().all(|c| c.is_alphabetic() || c == '_');
    let in_sentence =
        rest.strip_prefix(' ').is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let path = value.contains('.')
        && value.split('.').all(|part| part.starts_with(char::is_alphabetic))
        && value.chars().all(|c| is_name(c) || c == '.')
        && !has_digit(value);
    let number = kind != Kind::Password && value.bytes().all(|byte| byte.is_ascii_digit());
    let named = letters && keys::kind(value) != Kind::None;
    let short = letters && value.chars().count() < 4;
    value.contains('(')
        || !value.contains(is_name)
        || path
        || number
        || named
        || short
        || (letters && in_sentence)
}

/// Schemes that may stand before credentials.
const SCHEMES: [&str; 9] =
    ["bearer", "basic", "token", "apikey", "api-key", "negotiate", "ntlm", DIGEST, AWS];
const SCHEME_BYTES_MAX: usize = 32;
const DIGEST: &str = "digest";
const AWS: &str = "aws4-hmac-sha256";

#[derive(Default)]
struct Scheme {
    /// The length of its name and the space behind it; none is 0.
    bytes: usize,
    /// Whether the credentials have spaces between them.
    has_many_parts: bool,
}

fn scheme(value: &str) -> Scheme {
    let Some((word, _)) = start_of(value, SCHEME_BYTES_MAX).split_once(' ') else {
        return Scheme::default();
    };
    let rest = &value[word.len() + 1..];
    match SCHEMES.iter().find(|scheme| scheme.eq_ignore_ascii_case(word)) {
        Some(scheme) => Scheme {
            bytes: word.len() + 1 + (rest.len() - rest.trim_start().len()),
            has_many_parts: [DIGEST, AWS].contains(scheme),
        },
        None => Scheme::default(),
    }
}

/// Types, states and words that stand where a secret would.
const BENIGN: [&str; 40] = [
    "any",
    "array",
    "await",
    "bool",
    "boolean",
    "bytes",
    "default",
    "empty",
    "expired",
    "false",
    "float",
    "hidden",
    "include",
    "inherit",
    "int",
    "integer",
    "invalid",
    "masked",
    "missing",
    "nil",
    "no",
    "none",
    "null",
    "number",
    "object",
    "omit",
    "optional",
    "redacted",
    "required",
    "same-origin",
    "self",
    "str",
    "string",
    "text",
    "this",
    "true",
    "undefined",
    "unknown",
    "void",
    "yes",
];

/// What references begin with.
const REFERENCES: [&str; 14] = [
    "${",
    "$(",
    "$env:",
    "{{",
    "<",
    "env:",
    "env.",
    "op://",
    "arn:aws:",
    "process.env",
    "import.meta.env",
    "os.environ",
    "os.getenv",
    "secrets.",
];

/// Whether a value only says where the secret is, or is blotted out already.
fn is_reference(value: &str) -> bool {
    let blotted = value.len() >= 3 && value.chars().all(|c| "*xX.•…-_#".contains(c));
    let placeholder = value.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("your"));
    let variable = value
        .strip_prefix('$')
        .or_else(|| value.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')));
    let is_variable = |name: &str| {
        let upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let named = !has_digit(name) && keys::kind(name) != Kind::None;
        (name.len() > 1 && name.bytes().all(upper)) || named
    };
    let braces = value.starts_with('{') && value.ends_with('}') && !has_digit(value);
    blotted
        || (placeholder && !has_digit(value))
        || variable.is_some_and(is_variable)
        || braces
        || REFERENCES.iter().any(|start| value.starts_with(start))
        || is_path(value)
}

/// Whether a value is the path of a file: it starts like one and no part of it looks random.
fn is_path(value: &str) -> bool {
    let starts = ["/", "~/", "./", "../", "C:\\"].iter().any(|start| value.starts_with(start));
    let random = |part: &str| part.len() >= 8 && has_digit_and_both_cases(part);
    starts && value.len() > 3 && !value.split(['/', '\\']).any(random)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.~+/%".contains(c)
}

/// Whether an announced credential (`Bearer X`) is one, and not the next word of a sentence.
pub(super) fn is_credential(value: &str) -> bool {
    let value = value.trim_end_matches(['.', ',', ':']);
    let told_by = start_of(value, TOLD_BY_BYTES);
    let harmless = told_by.len() == value.len() && is_reference(value);
    !harmless
        && value.len() >= 8
        && (has_digit(told_by) || (value.len() >= 20 && has_both_cases(told_by)))
}

/// Whether what curl is told behind `-u user:` is a password, and not the number of a group.
pub(super) fn is_password(value: &str) -> bool {
    let told_by = start_of(value, TOLD_BY_BYTES);
    !value.bytes().all(|byte| byte.is_ascii_digit())
        && (told_by.len() < value.len() || !is_reference(value))
}

/// Whether `value` is base64 of `user:password`.
pub(super) fn is_basic(value: &str) -> bool {
    let plain = base64_start(value);
    plain.contains(&b':') && plain.iter().all(|byte| !byte.is_ascii_control())
}

/// What the start of a base64 text says; nothing if it is none.
fn base64_start(text: &str) -> Vec<u8> {
    let digits = text.trim_end_matches('=').bytes().take(TOLD_BY_BYTES);
    let (mut plain, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return Vec::new(),
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            plain.push((bits >> count & 0xff) as u8);
        }
    }
    plain
}

pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

fn has_both_cases(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_lowercase())
        && value.bytes().any(|byte| byte.is_ascii_uppercase())
}

pub(super) fn has_digit_and_both_cases(value: &str) -> bool {
    has_digit(value) && has_both_cases(value)
}

/// Whether a part of `value` looks random: `sk-` also begins names of styles and packages.
pub(super) fn has_random_piece(value: &str) -> bool {
    start_of(value, 4 * TOLD_BY_BYTES).split(['-', '_']).any(looks_random)
}

/// Letters and digits in an order that no word has.
pub(super) fn looks_random(value: &str) -> bool {
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    value.len() >= 16 && letters && has_digit(value) && entropy(value) >= 3.0
}

/// Bits per byte, by how often each byte occurs.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = value.len() as f64;
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

/// Whether `value` is a hash, a UUID, a ULID or a number, which name things and open none.
pub(super) fn is_id(value: &str) -> bool {
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let uuid = || {
        let lengths: Vec<usize> = value.split('-').map(str::len).collect();
        lengths == [8, 4, 4, 4, 12] && value.split('-').all(hex)
    };
    let ulid = || {
        value.len() == 26
            && value.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    hex(value) || (value.len() == 36 && uuid()) || ulid()
}

/// At most `bytes` of the start of `text`.
fn start_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
