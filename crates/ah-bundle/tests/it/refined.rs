//! Refining and comparing.

use ah_bundle::json::{Path, Value};
use ah_bundle::{Bundle, BundleError, Refinement, Setting, diff};

use crate::given::{Given, at, bundle};

fn refinement(text: &str, settings: &[&str]) -> Refinement {
    let settings = settings.iter().map(|setting| setting.parse().unwrap()).collect();
    Refinement { text: text.to_owned(), settings }
}

#[test]
fn a_refinement_is_a_child_with_its_text_below_the_old_prompt() {
    let given = Given::fixture("basic");
    let parent = given.dir().load("docs-demo").unwrap().snapshot;
    let changes = refinement(
        "  Be brief.\n",
        &[
            "prep_settings.temperature=0.20",
            "tool_caps[\"fs.read\"]=false",
            "custom.a.b=plain text",
        ],
    );
    let child = given.dir().refine("docs-demo", &changes, at(0)).unwrap().snapshot;
    assert_eq!(child.bundle.prev_sha, parent.sha);
    let changed: Vec<(String, Option<String>, Option<String>)> =
        diff(&parent.bundle, &child.bundle)
            .into_iter()
            .map(|change| {
                let text = |value: Option<Value>| value.map(|value| value.encode());
                (change.path.to_string(), text(change.before), text(change.after))
            })
            .collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        changed,
        [
            (
                "created_at".to_owned(),
                some("\"2026-03-01T08:00:00Z\""),
                some("\"2027-01-15T08:00:00.000000Z\"")
            ),
            ("custom.a".to_owned(), None, some("{\n  \"b\": \"plain text\"\n}")),
            ("prep_settings.temperature".to_owned(), some("0.2"), some("0.20")),
            ("prev_sha".to_owned(), None, Some(Value::from(parent.sha.as_str()).encode())),
            (
                "prompts.developer".to_owned(),
                some("\"Prefer short answers.\""),
                some("\"Prefer short answers.\\n\\nBe brief.\"")
            ),
            ("tool_caps[\"fs.read\"]".to_owned(), some("true"), some("false")),
        ]
    );
    let log = given.dir().log("docs-demo").unwrap();
    let paths: Vec<String> = log.entries[0].changed.iter().map(Path::to_string).collect();
    let expected =
        ["custom.a", "prep_settings.temperature", "prompts.developer", "tool_caps[\"fs.read\"]"];
    assert_eq!(paths, expected);
}

#[test]
fn what_a_bundle_is_known_by_cannot_be_set() {
    let mut given = bundle("one", "a");
    let before = given.clone();
    for setting in [
        "version=2",
        "created_at=now",
        "Scope_Key=other",
        "prev_sha=0",
        "source_hash=0",
        "model_id=m",
        "prompts.system.more=1",
        "prompts=[]",
        "prompts={\"a\":1}",
        "prep_settings=5",
        "prep_settings[0]=5",
    ] {
        let Setting { path, value } = setting.parse().unwrap();
        let error = given.set(&path, &value).unwrap_err().to_string();
        assert!(error.contains("cannot be set: "), "{setting}: {error}");
        assert_eq!(given, before, "{setting}");
    }
    for text in ["no-value", "=1", "a..b=1", "a[x]=1", "a[\"b]=1"] {
        assert!(text.parse::<Setting>().is_err(), "{text}");
    }
}

#[test]
fn values_are_json_or_else_text_and_prompts_are_always_text() {
    let mut given = bundle("one", "a");
    for setting in [
        "prompts.n=5",
        "prompts.s=\"quoted\"",
        "PREP_SETTINGS.list=[1,2]",
        "prep_settings.list[2]=3",
        "prep_settings.list[0]=null",
        "own.key=1.0",
        "own[\"a=b\"]=x=y",
        "context={}",
        "custom=null",
    ] {
        let Setting { path, value } = setting.parse().unwrap();
        given.set(&path, &value).unwrap();
    }
    let text = given.encode();
    for expected in [
        "\"n\": \"5\"",
        "\"s\": \"quoted\"",
        "\"list\": [\n      null,\n      2,\n      3\n    ]",
        "\"own\": {\n    \"a=b\": \"x=y\",\n    \"key\": 1.0\n  }",
        "\"context\": {}",
        "\"custom\": null",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn nothing_to_refine_is_said_and_leaves_no_trace() {
    let given = Given::fixture("basic");
    let before = given.files();
    let error = given.dir().refine("other", &refinement("more", &[]), at(0)).unwrap_err();
    assert!(matches!(error, BundleError::NothingForScope { .. }), "{error}");
    assert_eq!(given.files(), before);
}

#[test]
fn secrets_and_raw_bodies_are_taken_out_and_listed() {
    let given = Given::nothing();
    let input = include_bytes!("fixtures/inputs/redaction.json");
    let saved = given.dir().save(Bundle::draft(input).unwrap(), at(0)).unwrap();
    let text = given.read(&saved.snapshot.name);
    for secret in [
        "FAKEKEY-ABCDEFGH",
        "hunter2",
        "FAKERAW0002",
        "one-long",
        "user:pw",
        "\"BODY",
        "kept?",
        "kept2?",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    for kept in [
        "\"max_tokens\": \"4096\"",
        "\"access_token_count\": 5",
        "kept3",
        "count tokens carefully",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "\"toolset_hash\": \"h\"",
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    let paths: Vec<String> = saved.redacted.iter().map(|one| one.path.to_string()).collect();
    for path in
        ["base_url", "context.raw_request", "context.RESPONSE_BODY", "prep_settings.api_key"]
    {
        assert!(paths.iter().any(|found| found == path), "{path}: {paths:?}");
    }
    // Saved again, there is nothing left to take out.
    let again = given.dir().save(saved.snapshot.bundle, at(1)).unwrap();
    assert_eq!(again.redacted, []);
}
