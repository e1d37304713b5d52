//! Peers that break the rules or take their time: closed with a reason, and nobody else notices.

use std::time::Duration;

use ah_access::frame::FrameError;
use ah_access::link::mux::PieceKind::{
    Close, Credit, Data, Finish, Open, Ping, Pong, Streams, Terms,
};
use ah_access::link::mux::{DATA_BYTES_MAX, PieceKind};
use ah_access::link::{Closed, Limits, Link, ReceiveError, Way};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::given::Place;
use super::raw::{RawTcp, dial_quic, piece, quic_closed, terms_piece, word};
use super::{ANSWER, CONTROL, CONTROL_BACK, WAYS, long_request};
use crate::samples;

/// Short for a test, and long enough for a handshake on a busy machine.
const SOON: Duration = Duration::from_secs(1);

/// A frame goes through on this link, so it was not harmed.
async fn check_alive(accepted: &Link, dialled: &Link) {
    let (mut send, _receive) = dialled.open(CONTROL_BACK).await.unwrap();
    send.send(&samples::hello()).await.unwrap();
    let (_send, mut receive) = accepted.accept(CONTROL).await.unwrap();
    assert_eq!(receive.next().await.unwrap(), Some(samples::hello()));
}

/// What a listener answers to such pieces, in one word.
async fn check_pieces(pieces: &[Vec<u8>], expected: &str) {
    let limits = Limits { streams_max: 2, stream_window_bytes: 20_000, ..Limits::listener() };
    let place = Place::with(limits, Limits::dialer());
    let (accepted, dialled) = place.meet(Way::Tcp).await;
    let mut raw = RawTcp::dial(&place).await;
    let hostile = place.listener.accept().await.unwrap();
    raw.write(&pieces.concat()).await;
    let reason = raw.closed().await;
    assert_eq!(word(&reason), expected, "{reason}");
    let Closed::Here(here) = hostile.closed().await else { panic!() };
    assert_eq!(here.to_string(), reason);
    check_alive(&accepted, &dialled).await;
}

#[tokio::test]
async fn pieces_that_are_none_close_the_link() {
    let terms = terms_piece;
    check_pieces(&[vec![0; 64]], "mux-bad-piece").await;
    check_pieces(&[piece(1, Open, &[])], "mux-bad-piece").await;
    check_pieces(&[terms(), terms()], "mux-bad-piece").await;
    check_pieces(&[terms(), piece(0, Streams, &[])], "mux-bad-piece").await;
    let mut long = piece(1, Data, &[1; DATA_BYTES_MAX]);
    long[5] = 0xff;
    check_pieces(&[terms(), piece(1, Open, &[]), long], "mux-bad-piece").await;
}

#[tokio::test]
async fn streams_that_are_not_there_close_the_link() {
    let (terms, open) = (terms_piece(), piece(1, Open, &[]));
    for wrong in [
        vec![piece(1, Data, b"x")],
        vec![piece(3, Open, &[])],
        vec![piece(2, Open, &[])],
        vec![piece(0, Open, &[])],
        vec![piece(7, Credit, &[0, 0, 0, 1])],
        vec![open.clone(), open.clone()],
        vec![open.clone(), piece(1, Finish, &[]), piece(1, Data, b"x")],
        vec![open.clone(), piece(1, PieceKind::Reset, &[]), piece(1, Finish, &[])],
    ] {
        let pieces = [vec![terms.clone()], wrong].concat();
        check_pieces(&pieces, "mux-bad-stream").await;
    }
}

#[tokio::test]
async fn more_than_was_allowed_closes_the_link() {
    let terms = terms_piece();
    let open = |stream| piece(stream, Open, &[]);
    let three = [terms.clone(), open(1), open(3), open(5)];
    check_pieces(&three, "mux-too-many-streams").await;
    let data = piece(1, Data, &[7; 16_000]);
    let beyond = [terms.clone(), open(1), data.clone(), data];
    check_pieces(&beyond, "mux-over-credit").await;
    let credit = piece(1, Credit, &[255; 4]);
    check_pieces(&[terms.clone(), open(1), credit], "mux-over-credit").await;
    check_pieces(&[terms, piece(0, Streams, &[255; 4])], "mux-over-credit").await;
}

#[tokio::test]
async fn a_stream_gives_its_place_back_when_both_sides_are_done_with_it() {
    let limits = Limits { streams_max: 1, ..Limits::listener() };
    for way in WAYS {
        let place = Place::with(limits.clone(), Limits::dialer());
        let (accepted, dialled) = place.meet(way).await;
        for _ in 0..20 {
            check_alive(&accepted, &dialled).await;
        }
    }
}

#[tokio::test]
async fn a_ping_is_answered_and_a_stray_answer_does_nothing() {
    let place = Place::new();
    let mut raw = RawTcp::dial(&place).await;
    let _hostile = place.listener.accept().await.unwrap();
    let pong = piece(0, Pong, &[9; 8]);
    raw.write(&[terms_piece(), pong, piece(0, Ping, &[7; 8])].concat()).await;
    assert_eq!(raw.piece().await.0.kind, PieceKind::Terms);
    let (header, body) = raw.piece().await;
    assert_eq!((header.kind, body), (Pong, vec![7; 8]));
}

