//! JSON: only strings change, and what their neighbours say counts.

use super::*;

fn redacted(given: &str) -> String {
    json(given).unwrap().text.into_owned()
}

#[test]
fn only_the_strings_that_hold_secrets_change() {
    for (given, expected) in [
        (
            " { \"b\" : 1.00 , \"password\" : \"hunter2\" , \"a\" : [ 1e5 ] } ",
            " { \"b\" : 1.00 , \"password\" : \"[redacted:secret]\" , \"a\" : [ 1e5 ] } ",
        ),
        (
            r#"{"text":"caf\u00e9 \ud800 password=\"x\u0031\"\n\u0041"}"#,
            r#"{"text":"caf\u00e9 \ud800 password=\"[redacted:secret]\"\n\u0041"}"#,
        ),
        (
            r#"{"p\u0061ssword":"x","k":{"password":"y","n":{"n":"y"}}}"#,
            r#"{"p\u0061ssword":"[redacted:secret]","k":{"password":"[redacted:secret]","n":{"n":"y"}}}"#,
        ),
        (
            r#"{"arguments":"{\"api_key\":\"abc\",\"n\":\"abc\"}"}"#,
            r#"{"arguments":"{\"api_key\":\"[redacted:secret]\",\"n\":\"abc\"}"}"#,
        ),
        (
            r#"{"passwords":["a",["b"]],"n":["a"]}"#,
            r#"{"passwords":["[redacted:secret]",["[redacted:secret]"]],"n":["a"]}"#,
        ),
        (
            r#"[{"name":"X-Api-Key","value":"abc"},{"value":"abc","name":"X-Api-Key"},{"name":"n","value":"abc"}]"#,
            r#"[{"name":"X-Api-Key","value":"[redacted:secret]"},{"value":"[redacted:secret]","name":"X-Api-Key"},{"name":"n","value":"abc"}]"#,
        ),
        (
            r#"["run","--password","abc","--name","abc"]"#,
            r#"["run","--password","[redacted:secret]","--name","abc"]"#,
        ),
        (r#""Authorization: Bearer abc123""#, r#""Authorization: Bearer [redacted:secret]""#),
    ] {
        assert_eq!(redacted(given), expected);
    }
}

#[test]
fn documents_without_secrets_are_borrowed() {
    for given in [
        "{\"max_tokens\":\"4096\",\"token_count\":12,\"password\":null,\"secret\":123456789012}",
        "{\"sha256\":\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}",
        "{\"logprobs\":[{\"token\":\" Hello\",\"logprob\":-0.1,\"bytes\":[1,2]}]}",
        "[1, -0.0, true, null, \"\\ud800\", {}, []]",
    ] {
        let redacted = json(given).unwrap();
        assert!(matches!(redacted.text, Cow::Borrowed(_)), "{given}: {}", redacted.text);
    }
}

#[test]
fn a_value_named_later_is_masked_once() {
    let given = r#"[{"value":"a password=x1 b","name":"api_key"},{"password":"y"}]"#;
    let expected =
        r#"[{"value":"[redacted:secret]","name":"api_key"},{"password":"[redacted:secret]"}]"#;
    assert_eq!(redacted(given), expected);
}

#[test]
fn findings_say_where() {
    let key = format!("ghp_{}", noise(36));
    let given = format!(r#"{{"a/b":[1,{{"password":"x","p":"y"}}],"{key}":{{"secret":"z"}}}}"#);
    let redacted = json(&given).unwrap();
    let at = |rule, path: &str| Finding { rule, path: Some(path.to_owned()), count: 1 };
    assert_eq!(
        redacted.findings,
        [
            at("secret", "/a~1b/1/password"),
            at("github-token", "/ghp_[redacted:github-token]"),
            at("secret", "/ghp_[redacted:github-token]/secret"),
        ]
    );
}

#[test]
fn places_are_bounded_and_counts_are_not() {
    let key = "k".repeat(10_000);
    let members = vec![r#"{"password":"x"}"#; 1_000].join(",");
    let given = format!(r#"{{"{key}":[{members}]}}"#);
    let redacted = json(&given).unwrap();
    assert_eq!(redacted.count(), 1_000);
    assert!(redacted.findings.len() <= 101, "{}", redacted.findings.len());
    let longest = redacted.findings.iter().filter_map(|finding| finding.path.as_ref());
    assert!(longest.map(String::len).max().is_some_and(|bytes| bytes < 1_000));
}

#[test]
fn what_is_no_json_or_too_deep_is_refused() {
    for bad in ["", "{", "{\"password\":}", "nul", "\"a", "{} {}"] {
        assert_eq!(json(bad).unwrap_err().field, "json", "{bad}");
    }
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(json(&deep(500)).is_ok());
    assert!(json(&deep(501)).unwrap_err().reason.contains("500"));
    assert!(json(&deep(200_000)).is_err());
}
