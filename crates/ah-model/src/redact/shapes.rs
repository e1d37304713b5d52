//! Secrets that are known by how they look: a table of patterns, each compiled when first needed.
//!
//! Every pattern is decided within a bounded number of bytes behind its match, so that looking for
//! all matches of one takes a single pass.

use std::sync::{LazyLock, OnceLock};

use memchr::memchr_iter;
use regex::Regex;

use super::hints::Hints;
use super::{Span, is_masked, looked_at, mask_at, rules, values};

pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    left: Left,
    /// What is kept, as patterns; the secret follows.
    prefixes: &'static [&'static str],
    /// The secret.
    body: &'static str,
    /// What the pattern cannot say.
    check: fn(&str) -> bool,
}

/// What may stand before a match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Anything: the prefix is long enough to mean nothing else.
    Any,
    /// No letter, digit or `_`, except those of an escaped line end in twice encoded JSON.
    Word,
    /// The prefix is no part of the secret, but what announces it.
    Context,
}

const WORD: &str = r"(?:(?-u:\b{start-half})|\\[nrt])";

/// A table of shapes is easier to read in rows.
const fn shape(
    name: &'static str,
    what: &'static str,
    left: Left,
    prefixes: &'static [&'static str],
    body: &'static str,
    check: fn(&str) -> bool,
) -> Shape {
    Shape { name, what, left, prefixes, body, check }
}

