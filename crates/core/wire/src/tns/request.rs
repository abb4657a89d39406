//! First packet of a client: CONNECT with its descriptor.

use super::descriptor::value;
use super::messages::packet;

/// Asks a listener whether it is running, like `tnsping`. The answer is a refusal with the
/// listener's version and error 0, and the listener logs a line. `None` if the name is too long for
/// a packet.
pub fn ping_request(host: &str, port: u16) -> Option<Vec<u8>> {
    let host = value(host);
    request(&format!(
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST={host})(PORT={port}))(CONNECT_DATA=(CID=(PROGRAM=longwire)(HOST=)\
         (USER=))(COMMAND=ping)))"
    ))
}

/// Requests a connection to a service, without user and password: a database that accepts waits for
/// them next. `None` if the names are too long for a packet.
pub fn connect_request(host: &str, port: u16, service: &str) -> Option<Vec<u8>> {
    let (host, service) = (value(host), value(service));
    request(&format!(
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST={host})(PORT={port}))(CONNECT_DATA=(SERVICE_NAME={service})\
         (CID=(PROGRAM=longwire)(HOST=)(USER=))))"
    ))
}

/// A CONNECT packet for a descriptor; a long one follows as a separate packet.
fn request(descriptor: &str) -> Option<Vec<u8>> {
    let length = u16::try_from(descriptor.len()).ok()?;
    let follows = descriptor.len() > MAX_INLINE_LEN;
    let within = if follows { "" } else { descriptor };
    let mut out = Vec::with_capacity(CONNECT_LENGTH + DATA_HEADER + descriptor.len());
    header(&mut out, packet::CONNECT, CONNECT_LENGTH + within.len())?;
    for field in [
        VERSION,
        LOWEST_VERSION,
        SERVICE_OPTIONS,
        SDU,
        SDU,
        CHARACTERISTICS,
        0,
        1,
    ] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&DESCRIPTOR_AT.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[WITHOUT_SERVICES; 2]);
    out.extend_from_slice(&[0; 24]);
    for field in [u32::from(SDU), u32::from(SDU), 0, 1] {
        out.extend_from_slice(&field.to_be_bytes());
    }
    out.extend_from_slice(within.as_bytes());
    if follows {
        header(&mut out, packet::DATA, DATA_HEADER + descriptor.len())?;
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(descriptor.as_bytes());
    }
    Some(out)
}

fn header(out: &mut Vec<u8>, kind: u8, length: usize) -> Option<()> {
    out.extend_from_slice(&u16::try_from(length).ok()?.to_be_bytes());
    out.extend_from_slice(&[0, 0, kind, 0, 0, 0]);
    Some(())
}

const MAX_INLINE_LEN: usize = 230;
/// Bytes of a CONNECT packet before its descriptor, and the value of the field for it.
const CONNECT_LENGTH: usize = 74;
const DESCRIPTOR_AT: u16 = 74;
const DATA_HEADER: usize = 10;
/// Requested by drivers of 23ai, with the lowest version they accept.
const VERSION: u16 = 319;
const LOWEST_VERSION: u16 = 300;
/// "Do not care", and "can receive attention".
const SERVICE_OPTIONS: u16 = 0x0401;
const SDU: u16 = 8192;
const CHARACTERISTICS: u16 = 0x4f98;
/// No negotiation of native encryption: 0x80 renegotiation known, 0x04 services disabled.
const WITHOUT_SERVICES: u8 = 0x84;

#[cfg(test)]
mod tests {
    use super::*;

    /// Sent by python-oracledb in `oracledb-thin-connect-refuse.pcap`, less its descriptor.
    const RECORDED: &[u8] = b"\x00\x4a\0\0\x01\0\0\0\x01\x3f\x01\x2c\x04\x01\x20\x00\x20\x00\x4f\x98\0\0\0\x01\x00\xe7\0\x4a\
        \0\0\0\0\x84\x84\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0\x20\0\0\0\0\0\0\0\0\x01";

    #[test]
    fn a_long_descriptor_follows_as_a_driver_sends_it() {
        let descriptor = "x".repeat(231);
        let request = request(&descriptor).expect("short enough");
        let (connect, data) = request.split_at(74);
        assert_eq!(connect, RECORDED);
        assert_eq!(data[..10], *b"\x00\xf1\0\0\x06\0\0\0\0\0");
        assert_eq!(&data[10..], descriptor.as_bytes());
    }

    #[test]
    fn a_short_descriptor_is_within() {
        let request = ping_request("db1", 1521).expect("short enough");
        assert_eq!(
            usize::from(u16::from_be_bytes([request[0], request[1]])),
            request.len()
        );
        let length = usize::from(u16::from_be_bytes([request[24], request[25]]));
        assert_eq!(length, request.len() - 74);
        assert!(request.ends_with(b"(COMMAND=ping)))"), "{request:?}");
    }

    #[test]
    fn a_name_beyond_all_lengths_makes_no_packet() {
        assert_eq!(connect_request("h", 1, &"x".repeat(70_000)), None);
        assert_eq!(connect_request("h", 1, &"x".repeat(65_430)), None);
        assert!(connect_request("h", 1, &"x".repeat(60_000)).is_some());
    }
}
