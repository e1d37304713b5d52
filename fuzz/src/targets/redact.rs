//! The redactor: settles, bounds what it writes, and touches nothing but strings of JSON.

use ah_model::redact;

pub(crate) const WORDS: &[&str] = &[
    "password",
    "token",
    "api_key",
    "Authorization: ",
    "Bearer ",
    "Basic ",
    "=",
    ": ",
    "\"",
    "'",
    "\\\"",
    "\\",
    "\\n",
    "\n",
    " ",
    "--",
    "https://",
    "@",
    "[redacted:secret]",
    "[redacted:",
    "]",
    "sk-ant-",
    "sk-",
    "ghp_",
    "AKIAQWERTYUIOP234567",
    "eyJ",
    ".",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "${",
    "(",
    "name",
    "value",
    "\\u0041",
    "\\ud800",
    "Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2Ui9Ok4Mz8Vx",
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        "export API_KEY=sk-ant-Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5\npassword: hunter2 # note",
        "curl -u bob:hunter2 -H 'Authorization: Bearer abc123' https://a:b@host/?token=abc123&x=1",
        "-----BEGIN RSA PRIVATE KEY-----\nZq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2Ui9Ok4Mz8Vx\n-----END RSA PRIVATE KEY-----",
        "id AKIAQWERTYUIOP234567 wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzKEY1",
        r#"{"name":"X-Api-Key","value":"abc","n":[1.0,"--token","abc123",{"password":"x\u0031"}]}"#,
        r#"[{"value":"a password=x1 b","name":"api_key"},"{\"secret\":\"a b\"}"]"#,
    ]
    .map(|seed| seed.as_bytes().to_vec())
    .to_vec()
}

pub(crate) fn text(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for key in [None, Some("token"), Some("authorization"), Some("cookie"), Some("password")] {
        let once = redact::value(key, &text);
        let twice = redact::value(key, &once.text);
        assert_eq!(once.text, twice.text, "{key:?}");
        assert!(once.text.len() <= 8 * text.len() + 32);
        assert_eq!(once.count() == 0, once.text == text, "{key:?}");
        assert!(once.findings.iter().all(|finding| finding.rule != "unsettled"), "{key:?}");
    }
}

pub(crate) fn json(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    document(&text);
    // As a document of the pieces: most changes to JSON leave none.
    let mut pieces = text.split('\n').map(str::to_owned);
    let (key, value) = (pieces.next().unwrap_or_default(), pieces.next().unwrap_or_default());
    let list: Vec<String> = pieces.collect();
    let made = serde_json::json!({ key: value, "name": text, "value": list, "password": list });
    document(&made.to_string());
}

fn document(given: &str) {
    let Ok(once) = redact::json(given) else { return };
    serde_json::from_str::<&serde_json::value::RawValue>(&once.text).expect("still JSON");
    assert_eq!(without_strings(&once.text), without_strings(given));
    let twice = redact::json(&once.text).expect("still JSON");
    assert_eq!(once.text, twice.text);
}

/// The document with every string emptied.
fn without_strings(text: &str) -> String {
    let (mut kept, mut in_string, mut escaped) = (String::new(), false, false);
    for character in text.chars() {
        let is_quote = character == '"' && !escaped;
        escaped = in_string && character == '\\' && !escaped;
        if is_quote || !in_string {
            kept.push(character);
        }
        in_string ^= is_quote;
    }
    kept
}