#[rustfmt::skip]
pub(super) const SHAPES: [Shape; 46] = [
    shape("anthropic-key", "a key or token of Anthropic", Left::Any, &["sk-ant-"], "[A-Za-z0-9_-]{16,}", any),
    shape("openai-key", "a key of OpenAI, or of a service that took over its form", Left::Word, &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-", "sk-or-v1-", "sk-lf-", "sk-"], "[A-Za-z0-9_-]{20,}", values::has_random_piece),
    shape("github-token", "a token of GitHub", Left::Any, &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{8,}){0,2}", any),
    shape("github-pat", "a fine-grained token of GitHub", Left::Any, &["github_pat_"], "[A-Za-z0-9_]{20,}", any),
    shape("gitlab-token", "a token of GitLab", Left::Any, &["glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "GR1348941"], r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,}){0,3}", any),
    shape("slack-token", "a token of Slack", Left::Any, &["xoxe.xoxb-", "xoxe.xoxp-", "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], "[A-Za-z0-9%-]{10,}", any),
    shape("slack-webhook", "the address of a Slack webhook", Left::Any, &[r"hooks\.slack\.com/services/", r"hooks\.slack\.com/workflows/", r"hooks\.slack\.com/triggers/"], "[A-Za-z0-9+/_-]{20,}", any),
    shape("discord-webhook", "the address of a Discord webhook", Left::Any, &[r"discord\.com/api/webhooks/", r"discordapp\.com/api/webhooks/"], "[0-9]{15,}/[A-Za-z0-9_-]{30,}", any),
    shape("discord-token", "a token of a Discord bot", Left::Word, &[], r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", values::has_digit),
    shape("telegram-token", "a token of a Telegram bot", Left::Word, &[], "[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", any),
    shape("aws-key-id", "an access key id of AWS", Left::Word, &["AKIA", "ASIA", "ABIA", "ACCA"], "[A-Z2-7]{16}", any),
    shape("aws-bedrock-key", "a key of Amazon Bedrock", Left::Word, &["ABSK", "bedrock-api-key-"], "[A-Za-z0-9+/]{80,}={0,2}", any),
    shape("google-key", "an API key of Google", Left::Word, &["AIza"], "[A-Za-z0-9_-]{35,}", any),
    shape("google-oauth", "an OAuth secret or token of Google", Left::Word, &["GOCSPX-", r"ya29\.", "1//0"], r"[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{8,}){0,2}", any),
    shape("npm-token", "a token of npm", Left::Word, &["npm_"], "[A-Za-z0-9]{36,}", any),
    shape("pypi-token", "a token of PyPI", Left::Any, &["pypi-Ag"], "[A-Za-z0-9_-]{40,}", any),
    shape("rubygems-key", "a key of RubyGems", Left::Any, &["rubygems_"], "[a-f0-9]{48,}", any),
    shape("cargo-token", "a token of crates.io", Left::Word, &["cio"], "[A-Za-z0-9]{32}", values::has_digit_and_both_cases),
    shape("docker-token", "a token of Docker Hub", Left::Any, &["dckr_pat_", "dckr_oat_"], "[A-Za-z0-9_-]{20,}", any),
    shape("huggingface-token", "a token of Hugging Face", Left::Word, &["hf_", "api_org_"], "[A-Za-z0-9]{30,}", any),
    shape("groq-key", "a key of Groq", Left::Word, &["gsk_"], "[A-Za-z0-9]{40,}", any),
    shape("xai-key", "a key of xAI", Left::Word, &["xai-"], "[A-Za-z0-9_-]{40,}", values::has_digit),
    shape("perplexity-key", "a key of Perplexity", Left::Word, &["pplx-"], "[A-Za-z0-9]{40,}", any),
    shape("replicate-token", "a token of Replicate", Left::Word, &["r8_"], "[A-Za-z0-9]{37,}", any),
    shape("nvidia-key", "a key of NVIDIA", Left::Any, &["nvapi-"], "[A-Za-z0-9_-]{40,}", any),
    shape("stripe-key", "a key of Stripe", Left::Word, &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "whsec_"], "[A-Za-z0-9+/=]{16,}", any),
    shape("shopify-token", "a token of Shopify", Left::Any, &["shpat_", "shpca_", "shppa_", "shpss_"], "[A-Fa-f0-9]{32,}", any),
    shape("square-token", "a token of Square", Left::Any, &["sq0atp-", "sq0csp-"], "[A-Za-z0-9_-]{22,}", any),
    shape("sendgrid-key", "a key of SendGrid", Left::Word, &[r"SG\."], r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}", any),
    shape("brevo-key", "a key of Brevo", Left::Any, &["xkeysib-", "xsmtpsib-"], "[a-f0-9]{60,}-[A-Za-z0-9]{16,}", any),
    shape("vault-token", "a token of HashiCorp Vault", Left::Word, &[r"hvs\.", r"hvb\.", r"hvr\."], "[A-Za-z0-9_-]{24,}", any),
    shape("terraform-token", "a token of Terraform Cloud", Left::Word, &[], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", any),
    shape("digitalocean-token", "a token of DigitalOcean", Left::Any, &["dop_v1_", "doo_v1_", "dor_v1_"], "[a-f0-9]{64,}", any),
    shape("grafana-token", "a token of Grafana", Left::Word, &["glsa_", "glc_"], "[A-Za-z0-9+/_]{32,}={0,3}", any),
    shape("sentry-token", "a token of Sentry", Left::Any, &["sntrys_", "sntryu_"], "[A-Za-z0-9+/=_]{40,}", any),
    shape("tailscale-key", "a key of Tailscale", Left::Any, &["tskey-"], "[A-Za-z0-9-]{20,}", values::has_digit),
    shape("planetscale-secret", "a token or password of PlanetScale", Left::Any, &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], r"[A-Za-z0-9_=.-]{32,}", any),
    shape("linear-key", "a key of Linear", Left::Any, &["lin_api_", "lin_oauth_"], "[A-Za-z0-9]{32,}", any),
    shape("notion-token", "a token of Notion", Left::Word, &["ntn_"], "[A-Za-z0-9]{40,}", any),
    shape("service-key", "a key of Databricks, Figma, New Relic, Postman, Pulumi, Supabase or Fly", Left::Word, &["dapi", "figd_", "NRAK-", "PMAK-", "pul-", "sbp_", "fo1_", "fm1a_", "fm1r_", "fm2_"], r"[A-Za-z0-9_+/-]{27,}={0,3}", values::has_digit),
    shape("age-key", "a secret key of age", Left::Any, &["AGE-SECRET-KEY-1"], "[A-Z0-9]{50,}", any),
    shape("harbor-token", "a token of this program", Left::Word, &["ah_"], "[A-Za-z0-9._~-]{1,128}_[0-9a-f]{64}", any),
    shape("jwt", "a JSON web token", Left::Any, &[], r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,3}", any),
    shape("bearer", "what follows `Bearer`", Left::Context, &[r"(?i-u:\bbearer)[ \t]{1,8}"], r"[A-Za-z0-9._~+/=-]{8,}", values::is_credential),
    shape("basic", "what follows `Basic`", Left::Context, &[r"(?i-u:\bbasic)[ \t]{1,8}"], "[A-Za-z0-9+/_-]{6,}={0,2}", values::is_basic),
    shape("curl-user", "the password of curl's `-u user:password`", Left::Context, &[r#"(?-u:\b)curl [ -~]{0,200}?(?:-u|--user)[ =]?["']?[A-Za-z0-9._@+-]{1,64}:"#], r"[!#-%(-\[\]-~]{3,}", values::is_password),
];

fn any(_: &str) -> bool {
    true
}

/// The patterns, each compiled when a text may first hold its shape: most processes live shortly and
/// meet none.
static COMPILED: [OnceLock<Option<Regex>>; SHAPES.len()] =
    [const { OnceLock::new() }; SHAPES.len()];

fn pattern(shape: &Shape) -> String {
    // The rest of a word goes with its secret: a mask must not make what follows begin a word.
    let (left, rest) = match shape.left {
        Left::Any => ("", "[A-Za-z0-9_]*"),
        Left::Word => (WORD, "[A-Za-z0-9_]*"),
        Left::Context => ("", ""),
    };
    format!("{left}(?P<whole>(?:{})(?P<secret>{}{rest}))", shape.prefixes.join("|"), shape.body)
}

/// The prefixes that a mask may follow.
static KEPT: LazyLock<Vec<String>> = LazyLock::new(|| {
    let shapes = SHAPES.iter().filter(|shape| shape.left != Left::Context);
    shapes.flat_map(|shape| shape.prefixes).map(|prefix| plain(prefix)).collect()
});

pub(super) fn is_kept_prefix(text: &str) -> bool {
    KEPT.iter().any(|kept| kept == text)
}

pub(super) fn find(text: &str, hints: Hints, found: &mut Vec<Span>) {
    for (at, (shape, cell)) in SHAPES.iter().zip(&COMPILED).enumerate() {
        if hints.has_shape(at)
            && let Some(regex) = cell.get_or_init(|| Regex::new(&pattern(shape)).ok())
        {
            find_shape(shape, regex, text, found);
        }
    }
}

/// How a shape can be known to be in a text.
pub(super) enum Announces {
    /// By a word that every match has in it.
    Words(Vec<String>),
    /// By where its dots stand.
    Dots,
}

/// What announces the shapes that have no prefix of plain characters.
const WORDS_OF: [(&str, &str); 6] = [
    ("telegram-token", ":AA"),
    ("terraform-token", ".atlasv1."),
    ("jwt", "eyJ"),
    ("bearer", "bearer"),
    ("basic", "basic"),
    ("curl-user", "curl "),
];

/// What announces each of [`SHAPES`].
pub(super) fn words() -> impl Iterator<Item = Announces> {
    SHAPES.iter().map(|shape| match WORDS_OF.iter().find(|(name, _)| *name == shape.name) {
        Some((_, word)) => Announces::Words(vec![(*word).to_owned()]),
        None if shape.prefixes.is_empty() => Announces::Dots,
        None => Announces::Words(shape.prefixes.iter().map(|prefix| plain(prefix)).collect()),
    })
}

/// A prefix as it stands in a text.
fn plain(prefix: &str) -> String {
    prefix.replace('\\', "")
}

/// Length of the shortest shape from its word on, unless the word announces it.
pub(super) const FROM_WORD_BYTES_MIN: usize = 15;

/// How much is looked at behind `curl`; more than its shape needs.
const CURL_BYTES: usize = 320;

/// Whether `word` stands at `at` and one of `shape` may begin there.
pub(super) fn may_be_at(shape: usize, word: &str, text: &[u8], at: usize) -> bool {
    let Some(shape) = SHAPES.get(shape) else { return false };
    let (before, rest) = text.split_at_checked(at).unwrap_or_default();
    let Some((start, after)) = rest.split_at_checked(word.len()) else { return false };
    let is_word = match shape.left {
        Left::Any | Left::Word => start == word.as_bytes(),
        Left::Context => start.eq_ignore_ascii_case(word.as_bytes()),
    };
    if !is_word {
        return false;
    }
    match shape.left {
        Left::Context if shape.name == "curl-user" => {
            let after = after.get(..CURL_BYTES).unwrap_or(after);
            looked_at(after.len());
            begins_word(before) && after.windows(2).any(|pair| pair == b"-u")
        }
        Left::Context => begins_word(before) && matches!(after.first(), Some(b' ' | b'\t')),
        Left::Word if !shape.prefixes.is_empty() && !begins_word(before) => false,
        Left::Any | Left::Word => {
            rest.get(..FROM_WORD_BYTES_MIN).is_some_and(|start| start.iter().all(is_token))
        }
    }
}

/// What prefixes and bodies of shapes are made of.
fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./+=%:~".contains(byte)
}

/// Whether a word, or what follows an escaped line end, may begin behind `before`.
fn begins_word(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., last] => !(last.is_ascii_alphanumeric() || *last == b'_'),
        [] => true,
    }
}

/// Whether the second part of a token of Discord may stand somewhere: six characters between dots,
/// with more of them around.
pub(super) fn may_be_discord(text: &[u8]) -> bool {
    let is_part = |part: Option<&[u8]>| {
        let is = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        part.is_some_and(|part| part.iter().all(is))
    };
    text.len() >= 24 + 8 + 27
        && memchr_iter(b'.', text).any(|at| {
            text.get(at + 7) == Some(&b'.')
                && is_part(at.checked_sub(24).and_then(|from| text.get(from..at)))
                && is_part(text.get(at + 8..at + 8 + 27))
        })
}

fn find_shape(shape: &'static Shape, regex: &Regex, text: &str, found: &mut Vec<Span>) {
    for captures in regex.captures_iter(text) {
        let (Some(whole), Some(secret)) = (captures.name("whole"), captures.name("secret")) else {
            continue;
        };
        if !(shape.check)(secret.as_str()) || is_masked_already(text, secret.start(), secret.end())
        {
            continue;
        }
        let by_context = shape.left == Left::Context;
        let whole = if by_context { secret.range() } else { whole.range() };
        if shape.name == "aws-key-id" {
            find_secret_beside(text, whole.clone(), found);
        }
        found.push(Span { secret: secret.range(), whole, rule: shape.name, by_context });
    }
}

/// Whether a context found the prefix that stands before a mask, or the mask itself.
fn is_masked_already(text: &str, start: usize, end: usize) -> bool {
    let mask = mask_at(&text[end..]).unwrap_or(0);
    is_masked(&text[start..end + mask])
}

/// How far from an access key id its secret may stand.
const BESIDE_BYTES: usize = 256;

/// Looks for 40 characters of base64, which alone could be anything, around an access key id.
fn find_secret_beside(text: &str, id: std::ops::Range<usize>, found: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let from = id.start.saturating_sub(BESIDE_BYTES);
    let to = (id.end + BESIDE_BYTES).min(bytes.len());
    looked_at(to - from);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'+';
    let mut start = from;
    for at in from..=to {
        if at < to && bytes.get(at).copied().is_some_and(is_part) {
            continue;
        }
        if let Some(run) = text.get(start..at)
            && run.len() == 40
            && values::has_digit_and_both_cases(run)
        {
            found.push(Span::in_context(rules::AWS_SECRET, start..at));
        }
        start = at + 1;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
    use regex::RegexSet;

    use super::*;

    static ALL: LazyLock<RegexSet> =
        LazyLock::new(|| RegexSet::new(SHAPES.iter().map(pattern)).unwrap());

    #[test]
    fn every_pattern_compiles() {
        for shape in &SHAPES {
            let regex = Regex::new(&pattern(shape));
            assert!(regex.is_ok(), "{}: {regex:?}", shape.name);
        }
    }

    /// The shapes that are found when every pattern looks at all of a text.
    fn by_patterns(text: &str) -> Vec<&'static str> {
        ALL.matches(text).iter().map(|at| SHAPES[at].name).collect()
    }

    /// Those of them that are looked for.
    fn by_hints(text: &str) -> Vec<&'static str> {
        let hints = Hints::of(text);
        let matches = ALL.matches(text);
        matches.iter().filter(|at| hints.has_shape(*at)).map(|at| SHAPES[at].name).collect()
    }

    /// Texts that every shape takes, the shortest ones among them.
    pub(in super::super) fn any_secret() -> impl Strategy<Value = String> {
        (0..SHAPES.len()).prop_flat_map(|at| {
            let shape = &SHAPES[at];
            // Strings are made of patterns that look at nothing around them.
            let prefixes = shape.prefixes.join("|").replace("\\b", "");
            let shortest = format!("({prefixes})({})", shape.body.replace(",}", "}"));
            let any = format!("({prefixes})({})", shape.body);
            let strategy = |pattern: &str| proptest::string::string_regex(pattern).unwrap();
            prop_oneof![strategy(&shortest), strategy(&any)]
        })
    }

    fn any_text() -> impl Strategy<Value = String> {
        let glue = "[ \\\\\"'nrt\n:=.,/_é-]{0,3}";
        let words = "([a-zA-Z0-9+/=%:~._-]{0,20} ?){0,4}|bearer |Basic |curl |(\\PC){0,9}";
        let piece = prop_oneof![2 => any_secret(), 1 => words];
        prop::collection::vec((glue, piece), 0..6)
            .prop_map(|pieces| pieces.into_iter().flat_map(|(glue, piece)| [glue, piece]).collect())
    }

    proptest! {
        #[test]
        fn no_shape_is_missed_where_it_is_not_looked_for(text in any_text()) {
            prop_assert_eq!(by_hints(&text), by_patterns(&text), "{}", text);
        }

        #[test]
        fn every_shape_is_found_however_short_it_is(secret in any_secret()) {
            let found = by_patterns(&secret);
            prop_assert!(!found.is_empty(), "{secret}");
            prop_assert_eq!(by_hints(&secret), found, "{}", secret);
        }
    }
}
