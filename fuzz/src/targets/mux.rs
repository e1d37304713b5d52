//! Pieces of a link on TCP: bytes of a peer that has a certificate and may still mean harm.

use ah_access::link::mux::{HEADER_BYTES, Header, Mux, MuxError, PieceKind, Side};

const STREAMS_MAX: u32 = 3;
const WINDOW: u32 = 64;

pub(crate) const WORDS: &[&str] = &[
    "\0\0\0\u{1}\u{2}\0\0",
    "\0\0\0\u{1}\u{3}\0\u{1}x",
    "\0\0\0\u{1}\u{4}\0\0",
    "\0\0\0\u{1}\u{5}\0\0",
    "\0\0\0\u{1}\u{6}\0\0",
    "\0\0\0\u{3}\u{2}\0\0",
    "\0\0\0\u{1}\u{7}\0\u{4}\0\0\0\u{1}",
    "\0\0\0\0\u{8}\0\u{4}\0\0\0\u{1}",
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let terms = piece(0, PieceKind::Terms, &[0, 0, 0, 2, 0, 0, 0, 64]);
    let open = |stream| piece(stream, PieceKind::Open, &[]);
    let data = |stream| piece(stream, PieceKind::Data, b"some bytes");
    let more = |stream| piece(stream, PieceKind::Credit, &[0, 0, 0, 9]);
    let ends = |stream| [PieceKind::Finish, PieceKind::Stop].map(|kind| piece(stream, kind, &[]));
    let talk = [open(1), data(1), open(3), data(3), more(1), data(1), ends(1).concat()];
    let link = [
        piece(0, PieceKind::Streams, &[0, 0, 0, 1]),
        piece(0, PieceKind::Ping, &[7; 8]),
        piece(0, PieceKind::Pong, &[7; 8]),
        piece(1, PieceKind::Reset, &[]),
        piece(0, PieceKind::Close, b"shutdown: later"),
    ];
    let seeds = [
        [terms.clone(), talk.concat()].concat(),
        [terms.clone(), open(1), link.concat()].concat(),
        [terms, open(1), data(1), ends(1).concat(), open(3), ends(3).concat()].concat(),
    ];
    for seed in &seeds {
        assert_eq!(taken(seed), None, "{}", seed.escape_ascii());
    }
    seeds.to_vec()
}

fn piece(stream: u32, kind: PieceKind, body: &[u8]) -> Vec<u8> {
    let header = Header { stream, kind, length: body.len() };
    [&header.to_bytes()[..], body].concat()
}

/// No more streams are there than were allowed, no more is held than their windows, and what is said
/// in return are pieces.
pub(crate) fn run(input: &[u8]) {
    taken(input);
}

fn taken(mut input: &[u8]) -> Option<MuxError> {
    let mut mux = Mux::new(Side::Accepted, STREAMS_MAX, WINDOW);
    while let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>() {
        let header = match Header::read(*header) {
            Ok(known) => {
                assert_eq!(known.to_bytes(), *header);
                known
            }
            Err(error) => return Some(error),
        };
        if let Err(error) = mux.check(header) {
            return Some(error);
        }
        let (body, rest) = rest.split_at_checked(header.length)?;
        if let Err(error) = mux.receive(header, body) {
            return Some(error);
        }
        check(&mut mux);
        input = rest;
    }
    None
}

fn check(mux: &mut Mux) {
    // Nobody here opens any, so all are the peer's.
    assert!(mux.stream_count() <= STREAMS_MAX as usize);
    assert!(mux.unread_bytes() <= mux.stream_count() * WINDOW as usize);
    let mut said = Vec::new();
    mux.write(&mut said);
    let mut rest = said.as_slice();
    while let Some((header, after)) = rest.split_first_chunk::<HEADER_BYTES>() {
        let header = Header::read(*header).expect("a piece of ours");
        rest = after.get(header.length..).expect("a whole piece");
    }
    assert!(rest.is_empty());
}
