//! `docs/protocol.md` says what the code does.

use std::collections::BTreeSet;

use ah_access::frame::{ALPN, FrameKind, VERSION};
use ah_access::link::Limits;
use ah_access::link::mux::{PieceKind, Place};

use crate::samples;

const DOCUMENT: &str = include_str!("../../../../docs/protocol.md");

/// The rows of the table that follows a heading, without its two lines of header.
fn table(heading: &str) -> Vec<&'static str> {
    let (_, section) = DOCUMENT
        .split_once(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("docs/protocol.md has no `{heading}`"));
    let section = section.lines().take_while(|line| !line.starts_with('#'));
    let rows = section.skip_while(|line| !line.starts_with('|'));
    rows.take_while(|line| line.starts_with('|')).skip(2).collect()
}

#[test]
fn the_table_of_frames_is_the_codes() {
    let rows = FrameKind::ALL.iter().map(|kind| {
        let lanes: Vec<&str> = kind.lanes().iter().map(|lane| lane.as_str()).collect();
        let (number, max) = (*kind as u8, kind.body_bytes_max());
        format!("| {number} | [{kind}](#{}) | {} | {max} |", slug(*kind), lanes.join("; "))
    });
    let expected: Vec<String> = rows.collect();
    assert_eq!(table("## Frames"), expected, "\n{}\n", expected.join("\n"));
}

#[test]
fn the_table_of_pieces_is_the_codes() {
    for (kind, row) in PieceKind::ALL.iter().zip(table("### Over TCP")) {
        let bytes = match kind.body_bytes() {
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        let place = match kind.place() {
            Place::Link => "connection",
            Place::Stream => "stream",
        };
        let expected = format!("| {} | `{kind}` | {place} | {bytes} | ", *kind as u8);
        assert!(row.starts_with(&expected), "{row}\n{expected}");
    }
    assert_eq!(PieceKind::ALL.len(), table("### Over TCP").len());
}

#[test]
fn the_limits_are_the_codes() {
    let (listening, dialling) = (Limits::listener(), Limits::dialer());
    // Lines are wrapped where it suits the text.
    let text = DOCUMENT.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        format!("{} handshakes at a time, ", listening.handshakes_max),
        format!("{} of them from one address", listening.handshakes_per_address_max),
        format!("each within {} s;", listening.handshake_within.as_secs()),
        format!("{},000 connections.", listening.connections_max / 1_000),
        format!("{} streams at a time that the executor opened", listening.streams_max),
        format!("(an executor allows {}), ", dialling.streams_max),
        format!("{} KiB unread on each", listening.stream_window_bytes / 1_024),
        format!("The first frame within {} s,", listening.first_frame_within.as_secs()),
        format!("every frame within {} minutes.", listening.frame_within.as_secs() / 60),
        format!("After {} s without a sign of life", listening.idle.as_secs()),
        format!("the executor gives one every {} s", dialling.keep_alive.as_secs()),
        format!("at most {} MiB, as announced", listening.frames_bytes_max >> 20),
    ] {
        assert!(text.contains(&expected), "{expected}");
    }
}

#[test]
fn every_field_of_every_frame_is_described() {
    for frame in samples::all() {
        let kind = frame.kind();
        let bytes = frame.encode().unwrap();
        let body: serde_json::Value = serde_json::from_slice(&bytes[6..]).unwrap();
        let fields: BTreeSet<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        let described: BTreeSet<&str> = table(&format!("### {kind}"))
            .into_iter()
            .map(|row| row.split('`').nth(1).unwrap())
            .collect();
        assert_eq!(described, fields, "{kind}");
    }
}

#[test]
fn the_version_and_the_protocols_name_are_the_codes() {
    assert!(DOCUMENT.contains(&format!("version, {VERSION} ")));
    assert!(DOCUMENT.contains(&format!("`{}`", std::str::from_utf8(ALPN).unwrap())));
}

fn slug(kind: FrameKind) -> String {
    kind.as_str().to_lowercase()
}
