//! Two muxes that talk to each other in any order, checked against what was sent.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use proptest::prelude::*;

use super::{Gone, HEADER_BYTES, HalfError, Header, Mux, Side};

const STREAMS_MAX: u32 = 3;
const WINDOW: u32 = 1_000;
/// Steps after which everything must have been said.
const ROUNDS_MAX: usize = 50;

#[derive(Debug, Clone)]
enum Step {
    Open(usize),
    Accept(usize),
    Send(usize, u8, u16),
    Read(usize, u8),
    Finish(usize, u8),
    GiveUp(usize, u8),
    StopReading(usize, u8),
    /// So many bytes of what one side has written reach the other.
    Carry(usize, u16),
}

fn step() -> impl Strategy<Value = Step> {
    let (side, stream) = (0..2_usize, any::<u8>());
    prop_oneof![
        side.clone().prop_map(Step::Open),
        side.clone().prop_map(Step::Accept),
        (side.clone(), stream, 1..3_000_u16).prop_map(|(s, n, length)| Step::Send(s, n, length)),
        (side.clone(), stream).prop_map(|(s, n)| Step::Read(s, n)),
        (side.clone(), stream).prop_map(|(s, n)| Step::Finish(s, n)),
        (side.clone(), stream).prop_map(|(s, n)| Step::GiveUp(s, n)),
        (side.clone(), stream).prop_map(|(s, n)| Step::StopReading(s, n)),
        (side, any::<u16>()).prop_map(|(s, count)| Step::Carry(s, count)),
    ]
}

/// What one side knows of one stream.
#[derive(Default)]
struct Half {
    /// Bytes that were given to the mux to send.
    sent: usize,
    /// Bytes that were read.
    read: usize,
    is_finished: bool,
    has_given_up: bool,
    /// Its receiver is gone, so nobody reads it any more.
    has_stopped: bool,
}

struct End {
    mux: Mux,
    halves: BTreeMap<u32, Half>,
    /// Written, and not carried yet.
    wire: Vec<u8>,
}

struct Pair([End; 2]);

/// The byte at that place of a stream, from that side.
fn byte(side: usize, stream: u32, place: usize) -> u8 {
    (place * 7 + side * 101 + stream as usize * 13) as u8
}

impl End {
    fn new(side: Side) -> Self {
        let mux = Mux::new(side, STREAMS_MAX, WINDOW);
        Self { mux, halves: BTreeMap::new(), wire: Vec::new() }
    }

    /// One of its streams.
    fn pick(&self, number: u8) -> Option<u32> {
        let count = self.halves.len().max(1);
        self.halves.keys().nth(usize::from(number) % count).copied()
    }

    fn half(&mut self, stream: u32) -> &mut Half {
        self.halves.get_mut(&stream).unwrap()
    }
}

