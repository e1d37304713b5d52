//! Directories of the original: what it made of them, and what is made of them here.

use ah_bundle::json::Value;
use ah_bundle::{Bundle, BundleError, Damage, Note, Problem};

use crate::given::{Given, at, bundle, fixtures};

/// What a fixture loads as here: scope, snapshot, and what is said about damage.
struct Verdict {
    fixture: &'static str,
    original_loads: bool,
    scope: &'static str,
    loads: Option<&'static str>,
    damaged: &'static [&'static str],
    verifies: bool,
}

const DEMO: &str = "docs-demo";
const FIRST: &str = "state-2026-03-01T080000Z-f2795392.json";

const VERDICTS: [Verdict; 11] = [
    ok("basic", DEMO, FIRST),
    ok("chain", DEMO, "state-2026-11-15T070357Z-974a3973.json"),
    ok(
        "default-scope",
        "7bac79ac0d31c2050346246f59d10709b6b2907b0fb1a2f41afc2ab7b77b4f2e",
        "state-2026-03-01T080000Z-ada806bc.json",
    ),
    ok("escapes-numbers-go1.24", "s", "state-2026-03-01T080000Z-c8628024.json"),
    ok("nil-maps", "s", "state-2026-03-01T080000Z-22894116.json"),
    ok("ok-foreign-writer", DEMO, "state-2026-03-01T080000Z-foreign0.json"),
    ok("redacted", "s", "state-2026-03-01T080000Z-2310434a.json"),
    ok("two-scopes", "other-scope", "state-2026-03-01T090000Z-43412bae.json"),
    // The original hides it behind the other scope.
    ok("two-scopes", DEMO, FIRST),
    // Only the pointer is wrong: the snapshot vouches for itself.
    Verdict { loads: Some(FIRST), ..bad("bad-pointer-sha", &["latest.json"]) },
    bad("bad-snapshot-bytes", &[FIRST]),
];

const fn ok(fixture: &'static str, scope: &'static str, name: &'static str) -> Verdict {
    let loads = Some(name);
    Verdict { fixture, original_loads: true, scope, loads, damaged: &[], verifies: true }
}

const fn bad(fixture: &'static str, damaged: &'static [&'static str]) -> Verdict {
    Verdict { fixture, original_loads: false, scope: DEMO, loads: None, damaged, verifies: false }
}

#[test]
fn every_fixture_has_its_verdict_and_reading_changes_nothing() {
    let original: Value =
        Value::parse(&std::fs::read(fixtures().join("original-verdicts.json")).unwrap()).unwrap();
    let original = original.as_object().unwrap();
    for verdict in VERDICTS {
        let Verdict { fixture, scope, .. } = verdict;
        let theirs = original.get(fixture).unwrap().as_object().unwrap().get("loads").unwrap();
        assert_eq!(*theirs, Value::Bool(verdict.original_loads), "{fixture}");
        let given = Given::fixture(fixture);
        let before = given.files();
        let (name, damage) = match given.dir().load(scope) {
            Ok(loaded) => (Some(loaded.snapshot.name), loaded.damage),
            Err(BundleError::AllDamaged { damage, .. }) => (None, damage),
            Err(other) => panic!("{fixture}: {other}"),
        };
        assert_eq!(name.as_deref(), verdict.loads, "{fixture}");
        let files: Vec<&str> = damage.iter().map(|damage| damage.file.as_str()).collect();
        assert_eq!(files, verdict.damaged, "{fixture}");
        assert_eq!(given.dir().verify().unwrap().ok, verdict.verifies, "{fixture}");
        given.dir().list().unwrap();
        assert_eq!(given.files(), before, "{fixture}");
    }
    let judged = |name: &str| VERDICTS.iter().any(|verdict| verdict.fixture == name);
    let forgotten: Vec<&str> =
        original.iter().map(|(name, _)| name).filter(|name| !judged(name)).collect();
    assert_eq!(forgotten, Vec::<&str>::new());
}

#[test]
fn what_the_original_wrote_is_written_again_byte_for_byte() {
    for fixture in
        ["basic", "chain", "default-scope", "escapes-numbers-go1.24", "nil-maps", "redacted"]
    {
        for entry in std::fs::read_dir(fixtures().join(fixture)).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("latest.json") {
                continue;
            }
            let bytes = std::fs::read_to_string(&path).unwrap();
            assert_eq!(Bundle::parse(bytes.as_bytes()).unwrap().encode(), bytes, "{path:?}");
        }
    }
}

#[test]
fn saving_what_the_original_saved_gives_its_bytes_but_for_what_is_ours() {
    for (input, fixture, name) in [
        ("basic", "basic", FIRST),
        ("default-scope", "default-scope", "state-2026-03-01T080000Z-ada806bc.json"),
        ("nil-maps", "nil-maps", "state-2026-03-01T080000Z-22894116.json"),
    ] {
        let given = Given::nothing();
        let input = std::fs::read(fixtures().join(format!("inputs/{input}.json"))).unwrap();
        let saved = given.dir().save(Bundle::draft(&input).unwrap(), at(0)).unwrap();
        let theirs = std::fs::read_to_string(fixtures().join(fixture).join(name)).unwrap();
        let ours = given.read(&saved.snapshot.name);
        assert_eq!(ours.replace("2027-01-15T08:00:00.000000Z", "2026-03-01T08:00:00Z"), theirs);
    }
}