#[tokio::test]
async fn a_reason_of_a_peer_is_cut_and_printable() {
    let place = Place::new();
    let mut raw = RawTcp::dial(&place).await;
    let hostile = place.listener.accept().await.unwrap();
    let reason = [&b"\x1b[31m Evil\n\xff"[..], &[b'x'; 900]].concat();
    raw.write(&[terms_piece(), piece(0, Close, &reason)].concat()).await;
    let Closed::There(reason) = hostile.closed().await else { panic!() };
    assert_eq!(reason.word, "no-word");
    assert!(reason.detail.starts_with(" [31m Evil "), "{reason}");
    assert!(reason.to_string().len() <= 1_024 && !reason.detail.chars().any(char::is_control));
}

#[tokio::test]
async fn who_asks_for_no_protocol_is_hung_up_on() {
    let place = Place::new();
    let mut raw = RawTcp::dial_for(&place, b"").await;
    assert!(matches!(raw.0.read(&mut [0]).await, Ok(0) | Err(_)));
}

#[tokio::test]
async fn a_peer_that_speaks_and_does_not_read_is_given_up() {
    let limits = Limits { idle: SOON, ..Limits::listener() };
    let place = Place::with(limits, Limits::dialer());
    let mut raw = RawTcp::dial(&place).await;
    let hostile = place.listener.accept().await.unwrap();
    raw.write(&piece(0, Terms, &[0, 0, 0, 8, 0x7f, 255, 255, 255])).await;
    let (mut send, _receive) = hostile.open(ANSWER).await.unwrap();
    let talking = async {
        // More than the system keeps for a peer that does not read.
        let request = long_request();
        while send.send(&request).await.is_ok() {}
    };
    let pinging = async {
        let mut pause = tokio::time::interval(SOON / 10);
        loop {
            pause.tick().await;
            if raw.0.write_all(&piece(0, Ping, &[7; 8])).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = talking => {}
        () = pinging => {}
    }
    assert_eq!(hostile.closed().await, Closed::Silent);
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_closed() {
    let limits = Limits { first_frame_within: SOON, ..Limits::listener() };
    for way in WAYS {
        let place = Place::with(limits.clone(), Limits::dialer());
        let (accepted, dialled) = place.meet(way).await;
        let (mut spoke, _receive) = dialled.open(CONTROL_BACK).await.unwrap();
        spoke.send(&samples::hello()).await.unwrap();
        let (_send, mut receive) = accepted.accept(CONTROL).await.unwrap();
        receive.next().await.unwrap();
        let (_accepted, silent) = place.meet(way).await;
        let Closed::There(reason) = silent.closed().await else { panic!() };
        assert_eq!(reason.to_string(), "no-frame: no frame came within 1 s");
        // The one that spoke in time has lived as long by now.
        assert_eq!(dialled.why_closed(), None);
    }
}

#[tokio::test]
async fn half_a_frame_is_no_first_frame() {
    let limits = Limits { first_frame_within: SOON, ..Limits::listener() };
    let place = Place::with(limits, Limits::dialer());
    let half = &samples::hello().encode().unwrap()[..40];
    let connection = dial_quic(&place).await;
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    send.write_all(half).await.unwrap();
    let hostile = place.listener.accept().await.unwrap();
    let (_send, mut receive) = hostile.accept(CONTROL).await.unwrap();
    let next = receive.next().await.unwrap_err();
    assert!(matches!(next, ReceiveError::Closed(Closed::Here(_))), "{next}");
    assert_eq!(word(&quic_closed(&connection).await), "no-frame");
    let mut raw = RawTcp::dial(&place).await;
    let hostile = place.listener.accept().await.unwrap();
    raw.write(&[terms_piece(), piece(1, Open, &[]), piece(1, Data, half)].concat()).await;
    let (_send, mut receive) = hostile.accept(CONTROL).await.unwrap();
    let next = receive.next().await.unwrap_err();
    assert!(matches!(next, ReceiveError::Closed(Closed::Here(_))), "{next}");
    assert_eq!(word(&raw.closed().await), "no-frame");
}

#[tokio::test]
async fn a_frame_that_takes_too_long_is_not_waited_for() {
    let limits = Limits { frame_within: SOON, ..Limits::listener() };
    let place = Place::with(limits, Limits::dialer());
    let connection = dial_quic(&place).await;
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    let hello = samples::hello().encode().unwrap();
    send.write_all(&[&hello[..], &hello[..40]].concat()).await.unwrap();
    let hostile = place.listener.accept().await.unwrap();
    let (_send, mut receive) = hostile.accept(CONTROL).await.unwrap();
    assert_eq!(receive.next().await.unwrap(), Some(samples::hello()));
    let error = receive.next().await.unwrap_err();
    assert_eq!(error, ReceiveError::Slow { within: SOON });
    assert_eq!(receive.next().await, Err(error.clone()));
    hostile.close_for(&error);
    assert_eq!(quic_closed(&connection).await, "slow-frame: a frame took longer than 1 s");
}

#[tokio::test]
async fn a_frame_that_may_not_come_is_refused_at_its_header() {
    let place = Place::new();
    let (accepted, dialled) = place.meet(Way::Quic).await;
    let connection = dial_quic(&place).await;
    let (mut send, _receive) = connection.open_bi().await.unwrap();
    // A Hello of 2 GiB, of which nothing but the header ever comes.
    send.write_all(&[0x80, 0, 0, 2, 1, 1]).await.unwrap();
    let hostile = place.listener.accept().await.unwrap();
    let (_send, mut receive) = hostile.accept(CONTROL).await.unwrap();
    let error = receive.next().await.unwrap_err();
    assert!(matches!(error, ReceiveError::Frame(FrameError::TooLong { .. })), "{error}");
    hostile.close_for(&error);
    assert_eq!(word(&quic_closed(&connection).await), "frame-too-long");
    check_alive(&accepted, &dialled).await;
}
