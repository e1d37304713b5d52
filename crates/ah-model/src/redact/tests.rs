//! What is found, what is left alone, and what holds for any text.

use std::borrow::Cow;
use std::cell::Cell;

use proptest::prelude::*;

use super::*;

mod documents;
mod equivalence;
mod hostile;
mod properties;

thread_local! {
    static LOOKED_AT: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn looked_at(bytes: usize) {
    LOOKED_AT.set(LOOKED_AT.get() + bytes);
}

thread_local! {
    static IGNORES_HINTS: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn ignores_hints() -> bool {
    IGNORES_HINTS.get()
}

/// How many bytes our loops look at while `work` runs.
fn steps(work: impl FnOnce()) -> usize {
    LOOKED_AT.set(0);
    work();
    LOOKED_AT.get()
}

const HEX_64: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// Made-up letters and digits: no word and no service's.
const NOISE: &str = "Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2Ui9Ok4Mz8Vx3Cb6Nl1Qt5Ry0Df7Gh2";

fn noise(bytes: usize) -> &'static str {
    &NOISE[..bytes]
}

/// What is before, around and behind a secret, the secret itself, and what is left.
fn found() -> Vec<(String, String, &'static str)> {
    let shaped = |before: &str, secret: String, after: &str, kept: &str, rule: &'static str| {
        let given = format!("{before}{kept}{secret}{after}");
        (given, format!("{before}{kept}[redacted:{rule}]{after}"), rule)
    };
    let mut found = Vec::new();
    for (kept, bytes, rule) in [
        ("sk-ant-", 60, "anthropic-key"),
        ("sk-proj-", 40, "openai-key"),
        ("sk-or-v1-", 40, "openai-key"),
        ("sk-", 48, "openai-key"),
        ("ghp_", 36, "github-token"),
        ("gho_", 36, "github-token"),
        ("ghs_", 36, "github-token"),
        ("github_pat_", 60, "github-pat"),
        ("glpat-", 20, "gitlab-token"),
        ("xoxb-", 40, "slack-token"),
        ("xoxp-", 40, "slack-token"),
        ("hooks.slack.com/services/", 44, "slack-webhook"),
        ("AIza", 35, "google-key"),
        ("GOCSPX-", 28, "google-oauth"),
        ("ya29.", 40, "google-oauth"),
        ("npm_", 36, "npm-token"),
        ("pypi-Ag", 50, "pypi-token"),
        ("dckr_pat_", 27, "docker-token"),
        ("hf_", 34, "huggingface-token"),
        ("gsk_", 52, "groq-key"),
        ("xai-", 60, "xai-key"),
        ("pplx-", 48, "perplexity-key"),
        ("r8_", 37, "replicate-token"),
        ("nvapi-", 60, "nvidia-key"),
        ("sk_live_", 24, "stripe-key"),
        ("whsec_", 32, "stripe-key"),
        ("hvs.", 60, "vault-token"),
        ("tskey-", 30, "tailscale-key"),
        ("lin_api_", 40, "linear-key"),
        ("ntn_", 46, "notion-token"),
        ("figd_", 40, "service-key"),
    ] {
        found.push(shaped("use ", noise(bytes).to_owned(), " now", kept, rule));
    }
    for (kept, secret, rule) in [
        ("AKIA", "QWERTYUIOP234567".to_owned(), "aws-key-id"),
        ("ASIA", "QWERTYUIOP234567".to_owned(), "aws-key-id"),
        ("SG.", format!("{}.{}", noise(22), noise(43)), "sendgrid-key"),
        ("ghs_", format!("{}.{}.{}", noise(30), noise(60), noise(43)), "github-token"),
        ("rubygems_", HEX_64[..48].to_owned(), "rubygems-key"),
        ("dop_v1_", HEX_64.to_owned(), "digitalocean-token"),
        ("shpat_", HEX_64[..32].to_owned(), "shopify-token"),
        ("ah_", format!("01890a5d-ac96-774b-bcce-b302099a8057_{HEX_64}"), "harbor-token"),
        ("", format!("eyJ{}.eyJ{}.{}", noise(17), noise(30), noise(43)), "jwt"),
        ("", format!("123456789:AA{}", noise(33)), "telegram-token"),
        ("Bearer ", noise(24).to_owned(), "bearer"),
        ("bearer ", HEX_64.to_owned(), "bearer"),
        ("Basic ", "dXNlcjpodW50ZXIy".to_owned(), "basic"),
        ("curl -s -u bob:", "hunter2".to_owned(), "curl-user"),
        ("https://bob:", "p@ss:w0rd".to_owned(), "url-credentials"),
    ] {
        let after = if rule == "url-credentials" { "@host/x" } else { " now" };
        found.push(shaped("use ", secret, after, kept, rule));
    }
    found
}

