//! Peers with a good certificate that do as they like with the bytes.

use std::sync::Arc;

use ah_access::frame::ALPN;
use ah_access::link::Reason;
use ah_access::link::mux::{HEADER_BYTES, Header, PieceKind};
use ah_access::tls::{Terms, client_config};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::given::Place;

/// A piece as bytes.
pub(super) fn piece(stream: u32, kind: PieceKind, body: &[u8]) -> Vec<u8> {
    let header = Header { stream, kind, length: body.len() };
    [&header.to_bytes()[..], body].concat()
}

/// What a well-behaved peer says first.
pub(super) fn terms_piece() -> Vec<u8> {
    piece(0, PieceKind::Terms, &[0, 0, 0, 8, 0, 0, 255, 255])
}

/// TLS on TCP, with pieces made by hand.
pub(super) struct RawTcp(pub(super) TlsStream<TcpStream>);

impl RawTcp {
    pub(super) async fn dial(place: &Place) -> Self {
        Self::dial_for(place, ALPN).await
    }

    /// Asks for a protocol; for none when its name is empty.
    pub(super) async fn dial_for(place: &Place, protocol: &[u8]) -> Self {
        let stream = TcpStream::connect(place.listener.address()).await.unwrap();
        let mut config = client_config(&place.executor).unwrap();
        config.alpn_protocols.retain(|known| known == protocol);
        let name = ServerName::from(place.listener.address().ip());
        let tls = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        Self(tls)
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
        self.0.flush().await.unwrap();
    }

    pub(super) async fn piece(&mut self) -> (Header, Vec<u8>) {
        let mut header = [0; HEADER_BYTES];
        self.0.read_exact(&mut header).await.unwrap();
        let header = Header::read(header).unwrap();
        let mut body = vec![0; header.length];
        self.0.read_exact(&mut body).await.unwrap();
        (header, body)
    }

    /// Why the listener closed the connection.
    pub(super) async fn closed(&mut self) -> String {
        loop {
            let (header, body) = self.piece().await;
            if header.kind == PieceKind::Close {
                return String::from_utf8(body).unwrap();
            }
        }
    }
}

/// QUIC, with frames made by hand.
pub(super) async fn dial_quic(place: &Place) -> quinn::Connection {
    let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
    let config = quic_config(&place.executor);
    let connecting = endpoint.connect_with(config, place.listener.address(), "127.0.0.1");
    connecting.unwrap().await.unwrap()
}

pub(super) fn quic_config(terms: &Terms) -> quinn::ClientConfig {
    let crypto = QuicClientConfig::try_from(client_config(terms).unwrap()).unwrap();
    quinn::ClientConfig::new(Arc::new(crypto))
}

/// Why the listener closed the connection.
pub(super) async fn quic_closed(connection: &quinn::Connection) -> String {
    match connection.closed().await {
        quinn::ConnectionError::ApplicationClosed(close) => {
            String::from_utf8(close.reason.to_vec()).unwrap()
        }
        error => panic!("{error}"),
    }
}

/// The word of a reason as it was sent.
pub(super) fn word(reason: &str) -> String {
    let (word, detail) = reason.split_once(": ").unwrap_or((reason, ""));
    Reason::new(word, detail).word
}
