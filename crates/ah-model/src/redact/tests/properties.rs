//! What holds for any text.

use super::*;

const PIECES: [&str; 49] = [
    "password",
    "token",
    "api_key",
    "Authorization",
    "Bearer ",
    "basic ",
    "curl -u bob:",
    "=",
    ":",
    ": ",
    "\"",
    "'",
    "\\\"",
    "\\",
    "`",
    " ",
    "\n",
    ",",
    ";",
    "&",
    "?",
    "--",
    "https://",
    "@",
    "[redacted:secret]",
    "[redacted:",
    "]",
    "[",
    "sk-ant-",
    "sk-",
    "ghp_",
    "AKIA",
    "eyJ",
    ".",
    "ah_",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "QWERTYUIOP234567",
    "hunter2",
    "$X",
    "${",
    "(",
    "{",
    "}",
    "é",
    "…",
    "xoxb-",
    "hf_",
    "Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2Ui9Ok4Mz8Vx",
];

/// Pieces that secrets, masks and what looks like them are made of.
pub(super) fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => "[A-Za-z0-9_/+=-]{1,50}",
        1 => ".{0,6}",
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        any_text().prop_map(serde_json::Value::String),
        any::<i64>().prop_map(|number| serde_json::json!(number)),
        Just(serde_json::Value::Null),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let key = prop_oneof![
            prop::sample::select(&["password", "name", "value", "token", "n", "key"][..])
                .prop_map(str::to_owned),
            any_text(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::Array),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The document with every string emptied.
fn skeleton(text: &str) -> String {
    let mut kept = String::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('"') {
        kept.push_str(&text[from..=from + at]);
        from = crate::json::end_of_string(text, from + at);
    }
    kept + &text[from..]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn redacting_twice_changes_nothing_more(given in any_text(), key in prop::option::of(piece())) {
        let once = value(key.as_deref(), &given);
        let twice = value(key.as_deref(), &once.text);
        prop_assert_eq!(&twice.text, &once.text, "{:?}", given);
        prop_assert_eq!(twice.findings, vec![]);
        prop_assert!(once.findings.iter().all(|finding| finding.rule != rules::UNSETTLED));
    }

    #[test]
    fn a_text_grows_by_a_bounded_factor(given in any_text()) {
        let redacted = text(&given);
        prop_assert!(redacted.text.len() <= 8 * given.len(), "{:?}", redacted.text);
        prop_assert_eq!(redacted.count() == 0, redacted.text == given);
    }

    #[test]
    fn only_strings_of_a_document_change(given in any_json(), pretty: bool) {
        let given = match pretty {
            true => serde_json::to_string_pretty(&given).unwrap(),
            false => serde_json::to_string(&given).unwrap(),
        };
        let once = json(&given).unwrap();
        prop_assert!(serde_json::from_str::<serde_json::Value>(&once.text).is_ok());
        prop_assert_eq!(skeleton(&once.text), skeleton(&given));
        let twice = json(&once.text).unwrap();
        prop_assert_eq!(&twice.text, &once.text, "{}", given);
    }

    #[test]
    fn any_bytes_that_are_text_are_read(given in ".*") {
        let redacted = text(&given);
        prop_assert_eq!(&text(&redacted.text).text, &redacted.text);
        let _ = json(&given);
    }

    #[test]
    fn a_secret_is_gone_wherever_it_stands(
        body in "[A-Za-z0-9]{35}[0-9]",
        (before, after) in (".*", "[^A-Za-z0-9_.-].*"),
        prefix in prop::sample::select(&["ghp_", "sk-ant-", "glpat-", "xoxb-", "dckr_pat_"][..]),
    ) {
        let given = format!("{before}{prefix}{body}{after}");
        let redacted = text(&given);
        prop_assert!(!redacted.text.contains(&body[8..20]), "{}", redacted.text);
        let quoted = serde_json::json!({ "n": [{ "text": given }] }).to_string();
        let redacted = json(&quoted).unwrap();
        prop_assert!(!redacted.text.contains(&body[8..20]), "{}", redacted.text);
    }

    #[test]
    fn a_quoted_value_under_a_secret_key_is_gone_wherever_it_stands(
        secret in "[a-zA-Z0-9!#%&()*+,./:;=?@^_|~-]{3,40}[0-9]",
        (before, after) in ("[^\"\\\\'`\\[]*", ".*"),
        key in prop::sample::select(&["password", "apiKey", "client_secret", "X_API_KEY"][..]),
    ) {
        let given = format!("{before} \"{key}\": \"Q{secret}\" {after}");
        prop_assert!(!text(&given).text.contains(&format!("Q{secret}")), "{}", text(&given).text);
    }
}