#[test]
fn numbers_are_not_rounded() {
    let input = std::fs::read(fixtures().join("inputs/escapes-numbers.json")).unwrap();
    let given = Given::nothing();
    let saved = given.dir().save(Bundle::draft(&input).unwrap(), at(0)).unwrap();
    let text = given.read(&saved.snapshot.name);
    for number in ["123456789012345678901", "9007199254740993", "18446744073709551615", "-0.0"] {
        assert!(text.contains(&format!(": {number}")), "{number}: {text}");
    }
    // All but the numbers is as the original writes it.
    let theirs = Given::fixture("escapes-numbers-go1.24");
    let theirs = theirs.read("state-2026-03-01T080000Z-c8628024.json");
    let end = theirs.find("  \"prep_settings\"").unwrap();
    let ours = text.replace("2027-01-15T08:00:00.000000Z", "2026-03-01T08:00:00Z");
    assert_eq!(ours[..end], theirs[..end]);
}

#[test]
fn the_causes_of_damage_are_named() {
    let given = Given::fixture("bad-pointer-sha");
    let found = "f2795392c3ba25c3fb327291ca3aba769a477313b90802910e30683b336afb1e".to_owned();
    let problem = Problem::WrongSha { expected: "deadbeef".to_owned(), found };
    let damage = vec![Damage { file: "latest.json".to_owned(), problem }];
    assert_eq!(given.dir().load(DEMO).unwrap().damage, damage);
    let given = Given::fixture("bad-snapshot-bytes");
    let error = given.dir().load(DEMO).unwrap_err().to_string();
    assert!(error.contains(FIRST) && error.contains("expected f2795392"), "{error}");
}

#[test]
fn a_chain_is_followed_where_times_and_names_do_not_order_it() {
    let given = Given::fixture("chain");
    let log = given.dir().log(DEMO).unwrap();
    let shas: Vec<&str> = log.entries.iter().map(|entry| &entry.sha[..8]).collect();
    assert_eq!(shas, ["974a3973", "b48bc9db", "e914d3c1", "f2795392"]);
    let notes = given.dir().verify().unwrap().notes;
    let backwards = Note::TimeNotIncreasing {
        file: "state-2026-11-15T070357Z-974a3973.json".to_owned(),
        parent: "state-2026-11-15T070358Z-b48bc9db.json".to_owned(),
    };
    assert!(notes.contains(&backwards), "{notes:?}");
    // Without the pointer the end of the chain is still found.
    std::fs::remove_file(given.file("latest.json")).unwrap();
    assert_eq!(given.dir().load(DEMO).unwrap().snapshot.sha[..8], *"974a3973");
}

#[test]
fn a_save_links_to_what_the_original_saved_and_stays_readable_to_it() {
    let given = Given::fixture("two-scopes");
    let saved = given.dir().save(bundle(DEMO, "ours"), at(0)).unwrap().snapshot;
    assert_eq!(saved.bundle.prev_sha[..8], *"f2795392");
    let pointer = format!(
        "{{\n  \"version\": \"1\",\n  \"path\": \"{}\",\n  \"sha256\": \"{}\"\n}}",
        saved.name, saved.sha
    );
    assert_eq!(given.read("latest.json"), pointer);
    let other = given.dir().load("other-scope").unwrap();
    assert_eq!(other.snapshot.name, "state-2026-03-01T090000Z-43412bae.json");
    assert_eq!(other.damage, []);
}

#[test]
fn what_the_original_saves_after_us_is_the_head() {
    let given = Given::nothing();
    given.dir().save(bundle(DEMO, "ours"), at(0)).unwrap();
    let chain = Given::fixture("chain");
    let mut later = Bundle::parse(chain.read(FIRST).as_bytes()).unwrap();
    later.created_at = "2028-01-01T00:00:00Z".to_owned();
    let text = later.encode();
    given.write("state-2028-01-01T000000Z-other.json", text.as_bytes());
    given.write("latest.json", br#"{"version":"1","path":"state-2028-01-01T000000Z-other.json"}"#);
    let loaded = given.dir().load(DEMO).unwrap();
    assert_eq!(loaded.snapshot.name, "state-2028-01-01T000000Z-other.json");
    let blank = Damage { file: "latest.json".to_owned(), problem: Problem::BlankSha };
    assert_eq!(loaded.damage, [blank]);
    let saved = given.dir().save(bundle(DEMO, "again"), at(1)).unwrap().snapshot;
    assert_eq!(saved.bundle.prev_sha, loaded.snapshot.sha);
    assert!(saved.bundle.created_at.as_str() > "2028-01-01T00:00:00.000000Z");
}
