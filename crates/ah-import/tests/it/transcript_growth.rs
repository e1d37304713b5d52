//! Files that grow: reading them in pieces, by two imports at once, or after a kill gives what
//! reading them whole gives.

use std::sync::Arc;

use ah_conformance::block_on;
use ah_model::{PageLimit, PageRequest};
use ah_store::Store;
use proptest::prelude::*;

use crate::support::store;
use crate::transcript::{Tool, Transcripts, fixture, kept, log};

const FIXTURES: [(Tool, &str); 5] = [
    (Tool::ClaudeCode, "2.1.325"),
    (Tool::ClaudeCode, "2.0.77"),
    (Tool::Codex, "0.166.0"),
    (Tool::Codex, "0.89.0"),
    (Tool::Gemini, "0.61.0"),
];

/// Everything that a store keeps.
fn all(store: &dyn Store) -> String {
    format!("{}\n{}", kept(store), log(store))
}

fn whole(tool: Tool, version: &str) -> String {
    let store = store();
    Transcripts::of(tool, version).import(&*store);
    all(&*store)
}

fn forget(store: &dyn Store, tool: Tool) {
    let scope = format!("import/{}", tool.source());
    let page = PageRequest { limit: PageLimit::MAX, cursor: None };
    for entry in block_on(store.kv_list(scope.clone(), page)).unwrap().items {
        block_on(store.kv_delete(scope.clone(), entry.key)).unwrap();
    }
}

/// Writes the first `part` of 1,000 of every transcript. What is known of sub-agents beside their
/// transcripts is there from the start.
fn write(transcripts: &Transcripts, files: &[(String, Vec<u8>)], part: usize) {
    for (name, bytes) in files {
        let end = match name.ends_with(".jsonl") {
            true => bytes.len() * part / 1_000,
            false => bytes.len(),
        };
        transcripts.write(name, &bytes[..end]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_file_read_in_pieces_is_the_file_read_whole(
        which in 0_usize..FIXTURES.len(),
        mut cuts in prop::collection::vec((0_usize..1_000, any::<bool>()), 1..5),
    ) {
        let (tool, version) = FIXTURES[which];
        let files = fixture(tool, version);
        let (transcripts, store) = (Transcripts::new(tool), store());
        cuts.sort();
        cuts.push((1_000, false));
        for (part, killed) in cuts {
            write(&transcripts, &files, part);
            transcripts.import(&*store);
            if killed {
                // Killed before it noted how far it came.
                forget(&*store, tool);
            }
        }
        prop_assert_eq!(all(&*store), whole(tool, version));
    }
}

#[test]
fn every_end_within_the_first_lines_is_read_like_the_whole() {
    for (tool, version) in
        [(Tool::ClaudeCode, "2.0.77"), (Tool::Codex, "0.89.0"), (Tool::Gemini, "0.61.0")]
    {
        let (files, expected) = (fixture(tool, version), whole(tool, version));
        for part in (0..1_000).step_by(37) {
            let (transcripts, store) = (Transcripts::new(tool), store());
            for part in [part, part + 1, 1_000] {
                write(&transcripts, &files, part);
                transcripts.import(&*store);
            }
            assert_eq!(all(&*store), expected, "{version} cut at {part} of 1,000");
        }
    }
}

#[test]
fn a_child_waits_for_a_session_that_says_nothing_yet() {
    let (tool, version) = FIXTURES[0];
    let (files, expected) = (fixture(tool, version), whole(tool, version));
    for part in 0..60 {
        let (transcripts, store) = (Transcripts::new(tool), store());
        for part in [part, 1_000] {
            write(&transcripts, &files, part);
            transcripts.import(&*store);
        }
        assert_eq!(all(&*store), expected, "cut at {part} of 1,000");
    }
}

#[test]
fn two_imports_at_once_are_as_one() {
    for (tool, version) in FIXTURES {
        let (transcripts, store) = (Transcripts::of(tool, version), store());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let store: Arc<dyn Store> = store.clone();
                let transcripts = &transcripts;
                scope.spawn(move || transcripts.import(&*store));
            }
        });
        assert_eq!(all(&*store), whole(tool, version), "{version}");
    }
}
