//! More connections than there is room for, and links that fall silent.

use std::net::SocketAddr;
use std::time::Duration;

use ah_access::link::{Closed, DialError, Limits, Transport, Transports, Way};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream, UdpSocket};

use super::WAYS;
use super::given::Place;
use super::raw::quic_config;

#[tokio::test]
async fn more_connections_than_allowed_are_refused() {
    let limits = Limits { connections_max: 1, ..Limits::listener() };
    for way in WAYS {
        let place = Place::with(limits.clone(), Limits::dialer());
        let (accepted, dialled) = place.meet(way).await;
        let error = place.dialer.dial(&place.host(), way, &place.executor).await.unwrap_err();
        match way {
            Way::Tcp => assert!(matches!(error, DialError::NoAnswer { .. }), "{error}"),
            _ => assert!(matches!(error, DialError::Closed { closed: Closed::Busy, .. })),
        }
        assert_eq!(dialled.why_closed(), None);
        drop((accepted, dialled));
        place.meet(way).await;
    }
}

/// A connection of TCP from that address, on which nothing is ever said.
async fn silent(from: &str, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(from.parse().unwrap()).unwrap();
    socket.connect(to).await.unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn one_address_does_not_take_the_places_of_others() {
    let limits = Limits {
        handshakes_max: 6,
        handshakes_per_address_max: 2,
        handshake_within: Duration::from_secs(60),
        ..Limits::listener()
    };
    let place = Place::with(limits, Limits::dialer());
    let mut flood = Vec::new();
    for _ in 0..2 {
        flood.push(silent("127.0.0.2:0", place.listener.address()).await);
    }
    // One more of that address is hung up on, which shows that the others are being waited for.
    let mut refused = silent("127.0.0.2:0", place.listener.address()).await;
    assert!(matches!(refused.read(&mut [0; 8]).await, Ok(0) | Err(_)));
    place.meet(Way::Tcp).await;
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_given_up() {
    let limits = Limits {
        handshakes_max: 2,
        handshakes_per_address_max: 1,
        handshake_within: Duration::from_secs(1),
        ..Limits::listener()
    };
    let place = Place::with(limits, Limits::dialer());
    let mut slow = silent("127.0.0.1:0", place.listener.address()).await;
    assert!(matches!(slow.read(&mut [0; 8]).await, Ok(0) | Err(_)));
    // Its place is free again.
    place.meet(Way::Tcp).await;
}

/// Which connection the first datagrams of an executor are of: the id it gives to the other side.
fn connection_id(datagram: &[u8]) -> &[u8] {
    &datagram[6..6 + usize::from(datagram[5])]
}

/// The first datagrams of executors that are never heard of again, one for each of them.
async fn first_datagrams(place: &Place, count: usize) -> Vec<Vec<u8>> {
    let nobody = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let mut datagrams: Vec<Vec<u8>> = Vec::new();
    while datagrams.len() < count {
        let config = quic_config(&place.executor);
        let to = nobody.local_addr().unwrap();
        let _connecting = endpoint.connect_with(config, to, "127.0.0.1").unwrap();
        let mut datagram = vec![0; 2_000];
        let (length, _) = nobody.recv_from(&mut datagram).await.unwrap();
        datagram.truncate(length);
        // A first message that needs several datagrams is of one connection all the same.
        let is_known = |known: &Vec<u8>| connection_id(known) == connection_id(&datagram);
        if !datagrams.iter().any(is_known) {
            datagrams.push(datagram);
        }
    }
    datagrams
}

#[tokio::test]
async fn a_flood_of_quic_is_answered_with_retries() {
    let limits = Limits {
        handshakes_max: 4,
        handshakes_per_address_max: 4,
        handshake_within: Duration::from_secs(60),
        ..Limits::listener()
    };
    let place = Place::with(limits, Limits::dialer());
    let datagrams = first_datagrams(&place, 12).await;
    let mut sockets = Vec::new();
    for datagram in &datagrams {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.send_to(datagram, place.listener.address()).await.unwrap();
        sockets.push(socket);
    }
    // Two of four places may be taken by anybody, the others are for those who answer.
    for (socket, datagram) in sockets.iter().zip(&datagrams).skip(2) {
        let mut answer = [0; 2_000];
        let (length, _) = socket.recv_from(&mut answer).await.unwrap();
        assert!(is_retry(&answer));
        // It is shorter than what it answers: nobody else can be flooded with it.
        assert!(length < datagram.len());
    }
    for socket in sockets.iter().take(2) {
        let mut answer = [0; 2_000];
        assert!(socket.try_recv(&mut answer).is_err() || !is_retry(&answer));
    }
    // Who shows that its address is its own comes in.
    let (_accepted, dialled) = place.meet(Way::Quic).await;
    assert_eq!(dialled.transport(), Transport::Quic);
}

/// By the type of a QUIC packet with a long header.
fn is_retry(datagram: &[u8]) -> bool {
    datagram[0] & 0xf0 == 0xf0
}

#[tokio::test]
async fn a_link_that_falls_silent_is_over() {
    let listening = Limits { idle: Duration::from_secs(1), ..Limits::listener() };
    let dialling = Limits { keep_alive: Duration::from_secs(60), ..Limits::dialer() };
    for way in WAYS {
        let place = Place::with(listening.clone(), dialling.clone());
        let (accepted, _dialled) = place.meet(way).await;
        assert_eq!(accepted.closed().await, Closed::Silent);
    }
}

#[tokio::test]
async fn a_link_that_is_kept_alive_outlives_its_idle_time() {
    let idle = Duration::from_secs(3);
    let listening = Limits { idle, ..Limits::listener() };
    let dialling = Limits { keep_alive: Duration::from_millis(100), ..Limits::dialer() };
    let outlive = async |way| {
        let place = Place::with(listening.clone(), dialling.clone());
        let (accepted, dialled) = place.meet(way).await;
        let waited = tokio::time::timeout(idle + idle / 3, accepted.closed()).await;
        assert!(waited.is_err(), "{waited:?}");
        assert!(dialled.rtt().is_some());
    };
    tokio::join!(outlive(Way::Quic), outlive(Way::Tcp));
}

#[tokio::test]
async fn tcp_is_tried_where_quic_does_not_go_through() {
    let dialling = Limits { handshake_within: Duration::from_secs(1), ..Limits::dialer() };
    let place = Place::on(Transports::Tcp, Limits::listener(), dialling);
    let (accepted, dialled) = place.meet(Way::QuicThenTcp).await;
    assert_eq!((accepted.transport(), dialled.transport()), (Transport::Tcp, Transport::Tcp));
    let error = place.dialer.dial(&place.host(), Way::Quic, &place.executor).await.unwrap_err();
    assert!(matches!(error, DialError::NoAnswer { .. }), "{error}");
    let place = Place::new();
    let (_accepted, dialled) = place.meet(Way::QuicThenTcp).await;
    assert_eq!(dialled.transport(), Transport::Quic);
}
