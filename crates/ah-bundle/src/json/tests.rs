//! What is read, what is refused, and that nothing is lost on the way.

use proptest::prelude::*;

use super::*;
use crate::{Bundle, Problem};

#[test]
fn of_repeated_keys_the_last_holds() {
    let value = Value::parse(br#"{"b":1,"a":1,"b":2,"a":3,"a":2}"#).unwrap();
    assert_eq!(value.encode(), "{\n  \"a\": 2,\n  \"b\": 2\n}");
}

#[test]
fn numbers_stay_as_they_were_written() {
    for number in ["0", "-0.0", "1e+21", "1E5", "9007199254740993", "0.10", "1e-07"] {
        assert_eq!(Value::parse(number.as_bytes()).unwrap().encode(), number);
        let value = Value::parse(format!("[{number}]").as_bytes()).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), format!("[{number}]"));
    }
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    for (text, at) in [
        ("", 0),
        ("nul", 0),
        ("01", 2),
        ("-", 1),
        ("1.", 2),
        ("1e", 2),
        ("+1", 0),
        (".5", 0),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("{\"a\"}", 4),
        ("{\"a\":1,}", 7),
        ("{a:1}", 1),
        ("\"\u{1}\"", 1),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 3),
        ("\"open", 5),
        ("1 1", 2),
        ("'a'", 0),
        ("NaN", 0),
    ] {
        let error = Value::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.at, at, "{text}: {error}");
    }
    Value::parse(b"\"\xff\"").unwrap_err();
    Value::parse(b"\xff").unwrap_err();
}

#[test]
fn escapes_are_read_as_the_original_reads_them() {
    let text = r#""\u003c\ud83d\ude00\ud83d\ude\u00e9 \ud800 \ud800\u0041 \udc00\/\b\f\n\r\t\"\\""#;
    Value::parse(text.as_bytes()).unwrap_err();
    let text = r#""\u003c\ud83d\ude00\u00e9 \ud800 \ud800\u0041 \udc00\/\b\f\n\r\t\"\\""#;
    let read = Value::parse(text.as_bytes()).unwrap();
    let expected = "<😀é \u{fffd} \u{fffd}A \u{fffd}/\u{8}\u{c}\n\r\t\"\\";
    assert_eq!(read, Value::from(expected));
}

#[test]
fn depth_and_number_of_values_are_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    Value::parse(nested(DEPTH_MAX).as_bytes()).unwrap();
    let error = Value::parse(nested(DEPTH_MAX + 1).as_bytes()).unwrap_err();
    assert_eq!(error, JsonError { at: DEPTH_MAX + 1, reason: "nested too deep" });
    Value::parse("[".repeat(1_000_000).as_bytes()).unwrap_err();
    let many = format!("[{}0]", "0,".repeat(VALUES_MAX - 2));
    Value::parse(many.as_bytes()).unwrap();
    let too_many = format!("[{}0]", "0,".repeat(VALUES_MAX - 1));
    assert_eq!(Value::parse(too_many.as_bytes()).unwrap_err().reason, "too many values");
}

#[test]
fn limits_hold_for_what_is_only_passed_over() {
    let nested = |depth: usize| "{\"a\":".repeat(depth) + "0" + &"}".repeat(depth);
    let skim =
        |text: &str, depth, values| skim::object(text.as_bytes(), Members::Any, depth, values);
    assert!(skim(&nested(DEPTH_MAX), 0, 0).is_some());
    assert!(skim(&nested(DEPTH_MAX + 1), 0, 0).is_none());
    assert!(skim(&nested(DEPTH_MAX), 1, 0).is_none());
    assert_eq!(skim("{\"a\":0} ", 0, VALUES_MAX - 2), Some((7, VALUES_MAX)));
    assert!(skim("{\"a\":0}", 0, VALUES_MAX - 1).is_none());
    let strings = |text: &str| skim::object(text.as_bytes(), Members::Strings, 0, 0).is_some();
    assert!(strings("{}") && strings("{\"a\":\"b\", \"c\" : \"\"}"));
    assert!(!strings("{\"a\":null}") && !strings("{\"a\":\"b\",\"c\":[\"d\"]}"));
}

#[test]
fn an_unread_object_is_changed_as_any_other() {
    let text = std::sync::Arc::new(br#"{"b":1,"a":2,"b":3}"#.to_vec());
    let value = Parser::new(&text).unread(&text, Members::Any).unwrap();
    let Value::Object(mut object) = value else { panic!("{value:?}") };
    assert_eq!(format!("{object:?}"), format!("{:?}", object.clone()));
    object.insert("c".to_owned(), Value::Null);
    assert!(!object.is_unread());
    assert_eq!(Value::from(object).encode(), "{\n  \"a\": 2,\n  \"b\": 3,\n  \"c\": null\n}");
}

#[test]
fn paths_read_back() {
    let path = Path::default().key("tool_caps").key("fs.read").index(3).key("a\"]=b").key("");
    assert_eq!(path.to_string(), r#"tool_caps["fs.read"][3]["a\"]=b"][""]"#);
    assert_eq!(path.to_string().parse(), Ok(path));
}

#[test]
fn an_object_finds_and_replaces_its_members() {
    let mut object = Object::new();
    for key in ["b", "a", "c", "a"] {
        object.insert(key.to_owned(), Value::from(key));
    }
    assert_eq!((object.len(), object.is_empty()), (3, false));
    assert_eq!(object.get("a"), Some(&Value::from("a")));
    assert_eq!(object.get("d"), None);
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number.prop_map(|text| Value::Number(Number(text.into()))),
        any::<String>().prop_map(Value::String),
        "[<>&\u{2028}\u{2029}\u{0}-\u{1f}\"\\\\a-c]{0,40}".prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        let members = prop::collection::vec((any::<String>(), inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..8).prop_map(Value::Array),
            members.prop_map(|members| Value::Object(members.into())),
        ]
    })
}

