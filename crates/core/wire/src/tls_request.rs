//! Requests for TLS before anything else of a database's protocol.

use crate::mysql::messages::PROTOCOL_VERSION;

/// Lower two bytes of a greeting's capability flags. They follow the protocol number, the
/// version with its zero, the thread's number (4), eight bytes of authentication data and a filler.
/// `None` if it is no MySQL greeting.
pub fn lower_capabilities(greeting: &mut [u8]) -> Option<&mut [u8; 2]> {
    let payload = greeting.get_mut(4..)?;
    if payload.first() != Some(&PROTOCOL_VERSION) {
        return None;
    }
    let version_end = payload.iter().position(|byte| *byte == 0)?;
    let start = version_end + 1 + 4 + 8 + 1;
    payload.get_mut(start..start + 2)?.try_into().ok()
}

/// Builds the TLS request that precedes a handshake response: the first 32 payload bytes with the
/// TLS flag. Sets the flag in the response too and moves the response after the request. `None` if
/// the client itself requests TLS or speaks a protocol older than 4.1.
pub fn tls_request(response: &mut [u8]) -> Option<[u8; 36]> {
    let sequence = *response.get(3)?;
    let flags = response.get_mut(5)?;
    if *flags & OFFERS_TLS != 0 || *flags & PROTOCOL_41 == 0 {
        return None;
    }
    *flags |= OFFERS_TLS;
    let mut request = [0; 36];
    request.copy_from_slice(response.get(..36)?);
    [request[0], request[1], request[2]] = [32, 0, 0];
    *response.get_mut(3)? = sequence.wrapping_add(1);
    Some(request)
}

/// MySQL's TLS request as first message of an otherwise unknown client: payload of 32 bytes, number
/// 1, flags for TLS and protocol 4.1.
pub const FIRST_TLS_REQUEST: [u8; 36] = {
    let mut request = [0; 36];
    request[0] = 32;
    request[3] = 1;
    request[5] = OFFERS_TLS | PROTOCOL_41;
    request
};
/// PostgreSQL's request for TLS, of length 8 and code 80877103.
pub const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
/// MySQL's CLIENT_SSL, 0x0800, in the second byte of the capability flags.
pub const OFFERS_TLS: u8 = 0x08;
/// CLIENT_PROTOCOL_41, 0x0200, in the same byte.
const PROTOCOL_41: u8 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offer_of_tls_is_found_behind_a_version_of_any_length() {
        for version in ["8.0.36", "5.5.5-10.11.6-MariaDB-0+deb12u1", ""] {
            let mut greeting = vec![0, 0, 0, 0, 10];
            greeting.extend_from_slice(version.as_bytes());
            greeting.extend_from_slice(&[0; 14]);
            greeting.extend_from_slice(&[0xfe, 0xff, 9]);
            assert_eq!(
                lower_capabilities(&mut greeting),
                Some(&mut [0xfe, 0xff]),
                "{version}"
            );
        }
        for bad in [
            &[][..],
            &[0, 0, 0, 0, 0xff, 1, 2],
            &[0, 0, 0, 0, 10, b'8'],
            &[0, 0, 0, 0, 10, b'8', 0, 1, 2],
        ] {
            assert_eq!(lower_capabilities(&mut bad.to_vec()), None);
        }
    }

    #[test]
    fn a_request_for_tls_goes_before_the_response() {
        let mut response = vec![50, 0, 0, 1];
        response.extend((0..50).map(|byte| if byte == 1 { PROTOCOL_41 } else { byte }));
        let request = tls_request(&mut response).expect("a 4.1 client");
        assert_eq!(request[..6], [32, 0, 0, 1, 0, PROTOCOL_41 | OFFERS_TLS]);
        assert_eq!(request[6..], response[6..36]);
        assert_eq!(response[..6], [50, 0, 0, 2, 0, PROTOCOL_41 | OFFERS_TLS]);
        assert_eq!(
            tls_request(&mut response),
            None,
            "a client that asks for TLS itself"
        );
        assert_eq!(tls_request(&mut [2, 0, 0, 1, 0, PROTOCOL_41]), None, "too short");
    }
}
