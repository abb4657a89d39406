//! Choice of the SCRAM mechanism: bound to the TLS connection if both ends support it (RFC 5802,
//! section 6).

use crate::session::SessionError;
use crate::session::opening::LoginContext;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS};
use sys::target::ChannelBinding as Asked;
use sys::tls::der;
use sys::transport::Transport;

pub(super) fn choose(
    opening: &LoginContext<'_, '_>,
    offer: &[u8],
) -> Result<(&'static str, ChannelBinding), SessionError> {
    let asked = opening.security.channel_binding;
    let offers = |mechanism: &str| {
        offer
            .split(|byte| *byte == 0)
            .any(|name| name == mechanism.as_bytes())
    };
    match end_point(opening).filter(|_| asked != Asked::Disable) {
        Some(hash) if offers(SCRAM_SHA_256_PLUS) => {
            Ok((SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(hash)))
        }
        _ if asked == Asked::Require => Err(SessionError::NotBound),
        _ if !offers(SCRAM_SHA_256) => Err(unknown_method(offer)),
        // A client that supports it reports that: a server that supports it too then detects that
        // its offer was removed in transit.
        Some(_) => Ok((SCRAM_SHA_256, ChannelBinding::unrequested())),
        None => Ok((SCRAM_SHA_256, ChannelBinding::unsupported())),
    }
}

fn end_point(opening: &LoginContext<'_, '_>) -> Option<Vec<u8>> {
    match opening.line.transport() {
        Transport::Tls(tls) => der::end_point(tls.shown_key()?),
        Transport::Plain(_) => None,
    }
}

fn unknown_method(offer: &[u8]) -> SessionError {
    let name = offer.split(|byte| *byte == 0).next().unwrap_or_default();
    let method = String::from_utf8_lossy(name)
        .chars()
        .filter(|letter| letter.is_ascii_graphic())
        .take(40)
        .collect();
    SessionError::Authentication { method }
}