impl Pair {
    fn new() -> Self {
        Self([End::new(Side::Dialled), End::new(Side::Accepted)])
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Open(side) => self.begin(side, Mux::open),
            Step::Accept(side) => self.begin(side, Mux::accept),
            Step::Send(side, number, length) => self.send(side, number, usize::from(length)),
            Step::Read(side, number) => {
                if let Some(stream) = self.0[side].pick(number) {
                    self.read(side, stream);
                }
            }
            Step::Finish(side, number) => self.end(side, number, Mux::finish, |half| {
                half.is_finished |= !half.has_given_up;
            }),
            Step::GiveUp(side, number) => self.end(side, number, Mux::give_up, |half| {
                half.has_given_up = true;
            }),
            Step::StopReading(side, number) => self.end(side, number, Mux::stop_reading, |half| {
                half.has_stopped = true;
            }),
            Step::Carry(side, count) => self.carry(side, usize::from(count)),
        }
    }

    fn begin(&mut self, side: usize, how: fn(&mut Mux) -> Option<Result<u32, super::Closed>>) {
        if let Some(stream) = how(&mut self.0[side].mux) {
            self.0[side].halves.insert(stream.unwrap(), Half::default());
        }
    }

    fn end(&mut self, side: usize, number: u8, how: fn(&mut Mux, u32), note: fn(&mut Half)) {
        let end = &mut self.0[side];
        if let Some(stream) = end.pick(number) {
            how(&mut end.mux, stream);
            note(end.half(stream));
        }
    }

    fn send(&mut self, side: usize, number: u8, length: usize) {
        let end = &mut self.0[side];
        let Some(stream) = end.pick(number) else { return };
        let from = end.half(stream).sent;
        let bytes: Vec<u8> = (from..from + length).map(|at| byte(side, stream, at)).collect();
        let mut bytes = Bytes::from(bytes);
        let _ = end.mux.poll_send(stream, &mut bytes, &context());
        if bytes.is_empty() {
            end.half(stream).sent += length;
        }
    }

    /// Reads what is there, and compares it with what the other side sent.
    fn read(&mut self, side: usize, stream: u32) {
        if self.0[side].half(stream).has_stopped {
            return;
        }
        let read = self.0[side].mux.poll_read(stream, &context());
        let other = self.0[1 - side].halves.get(&stream);
        let (sent, finished) = other.map_or((0, false), |half| (half.sent, half.is_finished));
        let half = self.0[side].half(stream);
        match read {
            Poll::Ready(Ok(Some(bytes))) => {
                let places = half.read..half.read + bytes.len();
                assert!(places.end <= sent);
                assert!(bytes.iter().copied().eq(places.map(|at| byte(1 - side, stream, at))));
                half.read += bytes.len();
            }
            Poll::Ready(Ok(None)) => assert!(finished && half.read == sent),
            Poll::Ready(Err(error)) => assert_eq!(error, HalfError::Gone(Gone::Reset)),
            Poll::Pending => {}
        }
    }

    fn carry(&mut self, side: usize, count: usize) {
        let mut wire = std::mem::take(&mut self.0[side].wire);
        self.0[side].mux.write(&mut wire);
        let other = &mut self.0[1 - side].mux;
        let mut carried = 0;
        while let Some(header) = wire.get(carried..).and_then(|rest| rest.first_chunk()) {
            let header = Header::read(*header).unwrap();
            let whole = carried + HEADER_BYTES + header.length;
            if carried > 0 && whole > count {
                break;
            }
            other.check(header).unwrap();
            other.receive(header, &wire[carried + HEADER_BYTES..whole]).unwrap();
            check_bounds(other);
            carried = whole;
        }
        wire.drain(..carried);
        self.0[side].wire = wire;
    }

    /// Everybody lets go of everything, and all is said.
    fn let_go(&mut self) {
        for _ in 0..ROUNDS_MAX {
            for side in 0..2 {
                self.begin(side, Mux::accept);
                let streams: Vec<u32> = self.0[side].halves.keys().copied().collect();
                for stream in streams {
                    self.0[side].mux.give_up(stream);
                    self.0[side].mux.stop_reading(stream);
                }
                self.carry(side, usize::MAX);
            }
        }
    }
}

fn check_bounds(mux: &Mux) {
    let of_peer = mux.streams.keys().filter(|stream| *stream % 2 == mux.opened.next % 2).count();
    assert!(of_peer <= STREAMS_MAX as usize, "{of_peer} streams");
    assert!(mux.unread_bytes() <= mux.stream_count() * WINDOW as usize);
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

proptest! {
    #[test]
    fn every_byte_arrives_in_its_place_and_nothing_is_left(steps in prop::collection::vec(step(), 1..200)) {
        let mut pair = Pair::new();
        steps.iter().for_each(|step| pair.step(step));
        pair.let_go();
        for End { mux, wire, .. } in &mut pair.0 {
            assert_eq!((mux.stream_count(), wire.len()), (0, 0));
            assert_eq!((mux.opened.allowed, mux.opening.allowed), (STREAMS_MAX, STREAMS_MAX));
        }
    }
}
