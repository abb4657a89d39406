//! Reads the chosen version of a `ServerHello`, the only inspected handshake message.

use crate::decoding::reader::Reader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerHello {
    /// Greet again with another key share (RFC 8446 section 4.1.4).
    Retry,
    Version12OrOlder,
    Version13,
}

/// `None` if the handshake record does not begin with a whole `ServerHello`.
pub(super) fn server_hello(record: &[u8]) -> Option<ServerHello> {
    let mut reader = Reader::new(record);
    if reader.u8()? != SERVER_HELLO {
        return None;
    }
    let length = usize::try_from(reader.u24_be()?).ok()?;
    let mut hello = Reader::new(reader.rest().get(..length).unwrap_or(reader.rest()));
    hello.u16_be()?;
    let random = hello.take_bytes(32)?;
    let session = hello.u8()?;
    hello.take_bytes(usize::from(session))?;
    hello.take_bytes(3)?;
    let chosen = match hello.u16_be() {
        Some(extensions) => version(Reader::new(
            hello
                .rest()
                .get(..usize::from(extensions))
                .unwrap_or(hello.rest()),
        )),
        None => ServerHello::Version12OrOlder,
    };
    Some(if random == RETRY_RANDOM {
        ServerHello::Retry
    } else {
        chosen
    })
}

fn version(mut extensions: Reader<'_>) -> ServerHello {
    while let (Some(kind), Some(length)) = (extensions.u16_be(), extensions.u16_be()) {
        let Some(mut extension) = extensions.sub(usize::from(length)) else {
            break;
        };
        if kind == SUPPORTED_VERSIONS && extension.u16_be() == Some(0x0304) {
            return ServerHello::Version13;
        }
    }
    ServerHello::Version12OrOlder
}

const SERVER_HELLO: u8 = 2;
const SUPPORTED_VERSIONS: u16 = 43;

/// The random value that marks a `HelloRetryRequest`: SHA-256 of that name (RFC 8446 section
/// 4.1.3).
const RETRY_RANDOM: [u8; 32] = [
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2,
    0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C,
];
