//! QUIC as it is set up here.

use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, IdleTimeout, ServerConfig, TransportConfig, VarInt, crypto};
use rustls::pki_types::CertificateDer;

use super::{Limits, LinkError};
use crate::tls::{Terms, client_config, server_config};

/// Bytes on their way that nobody has acknowledged; they are kept to be sent again.
const SEND_WINDOW_BYTES: u64 = 1 << 20;
/// What is kept of a connection that was not accepted yet: it is answered at once.
const INCOMING_BYTES_MAX: u64 = 64 * 1024;
/// All application errors have one number; the reason says which it is.
pub(super) const ERROR_CODE: VarInt = VarInt::from_u32(1);

/// What an access point takes connections with.
pub(super) fn server(terms: &Terms, limits: &Limits) -> Result<ServerConfig, LinkError> {
    let crypto = QuicServerConfig::try_from(server_config(terms)?)
        .map_err(|error| LinkError::Setup { reason: error.to_string() })?;
    let crypto: Arc<dyn crypto::ServerConfig> = Arc::new(crypto);
    let mut config = ServerConfig::with_crypto(crypto);
    config.transport_config(Arc::new(transport(limits, Dials::No)?));
    config.max_incoming(limits.handshakes_max);
    config.incoming_buffer_size(INCOMING_BYTES_MAX);
    let incoming = u64::try_from(limits.handshakes_max).unwrap_or(u64::MAX);
    config.incoming_buffer_size_total(INCOMING_BYTES_MAX.saturating_mul(incoming));
    Ok(config)
}

/// What an executor dials with.
pub(super) fn client(terms: &Terms, limits: &Limits) -> Result<ClientConfig, LinkError> {
    let crypto = QuicClientConfig::try_from(client_config(terms)?)
        .map_err(|error| LinkError::Setup { reason: error.to_string() })?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport(limits, Dials::Yes)?));
    Ok(config)
}

/// Whether this side dials: it is the one that keeps a link alive, so that there is one packet
/// each way and not two.
#[derive(PartialEq)]
enum Dials {
    Yes,
    No,
}

/// Nothing here is taken before it is used: an idle connection costs an access point 32 kB with
/// 10,000 of them (`benches/links.rs`), most of it quinn's state and the keys. The search for a
/// larger MTU stays on: a few packets in ten minutes, and a fifth fewer of them for long frames.
fn transport(limits: &Limits, dials: Dials) -> Result<TransportConfig, LinkError> {
    let window = VarInt::from_u64(limits.link_window_bytes());
    let idle = IdleTimeout::try_from(limits.idle);
    let too_large = |what: &str| LinkError::Setup { reason: format!("{what} is too large") };
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(limits.streams_max.into())
        .max_concurrent_uni_streams(0u32.into())
        .stream_receive_window(limits.stream_window_bytes.into())
        .receive_window(window.map_err(|_| too_large("the window of a link"))?)
        .send_window(SEND_WINDOW_BYTES)
        .max_idle_timeout(Some(idle.map_err(|_| too_large("the idle time"))?))
        .keep_alive_interval((dials == Dials::Yes).then_some(limits.keep_alive))
        .datagram_receive_buffer_size(None);
    Ok(config)
}

/// What the peer showed, its own certificate first.
pub(super) fn chain(connection: &Connection) -> Vec<CertificateDer<'static>> {
    let shown = connection.peer_identity();
    let shown = shown.and_then(|any| any.downcast::<Vec<CertificateDer<'static>>>().ok());
    shown.map(|chain| *chain).unwrap_or_default()
}
