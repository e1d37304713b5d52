//! Frames as bytes: whatever the pieces, whatever the peer sends.

use std::collections::BTreeSet;

use ah_access::frame::{
    Body, Decoder, Frame, FrameError, FrameKind, Happened, Heartbeat, HeldRun, HeldState, Hello,
    Lane, Report, VERSION, decode_one, encode,
};
use ah_model::RunEnd;
use proptest::prelude::*;

use crate::samples;

const EVERYWHERE: &[Lane] = &[
    Lane::ExecutorControl,
    Lane::ServerControl,
    Lane::Request,
    Lane::Answer,
    Lane::Report,
    Lane::ReportAck,
];

/// A frame of these bytes, whatever they are.
fn raw(version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 2).unwrap();
    [&length.to_be_bytes()[..], &[version, kind], body].concat()
}

fn of(kind: FrameKind, body: &str) -> Vec<u8> {
    raw(VERSION, kind as u8, body.as_bytes())
}

fn refusal(bytes: &[u8]) -> FrameError {
    decode_one(EVERYWHERE, bytes).unwrap_err()
}

/// Why this body of the sample's kind is refused, after `change`.
fn refused_body(sample: &Frame, change: impl FnOnce(&mut serde_json::Value)) -> String {
    let encoded = sample.encode().unwrap();
    let mut body: serde_json::Value = serde_json::from_slice(&encoded[6..]).unwrap();
    change(&mut body);
    match refusal(&of(sample.kind(), &body.to_string())) {
        FrameError::BadBody { kind, reason } if kind == sample.kind() => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn every_kind_has_a_sample_that_reads_back_as_it_was() {
    let kinds: BTreeSet<u8> = samples::all().iter().map(|frame| frame.kind() as u8).collect();
    assert_eq!(kinds, FrameKind::ALL.iter().map(|kind| *kind as u8).collect());
    for frame in samples::all() {
        assert_eq!(decode_one(EVERYWHERE, &frame.encode().unwrap()).unwrap(), frame);
    }
}

#[test]
fn numbers_of_kinds_name_their_kind_and_no_other() {
    for number in 0..=u8::MAX {
        let known = FrameKind::ALL.iter().copied().find(|kind| *kind as u8 == number);
        assert_eq!(FrameKind::from_number(number), known);
    }
}

#[test]
fn a_frame_begins_with_its_length_version_and_kind() {
    let bytes = samples::heartbeat().encode().unwrap();
    let length = u32::from_be_bytes(bytes[..4].try_into().unwrap());
    assert_eq!(length as usize, bytes.len() - 4);
    assert_eq!(bytes[4..6], [1, 3]);
    assert_eq!(bytes[6], b'{');
}

#[test]
fn payloads_pass_byte_for_byte() {
    let Frame::Report(report) = samples::report() else { panic!() };
    let bytes = encode(&*report).unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains("{\"a\":[1.00,-0]}"));
}

#[test]
fn fields_of_a_newer_peer_are_ignored() {
    for frame in samples::all() {
        let bytes = frame.encode().unwrap();
        let text = std::str::from_utf8(&bytes[6..]).unwrap();
        // At the top and in every object below it, but not in payloads, which are kept as they are.
        let top = text.replacen('{', "{\"newer\":{\"a\":[1]},", 1);
        assert_eq!(decode_one(EVERYWHERE, &of(frame.kind(), &top)).unwrap(), frame);
        for inner in ["\"request\":{", "\"config\":{", "\"outbox\":{", "\"ended\":{", "\"load\":{"]
        {
            let more = text.replace(inner, &format!("{inner}\"newer\":1,"));
            assert_eq!(decode_one(EVERYWHERE, &of(frame.kind(), &more)).unwrap(), frame);
        }
    }
}

#[test]
fn words_of_a_newer_peer_are_other_where_nothing_is_done_about_them() {
    let bytes = samples::heartbeat().encode().unwrap();
    let text = std::str::from_utf8(&bytes[6..]).unwrap().replace("\"running\"", "\"hibernating\"");
    let Frame::Heartbeat(beat) = decode_one(EVERYWHERE, &of(FrameKind::Heartbeat, &text)).unwrap()
    else {
        panic!()
    };
    assert_eq!(beat.held[0].state, HeldState::Other);
}

#[test]
fn words_of_a_newer_peer_are_refused_where_something_must_be_done() {
    let pause = samples::all().into_iter().find(|frame| frame.kind() == FrameKind::Pause).unwrap();
    let reason = refused_body(&pause, |body| body["mode"] = "hibernate".into());
    assert!(reason.contains("unknown variant `hibernate`"), "{reason}");
}

#[test]
fn each_way_to_be_wrong_has_its_name() {
    let heartbeat = FrameKind::Heartbeat;
    let body = r#"{"beat":1,"sentAt":"1970-01-01T00:00:00.000Z","uptimeMs":1}"#;
    let good = of(heartbeat, body);
    assert!(decode_one(EVERYWHERE, &good).is_ok());

    let max = heartbeat.body_bytes_max();
    let long = of(heartbeat, &" ".repeat(max + 1));
    let expected = FrameError::TooLong { kind: heartbeat, length: max + 1, max };
    assert_eq!(refusal(&long), expected);
    assert_eq!(refusal(&[0, 0, 0, 1, 1, 3]), FrameError::TooShort { length: 1 });
    assert_eq!(refusal(&raw(2, 3, b"{}")), FrameError::UnknownVersion { version: 2 });
    assert_eq!(refusal(&raw(1, 99, b"{}")), FrameError::UnknownKind { kind: 99 });
    assert_eq!(
        decode_one(&[Lane::ServerControl], &good),
        Err(FrameError::Misplaced { kind: heartbeat })
    );
    for text in ["", "{", "[]", "{}", "\u{7f}", &body.replace('1', "-1")] {
        let error = refusal(&of(heartbeat, text));
        assert!(matches!(error, FrameError::BadBody { .. }), "{text}: {error}");
    }
    let two = of(heartbeat, &format!("{body} {body}"));
    let count = body.len();
    assert_eq!(refusal(&two), FrameError::TrailingBytes { kind: heartbeat, count });
    let more = [&good[..], b"x"].concat();
    assert_eq!(refusal(&more), FrameError::TrailingBytes { kind: heartbeat, count: 1 });
    let arrived = good.len() - 1;
    assert_eq!(refusal(&good[..arrived]), FrameError::Truncated { arrived });
}

#[test]
fn a_stream_that_ends_between_frames_is_whole() {
    let bytes = samples::hello().encode().unwrap();
    let mut decoder = Decoder::new(EVERYWHERE);
    assert_eq!(decoder.finish(), Ok(()));
    for cut in [3, 6, 20] {
        let mut decoder = Decoder::new(EVERYWHERE);
        assert_eq!(decoder.decode(&mut &bytes[..cut]), Ok(None));
        assert_eq!(decoder.finish(), Err(FrameError::Truncated { arrived: cut }));
    }
    assert!(decoder.decode(&mut &bytes[..]).unwrap().is_some());
    assert_eq!(decoder.finish(), Ok(()));
}

#[test]
fn nothing_is_read_after_an_error() {
    let mut decoder = Decoder::new(EVERYWHERE);
    let error = decoder.decode(&mut &raw(1, 99, b"{}")[..]).unwrap_err();
    let good = samples::hello().encode().unwrap();
    assert_eq!(decoder.decode(&mut &good[..]), Err(error.clone()));
    assert_eq!(decoder.finish(), Err(error));
}

#[test]
fn an_announced_length_costs_nothing_before_its_bytes_arrive() {
    let kind = FrameKind::Report;
    let length = u32::try_from(kind.body_bytes_max() + 2).unwrap();
    let header = [&length.to_be_bytes()[..], &[VERSION, kind as u8]].concat();
    let mut decoder = Decoder::new(EVERYWHERE);
    assert_eq!(decoder.decode(&mut &header[..]), Ok(None));
    assert_eq!(decoder.held_bytes(), 0);
    assert_eq!(decoder.decode(&mut &[b' '; 1000][..]), Ok(None));
    assert!(decoder.held_bytes() <= 2_000, "{}", decoder.held_bytes());
}

#[test]
fn lists_are_bounded_while_they_are_read() {
    let Frame::Heartbeat(beat) = samples::heartbeat() else { panic!() };
    let many = |count: usize| {
        let held = HeldRun { run_id: "r".parse().unwrap(), ..beat.held[0].clone() };
        Heartbeat { held: vec![held; count], ..(*beat).clone() }
    };
    assert!(encode(&many(1_024)).is_ok());
    let error = encode(&many(1_025)).unwrap_err();
    assert_eq!(error.code(), "frame-bad-body");
    let reason = refused_body(&many(1).into(), |body| {
        let one = body["held"][0].clone();
        body["held"] = vec![one; 1_025].into();
    });
    assert!(reason.contains("a list of at most 1024"), "{reason}");
}

#[test]
fn reports_must_be_numbered_without_gaps() {
    let report = samples::report();
    let gap = refused_body(&report, |body| body["items"][1]["seq"] = 14.into());
    assert_eq!(gap, "invalid items.seq: 14 where 13 is next");
    let none = refused_body(&report, |body| body["items"] = serde_json::json!([]));
    assert_eq!(none, "invalid items: 0, 1 to 1024 are allowed");
    let zero = refused_body(&report, |body| body["items"][0]["seq"] = 0.into());
    assert_eq!(zero, "invalid items.seq: 0 where 1 is next");
}

#[test]
fn numbers_out_of_bounds_are_refused_with_the_bounds() {
    let all = samples::all();
    let sample = |kind| all.iter().find(|frame| frame.kind() == kind).unwrap();
    let cpu = refused_body(sample(FrameKind::Heartbeat), |body| body["load"]["cpu"] = 1.5.into());
    assert_eq!(cpu, "invalid load.cpu: 1.5, 0 to 1 is allowed");
    let launch = sample(FrameKind::Launch);
    let deadline = refused_body(launch, |body| body["request"]["deadlineMs"] = 0.into());
    assert_eq!(deadline, "invalid request.deadlineMs: 0, 1 to 3600000 are allowed");
    let fence = refused_body(sample(FrameKind::Fence), |body| body["snapshot"] = ().into());
    assert_eq!(fence, "invalid snapshot: a follower needs its name");
    let name = serde_json::json!({ "A=B": "" });
    let dispatch = refused_body(sample(FrameKind::Dispatch), |body| body["env"] = name);
    assert_eq!(dispatch, "invalid env: `=` in the name \"A=B\"");
}

#[test]
fn a_body_that_may_not_be_sent_is_refused_before_it_is() {
    let Frame::Hello(hello) = samples::hello() else { panic!() };
    let error = encode(&Hello { software: String::new(), ..*hello }).unwrap_err();
    assert_eq!(error.to_string(), "Hello: invalid software: must not be empty");
}

#[test]
fn an_item_becomes_what_the_store_takes() {
    let Frame::Report(report) = samples::report() else { panic!() };
    let Report { items, .. } = *report;
    let event = items[1].event().unwrap();
    assert_eq!((event.kind.as_str(), event.dedup_key.as_deref()), ("note", Some("o1/13")));
    assert_eq!(event.data.as_str(), "{\"a\":[1.00,-0]}");
    let Happened::Ended(ended) = items[2].what.clone() else { panic!() };
    let end = RunEnd::from(ended);
    assert_eq!(end.result.unwrap().as_str(), "null", "null is a result");
    assert_eq!(end.exit.signal, Some(11));
}

#[test]
fn a_body_says_its_kind() {
    assert_eq!(<Report as Body>::KIND.lanes(), [Lane::Report]);
    assert_eq!(FrameKind::Goodbye.lanes(), [Lane::ExecutorControl, Lane::ServerControl]);
}

/// Everything that comes out of a stream that arrives in these pieces, and how it ends.
fn decode_pieces(pieces: &[&[u8]]) -> (Vec<Frame>, Result<(), FrameError>) {
    let mut decoder = Decoder::new(EVERYWHERE);
    let mut frames = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            match decoder.decode(&mut rest) {
                Ok(frame) => frames.extend(frame),
                Err(error) => return (frames, Err(error)),
            }
        }
    }
    (frames, decoder.finish())
}