/// `{}` is where the secret is before and `[redacted:secret]` after.
const UNDER_KEYS: &[(&str, &str)] = &[
    ("password={}", "hunter2"),
    ("password=\"{}\"", "correct horse"),
    ("password = '{}'", "abcd"),
    ("password: {}\nuser: bob", "swordfish"),
    ("password: {}", "12345678"),
    ("DB_PASSWORD={} ./run", "my;secret&pass"),
    ("export API_KEY={}\n", "abc"),
    ("API key: {}", "k3j4h5k3j4h5"),
    ("**Password:** {}", "hunter2"),
    ("{\"api_key\": \"{}\"}", "abcd"),
    ("{\"apiKey\":\"{}\",\"n\":1}", "x"),
    ("{\\\"password\\\":\\\"{}\\\",\\\"n\\\":1}", "hun ter2"),
    ("{\\\\\\\"password\\\\\\\":\\\\\\\"{}\\\\\\\"}", "hunter2"),
    ("x-api-key: {}", "d41d8cd98f00b204e9800998ecf8427e"),
    ("Authorization: Bearer {}", "abc123"),
    ("authorization: token {}", "abc12345 and more"),
    ("-H 'Authorization: Basic {}' https://host", "dXNlcjpwYXNz"),
    ("\"authorization\": \"{}\"", "some thing"),
    ("--password {} --verbose", "hunter2hunter2"),
    ("--api-key={}", "abc123"),
    ("mysql --password='{}'", "a b"),
    ("os.environ[\"API_KEY\"] = \"{}\"", "abcd"),
    ("secret := `{}`", "a,b;c"),
    ("if password == \"{}\" {", "hunter2"),
    ("token={}", "abc123"),
    ("AccountKey={};EndpointSuffix=x", "Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2=="),
    ("Cookie: sid={}", "Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1"),
];

#[test]
fn secrets_of_known_shapes_are_masked_and_their_prefix_stays() {
    for (given, expected, rule) in found() {
        let redacted = text(&given);
        assert_eq!(redacted.text, expected, "{given}");
        assert_eq!(redacted.findings, [Finding { rule, path: None, count: 1 }], "{given}");
    }
}