fn any_path() -> impl Strategy<Value = Path> {
    let key = prop_oneof![any::<String>(), "[a.\\[\\]\"\\\\=]{0,6}"];
    let first = key.clone().prop_map(|key| Path::default().key(&key));
    let more =
        prop::collection::vec(prop_oneof![key.prop_map(Ok), any::<usize>().prop_map(Err)], 0..4);
    (first, more).prop_map(|(first, more)| {
        more.into_iter().fold(first, |path, part| match part {
            Ok(key) => path.key(&key),
            Err(index) => path.index(index),
        })
    })
}

proptest! {
    #[test]
    fn any_value_reads_back(value in any_value()) {
        let text = value.encode();
        prop_assert_eq!(Value::parse(text.as_bytes()), Ok(value.clone()));
        let plain = serde_json::to_vec(&value).unwrap();
        prop_assert_eq!(Value::parse(&plain), Ok(value));
    }

    #[test]
    fn any_path_reads_back(path in any_path()) {
        prop_assert_eq!(path.to_string().parse(), Ok(path));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(value) = Value::parse(&bytes) {
            prop_assert_eq!(Value::parse(value.encode().as_bytes()), Ok(value));
        }
    }

    #[test]
    fn what_looks_like_json_is_taken_as_another_parser_takes_it(
        text in "[\\[\\]{}\",:0-9.eE+\\-a-fu\\\\ trulsn\u{1}é]{0,30}",
    ) {
        let other = serde_json::from_str::<serde_json::Value>(&text);
        let ours = Value::parse(text.as_bytes());
        // The other one refuses half pairs and what no float can hold; the original takes them.
        if other.is_ok() {
            prop_assert!(ours.is_ok(), "{text}");
        } else if !text.contains(['u', 'e', 'E']) {
            prop_assert!(ours.is_err(), "{text}");
        }
    }

    #[test]
    fn an_object_is_passed_over_if_and_only_if_it_can_be_read(
        text in "\\{[\\[\\]{}\",:0-9.eE+\\-a-fu\\\\ trulsn\u{1}é]{0,30}",
        cut in prop::option::of(0..30_usize),
    ) {
        let bytes = &text.as_bytes()[..cut.unwrap_or(text.len()).min(text.len())];
        let mut parser = Parser::new(bytes);
        let read = parser.value().map(|_| (parser.at, parser.values));
        prop_assert_eq!(skim::object(bytes, Members::Any, 0, 0), read.ok(), "{}", text);
    }

    #[test]
    fn a_part_that_was_passed_over_is_what_the_parser_reads(value in any_value(), at in 0..9_usize) {
        let mut text = format!("{{\"a\":{}}}", value.encode()).into_bytes();
        let whole = Value::parse(&text).unwrap();
        let shared = std::sync::Arc::new(text.clone());
        let mut parser = Parser::new(&shared);
        let unread = parser.unread(&shared, Members::Any).unwrap();
        prop_assert!(unread.as_object().unwrap().is_unread());
        prop_assert_eq!(&unread, &whole);
        prop_assert_eq!(unread.encode(), whole.encode());
        // With a byte that is wrong, or none, both say the same.
        let place = text.len() * at / 9;
        text[place] = b"\\\"}]\xff0 ,x"[at];
        let shared = std::sync::Arc::new(text.clone());
        let mut parser = Parser::new(&shared);
        let unread = parser.unread(&shared, Members::Any).and_then(|value| {
            parser.end()?;
            Ok(value)
        });
        prop_assert_eq!(unread, Value::parse(&text));
    }

    #[test]
    fn a_bundle_with_any_maps_reads_back(
        unknown in prop::collection::vec((any::<String>(), any_value()), 0..4),
        custom in prop::collection::vec((any::<String>(), any_value()), 0..4),
    ) {
        let mut bundle = Bundle::new("m", "u", "");
        bundle.created_at = "2026-01-01T00:00:00Z".to_owned();
        bundle.unknown = unknown.into();
        bundle.custom = Some(custom.into());
        match bundle.check_storable() {
            Ok(()) => prop_assert_eq!(Bundle::parse(bundle.encode().as_bytes()), Ok(bundle)),
            Err(problem) => {
                let is_expected = matches!(problem, Problem::Invalid { .. });
                prop_assert!(is_expected, "{problem}");
            }
        }
    }
}