fn cut(bytes: &[u8], at: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<usize> = at.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

proptest! {
    #[test]
    fn any_cut_of_a_stream_decodes_the_same(
        picked in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let all = samples::all();
        let frames: Vec<Frame> = picked.iter().map(|at| at.get(&all).clone()).collect();
        let mut bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.encode().unwrap()).collect();
        if let Some((place, byte)) = damage {
            *place.get_mut(&mut bytes) = byte;
        }
        let whole = decode_pieces(&[&bytes]);
        if damage.is_none() {
            prop_assert_eq!(&whole, &(frames, Ok(())));
        }
        let pieces = cut(&bytes, &cuts);
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(decode_pieces(&pieces), whole.clone());
        let singles: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(decode_pieces(&singles), whole);
    }

    #[test]
    fn arbitrary_bytes_are_never_held_beyond_the_limit(
        kind in any::<prop::sample::Index>(),
        announced in any::<u32>(),
        known in any::<bool>(),
        noise in prop::collection::vec(any::<u8>(), 0..4_096),
        piece in 1..512_usize,
    ) {
        let kind = *kind.get(FrameKind::ALL);
        // Half of the streams begin with a header that may stand; noise alone seldom does.
        let length = announced % u32::try_from(kind.body_bytes_max()).unwrap() + 2;
        let header = [&length.to_be_bytes()[..], &[VERSION, kind as u8]].concat();
        let bytes = if known { [header, noise].concat() } else { noise };
        let mut decoder = Decoder::new(EVERYWHERE);
        let mut arrived = 0;
        for mut rest in bytes.chunks(piece) {
            arrived += rest.len();
            while !rest.is_empty() && decoder.decode(&mut rest).is_ok() {}
            prop_assert!(decoder.held_bytes() <= 2 * arrived);
            prop_assert!(decoder.held_bytes() <= kind.body_bytes_max().max(4_096));
        }
    }

    #[test]
    fn arbitrary_bodies_of_every_kind_are_read_or_refused(
        kind in any::<prop::sample::Index>(),
        body in "[ {}\\[\\]\",:a-z0-9]{0,200}",
    ) {
        let kind = *kind.get(FrameKind::ALL);
        if let Ok(frame) = decode_one(EVERYWHERE, &of(kind, &body)) {
            prop_assert_eq!(frame.kind(), kind);
        }
    }
}