#[test]
fn values_whose_key_means_a_secret_are_masked_whole() {
    let mut wrong = Vec::new();
    for (around, secret) in UNDER_KEYS {
        let given = around.replacen("{}", secret, 1);
        let redacted = text(&given);
        if redacted.text.contains(secret) || redacted.count() != 1 {
            wrong.push((given.clone(), redacted.text.into_owned()));
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn what_is_no_secret_stays_as_it_is() {
    let hash = format!("sha256:{HEX_64}");
    let untouched = [
        HEX_64,
        &hash,
        "{\"max_tokens\":\"4096\",\"token_count\":12,\"tokens\":\"many\"}",
        "max_tokens: 4096, total_tokens=12, tokens = 77",
        "commit 3b4578f0a1b2c3d4e5f60718293a4b5c6d7e8f90",
        "01890a5d-ac96-774b-bcce-b302099a8057",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "ses_0123456789ab run 12345678901234567890",
        "{\"token\":\" world\",\"logprob\":-0.1}",
        "\"integrity\": \"sha512-Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2Ui9Ok4Mz8Vx3Cb6Nl1Qt5Ry0Df7Gh2==\"",
        "password: string;",
        "fn login(password: &str, token: Token) -> Secret",
        "const token = getToken(user)",
        "token = self.token",
        "connect(password=password, api_key=args.api_key)",
        "password=$PASSWORD",
        "API_KEY=${API_KEY}",
        "api_key: process.env.API_KEY",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "Authorization: Bearer tokens are used",
        "the bearer of bad news, basic authentication, Basic Python3",
        "password: ********",
        "API_KEY=your-api-key",
        "the secret: always ask why",
        "Forgot password: click here",
        "sk-spinner-container-large-v2 sk-learn-contrib-package-name",
        "https://github.com/a/b and ssh://git@github.com/a/b and user@example.com",
        "postgres://user:$PASSWORD@host/db postgres://user:${PASSWORD}@host",
        "if text.startswith(\"-----BEGIN PRIVATE KEY-----\"): pem.strip(\"-----END PRIVATE KEY-----\")",
        "-----BEGIN CERTIFICATE-----\nMIIBZq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2Ui9Ok4Mz8\n-----END CERTIFICATE-----",
        "private_key_path: /etc/ssl/key.pem",
        "private_key: /etc/ssl/private/server1.pem",
        "docker run -u 1000:1000 image",
        "use --token to pass one, --password is asked for",
        "Unexpected token: foo1234 at line 3",
        "nextPageToken: CAUQAA12345678",
        "Token::new(secret::from(x))",
        "https://host/?page_token=abc123def456&n=1",
        "AKIAnot",
        "secret: 42",
        "PWD=/home/user1/project",
        "{\"password\":\"\",\"token\":null,\"secret\":12}",
        "",
    ];
    let mut wrong = Vec::new();
    for given in untouched {
        let redacted = text(given);
        if redacted.text != given {
            wrong.push((given, redacted.text.into_owned()));
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn a_text_without_secrets_is_borrowed() {
    assert!(matches!(text("nothing here: 12").text, Cow::Borrowed(_)));
    assert_eq!(text("nothing here: 12").findings, []);
}

#[test]
fn a_secret_access_key_goes_with_its_id() {
    let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY1";
    let given = format!("id AKIAQWERTYUIOP234567 then\n{secret}\n");
    assert_eq!(text(&given).text, "id AKIA[redacted:aws-key-id] then\n[redacted:aws-secret]\n");
    assert_eq!(text(secret).text, secret, "alone it may be anything");
}

#[test]
fn private_keys_go_however_they_are_quoted() {
    let line = &NOISE[..64];
    let begin = "-----BEGIN RSA PRIVATE KEY-----";
    let end = "-----END RSA PRIVATE KEY-----";
    for (given, expected) in [
        (
            format!("a\n{begin}\n{line}\n{line}\nAb==\n{end}\nb"),
            format!("a\n{begin}\n[redacted:private-key]\n{end}\nb"),
        ),
        (
            format!("{begin}\\n{line}\\n{line}\\n{end}\\n"),
            format!("{begin}\\n[redacted:private-key]{end}\\n"),
        ),
        (
            format!("  1 {begin}\n  2 {line}\n  3 {end}"),
            format!("  1 {begin}\n  [redacted:private-key]\n{end}"),
        ),
        (
            format!("{begin}\n{line}\n{line}\n\nand then prose follows"),
            format!("{begin}\n[redacted:private-key] then prose follows"),
        ),
        (
            format!("{begin}\nProc-Type: 4,ENCRYPTED\n\n{line}\n"),
            format!("{begin}\n[redacted:private-key]\n"),
        ),
    ] {
        let redacted = text(&given);
        assert!(!redacted.text.contains(line), "{}", redacted.text);
        assert_eq!(redacted.count(), 1, "{given}");
        if !given.contains("  1 ") {
            assert_eq!(redacted.text, expected);
        }
    }
}

#[test]
fn short_secrets_leave_nothing_of_themselves() {
    for secret in ["a", "ab", "abc", "abcd"] {
        assert_eq!(value(Some("password"), secret).text, "[redacted:secret]");
        let given = format!("{{\"client_secret\":\"{secret}\"}}");
        assert_eq!(text(&given).text, "{\"client_secret\":\"[redacted:secret]\"}");
    }
}

#[test]
fn a_value_is_judged_by_its_key() {
    for (key, given, expected) in [
        (Some("authorization"), "Bearer abc", "Bearer [redacted:secret]"),
        (Some("x-api-key"), HEX_64, "[redacted:secret]"),
        (Some("sha256"), HEX_64, HEX_64),
        (Some("max_tokens"), "4096", "4096"),
        (Some("password"), "12345678", "[redacted:secret]"),
        (Some("password"), "$DB_PASSWORD", "$DB_PASSWORD"),
        (Some("token"), "Hello", "Hello"),
        (Some("cookie"), "theme=dark", "theme=dark"),
        (None, "password=x1", "password=[redacted:secret]"),
    ] {
        assert_eq!(value(key, given).text, expected, "{key:?} {given}");
    }
    let key = format!("sk-ant-{}", noise(40));
    assert_eq!(value(Some("api_key"), &key).text, "[redacted:secret]");
}

#[test]
fn what_was_masked_by_hand_does_not_hide_what_follows() {
    let redacted = text("password=[redacted:secret]hunter2 x");
    assert_eq!(redacted.text, "password=[redacted:secret][redacted:secret] x");
    assert_eq!(text("password=[redacted:secret] x").findings, []);
    assert_eq!(text("API_KEY=sk-ant-[redacted:anthropic-key]").findings, []);
}

#[test]
fn secrets_without_anything_between_them_go_together() {
    let id = "AKIAQWERTYUIOP234567";
    let given = format!("{} ah_x_{HEX_64}{id}ah_x_{HEX_64}", id.repeat(100));
    assert_eq!(text(&given).text, "AKIA[redacted:aws-key-id] ah_[redacted:harbor-token]");
}

#[test]
fn findings_are_counted_by_rule() {
    let given = format!("a ghp_{0} b ghp_{0} password=x1", noise(36));
    let count = |rule, count| Finding { rule, path: None, count };
    let redacted = text(&given);
    assert_eq!(redacted.findings, [count("github-token", 2), count("secret", 1)]);
    assert_eq!(redacted.count(), 3);
}

#[test]
fn rules_have_short_names_of_their_own() {
    let names: std::collections::BTreeSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        let mask = format!("[redacted:{}]", rule.name);
        assert_eq!(mask_at(&mask), Some(mask.len()), "{}", rule.name);
        assert!(!rule.what.is_empty());
        assert_eq!(text(&mask).text, mask);
    }
}
