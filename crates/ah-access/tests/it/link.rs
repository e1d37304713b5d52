//! Links over real sockets: streams of frames both ways, and what ends them.

mod flood;
pub(crate) mod given;
mod hostile;
mod peers;
mod raw;

use ah_access::frame::{Frame, Lane};
use ah_access::link::{Closed, Limits, Reason, ReceiveError, SendError, Way};
use ah_model::RawJson;
use tokio::task::JoinSet;

use crate::samples;
use given::Place;

const CONTROL: &[Lane] = &[Lane::ExecutorControl];
const CONTROL_BACK: &[Lane] = &[Lane::ServerControl];
const REQUEST: &[Lane] = &[Lane::Request];
const ANSWER: &[Lane] = &[Lane::Answer];

const WAYS: [Way; 2] = [Way::Quic, Way::Tcp];

/// A frame that an access point may send back to Hello.
fn goodbye() -> Frame {
    let goodbye = samples::all().into_iter().find(|frame| matches!(frame, Frame::Goodbye(_)));
    goodbye.unwrap()
}

#[tokio::test]
async fn frames_go_both_ways_and_streams_end() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        assert_eq!(accepted.peer().as_str(), "spiffe://example.org/ah/agent/node-1");
        assert_eq!(dialled.peer().as_str(), "spiffe://example.org/ah/serve");
        let (mut send, mut receive) = dialled.open(CONTROL_BACK).await.unwrap();
        send.send(&samples::hello()).await.unwrap();
        send.send(&samples::heartbeat()).await.unwrap();
        send.finish().unwrap();
        let (mut send_back, mut received) = accepted.accept(CONTROL).await.unwrap();
        assert_eq!(received.next().await.unwrap(), Some(samples::hello()));
        assert_eq!(received.next().await.unwrap(), Some(samples::heartbeat()));
        assert_eq!(received.next().await.unwrap(), None);
        assert_eq!(received.next().await.unwrap(), None);
        send_back.send(&goodbye()).await.unwrap();
        send_back.finish().unwrap();
        assert_eq!(receive.next().await.unwrap(), Some(goodbye()));
        assert_eq!(receive.next().await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_reason_reaches_the_other_side() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        accepted.close("drained", "come back\nlater");
        accepted.close("second", "does not count");
        let reason = Reason::new("drained", "come back later");
        assert_eq!(accepted.closed().await, Closed::Here(reason.clone()));
        assert_eq!(dialled.closed().await, Closed::There(reason.clone()));
        let opened = dialled.open(CONTROL_BACK).await.unwrap_err();
        assert_eq!(opened, Closed::There(reason));
    }
}

#[tokio::test]
async fn the_other_side_learns_of_halves_that_are_dropped() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        let request = &samples::stop();
        let (mut send, receive) = accepted.open(ANSWER).await.unwrap();
        send.send(request).await.unwrap();
        let (mut answer, mut received) = dialled.accept(REQUEST).await.unwrap();
        assert_eq!(received.next().await.unwrap().as_ref(), Some(request));
        drop(send);
        assert_eq!(received.next().await, Err(ReceiveError::Reset));
        drop(receive);
        answer.stopped().await;
        assert_eq!(answer.send(&samples::progress()).await, Err(SendError::Stopped));
    }
}

/// A frame of about 4 MiB, longer than any window.
fn long_request() -> Frame {
    let launch = samples::all().into_iter().find_map(|frame| match frame {
        Frame::Launch(launch) => Some(launch),
        _ => None,
    });
    let mut launch = launch.unwrap();
    let text = format!("\"{}\"", "x".repeat(4_000_000));
    launch.parameters = RawJson::parse("parameters", &text, usize::MAX).unwrap();
    (*launch).into()
}

#[tokio::test]
async fn a_stream_that_nobody_reads_holds_up_no_other() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        let (mut stuck, _unused) = accepted.open(ANSWER).await.unwrap();
        let sending =
            tokio::spawn(async move { stuck.send(&long_request()).await.map(|()| stuck) });
        let (_send, mut unread) = dialled.accept(REQUEST).await.unwrap();
        let request = samples::stop();
        for _ in 0..20 {
            let (mut send, _receive) = accepted.open(ANSWER).await.unwrap();
            send.send(&request).await.unwrap();
            let (_answer, mut received) = dialled.accept(REQUEST).await.unwrap();
            assert_eq!(received.next().await.unwrap().as_ref(), Some(&request));
        }
        assert!(!sending.is_finished());
        assert_eq!(unread.next().await.unwrap(), Some(long_request()));
        sending.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn frames_wait_for_room_and_all_arrive() {
    // Room for the longest kind of frame only: four of these do not fit at a time.
    let dialling = Limits { frames_bytes_max: 0, ..Limits::dialer() };
    for way in WAYS {
        let place = Place::with(Limits::listener(), dialling.clone());
        let (accepted, dialled) = place.meet(way).await;
        let mut tasks = JoinSet::new();
        for _ in 0..6 {
            let (mut send, receive) = accepted.open(ANSWER).await.unwrap();
            tasks.spawn(async move {
                send.send(&long_request()).await.unwrap();
                drop((send.deliver().await, receive));
            });
        }
        for _ in 0..6 {
            let (_send, mut receive) = dialled.accept(REQUEST).await.unwrap();
            tasks.spawn(async move { assert!(receive.next().await.unwrap().is_some()) });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    }
}

#[tokio::test]
async fn what_was_delivered_is_read_before_the_link_is_over() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        let (mut send, mut receive) = dialled.open(CONTROL_BACK).await.unwrap();
        send.send(&samples::hello()).await.unwrap();
        let (mut answer, mut received) = accepted.accept(CONTROL).await.unwrap();
        received.next().await.unwrap();
        answer.send(&goodbye()).await.unwrap();
        answer.deliver().await.unwrap();
        accepted.close("replaced", "");
        dialled.closed().await;
        assert_eq!(receive.next().await.unwrap(), Some(goodbye()));
    }
}

#[tokio::test]
async fn a_frame_that_was_given_up_in_the_middle_ends_its_stream() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        let (mut send, _receive) = accepted.open(ANSWER).await.unwrap();
        let long = long_request();
        let (_answer, mut received) = tokio::select! {
            _ = send.send(&long) => panic!("nobody reads it"),
            accepted = dialled.accept(REQUEST) => accepted.unwrap(),
        };
        assert_eq!(send.send(&samples::stop()).await, Err(SendError::Interrupted));
        drop(send);
        assert_eq!(received.next().await, Err(ReceiveError::Reset));
    }
}

#[tokio::test]
async fn a_link_that_nobody_holds_is_closed() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        drop(dialled);
        assert_eq!(accepted.closed().await, Closed::There(Reason::new("dropped", "")));
    }
}

#[tokio::test]
async fn links_end_with_whoever_made_them() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        drop(place.dialer);
        dialled.closed().await;
        accepted.closed().await;
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        let (_send, mut receive) = dialled.open(CONTROL_BACK).await.unwrap();
        drop(place.listener);
        accepted.closed().await;
        assert!(matches!(receive.next().await, Err(ReceiveError::Closed(_))));
    }
}
