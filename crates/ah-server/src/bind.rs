//! Where a server may listen: what others can reach needs TLS and tokens.

use std::net::SocketAddr;

use crate::options::AuthMode;

/// Who can reach a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exposure {
    /// Programs of this machine. It answers to names of this machine only.
    #[default]
    Loopback,
    /// Others. It answers to any name.
    Public,
}

/// How requests travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// As anybody on the way can read them.
    Plain,
    /// As [`Self::Plain`], and somebody has typed that this is meant.
    Insecure,
    /// Under TLS.
    Tls,
}

/// Who can reach a server at `address`, or why it must not listen there.
pub fn check_bind(
    address: SocketAddr,
    transport: Transport,
    auth: AuthMode,
) -> Result<Exposure, String> {
    if address.ip().is_loopback() {
        return Ok(Exposure::Loopback);
    }
    if auth == AuthMode::Open {
        return Err(format!(
            "{address} can be reached by others, and nobody would be asked for a token"
        ));
    }
    match transport {
        Transport::Tls | Transport::Insecure => Ok(Exposure::Public),
        Transport::Plain => Err(format!(
            "{address} can be reached by others, and tokens would travel there unencrypted: give a \
             certificate and its key, or say that this is meant with --insecure"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_reach_needs_tokens_and_tls_or_a_typed_word() {
        let check = |address: &str, transport, auth| {
            check_bind(address.parse().unwrap(), transport, auth).map_err(|text| text.len() > 40)
        };
        for address in ["127.0.0.1:1", "127.8.9.1:1", "[::1]:1"] {
            for transport in [Transport::Plain, Transport::Insecure, Transport::Tls] {
                for auth in [AuthMode::Open, AuthMode::Tokens] {
                    assert_eq!(check(address, transport, auth), Ok(Exposure::Loopback));
                }
            }
        }
        for address in ["0.0.0.0:1", "[::]:1", "192.168.0.7:1", "203.0.113.9:443"] {
            for transport in [Transport::Insecure, Transport::Tls] {
                assert_eq!(check(address, transport, AuthMode::Tokens), Ok(Exposure::Public));
                assert_eq!(check(address, transport, AuthMode::Open), Err(true));
            }
            assert_eq!(check(address, Transport::Plain, AuthMode::Tokens), Err(true));
        }
    }
}
